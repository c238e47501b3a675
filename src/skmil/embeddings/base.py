"""What an embedding is: a bag becomes one vector, and any scikit-learn estimator goes on from there."""

from abc import ABCMeta, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from skmil._cluster import map_bags
from skmil._lazy import sample
from skmil._random import random_key
from skmil._schema import check_bags
from skmil.bags import Bags


class BagEmbedding(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """A map from bags to vectors: ``transform(X)`` is a matrix, dense or CSR, with a row per bag.

    A subclass writes ``_transform(bags)``, and ``_fit(bags, y)`` if it learns. One that is additive
    over the instances of a bag, Phi(B) = sum_x phi(x, B), also writes ``contributions(X, w)``:
    <phi(x, B), w> for each instance. Linear models on top then explain themselves exactly.

    One that learns from some of the instances or from sums over them (``bags.rows``, ``bags.blocks``)
    says ``_streams = True`` and is given a store as it is; a store is mapped block by block in any case.
    """

    _streams = False
    _keeps_float32 = False

    def fit(self, X, y=None):
        """Learn the map from the training bags."""
        bags = check_bags(self, X, reset=True)
        self._fit(bags, y)
        self.n_columns_ = self._transform(next(iter(bags[:1].blocks()))).shape[1]
        return self

    def transform(self, X):
        """One row per bag."""
        check_is_fitted(self)
        return map_bags(self._transform, check_bags(self, X, reset=False, stream=True))

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the columns of ``transform``, for ``set_output`` and whoever reads a model."""
        check_is_fitted(self)
        return np.array(self._names_out(_check_feature_names_in(self, input_features)), dtype=object)

    def _names_out(self, names_in) -> list[str]:
        """The name of the class and a number; an embedding whose columns mean something says what."""
        prefix = type(self).__name__.lower()
        return [f"{prefix}{k}" for k in range(self.n_columns_)]

    def _fit(self, bags: Bags, y) -> None:
        """Learn from valid bags; an embedding without learned state keeps this."""

    @abstractmethod
    def _transform(self, bags: Bags) -> np.ndarray:
        """Matrix with one row per bag."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def some_instances(bags, most: int, random_state) -> Bags:
    """A random sample of ``most`` instances, as bags of one, in float64; all where there are no more."""
    N = int(bags.sizes.sum())
    rows = sample(0 if N <= most else random_key(random_state), N, most)
    table = bags.rows(slice(None) if isinstance(bags, Bags) and len(rows) == N else rows)
    return Bags(table.astype(np.float64, copy=False), np.arange(len(rows) + 1))
