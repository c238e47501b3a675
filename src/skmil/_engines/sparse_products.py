"""Inner products of sparse features: of rows that are there, and of rows that need never be made.

A new bag meets the same few training bags again and again. What one of its features adds to its products
with all of them is a column of their table. A compiled loop that knows the features of the bag looks these
columns up and adds them, so that no sparse row is built. Where so many training bags share a feature that
its column is long, products of dense blocks are faster.
"""

from collections import namedtuple

import numpy as np

from skmil._product import mirrored, product
from skmil._threads import map_blocks, n_threads, slices

MOST = 64  # rows that share a feature, in the mean, up to which it is faster to look them up

Columns = namedtuple("Columns", ["starts", "rows", "values", "n_rows"])
Columns.__doc__ = "A sparse table by columns: column j is (rows, values)[starts[j] : starts[j + 1]]."


def inner(P, Q) -> np.ndarray:
    """All inner products of rows; those of a row that fills many cells by dense blocks of columns."""
    many = np.diff(P.indptr) >= 0.05 * P.shape[1]
    if many.all():
        K = _dense_inner(P.tocsc(), Q.tocsc())
    else:
        K, few, columns = np.zeros((P.shape[0], Q.shape[0])), np.flatnonzero(~many), Q.T.tocsr()
        for s in slices(len(few), 256):
            K[few[s]] = (P[few[s]] @ columns).toarray()
        if many.any():
            K[many] = _dense_inner(P[many].tocsc(), Q.tocsc())
    return mirrored(K) if P is Q else K


def columns_of(Q) -> Columns | None:
    """The columns of Q to look up; None where they hold so many rows that ``inner`` is faster."""
    if Q.nnz > MOST * Q.shape[1]:
        return None
    T = Q.tocsc()
    return Columns(T.indptr.astype(np.int64), T.indices.astype(np.int64), T.data, Q.shape[0])


def _dense_inner(A, B) -> np.ndarray:
    parts = slices(A.shape[1], 8192)
    K = product(A[:, parts[0]].toarray(), B[:, parts[0]].toarray())
    for some in slices(len(parts) - 1, n_threads()):  # as many as are computed together
        rest = [parts[1 + k] for k in range(some.start, some.stop)]
        for part in map_blocks(lambda s: product(A[:, s].toarray(), B[:, s].toarray()), rest):
            K += part
    return K
