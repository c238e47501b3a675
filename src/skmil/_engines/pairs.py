"""Kernels on instances, and their sums over all pairs of instances of two bags, in blocks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skmil._checks import check_squares
from skmil._jit import exp, njit
from skmil._threads import map_blocks, slices
from skmil.bags import Bags, as_bags

ROWS, COLUMNS = 256, 512  # a block of the instance Gram stays in the second-level cache
DIAGONAL = 64  # rows of a block of which only the sums within bags are wanted


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
    degree: float = 3
    coef0: float = 1.0
    power: float = 1.0

    def __call__(self, X, Y) -> np.ndarray:
        """Matrix of all pairs, as a dense array."""
        if callable(self.kind):
            K = np.asarray(self.kind(X, Y), dtype=np.float64)
        elif self.kind == "rbf":
            K = _product(X, Y)
            _rbf(K, _squares(X), _squares(Y), self.gamma * self.power)
            return K
        elif self.kind == "linear":
            K = _product(X, Y)
        elif self.kind == "poly":
            K = (self.gamma * _product(X, Y) + self.coef0) ** self.degree
        else:
            raise ValueError(
                f"instance kernel {self.kind!r} is unknown; use 'rbf', 'linear', 'poly' or a function"
            )
        if float(self.power).is_integer():
            return K if self.power == 1 else K**self.power
        return np.sign(K) * np.abs(K) ** self.power

    def origin(self, A: Bags, B: Bags) -> np.ndarray | None:
        """Where to put the origin, if the kernel does not notice: near it distances keep their digits."""
        if self.kind != "rbf" or A.is_sparse or B.is_sparse:
            return None
        return B.instances.mean(axis=0, dtype=np.float64)


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
    Memory: one block of ``ROWS x COLUMNS`` per thread and the result, whatever the bags.
    """
    same = A is B and v is None
    u = np.ones((A.offsets[-1], 1)) if u is None else np.ascontiguousarray(u)
    v = u if same else np.ones((B.offsets[-1], u.shape[1])) if v is None else np.ascontiguousarray(v)
    check_squares(A)
    check_squares(B)
    K, sums = np.zeros((len(A), len(B))), _Sums(A, B, kernel, u, v)
    groups = _whole_bags(A.offsets, ROWS)
    map_blocks(lambda group: sums.half(group, K) if same else sums.rows(group, 0, K[group]), groups)
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
        if not gamma > 0:
            raise ValueError(f"gamma is {gamma!r}; give a positive number, 'scale' or 'median'")
        return float(gamma)
    w = None if w is None or (w == 1).all() else np.repeat(w, bags.sizes)
    if gamma == "scale":
        X = as_bags(bags).instances.astype(np.float64, copy=False)
        squares = X.multiply(X) if bags.is_sparse else X * X
        variance = _mean(squares, w) - _mean(X, w) ** 2
        return 1.0 / (bags.n_features * variance) if variance > 0 else 1.0
    if gamma == "median":
        typical = _median_distance(bags, w)
        return 1.0 / typical if typical > 0 else 1.0
    raise ValueError(f"gamma is {gamma!r}; give a positive number, 'scale' or 'median'")


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
    """Groups of neighbouring bags with about ``size`` instances together, or of one larger bag."""
    groups, start = [], 0
    while start < len(offsets) - 1:
        goal = offsets[start] + size
        stop = min(int(np.searchsorted(offsets, goal)), len(offsets) - 1)
        if offsets[stop] - goal > goal - offsets[stop - 1]:
            stop -= 1
        groups.append(slice(start, max(stop, start + 1)))
        start = groups[-1].stop
    return groups


class _Sums:
    """Tasks of ``pair_sums``. Each has bags of A to itself, so that no two write to the same row."""

    def __init__(self, A, B, kernel, u, v):
        self.A, self.B, self.kernel, self.u, self.v = A, B, kernel, u, v
        self.row_bag, self.column_bag = A.owner, B.owner
        self.origin = kernel.origin(A, B)

    def rows(self, group: slice, first: int, out) -> None:
        """Add the sums of a group of A with the bags of B from ``first`` on to ``out``, a row for each."""
        start, stop = self.A.offsets[group.start], self.A.offsets[group.stop]
        for r in _evenly(start, stop):
            for c in _between(self.B.offsets[first], self.B.offsets[-1], COLUMNS):
                self._add(r, c, group.start, 0, out)

    def half(self, group: slice, K) -> None:
        """Write the sums of a group with itself and with all bags after it to its rows of K."""
        self.rows(group, group.stop, K[group])
        K[group, group] = self.among(group)

    def among(self, group: slice) -> np.ndarray:
        """Sums of a group with itself, exactly symmetric."""
        start, stop = self.A.offsets[group.start], self.A.offsets[group.stop]
        on, off = np.zeros((2, group.stop - group.start, group.stop - group.start))
        for r in _evenly(start, stop):
            self._add(r, r, group.start, group.start, on)
            for c in _between(r.stop, stop, COLUMNS):  # one bag larger than a block
                self._add(r, c, group.start, group.start, off)
        return (on + on.T) / 2 + off + off.T

    def _add(self, rows, columns, first_row, first_column, out):
        X = self._moved(self.A, rows)
        # One array on both sides lets BLAS know that the product is symmetric.
        Y = X if self.A is self.B and rows == columns else self._moved(self.B, columns)
        K = self.kernel(X, Y)
        _segment_sums(
            K,
            self.row_bag[rows] - first_row,
            self.column_bag[columns] - first_column,
            self.u[rows],
            self.v[columns],
            out,
        )

    def _moved(self, bags, rows):
        """A block in float64, around the origin."""
        X = bags.instances[rows].astype(np.float64, copy=False)
        return X if self.origin is None else X - self.origin


def _between(start, stop, size: int) -> list[slice]:
    return [slice(start + s.start, start + s.stop) for s in slices(stop - start, size)]


def _evenly(start, stop) -> list[slice]:
    """Parts of equal size, about ``ROWS``."""
    n_parts = max(1, round((stop - start) / ROWS))
    return _between(start, stop, -(-(stop - start) // n_parts))


@njit
def _rbf(G, x2, y2, gamma):
    """Turn inner products into exp(-gamma |x - y|^2), in place."""
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            G[i, j] = exp(-gamma * max(x2[i] + y2[j] - 2.0 * G[i, j], 0.0))


@njit
def _segment_sums(K, row_bag, column_bag, u, v, out):
    """out[a, b] += sum of u_r K v_r over the rows of bag a and the columns of bag b."""
    n, m = K.shape
    column = np.zeros(m)  # sums over the rows of one bag, which vectorise; then over column bags
    for r in range(u.shape[1]):
        for i in range(n):
            w = u[i, r]
            for j in range(m):
                column[j] += w * K[i, j]
            if i + 1 == n or row_bag[i + 1] != row_bag[i]:
                for j in range(m):
                    out[row_bag[i], column_bag[j]] += column[j] * v[j, r]
                    column[j] = 0.0
