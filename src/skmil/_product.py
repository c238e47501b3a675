"""Products of tables in which the bits of an entry depend on its two rows alone.

What BLAS gives for an entry depends, in its last bits, on the shape of the product: rows that are left over
at an edge go another way than the others. Here it only sees blocks of whole units, filled up, and never
a table times itself, for which it has an algorithm of its own. So a Gram matrix has the same bits in one
piece and by tiles of any size.
"""

import numpy as np
from scipy import sparse

from skmil._jit import njit
from skmil._threads import one_blas_thread, slices

ROWS, COLUMNS = 256, 512  # a block of the result stays in the second-level cache
UNIT = 16  # rows that BLAS computes at a time
LEAST = (32, 64)  # rows and columns below which it takes a product for small, and computes it otherwise


def product(X, Y) -> np.ndarray:
    """X Y^T as a dense array."""
    out = np.empty((X.shape[0], Y.shape[0]))
    with one_blas_thread():
        for r in slices(X.shape[0], ROWS):
            for c in slices(Y.shape[0], COLUMNS):
                out[r, c] = filled_product(X[r], Y[c])[: r.stop - r.start, : c.stop - c.start]
    return out


@njit
def mirrored(K):
    """K with its upper triangle below the diagonal as well, block by block in place."""
    n, size = len(K), 64
    for top in range(0, n, size):
        for left in range(top, n, size):
            for i in range(top, min(top + size, n)):
                for j in range(max(left, i + 1), min(left + size, n)):
                    K[j, i] = K[i, j]
    return K


def filled_product(X, Y, buffer=None) -> np.ndarray:
    """X Y^T of a block, which may have further rows and columns; on one thread of BLAS.

    A ``buffer`` takes the result, if it has room for all of that.
    """
    if sparse.issparse(X) or sparse.issparse(Y):
        G = X @ Y.T
        return G.toarray() if sparse.issparse(G) else G
    X, Y = _filled(X, LEAST[0]), _filled(Y, LEAST[1])
    if X.shape == Y.shape and np.may_share_memory(X, Y):
        X = X.copy()
    shape = len(X), len(Y)
    return np.matmul(X, Y.T, out=None if buffer is None else buffer[: shape[0] * shape[1]].reshape(shape))


def row_squares(X) -> np.ndarray:
    """Diagonal of ``product(X, X)``, with its bits."""
    return np.concatenate([product(X[s], X[s]).diagonal() for s in slices(X.shape[0], LEAST[0])])


def _filled(X, least: int) -> np.ndarray:
    """Rows of zeros below, up to a whole number of units."""
    n, size = len(X), filled_size(len(X), least)
    if n == size:
        return X
    out = np.empty((size, X.shape[1]))
    out[:n], out[n:] = X, 0.0
    return out


def filled_size(n: int, least: int) -> int:
    """Rows of a block of ``n``, filled up to a whole number of units."""
    return max(n + -n % UNIT, least)
