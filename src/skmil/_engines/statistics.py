"""Statistics of bags, one row each."""

import numpy as np
from scipy import sparse

from skmil.bags import Bags


def bag_means(bags: Bags):
    """Mean instance of each bag; sparse bags have sparse means."""
    if bags.is_sparse:
        N = bags.offsets[-1]
        weights = np.repeat(1.0 / bags.sizes, bags.sizes)
        mean = sparse.csr_matrix((weights, np.arange(N), bags.offsets), shape=(len(bags), N))
        return mean @ bags.instances
    return np.add.reduceat(bags.instances, bags.offsets[:-1]) / bags.sizes[:, None]


def bag_extremes(bags: Bags) -> np.ndarray:
    """Smallest, then largest value of each feature."""
    X, starts = bags.to_dense().instances, bags.offsets[:-1]
    return np.hstack([np.minimum.reduceat(X, starts), np.maximum.reduceat(X, starts)])
