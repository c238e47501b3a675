"""miGraph Gram matrix of Musk2 against NumPy, bag by bag."""

import numpy as np
from common import best, data
from scipy.spatial.distance import cdist

from skmil.kernels import GraphKernel
from skmil.preprocessing import BagScaler

GAMMA = 1 / 332


def graph_musk2(n_threads=1):
    bags = BagScaler().fit_transform(data("musk2").data)
    kernel = GraphKernel(gamma=GAMMA)
    error = np.abs(kernel(bags) / double_loop(bags, cdist_squared) - 1).max()
    ours = best(lambda: kernel(bags), 3, n_threads)
    plain = best(lambda: double_loop(bags, differences), 1, n_threads)
    by_cdist = best(lambda: double_loop(bags, cdist_squared), 1, n_threads)
    return {
        "ratio": round(plain / ours, 1),
        "reference": "NumPy double loop over bags, differences by broadcasting",
        "ratio_to_cdist": round(by_cdist / ours, 1),
        "threads": n_threads,
        "seconds": round(ours, 3),
        "largest_relative_difference": float(f"{error:.1e}"),
    }


def double_loop(bags, squared):
    """The definition, vectorised within a pair of bags."""
    bags = list(bags)
    weights = [graph_weights(b, squared) for b in bags]
    K = np.empty((len(bags), len(bags)))
    for i, A in enumerate(bags):
        for j, B in enumerate(bags):
            K[i, j] = weights[i] @ np.exp(-GAMMA * squared(A, B)) @ weights[j]
    return K


def graph_weights(A, squared):
    D = np.sqrt(squared(A, A))
    m = len(A)
    tau = D[np.triu_indices(m, 1)].mean() * (1 - 1e-9) if m > 1 else 0.0
    edges = (D < tau) | np.eye(m, dtype=bool)
    w = 1 / edges.sum(axis=1)
    return w / w.sum()


def differences(A, B):
    return ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)


def cdist_squared(A, B):
    return cdist(A, B, "sqeuclidean")


BENCHMARKS = {"graph-musk2": graph_musk2}
