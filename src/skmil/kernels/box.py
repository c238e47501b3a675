r"""Box-counting kernels for generalized multiple-instance learning.

Tao, Scott, Vinodchandran, Osugi & Mueller, "Kernels for generalized multiple-instance learning", IEEE
Transactions on Pattern Analysis and Machine Intelligence 30(12), 2008.
"""

from copy import deepcopy

import numpy as np
from sklearn.base import clone

from skmil._engines.boxes import shared
from skmil._engines.boxes.counter import KINDS, Counter, Plan, Report, log_grams
from skmil._engines.boxes.exact import sweep
from skmil._engines.boxes.space import Table, lengths, selective_first, table
from skmil._memo import once
from skmil._random import random_key
from skmil.bags import Bags
from skmil.kernels.base import BagKernel
from skmil.preprocessing import BagGrid

METHODS = ("auto", "exact", "pairwise", "shared", "coverage")
MARGIN = 0.05  # of the range of a feature, on both sides, in the continuous limit
LEVELS = 100  # steps of the default grid where features are not integers


class BoxKernel(BagKernel):
    r"""Number of axis-parallel boxes that contain points of both bags, and its relatives [1]_.

    With :math:`P_b` the points of bag P inside box b, and b running over all boxes of the grid,

    .. math::
        k_\wedge(P, Q) &= \#\{b : P_b \ne \emptyset \text{ and } Q_b \ne \emptyset\}, &
        k_\vee(P, Q) &= \#\{b : P_b \ne \emptyset \text{ or } Q_b \ne \emptyset\}, \\
        k_{\wedge/\vee}(P, Q) &= k_\wedge / k_\vee, &
        k_{\min}(P, Q) &= \textstyle\sum_b \min(|P_b|, |Q_b|).

    A linear machine on top learns concepts such as "at least r of these regions are hit, or those
    others missed" (:math:`k_\wedge`) and "this region holds between t and z points" (:math:`k_{\min}`).

    All of these are #P-complete to compute. Each count is exact or off by a factor between 1 - epsilon and
    1 + epsilon with probability at least 1 - delta, for each entry on its own. For the ratio "and/or" the
    promise holds for numerator and denominator together, so the ratio lies within
    :math:`(1 \pm \epsilon) / (1 \mp \epsilon)` of the truth with probability 1 - delta.

    Calling the kernel gives :math:`(k / m)^{power}` with m the largest k(P, P) of the training bags, so
    that nothing overflows; ``log_gram`` gives log k itself. A kernel that was not fitted takes the bags of
    the call as its training bags.

    Cost of an entry: :math:`O(n_P n_Q d)` for the volumes, then some tens to thousands of boxes at
    :math:`O(n_P + n_Q)` times the few dimensions that tell a point outside.

    Parameters
    ----------
    kind : "and", "or", "and/or" or "min"
    method : "auto", "exact", "pairwise", "shared" or "coverage"
        "exact" refuses what is hopeless, also a sum that it expects to take more than an hour;
        "pairwise" samples boxes for each pair of bags and stops when sure; "shared" draws ``n_boxes`` boxes
        for the whole data set: positive semidefinite, no promise; "coverage" is the paper's own algorithm,
        the slow reference; "auto" takes for each entry the cheapest of the first three that keeps the
        promise. The bits of an entry do not depend on threads, on the order of instances or on the block
        it is computed in (on the latter only up to the promise where boxes are shared).
    epsilon, delta : float
        Relative error of a count, and the probability of missing it.
    power : float
        The exponent; the paper uses 1/50 against dominant diagonals.
    grid : "auto", BagGrid or None
        The discretisation, fitted on the training bags. "auto" takes integers as they are
        (``BagGrid(factor=1)``) and cuts the range of other features into 100 steps
        (``BagGrid(levels=100)``); ``None`` is the continuous limit, where counts become volumes.
    n_boxes : int
        Boxes of ``method="shared"``.
    align : function (P, Q) -> (P', Q'), optional
        Coordinates for one pair of bags (arrays of raw features), as from a pairwise alignment.
    random_state : int, RandomState or None

    Attributes
    ----------
    grid_ : the fitted BagGrid, or None
    low_, high_ : ends of the space of corners, per feature
    scale_ : log of the largest k(P, P) of the training bags (0 for "and/or")
    report_ : Report
        After a call: how many counts each method served, boxes drawn, the error promised.

    References
    ----------
    .. [1] Q. Tao, S. Scott, N. V. Vinodchandran, T. Osugi, B. Mueller, "Kernels for generalized
       multiple-instance learning", IEEE TPAMI 30(12), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil.kernels import BoxKernel
    >>> k = BoxKernel("and").fit([[[0.0], [2.0]], [[1.0]]])
    >>> np.exp(k.log_gram([[[0.0], [2.0]], [[1.0]]])).round(6)
    array([[12.,  8.],
           [ 8.,  9.]])
    """

    def __init__(
        self,
        kind="and",
        method="auto",
        epsilon=0.1,
        delta=0.01,
        power=1.0,
        grid="auto",
        n_boxes=10_000,
        align=None,
        random_state=None,
    ):
        self.kind = kind
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.power = power
        self.grid = grid
        self.n_boxes = n_boxes
        self.align = align
        self.random_state = random_state

    def log_gram(self, X, Y=None) -> np.ndarray:
        """Natural logarithms of the counts of this kernel's kind (-inf where a count is 0)."""
        return self.log_grams(X, Y, (self.kind,))[self.kind]

    def log_grams(self, X, Y=None, kinds=KINDS) -> dict[str, np.ndarray]:
        """Log counts of several kinds from one pass: a matrix for each."""
        A = self._check(X)
        B = A if Y is None or Y is X else self._check(Y)
        if A.n_features != B.n_features:
            raise ValueError(f"X has {A.n_features} features and Y has {B.n_features}")
        for kind in kinds:
            _one_of("kind", kind, KINDS)
        return self._ready(A, B)._log_grams(A, B, tuple(kinds), self)

    def _fit(self, bags, y):
        self._check_parameters()
        bags = bags.to_dense()
        self.key_ = random_key(self.random_state)
        self.report_ = Report()
        self._fit_space(bags)
        T = self._table(bags)
        self.order_ = selective_first(T.z)
        T = self._table(bags)
        if self.method == "shared":
            self._fit_shared(T)
        self.scale_ = self._largest(T)

    def _fit_space(self, bags: Bags) -> None:
        """Where corners of boxes may lie."""
        self.grid_ = None if self.grid is None else clone(self._chosen_grid(bags)).fit(bags)
        if self.grid_ is None:
            low, high = bags.instances.min(axis=0), bags.instances.max(axis=0)
            margin = MARGIN * np.where(high > low, high - low, 1.0)
            self.range_ = low, high
            self.low_, self.high_ = low - margin, high + margin
        else:
            self.low_, self.high_ = -np.ones(bags.n_features), self.grid_.s_ + 1.0
        self.order_ = np.arange(2 * bags.n_features)

    def _chosen_grid(self, bags: Bags) -> BagGrid:
        if not isinstance(self.grid, str):
            return self.grid
        whole = (bags.instances == np.rint(bags.instances)).all()
        return BagGrid(factor=1.0) if whole else BagGrid(levels=LEVELS)

    def _fit_shared(self, T: Table) -> None:
        """Draw the boxes of ``method="shared"`` and weigh them by the training instances they hold."""
        self.boxes_ = shared.draw_boxes(T, self.n_boxes, self.key_)
        counts = shared.inside(T, shared.masks(T), self.boxes_)
        self.weights_ = 1.0 / counts.sum(axis=1)
        self.volume_ = shared.log_volume(T) - np.log(self.n_boxes)

    def _largest(self, T: Table) -> float:
        """Log of the largest k(P, P)."""
        if self.kind == "and/or":
            return 0.0
        if self.method == "shared":
            counts = shared.inside(T, shared.masks(T), self.boxes_)
            return float(self._shared(counts, counts, (self.kind,))[self.kind].diagonal().max())
        return float(self._self_counts(T).max())

    def _gram(self, A, B):
        ready = self._ready(A, B)
        L = ready._log_grams(A, B, (self.kind,), self)[self.kind]
        return np.exp(self.power * (L - ready.scale_))

    def _diag(self, A):
        ready = self._ready(A, A)
        if self.kind == "and/or":
            return np.ones(len(A))
        if self.method == "shared":
            return np.concatenate([ready._gram(A[s], A[s]).diagonal() for s in _singles(A)])
        return np.exp(self.power * (ready._self_counts(ready._table(A.to_dense())) - ready.scale_))

    def _self_counts(self, T: Table) -> np.ndarray:
        """Log k(P, P) of each bag."""
        i = np.arange(len(T.offsets) - 1)
        counter = Counter(T, self._plan())
        if self.kind != "min":
            counter.prepare_own((self.kind,))
        return counter.counts(i, i, (self.kind,))[0][self.kind]

    def _ready(self, A: Bags, B: Bags) -> "BoxKernel":
        """The kernel itself where it is fitted; else a clone fitted on the bags of the call."""
        if hasattr(self, "scale_"):
            return self
        return clone(self).fit(A if A is B else Bags.concat([A.to_dense(), B.to_dense()]))

    def _log_grams(self, A: Bags, B: Bags, kinds, caller) -> dict[str, np.ndarray]:
        symmetric = A is B
        A = A.to_dense()
        B = A if symmetric else B.to_dense()
        if self.align is not None:
            out, report = self._aligned(A, B, kinds)
        elif self.method == "shared":
            out = self._shared(self._inside(A), self._inside(B), kinds)
            report = Report({"shared": len(A) * len(B) * len(kinds)}, len(self.boxes_), np.nan)
        else:
            T = self._table(A if symmetric else Bags.concat([A, B]))
            out, report = once(log_grams, T, len(A), symmetric, kinds, self._plan())
        caller._note(report)
        return out

    def _note(self, report: Report) -> None:
        """Keep a copy of the report in the object that ``fit`` made: a call changes no attribute."""
        report = deepcopy(report)
        if hasattr(self, "report_"):
            vars(self.report_).update(vars(report))
        else:
            self.report_ = report

    def _aligned(self, A: Bags, B: Bags, kinds):
        """Every pair of bags in coordinates of its own."""
        out = {k: np.empty((len(A), len(B))) for k in kinds}
        report = Report()
        for i in range(len(A)):
            for j in range(i if A is B else 0, len(B)):
                T = self._table(Bags.from_list(list(self.align(A[i], B[j]))))
                values, part = log_grams(T, 1, False, kinds, self._plan())
                report.merge(part)
                for k in kinds:
                    out[k][i, j] = values[k][0, 0]
                    if A is B:
                        out[k][j, i] = values[k][0, 0]
        return out, report

    def _inside(self, bags: Bags) -> np.ndarray:
        """Points of each bag in each shared box."""
        T = self._table(bags)
        return shared.inside(T, shared.masks(T), self.boxes_)

    def _shared(self, a: np.ndarray, b: np.ndarray, kinds) -> dict[str, np.ndarray]:
        """Log counts from shared boxes, given the points of each bag in each box."""
        W, V = np.sqrt(self.weights_)[:, None] * (a > 0), np.sqrt(self.weights_)[:, None] * (b > 0)
        out = {"and": W.T @ V}
        if "or" in kinds or "and/or" in kinds:
            out["or"] = np.square(W).sum(axis=0)[:, None] + np.square(V).sum(axis=0) - out["and"]
        if "min" in kinds:
            columns = [np.minimum(a, c[:, None]).T @ self.weights_ for c in b.T]
            out["min"] = np.column_stack(columns)
        with np.errstate(divide="ignore"):
            logs = {k: np.log(v) + self.volume_ for k, v in out.items()}
        if "and/or" in kinds:
            logs["and/or"] = logs["and"] - logs["or"]
        return {k: logs[k] for k in kinds}

    def _table(self, bags: Bags) -> Table:
        if self.grid_ is None:
            bags = bags.with_instances(np.clip(bags.instances, *self.range_))
        else:
            bags = self.grid_.transform(bags)
        return table(bags, self.low_, self.high_, self.order_)

    def _plan(self) -> Plan:
        return Plan(self.method, self.epsilon, self.delta, self.key_)

    def _check_parameters(self) -> None:
        _one_of("kind", self.kind, KINDS)
        _one_of("method", self.method, METHODS)
        for name in ("epsilon", "delta"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)!r}; give a number between 0 and 1")
        if not self.power > 0:
            raise ValueError(f"power is {self.power!r}; give a positive number")
        if isinstance(self.grid, str) and self.grid != "auto":
            raise ValueError(f"grid is {self.grid!r}; give 'auto', a BagGrid or None")
        if self.n_boxes < 1:
            raise ValueError(f"n_boxes is {self.n_boxes!r}; give at least one")
        if self.align is not None and self.method == "shared":
            raise ValueError("shared boxes need one coordinate system; use method='pairwise' with align")


