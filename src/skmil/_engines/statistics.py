"""Statistics of bags, one row each."""

import numpy as np
from scipy import sparse

from skmil.bags import Bags


def bag_means(bags: Bags):
    """Mean instance of each bag, summed in float64; sparse bags have sparse means."""
    if bags.is_sparse:
        N = bags.offsets[-1]
        weights = np.repeat(1.0 / bags.sizes, bags.sizes)
        mean = sparse.csr_matrix((weights, np.arange(N), bags.offsets), shape=(len(bags), N))
        return (mean @ bags.instances).astype(bags.dtype, copy=False)
    total = np.add.reduceat(bags.instances, bags.offsets[:-1], dtype=np.float64)
    return (total / bags.sizes[:, None]).astype(bags.dtype, copy=False)


def bag_spreads(bags: Bags) -> np.ndarray:
    """Mean, then standard deviation of each feature."""
    X, sizes, starts = bags.to_dense().instances, bags.sizes, bags.offsets[:-1]
    mean = np.add.reduceat(X, starts, dtype=np.float64) / sizes[:, None]
    square = (X - np.repeat(mean, sizes, axis=0)) ** 2
    spread = np.sqrt(np.add.reduceat(square, starts) / sizes[:, None])
    return np.hstack([mean, spread]).astype(bags.dtype, copy=False)


def bag_extremes(bags: Bags):
    """Smallest, then largest value of each feature; sparse bags have sparse extremes."""
    if bags.is_sparse:
        low, high = (_sparse_extreme(bags, f) for f in (np.minimum, np.maximum))
        return sparse.hstack([low, high], format="csr")
    X, starts = bags.instances, bags.offsets[:-1]
    return np.hstack([np.minimum.reduceat(X, starts), np.maximum.reduceat(X, starts)])


def _sparse_extreme(bags: Bags, extreme) -> sparse.csr_matrix:
    """Smallest or largest value of each feature; one that not every instance has is zero somewhere."""
    X, d = bags.instances, bags.n_features
    bag = np.repeat(np.repeat(np.arange(len(bags)), bags.sizes), np.diff(X.indptr))
    cell = bag * np.int64(d) + X.indices
    order = np.argsort(cell, kind="stable")
    cell, starts, counts = np.unique(cell[order], return_index=True, return_counts=True)
    if not len(cell):
        return sparse.csr_matrix((len(bags), d), dtype=X.dtype)
    found = extreme.reduceat(X.data[order], starts)
    row = cell // d
    found = np.where(counts < bags.sizes[row], extreme(found, 0), found)
    kept = found != 0
    return sparse.csr_matrix((found[kept], (row[kept], cell[kept] % d)), shape=(len(bags), d))
