r"""Hausdorff distances between bags: exact, and only as many as matter."""

from collections import namedtuple
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from skmil import _state as state
from skmil._engines.hausdorff_loops import AVERAGE, MAXIMAL, MINIMAL, least_squares, row_of_distances
from skmil._engines.nearest import nearest
from skmil._threads import map_blocks, one_blas_thread, slices
from skmil.bags import Bags, as_bags

DISTANCES = {"minimal": MINIMAL, "maximal": MAXIMAL, "average": AVERAGE}
HEAD = 16  # directions of the short copies by which most pairs of instances are ruled out
LEAF = 16  # instances of a bag that share a box
MANY = 500  # bags of up to LEAF instances, from which products rule out pairs
ROWS = 4  # bags per task: few, since bags differ in size

Table = namedtuple("Table", "leaves cuts low high center head values starts largest")
Table.__doc__ = """Bags for compiled code.

Bag i has the leaves ``leaves[i]`` to ``leaves[i + 1]``, leaf l has the instances ``cuts[l]`` to
``cuts[l + 1]`` and the box from ``low[l]`` to ``high[l]`` around their short copies in ``head``. Instance
a is ``values[a]`` or, where there are ``starts``, the pairs of feature and value in
``values[starts[a]:starts[a + 1]]``. ``largest`` is the largest square of a short copy.
"""


def hausdorff(X, Y=None, distance="minimal") -> np.ndarray:
    """Matrix of Hausdorff distances between bags.

    Parameters
    ----------
    X, Y : bags
        ``Y`` is ``X`` where not given.
    distance : "minimal", "maximal" or "average"
        See ``CitationKNN`` for the formulas.

    Examples
    --------
    >>> from skmil.learners import hausdorff
    >>> hausdorff([[[0.0], [4.0]], [[1.0]]], distance="maximal")
    array([[0., 3.],
           [3., 0.]])
    """
    A = as_bags(X)
    B = A if Y is None else as_bags(Y)
    if A.n_features != B.n_features:
        raise ValueError(f"X has {A.n_features} features and Y has {B.n_features}; they must agree")
    return BagIndex(B, distance).all_distances(A)