def count(P, Q=None, s=None, kind="and", method="exact") -> int:
    r"""Count boxes of :math:`\prod_k \{0, ..., s_k\}` exactly: a Python integer, however large.

    Parameters
    ----------
    P, Q : arrays (points, d) of integers
        Bags; without Q the boxes that contain a point of P, whatever the kind but "min" (where Q is P).
    s : int or array of d ints, optional
        Largest value of each feature; the largest seen where not given.
    kind : "and", "or" or "min"
    method : "exact" or "hypervolume"
        The sweep over subsets of points; or ``moocore`` (not for "min"), where counts fit in a float.

    Examples
    --------
    >>> from skmil.kernels.box import count
    >>> count([[0], [2]], [[1]], s=4), count([[0], [2]], [[1]], s=4, kind="or")
    (7, 12)
    """
    P, Q = _points(P, "P"), _points(P if Q is None else Q, "Q")
    _one_of("kind", kind, ("and", "or", "min"))
    _one_of("method", method, ("exact", "hypervolume"))
    if P.shape[1] != Q.shape[1]:
        raise ValueError(f"P has {P.shape[1]} features and Q has {Q.shape[1]}")
    top = np.maximum(P.max(axis=0), Q.max(axis=0))
    s = top if s is None else np.broadcast_to(np.asarray(s, np.int64), top.shape)
    if (top > s).any():
        k = int(np.argmax(top > s))
        raise ValueError(f"feature {k} has the value {top[k]}; the grid ends at s = {s[k]}")
    z_p, z_q = lengths(P, -1, s + 1), lengths(Q, -1, s + 1)
    return (
        _hypervolume_count(z_p, z_q, kind)
        if method == "hypervolume"
        else sweep(z_p.tolist(), z_q.tolist())[kind]
    )


def _hypervolume_count(z_p, z_q, kind) -> int:
    from skmil._engines.boxes.exact import hypervolume

    if kind == "min":
        raise ValueError("k_min is not a hypervolume; use method='exact'")
    both = hypervolume(np.vstack([z_p, z_q]))
    if both > 32:
        raise ValueError(
            f"the count is about e^{both:.0f}, too large to be exact as a float; use method='exact'"
        )
    p, q = (round(np.exp(hypervolume(z))) for z in (z_p, z_q))
    return round(np.exp(both)) if kind == "or" else p + q - round(np.exp(both))


def _points(X, name: str) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name} has shape {X.shape}; expected (points >= 1, features >= 1)")
    if not np.array_equal(X, np.rint(X)) or X.min() < 0:
        raise ValueError(f"{name} must hold integers >= 0; use BagGrid to get there")
    return X.astype(np.int64)


def _singles(bags: Bags):
    return [slice(i, i + 1) for i in range(len(bags))]


def _one_of(name: str, value, allowed) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; use one of {', '.join(allowed)}")
