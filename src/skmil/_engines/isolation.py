r"""Isolation features of bags (Xu, Ting & Zhou, KDD 2019): what kernel and embedding share."""

import numpy as np
from scipy import sparse

from skmil import _state as state
from skmil._engines.partitions import Forest, SparseVoronoi, Voronoi, draw
from skmil._engines.sparse_products import columns_of, inner
from skmil._jit import njit
from skmil._lazy import groups
from skmil._memo import once
from skmil._moments import mostly_zero
from skmil._parameters import SEED, one_of, real, whole
from skmil._random import random_key
from skmil._threads import map_blocks, slices
from skmil.bags import Bags

SMALL = 64  # instances of a bag from which comparing one with all others at once is the faster way
DRAWN, RARE = 8192, 16  # instances that stand for a larger bag, and fewest of them to trust a count
MOST_CELLS, MOST_PARTITIONS = 2**16, 2**15 - 1  # cells fit in 16 bits, columns in 32


# What the parameters of the kernel and of the embedding may be.
CONSTRAINTS: dict = {
    "n_partitions": [whole(1, MOST_PARTITIONS)],
    "n_cells": [whole(1, MOST_CELLS), one_of("auto")],
    "similarity_threshold": [real(0, 1, "both"), None],
    "weights": [one_of("bag", "data", "presence")],
    "partition": [one_of("voronoi", "forest")],
    "metric": [one_of("euclidean", "relevant", "auto")],
    "normalize": ["boolean"],
    "random_state": SEED,
}