class BagIndex:
    """Bags that can be asked for those near another bag.

    Every instance also has a short copy: its projection on a few directions along which the bags
    differ most. Any orthonormal directions bound distances from below; good ones bound them well.

    Parameters
    ----------
    bags : Bags
    distance : "minimal", "maximal" or "average"
    """

    def __init__(self, bags: Bags, distance: str):
        if distance not in DISTANCES:
            raise ValueError(f"distance is {distance!r}; use one of {', '.join(DISTANCES)}")
        self.kind = DISTANCES[distance]
        self.is_sparse = bags.is_sparse
        X = _sample(bags.instances)
        self.mean = np.zeros(X.shape[1]) if self.is_sparse else X.mean(axis=0)
        # Features that vary most come first, so that a distance is soon too large to matter.
        self.order = None if self.is_sparse else np.argsort(-X.var(axis=0), kind="stable")
        with one_blas_thread():  # several wait for each other longer than these small products take
            self.directions = _directions(X if self.is_sparse else X - self.mean)
        self.table = self.prepare(bags)

    def __len__(self) -> int:
        return len(self.table.leaves) - 1

    def _check_state(self) -> None:
        d = len(state.finite(self, "mean", (None,)))
        state.finite(self, "directions", (d, HEAD))
        state.kept(self, "is_sparse", bool)
        state.count(self, "kind", 0, len(DISTANCES) - 1)
        if not self.is_sparse:
            order = state.places(self, "order", (d,), d)
            if len(np.unique(order)) < d:
                raise state.damaged(self, "order names a feature twice")
        check_table(state.kept(self, "table", Table), self.is_sparse, d)

    def rows(self, bags: Bags, k: int, reach: np.ndarray, use: Callable) -> np.ndarray:
        """``use(row)`` for each bag, where row holds its distances to the indexed bags.

        They are exact where not larger than the k-th smallest of the row or than the ``reach`` of the
        indexed bag, and infinite elsewhere; squared unless average.
        """
        table, n = self.prepare(bags), len(self)
        if reach.shape != (n,):
            raise ValueError(f"reach has shape {reach.shape} for {n} bags")

        def block(rows):
            found = range(rows.start, rows.stop)
            return [use(self._row(table, i, -1, n, n, k, np.inf, reach)) for i in found]

        return np.concatenate(map_blocks(block, slices(len(bags), ROWS)))

    def kth_distances(self, k: int) -> np.ndarray:
        """Distance from each indexed bag to the k-th nearest other one, infinite where there are fewer."""
        n, none = len(self), np.full(len(self), -1.0)
        if self._are_small(n, k):
            return self._kth_by_products(k)

        def upper(i):  # the k bags that look nearest bound it from above
            return kth_smallest(self._row(self.table, i, i, n, k + 1, k, np.inf, none), k)

        def below(i):  # a distance matters to either of two bags, and is computed once
            row = self._row(self.table, i, i, i, n, k, bounds[i], bounds)
            near = np.flatnonzero(row < np.inf)
            return near, row[near]

        bounds = np.array(map_blocks(upper, range(n)))
        smallest = np.full((n, k), np.inf)
        for i, (near, values) in enumerate(map_blocks(below, range(n))):
            for j, value in zip(near, values, strict=True):
                for row in (smallest[i], smallest[j]):
                    row[-1] = min(row[-1], value)
                    row.sort()
        return smallest[:, -1]

    def _are_small(self, n: int, k: int) -> bool:
        """Whether bags are so small that products of all instances rule out pairs faster than boxes do."""
        small = len(self.table.head) <= LEAF * n
        return self.kind == MINIMAL and not self.is_sparse and small and n >= max(MANY, k + 1)

    def _kth_by_products(self, k: int) -> np.ndarray:
        """``kth_distances``: matrix products give all up to rounding, and sums the few that may be k-th."""
        T, n = self.table, len(self)
        offsets = T.cuts[T.leaves]
        bags = Bags(T.values, offsets)
        tiny = 1e-12 * float(np.max(np.einsum("ij,ij->i", T.values, T.values)))

        def block(rows):
            rough = np.minimum.reduceat(nearest(bags[rows], T.values), offsets[:-1], axis=1)
            rough[np.arange(len(rough)), np.arange(rows.start, rows.stop)] = np.inf
            kth = np.partition(rough, k - 1, axis=1)[:, k - 1]
            i, j = np.nonzero(rough <= (kth * (1 + 1e-9) + tiny)[:, None])
            exact = least_squares(T.values, offsets, i + rows.start, j)
            cuts = np.searchsorted(i, np.arange(len(rough) + 1))
            return [kth_smallest(exact[a:b], k) for a, b in pairwise(cuts)]

        return np.concatenate(map_blocks(block, slices(n, 4 * LEAF)))

    def _row(self, table, i, skip, before, most, k, start, reach) -> np.ndarray:
        tiny = 1e-14 * max(table.largest, self.table.largest)
        A, B = table[:-1], self.table[:-1]
        return row_of_distances(
            *A, i, *B, skip, before, most, min(k, len(self)), start, reach, self.kind, tiny
        )

    def all_distances(self, bags: Bags) -> np.ndarray:
        """Matrix of the distances of other bags to those of the index."""
        everywhere = np.full(len(self), np.inf)
        D = self.rows(bags, len(self), everywhere, lambda row: row)
        return D if self.kind == AVERAGE else np.sqrt(D)

    def prepare(self, bags: Bags) -> Table:
        """Bags as the compiled code wants them."""
        X = bags.instances
        if bags.is_sparse != self.is_sparse:
            X = X.toarray() if bags.is_sparse else sparse.csr_matrix(X)
        head = (X if self.is_sparse else X - self.mean) @ self.directions
        rows, leaves, cuts = _leaves(head, bags.offsets)
        X, head = X[rows], head[rows]
        low, high = np.minimum.reduceat(head, cuts[:-1]), np.maximum.reduceat(head, cuts[:-1])
        center = np.add.reduceat(head, cuts[:-1]) / np.diff(cuts)[:, None]
        if self.is_sparse:
            values, starts = np.column_stack([X.indices, X.data]), X.indptr.astype(np.int64)
        else:
            values, starts = np.zeros((X.shape[0], -(-X.shape[1] // 8) * 8)), np.empty(0, np.int64)
            values[:, : X.shape[1]] = X[:, self.order]  # then zeros up to a multiple of eight
        largest = float(np.max(np.einsum("ij,ij->i", head, head)))
        return Table(leaves, cuts, low, high, center, head, values, starts, largest)


def check_table(table: Table, is_sparse: bool, d: int) -> None:
    """Hold a table from a file to what compiled code expects of it."""
    N = state.finite(table, "head", (None, HEAD)).shape[0]
    n_leaves = len(state.cuts(table, "cuts", N)) - 1
    state.cuts(table, "leaves", n_leaves)
    for name in ("low", "high", "center"):
        state.finite(table, name, (n_leaves, HEAD))
    if is_sparse:
        starts = state.array(table, "starts", (N + 1,), np.int64)
        entries = len(state.finite(table, "values", (None, 2)))
        if starts[0] != 0 or starts[-1] != entries or (np.diff(starts) < 0).any():
            raise ValueError(f"Table: starts do not run from 0 to {entries}")
    else:
        state.finite(table, "values", (N, -(-d // 8) * 8))
        state.array(table, "starts", (0,), np.int64)
    state.kept(table, "largest", float)


def _leaves(head: np.ndarray, offsets: np.ndarray):
    """Cut each bag into leaves of near instances: order of the rows, leaves per bag, rows per leaf."""
    parts: list[np.ndarray] = []
    leaves = [0]
    for start, stop in pairwise(offsets):
        todo = [np.arange(start, stop)]
        while todo:
            rows = todo.pop()
            if len(rows) <= LEAF:
                parts.append(rows)
                continue
            widest = head[rows, np.argmax(np.ptp(head[rows], axis=0))]
            halves = np.argpartition(widest, len(rows) // 2)
            todo += [rows[halves[len(rows) // 2 :]], rows[halves[: len(rows) // 2]]]
        leaves.append(len(parts))
    cuts = np.cumsum([0] + [len(p) for p in parts])
    return np.concatenate(parts), np.array(leaves), cuts


def _sample(X, most: int = 2000):
    rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], most)).astype(int)
    return X[rows]


def _directions(X) -> np.ndarray:
    """HEAD orthonormal directions, the strongest of X; zeros where X has fewer."""
    k = min(HEAD, *X.shape)
    strongest = randomized_svd(X, k, n_iter=2, random_state=0)[2]
    directions = np.zeros((X.shape[1], HEAD))
    directions[:, :k] = np.linalg.qr(strongest.T)[0]
    return directions


def kth_smallest(row: np.ndarray, k: int) -> float:
    """The k-th smallest number, infinity where there are fewer."""
    return float(np.partition(row, k - 1)[k - 1]) if k <= len(row) else np.inf
