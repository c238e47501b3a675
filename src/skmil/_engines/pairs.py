"""Kernels on instances, and their sums over all pairs of instances of two bags, in blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import validate_parameter_constraints

from skmil._checks import check_squares
from skmil._jit import exp, njit
from skmil._parameters import ANY, COUNT, POSITIVE, one_of
from skmil._product import COLUMNS, ROWS, filled_product, room
from skmil._threads import map_blocks, slices
from skmil.bags import Bags, as_bags

DIAGONAL = 64  # rows of a block of which only the sums within bags are wanted
SAMPLE = 256  # instances whose mean is near all of them


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
    rows = np.unique(np.linspace(0, N - 1, min(N, SAMPLE)).astype(int))
    return bags.rows(rows).astype(np.float64).mean(axis=0)


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
    Memory: one block of ``ROWS x COLUMNS`` per thread and the result, whatever the bags. A sum goes over
    the instances of A and then of B in their order, however they are cut: its bits depend on the two bags
    and on the origin alone.
    """
    same = A is B and v is None
    u = np.ones((A.offsets[-1], 1)) if u is None else np.ascontiguousarray(u)
    v = u if same else np.ones((B.offsets[-1], u.shape[1])) if v is None else np.ascontiguousarray(v)
    sizes = int(A.offsets[-1]), int(B.offsets[-1])
    if len(u) != sizes[0] or v.shape != (sizes[1], u.shape[1]):
        raise ValueError(f"weights of shapes {u.shape} and {v.shape} for {sizes} instances")
    check_squares(A)
    check_squares(B)
    K, sums = np.zeros((len(A), len(B))), _Sums(A, B, kernel, u, v)
    groups = _whole_bags(A.offsets, ROWS)
    every = slice(0, len(B))
    map_blocks(lambda group: sums.half(group, K) if same else sums.add(group, every, K[group]), groups)
    if same:
        for g in groups:
            K[g.stop :, g] = K[g, g.stop :].T
    return K


def instance_sums(A: Bags, B: Bags, kernel: InstanceKernel, u=None, v=None) -> np.ndarray:
    """``pair_sums`` with a row for each instance of A instead of each bag."""
    return pair_sums(A.one_by_one(), B, kernel, u, v)


def self_sums(A: Bags, kernel: InstanceKernel, u=None) -> np.ndarray:
    """Diagonal of ``pair_sums(A, A)``."""
    u = np.ones((A.offsets[-1], 1)) if u is None else np.ascontiguousarray(u)
    check_squares(A)
    sums = _Sums(A, A, kernel, u, u)
    groups = _whole_bags(A.offsets, DIAGONAL)
    return np.concatenate(map_blocks(lambda group: sums.among(group).diagonal(), groups))