def fit_map(estimator, bags: Bags) -> None:
    """Draw the partitions that the parameters of ``estimator`` ask for; sets ``map_`` and its numbers."""
    e = estimator
    if e.partition == "forest" and e.metric == "relevant":
        raise ValueError("metric='relevant' needs partition='voronoi': trees know no distance")
    N = int(bags.sizes.sum())
    key = random_key(e.random_state)
    zeros = "auto" in (e.metric, e.n_cells) and mostly_zero(bags)
    cells = _enough(bags, zeros) if e.n_cells == "auto" else int(e.n_cells)
    # All instances at once would make every partition the same.
    e.n_cells_ = cells if cells < N else max(1, N // 2)
    e.metric_ = e.metric if e.metric != "auto" else "relevant" if zeros else "euclidean"
    samples = draw(key, N, int(e.n_partitions), e.n_cells_)
    relevant = e.metric_ == "relevant"
    used, places = np.unique(samples, return_inverse=True)
    X, places = bags.rows(used).astype(np.float64, copy=False), places.reshape(samples.shape)
    partitions: Forest | SparseVoronoi | Voronoi
    if e.partition == "forest":
        partitions = Forest(X, places, key)
    elif bags.is_sparse or relevant:
        partitions = SparseVoronoi(sparse.csr_matrix(X), places, relevant)
    else:
        partitions = Voronoi(X, places)
    known = _known(partitions, bags) if e.weights == "data" and e.similarity_threshold is not None else None
    presence = e.weights == "presence"
    e.map_ = IsolationMap(partitions, samples.shape, e.similarity_threshold, e.normalize, presence, known)


def _enough(bags, zeros: bool) -> int:
    """Cells of a partition: few for texts, and more for larger bags, which would visit all of them."""
    size = int(bags.sizes.sum()) // len(bags.sizes)
    return min(max(4 if zeros else 64, size // 16), 256)


def _known(partitions, bags: Bags) -> tuple[np.ndarray, int]:
    """Cells of the training instances, or of ``DRAWN`` that stand for them, and how many there are."""
    N = int(bags.sizes.sum())
    rows = np.arange(N)
    if N > DRAWN:
        rows = np.sort(np.random.default_rng(N).choice(N, DRAWN, replace=False))
    parts = [once(_assign, partitions, bags.rows(rows[s])) for s in slices(len(rows), 4096)]
    return np.concatenate(parts), N


class IsolationMap:
    """Fitted partitions, and what they make of bags: features of a bag and shares of its instances."""

    def __init__(self, partitions, shape, threshold, normalize, presence=False, known=None):
        self.partitions, self.n_cells = partitions, shape[1]
        self.n_columns = shape[0] * shape[1]
        self.threshold, self.normalize, self.presence = threshold, normalize, presence
        self.known: np.ndarray | None = None if known is None else known[0]
        self.n_known: int = 0 if known is None else known[1]

    def _check_state(self) -> None:
        t, psi = state.kept(self, "partitions", Voronoi, SparseVoronoi, Forest).shape
        state.count(self, "n_cells", psi, MOST_CELLS)
        state.count(self, "n_columns", t * self.n_cells, t * self.n_cells)
        state.kept(self, "threshold", type(None), float, int)
        state.kept(self, "normalize", bool)
        state.kept(self, "presence", bool)
        if self.known is not None:
            m = len(state.places(self, "known", (None, t), psi))
            state.count(self, "n_known", m, 2**62)

    def features(self, bags: Bags) -> sparse.csr_matrix:
        """One row per bag, one column per cell: the weight that falls into it (eq. 7, 13, 14)."""
        return sparse.vstack(map_blocks(lambda b: self._features(*self._cells(b)), blocks(bags)), "csr")

    def products(self, bags: Bags, Q: sparse.csr_matrix) -> np.ndarray:
        """Inner products of the features of bags with the rows of Q; the features need not be built."""
        columns = columns_of(Q)
        if columns is None:
            return inner(self.features(bags), Q)
        if Q.shape[1] != self.n_columns:
            raise ValueError(f"the rows have {Q.shape[1]} columns and the features {self.n_columns}")
        how = self.n_cells, self.presence, self.normalize
        return np.vstack(map_blocks(lambda b: _products(*self._cells(b), *how, columns), blocks(bags)))

    def shares(self, bags: Bags, W: sparse.csr_matrix) -> np.ndarray:
        """<phi(x, S), w> for each instance x (row) and each row w of W (column).

        Memory beside the result: two bytes for each instance and partition.
        """
        mapped = map_blocks(self._scaled_cells, blocks(bags))
        columns = []
        for s in slices(W.shape[0], 64):
            w = np.ascontiguousarray(W[s].toarray().T)
            parts = map_blocks(lambda m, w=w: _shares(*m, w, self.n_cells), mapped)
            columns.append(np.vstack(parts))
        return np.hstack(columns)

    def _cells(self, bags):
        """Cells of the instances, their weights and where bags begin."""
        cells = once(_assign, self.partitions, bags.instances)  # a search tries many thresholds
        return cells, self._weigh(cells, bags), bags.offsets

    def _weigh(self, cells, bags) -> np.ndarray:
        if self.presence:
            return np.ones(len(cells))
        if self.threshold is None:
            return np.repeat(1.0 / bags.sizes, bags.sizes)
        least = _least(cells.shape[1], float(self.threshold))
        if self.known is None:
            return _weights(_similar_in_bags(cells, bags.offsets, least), bags.offsets)
        found = _compare(cells, np.arange(len(cells)), self.known, least)
        return _weights(np.maximum(1.0, found * (self.n_known / len(self.known))), bags.offsets)

    def _features(self, cells, w, offsets):
        data, columns, starts = self._histograms(cells, w, offsets)
        Z = sparse.csr_matrix((data, columns, starts), shape=(len(offsets) - 1, self.n_columns))
        if self.normalize:
            Z.data /= np.repeat(_lengths(data, starts), np.diff(starts))
        return Z

    def _histograms(self, cells, w, offsets):
        data, columns, starts = _histograms(cells, w, offsets, self.n_cells)
        return np.ones_like(data) if self.presence else data, columns, starts

    def _scaled_cells(self, bags):
        """Cells of the instances, and what each adds to the features of its bag, cell by cell or in all."""
        cells, w, offsets = self._cells(bags)
        data, _, starts = self._histograms(cells, w, offsets)
        if self.normalize:
            w = w / np.repeat(_lengths(data, starts), bags.sizes)
        if not self.presence:
            return cells, w[:, None]
        return cells, w[:, None] / _crowds(cells, offsets, self.n_cells)


def _assign(partitions, X) -> np.ndarray:
    return partitions.cells(X)


def blocks(bags: Bags) -> list[Bags]:
    """The groups of bags that one call maps."""
    return [bags[s] for s in groups(bags.sizes)]


def _lengths(data, starts) -> np.ndarray:
    """Euclidean length of each row of a CSR matrix without empty rows."""
    return np.sqrt(np.add.reduceat(data**2, starts[:-1]))


def _least(t: int, threshold: float) -> int:
    """The smallest number of t shared cells that makes two instances similar."""
    return int(np.argmax(np.append(np.arange(t + 1) / t > threshold, True)))


def _similar_in_bags(cells, offsets, least) -> np.ndarray:
    """For each instance the number of those in its bag that are similar to it, itself included."""
    similar = np.ones(len(cells))
    _count_small(cells, offsets, least, similar)
    for s in np.flatnonzero(np.diff(offsets) > SMALL):
        part = slice(offsets[s], offsets[s + 1])
        similar[part] = _similar(cells[part], least)
    return similar


def _weights(similar, offsets) -> np.ndarray:
    """Eq. 9 and 10: one over the number of similar instances, scaled to add up to 1 in each bag."""
    w = 1.0 / similar
    return w / np.repeat(np.add.reduceat(w, offsets[:-1]), np.diff(offsets))


def _similar(cells, least) -> np.ndarray:
    """For each instance of a bag the number of those similar to it, itself included.

    Up to ``DRAWN`` instances they are counted. Beyond, ``DRAWN`` of them are drawn and stand for all: the
    standard error of the share of similar instances is at most 1 / sqrt(4 DRAWN), 0.6 % of the bag. An
    instance similar to fewer than ``RARE`` of them is counted after all, as long as no more than ``DRAWN``
    are like that; then the relative standard error of a number is at most 1 / sqrt(RARE), a quarter.
    """
    n, rows = len(cells), np.arange(len(cells))
    if n <= DRAWN:
        return _compare(cells, rows, cells, least)
    drawn = np.sort(np.random.default_rng(n).choice(n, DRAWN, replace=False))
    found = _compare(cells, rows, cells[drawn], least)
    itself = np.zeros(n, dtype=bool)
    itself[drawn] = True
    similar = 1.0 + (found - itself) * (n - 1) / (DRAWN - itself)
    rare = np.flatnonzero(found < RARE)
    if len(rare) <= DRAWN:
        similar[rare] = _compare(cells, rare, cells, least)
    return similar


def _compare(cells, rows, others, least) -> np.ndarray:
    """How many of ``others``, given by their cells, share at least ``least`` with each of ``rows``."""
    found = np.zeros(len(rows))
    for part in slices(len(others), 1024):  # their cells stay in the second-level cache
        table = np.ascontiguousarray(others[part].T)
        done = map_blocks(lambda s, t=table: _count(cells, rows[s], t, least), slices(len(rows), 1024))
        found += np.concatenate(done)
    return found


@njit
def _count_small(cells, offsets, least, similar):
    """Add the similar pairs within each bag of at most ``SMALL`` instances."""
    t = cells.shape[1]
    for s in range(len(offsets) - 1):
        if offsets[s + 1] - offsets[s] > SMALL:
            continue
        for x in range(offsets[s], offsets[s + 1]):
            for y in range(x + 1, offsets[s + 1]):
                same = 0
                for p in range(t):
                    same += cells[x, p] == cells[y, p]
                if same >= least:
                    similar[x] += 1
                    similar[y] += 1


@njit
def _count(cells, rows, table, least):
    """How many columns of ``table`` share at least ``least`` cells with each row of ``cells``."""
    found, same = np.zeros(len(rows)), np.empty(table.shape[1], dtype=np.uint16)
    for i in range(len(rows)):
        same[:] = 0
        for p in range(len(table)):  # sixteen others at a time
            c, column = cells[rows[i], p], table[p]
            for j in range(len(same)):
                same[j] += np.uint16(column[j] == c)
        for j in range(len(same)):
            found[i] += same[j] >= least
    return found


@njit
def _histograms(cells, w, offsets, n_cells):
    """Eq. 6 and 13 as the three arrays of a CSR matrix, columns in order."""
    n, t = len(offsets) - 1, cells.shape[1]
    most = 0
    for s in range(n):
        most += t * min(offsets[s + 1] - offsets[s], n_cells)
    data, columns = np.empty(most), np.empty(most, dtype=np.int32)
    starts = np.zeros(n + 1, dtype=np.int64)
    v, stamp = np.zeros(n_cells), np.full(n_cells, -1)
    touched = np.empty(n_cells, dtype=np.int64)
    k = 0
    for s in range(n):
        for p in range(t):
            found = 0
            for x in range(offsets[s], offsets[s + 1]):
                c = cells[x, p]
                if stamp[c] != s * t + p:
                    stamp[c] = s * t + p
                    v[c] = 0.0
                    touched[found] = c
                    found += 1
                v[c] += w[x]
            for c in np.sort(touched[:found]):
                data[k], columns[k] = v[c], p * n_cells + c
                k += 1
        starts[s + 1] = k
    return data[:k].copy(), columns[:k].copy(), starts


@njit
def _products(cells, w, offsets, n_cells, presence, normalize, columns):
    """Products of the features of bags with the rows that ``columns`` holds."""
    starts, rows, values, n_rows = columns
    out, v = np.zeros((len(offsets) - 1, n_rows)), np.zeros(n_cells)
    for s in range(len(out)):
        row, square = out[s], 0.0
        for p in range(cells.shape[1]):
            for x in range(offsets[s], offsets[s + 1]):
                v[cells[x, p]] += w[x]
            for x in range(offsets[s], offsets[s + 1]):
                c = cells[x, p]
                if v[c] > 0.0:  # the first instance of a cell takes what is in it
                    weight = 1.0 if presence else v[c]
                    v[c] = 0.0
                    square += weight * weight
                    j = p * n_cells + c
                    for e in range(starts[j], starts[j + 1]):
                        row[rows[e]] += weight * values[e]
        if normalize:
            row /= np.sqrt(square)
    return out


@njit
def _crowds(cells, offsets, n_cells):
    """In each partition, the instances of its bag that share the cell of an instance, itself included."""
    out, count = np.empty(cells.shape), np.zeros(n_cells)
    for s in range(len(offsets) - 1):
        for p in range(cells.shape[1]):
            for x in range(offsets[s], offsets[s + 1]):
                count[cells[x, p]] = 0.0
            for x in range(offsets[s], offsets[s + 1]):
                count[cells[x, p]] += 1.0
            for x in range(offsets[s], offsets[s + 1]):
                out[x, p] = count[cells[x, p]]
    return out


@njit
def _shares(cells, w, W, n_cells):
    """Sum of the rows of W that belong to the cells of an instance, times its weight there.

    ``w`` has one column where the weight of an instance is the same in all partitions.
    """
    out, one = np.zeros((cells.shape[0], W.shape[1])), w.shape[1] == 1
    for x in range(cells.shape[0]):
        for p in range(cells.shape[1]):
            row, weight = W[p * n_cells + cells[x, p]], 1.0 if one else w[x, p]
            for r in range(W.shape[1]):
                out[x, r] += weight * row[r]
        if one:
            for r in range(W.shape[1]):
                out[x, r] *= w[x, 0]
    return out
