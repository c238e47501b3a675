"""Kernels on instances, and their sums over all pairs of instances of two bags, in blocks."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import validate_parameter_constraints

from skmil._checks import check_squares
from skmil._jit import exp, njit
from skmil._parameters import ANY, COUNT, POSITIVE, one_of
from skmil._product import COLUMNS, LEAST, ROWS, UNIT, filled_product, filled_size, mirrored
from skmil._threads import map_blocks, n_threads, slices
from skmil.bags import Bags

DIAGONAL = 96  # rows of a block on the diagonal, of which a part is computed in vain
SAMPLE = 256  # instances whose mean is near all of them
AT_ONCE = 2**21  # numbers of a table that is moved to the origin as a whole, and not again for each block
BRIEF = 2**26  # multiplications that take a few milliseconds


_CONSTRAINTS = {
    "kind": [one_of("rbf", "linear", "poly"), callable],
    "gamma": [POSITIVE],
    "degree": [COUNT],
    "coef0": [ANY],
    "power": [POSITIVE],
}


@dataclass(frozen=True)
class InstanceKernel:
    """A kernel on instances; called with two tables it gives the matrix of all pairs.

    Parameters
    ----------
    kind : "rbf", "linear", "poly" or a function (X, Y) -> matrix
        ``exp(-gamma |x - y|^2)``, ``<x, y>``, ``(gamma <x, y> + coef0)^degree``.
    power : float
        The kernel is raised to this power, entry by entry (a fraction keeps the sign).
    """

    kind: str | Callable = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    power: float = 1.0

    def __post_init__(self):
        self._check_state()

    def _check_state(self) -> None:
        validate_parameter_constraints(_CONSTRAINTS, vars(self), "InstanceKernel")

    def __call__(self, X, Y) -> np.ndarray:
        """Matrix of all pairs, as a dense array."""
        return self._values(_product, X, Y, _squares(X), _squares(Y))

    def block(self, X, Y, x2, y2, buffer) -> np.ndarray:
        """The same of a block with known squares; no entry depends on the others, and there may be more."""
        return self._values(partial(filled_product, buffer=buffer), X, Y, x2, y2)

    def _values(self, product: Callable, X, Y, x2, y2) -> np.ndarray:
        if callable(self.kind):
            K = np.asarray(self.kind(X, Y), dtype=np.float64)
        elif self.kind == "rbf":
            K = product(X, Y)
            _rbf(K, x2, y2, self.gamma * self.power)
            return K
        elif self.kind == "linear":
            K = product(X, Y)
        else:
            K = (self.gamma * product(X, Y) + self.coef0) ** self.degree
        if float(self.power).is_integer():
            return K if self.power == 1 else K**self.power
        return np.sign(K) * np.abs(K) ** self.power

    def origin(self, A: Bags, B: Bags) -> np.ndarray | None:
        """Where to put the origin, if the kernel does not notice: near it distances keep their digits."""
        if self.kind != "rbf" or A.is_sparse or B.is_sparse:
            return None
        return middle(B) if B.origin is None else B.origin


def middle(bags) -> np.ndarray:
    """A point near all instances: the mean of some, evenly spaced."""
    N = int(bags.sizes.sum())
    rows = np.linspace(0, N - 1, min(N, SAMPLE)).astype(int)
    return bags.rows(rows).astype(np.float64, copy=False).mean(axis=0)


def beside(A: Bags, B: Bags) -> Bags:
    """A, with sums within it measured from where those with B are: which bags are asked has no say."""
    if A is B or A.is_sparse or B.is_sparse:
        return A
    part = A[:]
    part.origin = middle(B) if B.origin is None else B.origin
    return part


def pair_sums(A: Bags, B: Bags, kernel: InstanceKernel, u=None, v=None) -> np.ndarray:
    r"""For each pair of bags, the sum of the kernel over all pairs of their instances.

    .. math:: K_{ij} = \sum_{a \in A_i} \sum_{b \in B_j} k(a, b) \sum_r u_{ar} v_{br}

    Parameters
    ----------
    A, B : Bags
        ``B is A`` (with ``v`` left out) computes one half.
    kernel : InstanceKernel
    u, v : arrays (instances, r), optional
        Weights of the instances of A and B; ones where not given.

    Notes
    -----
    Memory: one block of ``ROWS x COLUMNS`` per thread, a copy of tables of up to ``AT_ONCE`` numbers and
    the result, whatever the bags. A sum goes over
    the instances of A and then of B in their order, however they are cut: its bits depend on the two bags
    and on the origin alone.
    """
    same = A is B and v is None
    u = np.ones((A.offsets[-1], 1)) if u is None else np.ascontiguousarray(u)
    v = u if same else np.ones((B.offsets[-1], u.shape[1])) if v is None else np.ascontiguousarray(v)
    sizes = int(A.offsets[-1]), int(B.offsets[-1])
    if len(u) != sizes[0] or v.shape != (sizes[1], u.shape[1]):
        raise ValueError(f"weights of shapes {u.shape} and {v.shape} for {sizes} instances")
    for bags in [A] if A is B else [A, B]:
        check_squares(bags)
    K, sums = np.zeros((len(A), len(B))), _Sums(A, B, kernel, u, v)
    every = slice(0, len(B))
    # Large groups have few rows that fill up a unit, small ones keep all threads busy.
    groups = _whole_bags(A.offsets, min(4 * ROWS, max(ROWS, sizes[0] // (4 * n_threads()))))

    def task(group):
        return sums.half(group, K) if same else sums.add(group, every, K[group])

    map_blocks(task, groups, sums.brief)
    return mirrored(K) if same else K


def instance_sums(A: Bags, B: Bags, kernel: InstanceKernel, u=None, v=None) -> np.ndarray:
    """``pair_sums`` with a row for each instance of A instead of each bag."""
    return pair_sums(A.one_by_one(), B, kernel, u, v)


def self_sums(A: Bags, kernel: InstanceKernel, u=None) -> np.ndarray:
    """Diagonal of ``pair_sums(A, A)``."""
    u = np.ones((A.offsets[-1], 1)) if u is None else np.ascontiguousarray(u)
    check_squares(A)
    sums, out = _Sums(A, A, kernel, u, u), np.empty(len(A))

    def within(group):
        K = np.zeros((group.stop - group.start,) * 2)
        sums.among(group, K)
        out[group] = K.diagonal()

    map_blocks(within, _whole_bags(A.offsets, DIAGONAL), sums.brief)
    return out


def _product(X, Y) -> np.ndarray:
    G = X @ Y.T
    return G.toarray() if sparse.issparse(G) else G


def _squares(X) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _whole_bags(offsets, size: int) -> list[slice]:
    """Groups of neighbouring bags with about ``size`` instances; a bag of several blocks is alone."""
    large = np.flatnonzero(np.diff(offsets) > ROWS).tolist()
    groups, start = [], 0
    for end in sorted({*large, *(i + 1 for i in large), len(offsets) - 1}):
        while start < end:
            goal = offsets[start] + size
            stop = min(int(np.searchsorted(offsets, goal)), end)
            if offsets[stop] - goal > goal - offsets[stop - 1]:
                stop -= 1
            groups.append(slice(start, max(stop, start + 1)))
            start = groups[-1].stop
    return groups


class _Table:
    """Instances around an origin, block by block."""

    def __init__(self, bags: Bags, origin, exact: bool):
        X = bags.instances
        whole = origin is not None and X.size <= AT_ONCE
        self.table, self.origin, self.exact = X - origin if whole else X, None if whole else origin, exact

    def rows(self, rows: slice, least: int, out=None):
        """Some rows in float64, with as many behind them as fill up a block for BLAS, unless ``exact``."""
        n = rows.stop - rows.start
        X = self.table[rows.start : rows.start + (n if self.exact else filled_size(n, least))]
        if self.origin is None:
            return X.astype(np.float64, copy=False)
        return np.subtract(X, self.origin, out=None if out is None else out[: len(X)])

    def squares(self) -> np.ndarray:
        """Squared length of each row."""
        parts = slices(self.table.shape[0], COLUMNS)
        return np.concatenate([_squares(self.rows(s, 0)[: s.stop - s.start]) for s in parts])


class _Sums:
    """Tasks of ``pair_sums``. Each has bags of A to itself, so that no two write to the same row."""

    def __init__(self, A, B, kernel, u, v):
        self.A, self.B, self.kernel, self.u, self.v = A, B, kernel, u, v
        self.row_bag, self.column_bag = np.append(A.owner, -1), B.owner
        origin, exact = kernel.origin(A, B), callable(kernel.kind) or A.is_sparse or B.is_sparse
        self.row_table = _Table(A, origin, exact)
        self.column_table = self.row_table if A is B else _Table(B, origin, exact)
        self.thread = threading.local()
        pairs = len(self.u) * len(self.v)
        self.brief = not callable(kernel.kind) and pairs * (A.n_features + 64) <= BRIEF
        self.row_squares = self._squares(self.row_table)
        self.column_squares = self.row_squares if A is B else self._squares(self.column_table)

    def add(self, group: slice, columns: slice, out, first: int = 0) -> None:
        """Add the sums of bags of A with bags of B to ``out``, whose columns begin with bag ``first``."""
        parts = _evenly(*_range(self.A, group))
        for c in _between(*_range(self.B, columns), COLUMNS):
            Y, open_sums = self._columns(c), np.zeros((self.u.shape[1], c.stop - c.start))
            for r in parts:
                owner = self.row_bag[r.start : r.stop + 1] - group.start
                self._add(r, c, Y, (owner, self.column_bag[c] - first), open_sums, out)

    def half(self, group: slice, K) -> None:
        """Write the sums of a group with itself and with all bags after it to its rows of K."""
        every = len(self.B)
        start, stop = _range(self.B, slice(group.start, every))
        if stop - start <= COLUMNS and not self._is_large(group):
            self.among(group, K[group, group.start :])
        else:
            self.add(group, slice(group.stop, every), K[group])
            self.among(group, K[group, group])

    def among(self, group: slice, out) -> None:
        """Write the sums of a group with itself, and with the next bags if ``out`` has columns for them.

        Left of a bag's sum with itself there may be anything.
        """
        if self._is_large(group):
            out[...] = self._within(*_range(self.A, group))
            return
        for g in _whole_bags(self.A.offsets[group.start : group.stop + 1], DIAGONAL):
            part = slice(group.start + g.start, group.start + g.stop)
            self.add(part, slice(part.start, group.start + out.shape[1]), out[g], group.start)

    def _is_large(self, group: slice) -> bool:
        """Whether it is one bag of several blocks."""
        start, stop = _range(self.A, group)
        return group.stop - group.start == 1 and stop - start > ROWS

    def _within(self, start: int, stop: int) -> np.ndarray:
        """The sum of one bag of several blocks with itself, which computes half of them."""
        on, off = np.zeros((2, 1, 1))
        parts = _between(start, stop, ROWS)
        for k, c in enumerate(parts):
            Y = self._columns(c)
            for r in parts[: k + 1]:
                n, m = r.stop - r.start, c.stop - c.start
                owners = np.append(np.zeros(n, np.int64), -1), np.zeros(m, np.int64)
                self._add(r, c, Y, owners, np.zeros((self.u.shape[1], m)), on if r == c else off)
        return on + 2 * off

    def _add(self, rows, columns, Y, owners, open_sums, out) -> None:
        moved, _, buffer = self._room()
        X = self.row_table.rows(rows, LEAST[0], moved)
        K = self.kernel.block(X, Y, self.row_squares[rows], self.column_squares[columns], buffer)
        _segment_sums(K, *owners, self.u[rows], self.v[columns], open_sums, out)

    def _columns(self, columns: slice):
        return self.column_table.rows(columns, LEAST[1], self._room()[1])

    def _room(self):
        """Memory of this thread for the rows and columns of a block that are moved, and for the block.

        To ask the system for it for each block takes as long as the block, in the workers of Dask above
        all, which give all memory back at once.
        """
        if not hasattr(self.thread, "room"):
            tables = self.row_table, self.column_table
            n, m = (t.table.shape[0] for t in tables)
            n = filled_size(min(n, ROWS + ROWS // 2), LEAST[0])
            m = filled_size(min(m, max(ROWS, COLUMNS)), LEAST[1])
            x, y = (0 if t.origin is None else self.A.n_features for t in tables)
            self.thread.room = np.empty((n, x)), np.empty((m, y)), np.empty(n * m)
        return self.thread.room

    def _squares(self, table: _Table) -> np.ndarray:
        # No other kernel reads them.
        return table.squares() if self.kernel.kind == "rbf" else np.empty(table.table.shape[0])


def _range(bags: Bags, part: slice) -> tuple[int, int]:
    """First instance of some neighbouring bags, and the one behind them."""
    return int(bags.offsets[part.start]), int(bags.offsets[part.stop])


def _between(start: int, stop: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def _evenly(start: int, stop: int) -> list[slice]:
    """Parts of whole units, about ``ROWS`` each; the last has what is left."""
    n_parts = max(1, round((stop - start) / ROWS))
    return _between(start, stop, filled_size(-(-(stop - start) // n_parts), UNIT))


@njit
def _rbf(G, x2, y2, gamma):
    """Turn inner products into exp(-gamma |x - y|^2), in place."""
    for i in range(len(x2)):
        for j in range(len(y2)):
            G[i, j] = exp(-gamma * max(x2[i] + y2[j] - 2.0 * G[i, j], 0.0))


@njit
def _segment_sums(K, row_bag, column_bag, u, v, open_sums, out):
    """out[a, b] += sum of u_r K v_r over the rows of bag a and the columns of bag b.

    ``row_bag`` names the bags of the rows and of the one after them. The sums over the rows of a bag that
    goes on there stay in ``open_sums`` (r, columns).
    """
    m, sums = len(column_bag), open_sums[0]
    for i in range(len(u)):
        for r in range(u.shape[1]):
            w, of_r = u[i, r], open_sums[r]
            for j in range(m):
                of_r[j] += w * K[i, j]
        if row_bag[i + 1] != row_bag[i]:
            for j in range(m):
                sums[j] *= v[j, 0]
            for r in range(1, u.shape[1]):
                for j in range(m):
                    sums[j] += open_sums[r, j] * v[j, r]
            for j in range(m):
                out[row_bag[i], column_bag[j]] += sums[j]
            open_sums[:] = 0.0
