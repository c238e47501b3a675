"""Simple bag statistics (Simple-MI: Dong 2006): mean, extremes, mean and spread of the instances."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmil._engines.statistics import bag_extremes, bag_means, bag_spreads
from skmil._lazy import groups
from skmil._schema import check_bags
from skmil.embeddings.base import BagEmbedding


class MeanEmbedding(BagEmbedding):
    """A bag becomes the mean of its instances.

    Examples
    --------
    >>> from skmil.embeddings import MeanEmbedding
    >>> MeanEmbedding().fit_transform([[[0.0, 2.0], [2.0, 4.0]], [[5.0, 5.0]]])
    array([[1., 3.],
           [5., 5.]])
    """

    _streams = _keeps_float32 = True

    def contributions(self, X, w) -> list[np.ndarray]:
        """``<x, w> / |B|`` for each instance x of a bag B; they add up to ``<mean of B, w>``."""
        check_is_fitted(self)
        bags, w = check_bags(self, X, reset=False, stream=False), np.ravel(w)
        products = np.concatenate([bags[s].instances @ w for s in groups(bags.sizes)])
        return bags.split(products / np.repeat(bags.sizes, bags.sizes))

    def _transform(self, bags):
        return bag_means(bags)

    def _names_out(self, names_in):
        return [f"mean_{name}" for name in names_in]


class MinMaxEmbedding(BagEmbedding):
    """A bag becomes the smallest and the largest value of each feature.

    Examples
    --------
    >>> from skmil.embeddings import MinMaxEmbedding
    >>> MinMaxEmbedding().fit_transform([[[0.0, 2.0], [2.0, 1.0]]])
    array([[0., 1., 2., 2.]])
    """

    _streams = _keeps_float32 = True

    def _transform(self, bags):
        return bag_extremes(bags)

    def _names_out(self, names_in):
        return [f"{what}_{name}" for what in ("min", "max") for name in names_in]


class MeanStdEmbedding(BagEmbedding):
    """A bag becomes the mean and the standard deviation of each feature.

    Examples
    --------
    >>> from skmil.embeddings import MeanStdEmbedding
    >>> MeanStdEmbedding().fit_transform([[[0.0], [2.0]]])
    array([[1., 1.]])
    """

    _streams = _keeps_float32 = True

    def _transform(self, bags):
        return bag_spreads(bags)

    def _names_out(self, names_in):
        return [f"{what}_{name}" for what in ("mean", "std") for name in names_in]
