"""What an embedding is: a bag becomes one vector, and any scikit-learn estimator goes on from there."""

from abc import ABCMeta, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmil.bags import Bags, check_bags


class BagEmbedding(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """A map from bags to vectors: ``transform(X)`` is a matrix, dense or CSR, with a row per bag.

    A subclass writes ``_transform(bags)``, and ``_fit(bags, y)`` if it learns. One that is additive
    over the instances of a bag, Phi(B) = sum_x phi(x, B), also writes ``contributions(X, w)``:
    <phi(x, B), w> for each instance. Linear models on top then explain themselves exactly.
    """

    def fit(self, X, y=None):
        """Learn the map from the training bags."""
        self._fit(check_bags(self, X, reset=True), y)
        return self

    def transform(self, X):
        """One row per bag."""
        check_is_fitted(self)
        return self._transform(check_bags(self, X, reset=False))

    def _fit(self, bags: Bags, y) -> None:
        """Learn from valid bags; an embedding without learned state keeps this."""

    @abstractmethod
    def _transform(self, bags: Bags) -> np.ndarray:
        """Matrix with one row per bag."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