def resolve_gamma(gamma, bags: Bags, w=None) -> float:
    """The number behind ``gamma``: itself, "scale" (1 / (d var)) or "median" (1 / median |x-y|^2).

    ``w`` are weights of the bags: one of weight k counts as k bags.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    w = None if w is None or (w == 1).all() else np.repeat(w, bags.sizes)
    if gamma == "scale":
        variance = _variance(as_bags(bags).instances.astype(np.float64, copy=False), w)
        return 1.0 / (bags.n_features * variance) if variance > 0 else 1.0
    typical = _median_distance(bags, w)
    return 1.0 / typical if typical > 0 else 1.0


def _variance(X, w) -> float:
    """Variance of all entries, in two passes: the mean square less the squared mean drowns far from 0."""
    mean = _mean(X, w)
    if not sparse.issparse(X):
        return _mean(np.square(X - mean), w)
    there = X.copy()
    there.data = np.square(X.data - mean)
    ones = sparse.csr_matrix((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    return _mean(there, w) + (1.0 - _mean(ones, w)) * mean**2


def gamma_of(estimator) -> float:
    """``gamma_`` where ``fit`` has learned it, ``gamma`` where it is a number."""
    gamma = getattr(estimator, "gamma_", estimator.gamma)
    if isinstance(gamma, str):
        raise NotFittedError(
            f"{type(estimator).__name__}(gamma={gamma!r}) learns its width from bags: "
            "call fit first, or give a number"
        )
    return float(gamma)


def _mean(X, w) -> float:
    """Mean of all entries of a table, its rows weighted."""
    return float(X.mean() if w is None else (w @ X).sum() / (w.sum() * X.shape[1]))


def _median_distance(bags: Bags, w=None, most: int = 1500) -> float:
    """Median squared distance of an evenly spaced sample of instances (all of them if few)."""
    N = int(bags.sizes.sum())
    rows = np.unique(np.linspace(0, N - 1, min(N, most)).astype(int))
    X = bags.rows(rows).astype(np.float64, copy=False)
    X = X if bags.is_sparse else X - X.mean(axis=0)
    square = _squares(X)
    D = np.maximum(square[:, None] + square[None, :] - 2 * _product(X, X), 0)
    pairs = ~np.tri(len(rows), dtype=bool)
    if w is not None:
        return _weighted_median(D[pairs], np.outer(w[rows], w[rows])[pairs], w[rows])
    D = D[pairs]
    if len(D) == 0:
        return 0.0
    middle = float(np.median(D))
    return middle if middle > 0 else float(D.mean())


def _weighted_median(D, weight, w) -> float:
    """Median of distances that count ``weight`` times, and of copies to each other, which is zero."""
    copies = (w * np.maximum(w - 1, 0)).sum() / 2
    D, weight = np.append(D, 0.0), np.append(weight, copies)
    order = np.argsort(D, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum() if weight.sum() > 0 else np.ones(len(D))
    # The middle two where one half ends between them.
    low, high = np.searchsorted(share, [0.5 - 1e-12, 0.5 + 1e-12])
    middle = float(D[order[[low, high]]].mean())
    return middle if middle > 0 or not weight.any() else float(np.average(D, weights=weight))


def _product(X, Y) -> np.ndarray:
    G = X @ Y.T
    return G.toarray() if sparse.issparse(G) else G


def _squares(X) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _whole_bags(offsets, size: int) -> list[slice]:
    """Groups of neighbouring bags with about ``size`` instances; a bag of several blocks is alone."""
    groups, start = [], 0
    while start < len(offsets) - 1:
        goal = offsets[start] + size
        stop = min(int(np.searchsorted(offsets, goal)), len(offsets) - 1)
        last = offsets[stop] - offsets[stop - 1]
        if offsets[stop] - goal > goal - offsets[stop - 1] or last > ROWS:
            stop -= 1
        groups.append(slice(start, max(stop, start + 1)))
        start = groups[-1].stop
    return groups


class _Sums:
    """Tasks of ``pair_sums``. Each has bags of A to itself, so that no two write to the same row."""

    def __init__(self, A, B, kernel, u, v):
        self.A, self.B, self.kernel, self.u, self.v = A, B, kernel, u, v
        self.row_bag, self.column_bag = np.append(A.owner, -1), B.owner
        self.origin = kernel.origin(A, B)
        self.row_squares = self._squares(A)
        self.column_squares = self.row_squares if A is B else self._squares(B)

    def add(self, group: slice, columns: slice, out, first: int = 0) -> None:
        """Add the sums of bags of A with bags of B to ``out``, whose columns begin with bag ``first``."""
        parts = _evenly(*self.A.offsets[[group.start, group.stop]])
        start, stop = self.B.offsets[[columns.start, columns.stop]]
        work = self._workspace(parts[0].stop - parts[0].start)
        for c in _between(start, stop, COLUMNS):
            Y, open_sums = self._moved(self.B, c, work[1]), np.zeros((self.u.shape[1], c.stop - c.start))
            for r in parts:
                owner = self.row_bag[r.start : r.stop + 1] - group.start
                self._add(r, c, Y, (owner, self.column_bag[c] - first), open_sums, out, work)

    def half(self, group: slice, K) -> None:
        """Write the sums of a group with itself and with all bags after it to its rows of K."""
        self.add(group, slice(group.stop, len(self.B)), K[group])
        K[group, group] = self.among(group)

    def among(self, group: slice) -> np.ndarray:
        """Sums of a group with itself, exactly symmetric."""
        start, stop = self.A.offsets[[group.start, group.stop]]
        if group.stop - group.start == 1 and stop - start > ROWS:
            return self._within(start, stop)
        K = np.zeros((group.stop - group.start,) * 2)
        for g in _whole_bags(self.A.offsets[group.start : group.stop + 1], DIAGONAL):
            part = slice(group.start + g.start, group.start + g.stop)
            self.add(part, slice(part.start, group.stop), K[g], group.start)
        return np.triu(K) + np.triu(K, 1).T

    def _within(self, start: int, stop: int) -> np.ndarray:
        """The sum of one bag of several blocks with itself, which computes half of them."""
        on, off = np.zeros((2, 1, 1))
        parts, work = _between(start, stop, ROWS), self._workspace(ROWS)
        for k, c in enumerate(parts):
            Y = self._moved(self.B, c, work[1])
            for r in parts[: k + 1]:
                n, m = r.stop - r.start, c.stop - c.start
                owners = np.append(np.zeros(n, np.int64), -1), np.zeros(m, np.int64)
                self._add(r, c, Y, owners, np.zeros((self.u.shape[1], m)), on if r == c else off, work)
        return on + 2 * off

    def _add(self, rows, columns, Y, owners, open_sums, out, work) -> None:
        X = self._moved(self.A, rows, work[0])
        squares = self.row_squares[rows], self.column_squares[columns]
        K = self.kernel.block(X, Y, *squares, work[2])
        _segment_sums(K, *owners, self.u[rows], self.v[columns], open_sums, out)

    def _workspace(self, rows: int):
        """Room for the rows and the columns of a block, and for the block."""
        d = 0 if self.origin is None else len(self.origin)
        return np.empty((rows, d)), np.empty((max(ROWS, COLUMNS), d)), np.empty(room(rows))

    def _squares(self, bags) -> np.ndarray:
        if self.kernel.kind != "rbf":
            return np.empty(int(bags.offsets[-1]))  # which no other kernel reads
        parts, work = _between(0, int(bags.offsets[-1]), COLUMNS), self._workspace(0)
        return np.concatenate([_squares(self._moved(bags, s, work[1])) for s in parts])

    def _moved(self, bags, rows, out):
        """A block in float64, around the origin."""
        X = bags.instances[rows]
        if self.origin is None:
            return X.astype(np.float64, copy=False)
        return np.subtract(X, self.origin, out=out[: len(X)])


def _between(start, stop, size: int) -> list[slice]:
    return [slice(start + s.start, start + s.stop) for s in slices(stop - start, size)]


def _evenly(start, stop) -> list[slice]:
    """Parts of equal size, about ``ROWS``."""
    n_parts = max(1, round((stop - start) / ROWS))
    return _between(start, stop, -(-(stop - start) // n_parts))


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
