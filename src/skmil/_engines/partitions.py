"""Random partitions of space (Ting, Zhu & Zhou, KDD 2018): Voronoi diagrams and isolation trees.

Both answer one question, ``cells(X)``: in which cell of each of the t partitions does an instance lie?
Products by BLAS in float32 find the nearest centre, and a bound on their error says where they cannot:
there float64 decides. So the answer is that of exact arithmetic on float64 distances, on any machine,
with any BLAS and any number of threads; equal distances go to the centre that came first in training.
"""

import numpy as np
from scipy import sparse
from sklearn.tree import ExtraTreeRegressor

from skmil._jit import njit
from skmil._lazy import GROUP
from skmil._random import mix, uniform
from skmil._threads import slices

PRODUCTS = 2**17  # numbers in one block of products: half a megabyte, for the second-level cache
UNIT = 2.0**-24  # largest relative error of one float32 operation
EPS = 2.0**-52
FAR = 1e30  # new instances may lie anywhere: float32 ends at 3e38


class Voronoi:
    """t Voronoi diagrams whose centres are rows of one table of instances.

    Parameters
    ----------
    X : array (n, d)
        Training instances that are a centre somewhere.
    samples : int array (t, psi)
        Rows of X that are the centres of each diagram, in ascending order.
    """

    def __init__(self, X, samples):
        self.centers = X
        self.samples = samples.astype(np.int32)
        self.origin = self.centers.mean(axis=0)
        moved = self.centers - self.origin
        self.scale = np.abs(moved).max() or 1.0
        moved /= self.scale
        half = np.einsum("ij,ij->i", moved, moved) / 2
        # <x, c> - |c|^2 / 2 is largest for the nearest centre: one product with a column of ones.
        self.table = np.column_stack([moved, -half]).astype(np.float32)
        self.radius = np.sqrt(2 * half[self.samples].max(axis=1))
        self.chunks = _chunks(self.samples, len(X))

    def cells(self, X) -> np.ndarray:
        """Number of the cell of each instance (row) in each diagram (column)."""
        X = X.toarray() if sparse.issparse(X) else X
        out = np.empty((len(X), len(self.samples)), dtype=np.uint16)
        for s in slices(len(X), GROUP):  # a large bag is not copied as a whole
            self._fill(X[s], out[s])
        return out

    def _fill(self, X, out) -> None:
        x, size = self._homogeneous(X)
        for part, rows, local in self.chunks:
            table = self.table if rows is None else self.table[rows]
            n = min(max(PRODUCTS // len(table), 64), 512)
            buffer = np.empty(len(table) * n, dtype=np.float32)
            for s in slices(len(X), n):
                G = buffer[: len(table) * len(x[s])].reshape(len(table), -1)
                with np.errstate(over="ignore", invalid="ignore"):
                    np.matmul(table, x[s].T, out=G)
                exact = X[s], self.centers, self.samples[part]
                _nearest(G, local, size[s], self.radius[part], exact, out[s, part])

    def _homogeneous(self, X):
        """(x, 1) in the units of the table as float32, and the length of x.

        Where float32 might overflow the length is infinite, which leaves all to float64.
        """
        with np.errstate(over="ignore"):
            moved = (X - self.origin) / self.scale
            size = np.sqrt(np.einsum("ij,ij->i", moved, moved))
            x = np.column_stack([moved, np.ones(len(X))]).astype(np.float32)
        return x, np.where(size < 1e15, size, np.inf)


class SparseVoronoi:
    r"""Voronoi diagrams of sparse instances; distances by an inverted index of the centres.

    Parameters
    ----------
    X, samples : as in ``Voronoi``
    relevant : bool
        Divide the squared distance by the number of features that are not zero in both instances
        (eq. 15 of Xu, Ting & Zhou 2019); two empty instances have distance 0.
    """

    def __init__(self, X, samples, relevant):
        centers = _without_zeros(X)
        self.samples = samples.astype(np.int32)
        self.relevant = relevant
        self.counts = np.diff(centers.indptr).astype(np.int64)
        self.squares = centers.multiply(centers) @ np.ones(centers.shape[1])
        self.index = centers.T.tocsr()
        self.rows = centers

    def cells(self, X) -> np.ndarray:
        """Number of the cell of each instance (row) in each diagram (column)."""
        out = np.empty((X.shape[0], len(self.samples)), dtype=np.uint16)
        X = _without_zeros(sparse.csr_matrix(X, dtype=np.float64))
        parts = [(m.indptr, m.indices, m.data) for m in (X, self.index, self.rows)]
        _nearest_sparse(*parts, self.squares, self.counts, self.samples, self.relevant, out)
        return out


class Forest:
    """t isolation trees, grown until each of the psi sampled instances is alone in its leaf.

    The trees work in float32 and take what differs by less than 1e-7 for equal, so features are brought to
    [0, 1] in float64 first (sparse ones, which are not shifted, to a largest size of 1).
    """

    def __init__(self, X, samples, key):
        seeds = [int(mix(key, p)) % 2**32 for p in range(len(samples))]
        self.low, self.scale = _range(X)
        X = self._unit(X)
        self.trees = [_isolation_tree(X[s], seed) for s, seed in zip(samples, seeds, strict=True)]
        leaves = [t.tree_.children_left < 0 for t in self.trees]
        self.ranks = [np.cumsum(leaf) - 1 for leaf in leaves]

    def cells(self, X) -> np.ndarray:
        """Number of the leaf of each instance (row) in each tree (column)."""
        X = self._unit(X)
        nodes = (t.tree_.apply(X) for t in self.trees)
        cells = [rank[node] for rank, node in zip(self.ranks, nodes, strict=True)]
        return np.column_stack(cells).astype(np.uint16)

    def _unit(self, X):
        if sparse.issparse(X):
            return X.multiply(1.0 / self.scale).tocsr().astype(np.float32)
        with np.errstate(over="ignore"):
            return np.clip((X - self.low) / self.scale, -FAR, FAR).astype(np.float32)


def _range(X):
    """Smallest value and range of each feature; 0 and the largest size where sparse; 1 where that is 0."""
    if sparse.issparse(X):
        low, scale = 0.0, np.abs(X).max(axis=0).toarray().ravel()
    else:
        low = X.min(axis=0)
        scale = X.max(axis=0) - low
    return low, np.where(scale > 0, scale, 1.0)


def draw(key, n: int, n_partitions: int, n_cells: int) -> np.ndarray:
    """``n_cells`` different numbers below ``n`` for each partition, in ascending order."""
    return np.sort(_draw(key, n, n_partitions, n_cells), axis=1)


def _chunks(samples, n_used):
    """Diagrams whose products are taken together: (columns, rows of the table or None, places in it).

    Where diagrams share most of their centres one product with the whole table serves all.
    """
    t, psi = samples.shape
    if 2 * n_used <= t * psi:
        return [(slice(0, t), None, samples)]
    found = []
    for part in slices(t, max(1, 512 // psi)):
        rows, local = np.unique(samples[part], return_inverse=True)
        found.append((part, rows, local.reshape(-1, psi).astype(np.int32)))
    return found


def _without_zeros(X):
    if X.data.all() and X.has_sorted_indices:
        return X
    X = X.copy()
    X.eliminate_zeros()
    X.sort_indices()
    return X


def _isolation_tree(X, seed):
    """Random feature, random cut; random targets, so that no cut has equal means and stops the tree."""
    tree = ExtraTreeRegressor(max_features=1, splitter="random", random_state=seed)
    return tree.fit(X, np.random.default_rng(seed).random(X.shape[0]))


@njit
def _draw(key, n, n_partitions, n_cells):
    """Floyd's sampling without replacement (Bentley & Floyd 1987), one random stream per partition."""
    out = np.empty((n_partitions, n_cells), dtype=np.int64)
    taken = np.zeros(n, dtype=np.bool_)
    for p in range(n_partitions):
        stream = mix(key, np.uint64(p))
        for k in range(n_cells):
            last = n - n_cells + k
            r = np.int64(uniform(stream, np.uint64(k)) * (last + 1))
            out[p, k] = last if taken[r] else r
            taken[out[p, k]] = True
        for k in range(n_cells):
            taken[out[p, k]] = False
    return out


@njit
def _nearest(G, local, size, radius, exact, out):
    """Row with the largest score for each diagram and instance (column); loops run over instances."""
    X, centers, samples = exact
    n = G.shape[1]
    best, second = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
    cell = np.empty(n, dtype=np.int32)
    for p in range(local.shape[0]):
        best[:], second[:], cell[:] = -np.inf, -np.inf, 0
        psi = local.shape[1]
        for j in range(0, psi - 3, 4):
            g = G[local[p, j]], G[local[p, j + 1]], G[local[p, j + 2]], G[local[p, j + 3]]
            _keep_four(g, j, best, second, cell)
        for j in range(psi - psi % 4, psi):
            _keep(G[local[p, j]], j, best, second, cell)
        for i in range(n):
            # Error of two scores: d + 1 products and sums, and the rounding of what goes in.
            slack = 2 * (X.shape[1] + 4) * UNIT * (size[i] * radius[p] + radius[p] ** 2 / 2)
            if not best[i] - second[i] > slack:
                cell[i] = _decide(G[:, i], local[p], best[i] - slack, X[i], centers, samples[p])
            out[i, p] = cell[i]


@njit
def _keep(g, j, best, second, cell):
    """Let row j of scores compete with the best and the second best so far, for each instance."""
    for i in range(len(g)):
        a, b = g[i], best[i]
        second[i] = max(second[i], min(a, b))
        cell[i] = np.int32(j) if a > b else cell[i]
        best[i] = max(a, b)


@njit
def _keep_four(g, j, best, second, cell):
    """``_keep`` for rows j to j + 3, which saves loads and stores."""
    for i in range(len(best)):
        b, s, c = best[i], second[i], cell[i]
        for a, k in ((g[0][i], 0), (g[1][i], 1), (g[2][i], 2), (g[3][i], 3)):
            s = max(s, min(a, b))
            c = np.int32(j + k) if a > b else c
            b = max(a, b)
        best[i], second[i], cell[i] = b, s, c


@njit
def _decide(g, local, least, x, centers, samples):
    """Nearest centre in float64 among those that float32 leaves open; the first of equals."""
    nearest, cell = np.inf, 0
    for j in range(len(local)):
        if not g[local[j]] < least:
            d2 = 0.0
            for k in range(len(x)):
                d2 += (x[k] - centers[samples[j], k]) ** 2
            if d2 < nearest:
                nearest, cell = d2, j
    return cell


@njit
def _nearest_sparse(X, index, rows, squares, counts, samples, relevant, out):
    """Nearest centre by distances to all centres of the table, which diagrams share.

    |x|^2 + |c|^2 - 2 <x, c> cancels where both are long and close; a bound on its error says which centres
    may be the nearest, and differences of features decide among them.
    """
    n = len(squares)
    dot, slack, known = np.empty(n), np.empty(n), np.empty(n)
    both = np.empty(n, dtype=np.int64)
    for i in range(out.shape[0]):
        x2 = _products(X, i, index, dot, both)
        present = X[0][i + 1] - X[0][i]
        known[:] = -1.0
        for c in range(n):
            size = max(present + counts[c] - both[c], 1) if relevant else 1
            dot[c] = max(x2 + squares[c] - 2.0 * dot[c], 0.0) / size
            slack[c] = 4 * EPS * (present + counts[c] + 4) * (x2 + squares[c]) / size
        for p in range(samples.shape[0]):
            least = np.inf
            for c in samples[p]:
                least = min(least, dot[c] + slack[c])
            nearest, cell = np.inf, 0
            for j in range(samples.shape[1]):
                c = samples[p, j]
                if dot[c] - slack[c] <= least:
                    if known[c] < 0:
                        known[c] = _difference(X, i, rows, c, relevant)
                    if known[c] < nearest:
                        nearest, cell = known[c], j
            out[i, p] = cell


@njit
def _difference(X, i, rows, c, relevant):
    """Squared distance of two sparse rows, feature by feature."""
    a, a_end, b, b_end = X[0][i], X[0][i + 1], rows[0][c], rows[0][c + 1]
    total, size = 0.0, 0
    while a < a_end or b < b_end:
        k = X[1][a] if a < a_end else np.iinfo(np.int64).max
        m = rows[1][b] if b < b_end else np.iinfo(np.int64).max
        v = 0.0
        if k <= m:
            v += X[2][a]
            a += 1
        if m <= k:
            v -= rows[2][b]
            b += 1
        total += v * v
        size += 1
    return total / max(size, 1) if relevant else total


@njit
def _products(X, i, index, dot, both):
    """<x, c> and the number of features they share for all centres; returns |x|^2."""
    dot[:], both[:] = 0.0, 0
    square = 0.0
    for a in range(X[0][i], X[0][i + 1]):
        k, v = X[1][a], X[2][a]
        square += v * v
        for b in range(index[0][k], index[0][k + 1]):
            dot[index[1][b]] += v * index[2][b]
            both[index[1][b]] += 1
    return square
