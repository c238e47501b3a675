"""Sums and extremes of features over all instances, block by block.

Sums go instance by instance, in float64 and in one order, so that neither the size of the blocks nor where
the bags lie changes a bit.
"""

import numpy as np

from skmil._jit import njit


def first_pass(bags, weights=None) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Sum over instances of w x (w is 1 where not given), smallest and largest value of each feature.

    At last the number of values that are not zero.
    """
    total, count = np.zeros(bags.n_features), 0
    low, high = np.full(bags.n_features, np.inf), np.full(bags.n_features, -np.inf)
    for block, w in _weighted(bags, weights):
        _add(block, w, total, None)
        small, large = _extremes(block)
        np.minimum(low, small, out=low)
        np.maximum(high, large, out=high)
        count += _count(block.instances)
    return total, low, high, count


def second_pass(bags, weights, center) -> np.ndarray:
    """Sum over instances of w (x - center)^2; of sparse bags only the entries that are there count."""
    total = np.zeros(bags.n_features)
    for block, w in _weighted(bags, weights):
        _add(block, w, total, center)
    return total


def filled(bags, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For sparse bags: weight, and number, of the instances in which a feature has an entry."""
    total, count = np.zeros(bags.n_features), np.zeros(bags.n_features, dtype=np.int64)
    for block, w in _weighted(bags, weights):
        X = block.instances
        _add_entries(X.indptr, X.indices, np.ones(X.nnz), w, total, False, total)
        count += X.getnnz(axis=0)
    return total, count


def nonzero(bags) -> int:
    """Number of values that are not zero."""
    return sum(_count(block.instances) for block in bags.blocks())


def mostly_zero(bags) -> bool:
    """Whether more than nine in ten values are zero, as in texts."""
    return few(nonzero(bags), bags)


def few(nonzero: int, bags) -> bool:
    """Whether so many values that are not zero are less than one in ten."""
    return nonzero < 0.1 * int(bags.sizes.sum()) * bags.n_features


def _count(X) -> int:
    return int(X.count_nonzero() if hasattr(X, "count_nonzero") else np.count_nonzero(X))


def _weighted(bags, weights):
    """Blocks of bags with the weights of their instances."""
    start = 0
    for block in bags.blocks():
        stop = start + int(block.offsets[-1])
        yield block, np.ones(stop - start) if weights is None else weights[start:stop]
        start = stop


def _add(block, w, total, center) -> None:
    X, mean, square = block.instances, total if center is None else center, center is not None
    if block.is_sparse:
        _add_entries(X.indptr, X.indices, X.data, w, mean, square, total)
    else:
        _add_rows(X, w, mean, square, total)


def _extremes(block):
    """Zeros that a sparse table leaves out count."""
    low, high = block.instances.min(axis=0), block.instances.max(axis=0)
    return (low.toarray().ravel(), high.toarray().ravel()) if block.is_sparse else (low, high)


@njit
def _add_rows(X, w, mean, square, out):
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            x = np.float64(X[i, k])
            if square:
                x = (x - mean[k]) ** 2
            out[k] += x * w[i]


@njit
def _add_entries(indptr, indices, data, w, mean, square, out):
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            k, x = indices[e], np.float64(data[e])
            if square:
                x = (x - mean[k]) ** 2
            out[k] += x * w[i]
