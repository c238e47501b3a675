"""What a machine works on: the Gram matrix of the instances, or features that stand for it."""

from collections import namedtuple

import numpy as np
from sklearn.utils import check_random_state

from skmil._engines.pairs import InstanceKernel
from skmil._threads import map_blocks, slices
from skmil.bags import Bags

EXACT = 7_000  # instances up to which "auto" keeps the whole Gram matrix: 400 MB, and Musk2
LANDMARKS = 500
ROWS = 256

Landmarks = namedtuple("Landmarks", ["instances", "basis"])
Landmarks.__doc__ = "Instances whose kernel values, times the basis, are the features of any instance."


def gram(kernel: InstanceKernel, X) -> np.ndarray:
    """Kernel matrix of a table, one half computed and one copied, in blocks of rows."""
    K = np.empty((X.shape[0], X.shape[0]))

    def fill(rows):
        K[rows, : rows.stop] = kernel(X[rows], X[: rows.stop])
        K[: rows.start, rows] = K[rows, : rows.start].T

    map_blocks(fill, slices(X.shape[0], ROWS))
    return K


def expand(kernel: InstanceKernel, X, Y, coef: np.ndarray) -> np.ndarray:
    """Kernel matrix of two tables times a vector or matrix, without the first one in memory."""
    blocks = slices(X.shape[0], ROWS)
    return np.concatenate(map_blocks(lambda rows: kernel(X[rows], Y) @ coef, blocks))


def is_primal(kernel: InstanceKernel, bags: Bags) -> bool:
    """Whether the instances are their own features, and fewer of them than instances."""
    plain = kernel.kind == "linear" and kernel.power == 1 and not bags.is_sparse
    return plain and bags.n_features < bags.offsets[-1]


def n_landmarks(n_components, N: int) -> int | None:
    """How many landmarks to use; ``None`` for the exact kernel."""
    if isinstance(n_components, str) and n_components == "auto":
        return None if N <= EXACT else LANDMARKS
    if n_components is None:
        return None
    return min(int(n_components), N)


def nystroem(kernel: InstanceKernel, X, r: int, random_state) -> tuple[np.ndarray, Landmarks]:
    """Features of X from r of its rows, drawn at random (Williams & Seeger 2001): Z Z^T is near K."""
    rows = np.sort(check_random_state(random_state).permutation(X.shape[0])[:r])
    chosen = X[rows]
    values, vectors = np.linalg.eigh(gram(kernel, chosen))
    keep = values > 1e-12 * max(values[-1], 0.0)
    basis = vectors[:, keep] / np.sqrt(values[keep])
    return expand(kernel, X, chosen, basis), Landmarks(chosen, basis)


def left_out(kernel: InstanceKernel, X, Z) -> float:
    """The share of the trace of the Gram matrix of X that the features Z leave out: 0 where none."""
    whole = sum(float(kernel(X[s], X[s]).trace()) for s in slices(X.shape[0], ROWS))
    return max(0.0, 1.0 - float(np.square(Z).sum()) / whole) if whole > 0 else 0.0
