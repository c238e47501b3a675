"""Distances of bags to points: that of the nearest instance, in blocks."""

import numpy as np
from scipy import sparse

from skmil._jit import njit
from skmil._threads import map_blocks, slices
from skmil.bags import Bags

ROWS, COLUMNS = 256, 512  # a block of distances stays in the second-level cache


def nearest(bags: Bags, Z) -> np.ndarray:
    """Squared distance of each bag to each row of Z: that of its nearest instance.

    ``Z is bags.instances`` computes one half of the pairs.
    """
    X, same = bags.instances, Z is bags.instances
    if sparse.issparse(X) or sparse.issparse(Z):
        X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    elif len(Z):  # distances keep their digits near the origin
        mean = Z.mean(axis=0)
        X = X - mean
        Z = X if same else Z - mean
    task = _Block(X, Z, bags.owner, same)
    D = np.full((len(bags), Z.shape[0]), np.inf)
    for rows, first, across, down in map_blocks(task, slices(X.shape[0], ROWS)):
        start = rows.start if same else 0
        part = D[first : first + len(across), start:]
        np.minimum(part, across, out=part)
        if same:
            np.minimum(D[first:, rows], down.T, out=D[first:, rows])
    return np.maximum(D, 0.0, out=D)


class _Block:
    """One task of ``nearest``: a slice of rows against all columns, or those from its start on."""

    def __init__(self, X, Z, owner, same):
        self.X, self.Z, self.owner, self.same = X, Z, owner, same
        self.x2, self.z2 = _squares(X), _squares(Z)

    def __call__(self, rows: slice):
        first, last = self.owner[rows.start], self.owner[rows.stop - 1]
        start = rows.start if self.same else 0
        width = self.Z.shape[0] - start
        across = np.full((last - first + 1, width), np.inf)
        height = self.owner[-1] - first + 1 if self.same else 0
        down = np.full((rows.stop - rows.start, height), np.inf)
        x2, row_bag = self.x2[rows], self.owner[rows] - first
        buffer = np.empty(ROWS * COLUMNS)
        for c in slices(width, COLUMNS):
            columns = slice(c.start + start, c.stop + start)
            G = _product(self.X[rows], self.Z[columns], buffer)
            _rows_to_bags(G, x2, self.z2[columns], row_bag, across[:, c])
            if self.same:
                _columns_to_bags(G, self.owner[columns] - first, down)
        return rows, first, across, down


def _product(X, Z, buffer) -> np.ndarray:
    if sparse.issparse(X):
        return (X @ Z.T).toarray()
    shape = len(X), len(Z)
    return np.matmul(X, Z.T, out=buffer[: shape[0] * shape[1]].reshape(shape))


def _squares(X) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


@njit
def _rows_to_bags(G, x2, z2, row_bag, out):
    """Turn products into squared distances, in place, and keep the least of each row bag."""
    for i in range(G.shape[0]):
        least = out[row_bag[i]]
        for j in range(G.shape[1]):
            d = x2[i] + z2[j] - 2.0 * G[i, j]
            G[i, j] = d
            least[j] = d if d < least[j] else least[j]


@njit
def _columns_to_bags(D, column_bag, out):
    """Keep the least distance of each column bag to each row."""
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            b = column_bag[j]
            out[i, b] = D[i, j] if D[i, j] < out[i, b] else out[i, b]
