r"""Box-counting kernels for generalized multiple-instance learning.

Tao, Scott, Vinodchandran, Osugi & Mueller, "Kernels for generalized multiple-instance learning", IEEE
Transactions on Pattern Analysis and Machine Intelligence 30(12), 2008.
"""

from copy import deepcopy

import numpy as np
from sklearn.base import clone

from skmil import _state as state
from skmil._engines.boxes import shared
from skmil._engines.boxes.aligned import aligned_diagonal, aligned_logs
from skmil._engines.boxes.counter import KINDS, LITERAL, Counter, Plan, Report, log_grams
from skmil._engines.boxes.counting import count
from skmil._engines.boxes.space import Space, Table
from skmil._memo import once
from skmil._parameters import COUNT, POSITIVE, SEED, one_of, real
from skmil._product import product
from skmil._random import random_key
from skmil.bags import Bags
from skmil.kernels.base import BagKernel
from skmil.preprocessing import BagGrid

__all__ = ["BoxKernel", "count"]

HEALTHY = np.log(10.0)  # power="auto" makes the median cosine of two training bags one in ten
PROBE = 100  # training bags that power="auto" looks at


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
    All but :math:`k_\vee` are positive semidefinite; :math:`k_{\wedge/\vee}` is the Tanimoto index of the
    two sets of boxes. Estimates need not be, but for shared boxes.

    All of these are #P-complete to compute. Each count is exact or off by a factor between 1 - epsilon and
    1 + epsilon with probability at least 1 - delta, for each entry on its own. For the ratio "and/or" the
    promise holds for numerator and denominator together, so the ratio lies within
    :math:`(1 \pm \epsilon) / (1 \mp \epsilon)` of the truth with probability 1 - delta.

    Calling the kernel gives :math:`(k / m)^{power}` with m the largest k(P, P) of the training bags, so
    that nothing overflows; ``log_gram`` gives log k itself. A kernel that was not fitted takes the bags of
    the call as its training bags.

    Cost of an entry: :math:`O(n_P n_Q d)` for the volumes, then some tens to thousands of boxes at
    :math:`O(n_P + n_Q)` times the few dimensions that tell a point outside. In few dimensions small bags
    are counted exactly instead.

    Parameters
    ----------
    kind : "and", "or", "and/or" or "min"
    method : "auto", "exact", "pairwise", "shared" or "coverage"
        "exact" refuses what is hopeless, also a sum that it expects to take more than an hour;
        "pairwise" samples boxes for each pair of bags and stops when sure; "shared" draws ``n_boxes`` boxes
        for the whole data set: positive semidefinite, no promise; "coverage" is the paper's own algorithm
        (Tables 3 to 5) for every entry, the slow reference, and "plain coverage" that of its Theorem 5 for
        :math:`k_\wedge` and :math:`k_\vee`; "auto" takes for each entry the cheapest of the first three
        that keeps the promise. The bits of an entry do not depend on threads, on the order of instances
        or on the block it is computed in (on the latter only up to the promise where boxes are shared).
    epsilon, delta : float
        Relative error of a count, and the probability of missing it.
    power : float or "auto"
        The exponent; the paper uses 1/50 against the dominant diagonals of Musk. "auto" measures: the
        largest exponent up to 1 at which the median cosine of two training bags is one in ten or more.
    grid : "auto", BagGrid or None
        The discretisation, fitted on the training bags. "auto" takes integers as they are
        (``BagGrid(factor=1)``) and cuts the range of other features into 100 steps
        (``BagGrid(levels=100)``); ``None`` is the continuous limit, where counts become volumes.
    n_boxes : int
        Boxes of ``method="shared"``.
    around : "volume" or "instances"
        Only for ``method="shared"``. Boxes are drawn around a training instance, which comes by the
        number of boxes around it, so that every box counts the same; or all instances come alike. In many
        features nearly all boxes lie around a few instances: then "instances" it must be.
    max_side : float, optional
        Largest side of a box, as a share of the space of corners, which is the range of the feature and, on
        a grid, two steps beyond either end. Needs ``around="instances"``, as does
    max_features : int, optional
        Features that a box bounds, drawn at random for each box; the others are free. All where not given.
        Boxes from such a subset are the authors' own proposal against overfitting.
    align : function (P, Q) -> (P', Q'), optional
        Coordinates for one pair of bags, as from a pairwise alignment of two sequences. It gets two bags as
        arrays (points, features) of the features that reach the kernel, and returns two arrays of the
        aligned points: one row or more each (points without a partner may be left out), any number of
        columns, the same for both. The grid of ``grid`` is then fitted to these two arrays, for each pair
        anew: only differences within the pair matter. A pair is always given in the same order, so the
        function need not be symmetric, but it must be deterministic. ``diag`` is k(P, P) of a bag aligned
        with itself. Counts on different grids differ in size, so take ``kind="and/or"`` or
        ``Normalized(...)``, whose cosine takes all three counts from the coordinates of the pair.
    random_state : int, RandomState or None

    Attributes
    ----------
    grid_ : the fitted BagGrid, or None; with ``align`` that of the raw features, which no count uses
    low_, high_ : ends of the space of corners, per feature
    power_ : the exponent
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

    _parameter_constraints: dict = {
        "kind": [one_of(*KINDS)],
        "method": [one_of("auto", "exact", "pairwise", "shared", "coverage", "plain coverage")],
        "epsilon": [real(0, 1)],
        "delta": [real(0, 1)],
        "power": [POSITIVE, one_of("auto")],
        "grid": [one_of("auto"), BagGrid, None],
        "n_boxes": [COUNT],
        "around": [one_of("volume", "instances")],
        "max_side": [real(0, 1, "right"), None],
        "max_features": [COUNT, None],
        "align": [callable, None],
        "random_state": SEED,
    }

    def __init__(
        self,
        kind="and",
        method="auto",
        epsilon=0.1,
        delta=0.01,
        power=1.0,
        grid="auto",
        n_boxes=10_000,
        around="volume",
        max_side=None,
        max_features=None,
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
        self.around = around
        self.max_side = max_side
        self.max_features = max_features
        self.align = align
        self.random_state = random_state

    def _check_state(self) -> None:
        d = state.count(self, "n_features_in_", 1, 2**31)
        if len(state.kept(self, "space_", Space).low) != d:
            raise state.damaged(self, f"the space does not have {d} features")
        if self.method == "shared":
            n = len(state.finite(self, "boxes_", (None, 2 * d)))
            state.finite(self, "weights_", (n,))

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
        out, report = self._ready(A, B)._log_grams(A, B, tuple(kinds))
        self._note(report)
        return out

    def _fit(self, bags, y):
        self._check_family()
        bags = bags.to_dense()
        self.key_ = random_key(self.random_state)
        self.report_ = Report()
        space = Space.over(bags, self.grid)
        self.space_ = space.ordered(space.table(bags))
        self.grid_, self.low_, self.high_ = space.grid, space.low, space.high
        if self.method == "shared":
            self._fit_shared(self._table(bags))
        self.scale_ = 0.0 if self.kind == "and/or" else float(self._self_logs(bags).max())
        self.power_ = self._healthy_power(bags) if self.power == "auto" else float(self.power)

    def _fit_shared(self, T: Table) -> None:
        """Draw the boxes of ``method="shared"`` and weigh them by the training instances they hold."""
        if self.around == "volume":
            self.boxes_, total = shared.draw_boxes(T, self.n_boxes, self.key_), shared.log_volume(T)
        else:
            family = shared.family(self.space_, self.max_side, self.max_features)
            self.boxes_ = shared.draw_local(T, family, self.n_boxes, self.key_)
            total = np.log(len(T.z))
        counts = shared.held(T, self.boxes_)
        self.weights_ = 1.0 / counts.sum(axis=1)
        self.volume_ = total - np.log(self.n_boxes)

    def _healthy_power(self, bags: Bags) -> float:
        """The largest exponent up to 1 that leaves the median cosine of two bags healthy."""
        few = bags[np.unique(np.linspace(0, len(bags) - 1, PROBE).astype(int))]
        off = ~np.eye(len(few), dtype=bool)
        gaps = -self._log_cosines(few, few)[0][off]
        gap = np.median(gaps) if len(gaps) else 0.0
        return float(min(1.0, HEALTHY / gap)) if gap > 0 else 1.0

    def _gram(self, A, B):
        ready = self._ready(A, B)
        logs, report = ready._log_grams(A, B, (self.kind,))
        self._note(report)
        K = logs.pop(self.kind)  # the only matrix of this size, so that all is done in place
        K -= ready.scale_
        K *= ready.power_
        return np.exp(K, out=K)

    def _diag(self, A):
        ready = self._ready(A, A)
        return np.exp(ready.power_ * (ready._self_logs(A.to_dense()) - ready.scale_))

    def _cosine(self, A, B):
        """In logs: where counts differ by more than floats can tell, their cosine does not."""
        ready = self._ready(A, B)
        logs, report = ready._log_cosines(A, B)
        self._note(report)
        return np.exp(ready.power_ * logs)

    def _self_cosine(self, A):
        """In logs too: a bag has a direction however few boxes hold it."""
        ready, bags = self._ready(A, A), A.to_dense()
        if self.align is None:
            return np.isfinite(ready._self_logs(bags)).astype(float)
        logs = aligned_diagonal(self.align, bags, self.kind, self.grid, ready._plan(), cosine=True)
        return np.exp(ready.power_ * logs)

    def _log_cosines(self, A: Bags, B: Bags):
        if self.align is not None:
            A, B = _dense(A, B)
            out, report = aligned_logs(self.align, A, B, (self.kind,), self.grid, self._plan(), cosine=True)
            return out[self.kind], report
        counts, report = self._log_grams(A, B, (self.kind,))
        a = self._self_logs(A.to_dense())
        b = a if A is B else self._self_logs(B.to_dense())
        # A bag that no shared box holds has no direction: its cosines are 0, not undefined.
        known = np.isfinite(a)[:, None] & np.isfinite(b)
        half = np.where(known, np.add.outer(a, b) / 2, 0.0)
        return np.where(known, counts[self.kind] - half, -np.inf), report

    def _self_logs(self, bags: Bags) -> np.ndarray:
        """Log k(P, P) of each dense bag."""
        if self.align is not None:
            return aligned_diagonal(self.align, bags, self.kind, self.grid, self._plan())
        if self.method == "shared":
            return self._shared_diagonal(self._inside(bags))
        if self.kind == "and/or" and self.method not in LITERAL:
            return np.zeros(len(bags))
        counter, i = Counter(self._table(bags), self._plan()), np.arange(len(bags))
        if self.kind != "min":
            counter.prepare_own((self.kind,))
        return counter.counts(i, i, (self.kind,))[0][self.kind]

    def _shared_diagonal(self, counts: np.ndarray) -> np.ndarray:
        if self.kind == "and/or":
            return np.where(counts.any(axis=0), 0.0, -np.inf)
        with np.errstate(divide="ignore"):
            return np.log(self.weights_ @ (counts if self.kind == "min" else counts > 0)) + self.volume_

    def _ready(self, A: Bags, B: Bags) -> "BoxKernel":
        """The kernel itself where it is fitted; else a clone fitted on the bags of the call."""
        if hasattr(self, "scale_"):
            return self
        return clone(self).fit(A if A is B else Bags.concat([A.to_dense(), B.to_dense()]))

    def _log_grams(self, A: Bags, B: Bags, kinds):
        """Log counts of each kind, and a report."""
        symmetric = A is B
        A, B = _dense(A, B)
        if self.align is not None:
            return aligned_logs(self.align, A, B, kinds, self.grid, self._plan())
        if self.method == "shared":
            a = self._inside(A)
            out = self._shared(a, a if symmetric else self._inside(B), kinds)
            return out, Report({"shared": len(A) * len(B) * len(kinds)}, len(self.boxes_), np.nan)
        T = self._table(A if symmetric else Bags.concat([A, B]))
        return once(log_grams, T, len(A), symmetric, kinds, self._plan())

    def _note(self, report: Report) -> None:
        """Keep a copy of the report in the object that ``fit`` made: a call changes no attribute."""
        report = deepcopy(report)
        if hasattr(self, "report_"):
            vars(self.report_).update(vars(report))
        else:
            self.report_ = report

    def _inside(self, bags: Bags) -> np.ndarray:
        """Points of each bag in each shared box."""
        return shared.held(self._table(bags), self.boxes_)

    def _shared(self, a: np.ndarray, b: np.ndarray, kinds) -> dict[str, np.ndarray]:
        """Log counts from shared boxes, given the points of each bag in each box."""
        root = np.sqrt(self.weights_)[:, None]
        W = root * (a > 0)
        V = W if a is b else root * (b > 0)
        out = {"and": product(W.T, V.T)}
        if "or" in kinds or "and/or" in kinds:
            out["or"] = np.square(W).sum(axis=0)[:, None] + np.square(V).sum(axis=0) - out["and"]
        if "min" in kinds:
            out["min"] = shared.smaller_sums(a, b, self.weights_)
        with np.errstate(divide="ignore"):
            logs = {k: np.add(np.log(v, out=v), self.volume_, out=v) for k, v in out.items()}
        if "and/or" in kinds:
            logs["and/or"] = logs["and"] - logs["or"]
        return {k: logs[k] for k in kinds}

    def _table(self, bags: Bags) -> Table:
        return self.space_.table(bags)

    def _plan(self) -> Plan:
        return Plan(self.method, self.epsilon, self.delta, self.key_)

    def _check_family(self) -> None:
        """What parameters ask of each other."""
        if self.align is not None and self.method == "shared":
            raise ValueError("shared boxes need one coordinate system; use method='pairwise' with align")
        bounded = self.max_side is not None or self.max_features is not None
        if bounded and self.around == "volume":
            raise ValueError("max_side and max_features need around='instances'")
        if self.around != "volume" and self.method != "shared":
            raise ValueError("around='instances' needs method='shared'")


def _dense(A: Bags, B: Bags) -> tuple[Bags, Bags]:
    """Both dense; one and the same object stays one."""
    dense = A.to_dense()
    return dense, dense if B is A else B.to_dense()


def _one_of(name: str, value, allowed) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; use one of {', '.join(allowed)}")
