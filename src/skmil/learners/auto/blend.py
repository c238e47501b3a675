r"""A sum of kernels, weighted by how well each predicts the labels of bags that are left out."""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skmil._parameters import POSITIVE, SEED, real
from skmil._random import random_key
from skmil._threads import interruptible
from skmil.bags import Bags
from skmil.kernels.base import BagKernel
from skmil.learners.auto.parts import Part, parts_for, scaler, width
from skmil.learners.auto.whitening import BagWhitener
from skmil.learners.base import leave_one_out
from skmil.preprocessing import BagScaler

POWER = 3.0  # how much more the parts that predict the labels count
FLOOR = 0.01  # what a part that predicts nothing has; where none does all count the same
RIDGES = (0.1, 0.3, 1.0, 3.0)  # penalties of least squares on a kernel of unit variance
MOST_WEIGHED = 400  # bags that decide about the weights: more would cost their third power


@dataclass
class Member:
    """A fitted part: its kernel, and how it enters the blend."""

    name: str
    scaling: str
    kernel: BagKernel
    factor: float  # weight over mean variance
    shift: np.ndarray  # column means of its Gram matrix

    @property
    def is_sum(self) -> bool:
        """Whether its kernel is a sum over the instances of a bag."""
        return hasattr(self.kernel, "contributions") or hasattr(self.kernel, "instance_gram")

    def shares(self, bags: Bags, alpha: np.ndarray) -> np.ndarray:
        """Share of each instance in K(bags, kept bags) alpha."""
        if hasattr(self.kernel, "contributions"):
            return self.kernel.contributions(bags, alpha)
        return self.kernel.instance_gram(bags, self.kernel.bags_) @ alpha


class BlendKernel(BagKernel):
    r"""Sum of centred kernels on bags, each scaled to unit mean variance and weighted by what it predicts.

    .. math::
        k = \sum_p \frac{w_p}{v_p} H K_p H, \qquad
        w_p \propto s_p \sum_c \left(\max(0, R^2_{pc}) + 0.01\right)^3

    with H the centring, :math:`v_p` the mean of the diagonal and :math:`R^2_{pc}` the share of the variance
    of the labels of class c that ridge regression on this kernel alone explains when each training bag is
    left out in turn, so that what tells a single class counts as much as what tells a little of each;
    :math:`s_p` is 1, and 1/2 for a kernel of one direction. Without labels all parts count the same.

    The parts are set and graph kernels at three widths, a set kernel on instances in units of what varies
    inside a bag, isolation kernels at three sizes, the presence of instances in their cells, boxes that are
    hit and how often, kernels on means, extremes, spreads, Fisher vectors and the map of MILES, and what
    AW-SVM and MICA decide about bags of each class that they have not seen; for two classes a point of
    large Diverse Density and boosted boxes decide, too, and for targets such a point. One that fails, or
    does not fit into the time, is left out and says why in ``leaderboard_``.

    Parameters
    ----------
    time_budget : float
        Seconds for fitting the parts; those that are expected to take longer are not begun.
    repeats : float
        How many times the work of fitting a part is to be done in this time: 1 where the training bags
        are all there is, 10 where they stand for ten times as many that are mapped afterwards.
    random_state : int, RandomState or None

    Attributes
    ----------
    members_ : the parts with their weights
    leaderboard_ : list of dictionaries, the heaviest part first

    Examples
    --------
    >>> from skmil.learners import BlendKernel
    >>> X = [[[0.0], [1.0]], [[0.2]], [[5.0]], [[5.1], [1.0]]]
    >>> k = BlendKernel(random_state=0).fit(X, [0, 0, 1, 1])
    >>> bool(k(X)[0, 1] > k(X)[0, 2])
    True
    """

    _parameter_constraints: dict = {
        "time_budget": [POSITIVE],
        "repeats": [real(1, None, "left")],
        "random_state": SEED,
    }

    def __init__(self, time_budget=60.0, repeats=1.0, random_state=None):
        self.time_budget = time_budget
        self.repeats = repeats
        self.random_state = random_state

    def fit_transform(self, X, y=None, **fit_params):
        """``fit``, then the centred Gram matrix of the training bags."""
        self.fit(X, y, **fit_params)
        K = self.gram_
        del self.gram_
        return K

    def transform(self, X):
        """K(X, training bags), up to a constant for each row, which no machine notices."""
        check_is_fitted(self)
        return interruptible(self._rows)(self._check(X, tables=False), self.members_)

    def restrict(self, rows):
        """Forget all training bags but those in ``rows``."""
        super().restrict(rows)
        for m in self.members_:
            m.kernel.restrict(rows)
            m.shift = m.shift[rows]

    def contributions(self, X, alpha) -> list[np.ndarray]:
        """Share of each instance of X in K(X, kept bags) alpha.

        Exact for the parts that are sums over instances; for the others, taken together, what is missing
        without it.
        """
        check_is_fitted(self)
        bags = self._check(X)
        scaled = self._scaled(bags)
        total = np.zeros(bags.offsets[-1])
        for m in self._sums(True):
            total += m.factor * m.shares(scaled[m.scaling], alpha)
        rest = leave_one_out(lambda b: self._rows(b, self._sums(False)) @ alpha, bags)
        return bags.split(total + np.concatenate(rest))

    def _sums(self, additive: bool) -> list[Member]:
        return [m for m in self.members_ if m.is_sum == additive]

    def _rows(self, bags: Bags, members: list[Member]) -> np.ndarray:
        """Kernel rows of some members, up to a constant for each row."""
        scaled, K = self._scaled(bags), np.zeros((len(bags), len(self.bags_)))
        for m in members:
            K += m.factor * (m.kernel.transform(scaled[m.scaling]) - m.shift)
        return K

    def _fit(self, bags, y):
        self.scalers_: dict[str, BagScaler | BagWhitener] = {}
        self.leaderboard_: list[dict] = []
        self.members_: list[Member] = []
        self.shares_: list[float] = []  # of the parts that are in the blend
        self.owed_ = 0.0  # seconds that the parts taken so far are expected to need later
        grams, end = [], time.monotonic() + self.time_budget
        for part in parts_for(bags, y, int(random_key(self.random_state)) % 2**32):
            K = self._try(part, bags, y, end)
            if K is not None:
                grams.append(K)
                self.shares_.append(part.share)
        if not grams and any(row["note"].startswith("failed") for row in self.leaderboard_):
            told = "; ".join(f"{row['part']} {row['note']}" for row in self.leaderboard_)
            raise ValueError(f"no part of the blend could be fitted: {told}")
        if not grams:  # nothing tells these bags apart, so that all there is to learn are shares of classes
            grams, self.shares_ = [np.zeros((len(bags), len(bags)))], [1.0]
        self.grams_ = grams
        weights = weigh(grams, None if y is None else np.asarray(y), self.shares_)
        for m, w in zip(self.members_, weights, strict=False):
            m.factor *= w
        self.gram_ = blended(grams, weights)
        self._rank(weights)

    def _try(self, part: Part, bags: Bags, y, end: float):
        """The centred Gram matrix of a part, of unit mean variance; None where it is left out."""
        n, N = len(bags), int(bags.offsets[-1])
        row = {"part": part.name, "weight": 0.0, "seconds": 0.0, "note": ""}
        self.leaderboard_.append(row)
        start, expected = time.monotonic(), part.seconds(n, N, width(bags))
        later = (self.repeats - 1) * expected * part.again
        if start + expected + later > end - self.owed_ and self.members_:
            row["note"] = "left out: no time"
            return None
        try:
            kernel = clone(part.kernel)
            with warnings.catch_warnings():
                # Few or equal instances make a mixture warn; the part then weighs what it is worth.
                warnings.simplefilter("ignore", ConvergenceWarning)
                K = kernel.fit_transform(self._scale(part.scaling, bags), y)
            shift = K.mean(axis=0)
            K = K - shift - shift[:, None] + shift.mean()
            variance = np.trace(K) / n
        except (ValueError, ArithmeticError, MemoryError, TypeError) as error:
            row["note"] = f"failed: {' '.join(str(error).split())}"
            return None
        row["seconds"] = time.monotonic() - start
        if not (np.isfinite(variance) and variance > 1e-12):
            row["note"] = "left out: it tells no bags apart"
            return None
        self.owed_ += later
        self.members_.append(Member(part.name, part.scaling, kernel, 1.0 / variance, shift))
        return K / variance

    def _rank(self, weights) -> None:
        by_name = {m.name: w for m, w in zip(self.members_, weights, strict=False)}
        for row in self.leaderboard_:
            row["weight"] = float(by_name.get(row["part"], 0.0))
        self.leaderboard_.sort(key=lambda row: -row["weight"])

    def _scale(self, method: str, bags: Bags) -> Bags:
        """Training bags in a scaling, which is fitted once."""
        if method not in self.scalers_:
            self.scalers_[method] = scaler(method).fit(bags)
        return self.scalers_[method].transform(bags)

    def _scaled(self, bags: Bags) -> dict[str, Bags]:
        return {method: fitted.transform(bags) for method, fitted in self.scalers_.items()}

    def _gram(self, A, B):
        check_is_fitted(self)
        a = self._scaled(A)
        b = a if A is B else self._scaled(B)
        return sum(m.factor * m.kernel(a[m.scaling], b[m.scaling]) for m in self.members_)


def weigh(grams, y, shares, rows=slice(None)) -> np.ndarray:
    """Weights of centred Gram matrices: shares of a power of what each predicts for ``rows``; or alike."""
    if y is None:
        predicts = np.zeros((len(grams), 1))
    else:
        some = _some(np.arange(len(y))[rows])
        predicts = np.array([predicted(K[np.ix_(some, some)], y[some]) for K in grams])
    weights = np.asarray(shares) * np.mean((predicts + FLOOR) ** POWER, axis=1)
    return weights / weights.sum()


def _some(rows: np.ndarray) -> np.ndarray:
    """Those that decide about the weights."""
    if len(rows) <= MOST_WEIGHED:
        return rows
    return rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST_WEIGHED])]


def blended(grams, weights) -> np.ndarray:
    """The weighted sum."""
    total = np.zeros_like(grams[0])
    for w, K in zip(weights, grams, strict=True):
        total += w * K
    return total


def predicted(K: np.ndarray, y) -> np.ndarray:
    """Share of the variance of each class, or of targets, that a kernel predicts of bags left out in turn.

    The best of a few penalties; 0 where the mean alone does better.
    """
    y = np.asarray(y)
    Y = y[:, None] if y.dtype.kind == "f" else (y[:, None] == np.unique(y)).astype(float)
    Y = Y - Y.mean(axis=0)
    n, best = len(y), np.zeros(Y.shape[1])
    alone = np.sum((Y * n / max(1, n - 1)) ** 2, axis=0)
    varies = alone > 0
    values, vectors = np.linalg.eigh(K + 1.0)  # one decomposition serves all penalties
    turned = vectors.T @ Y
    for penalty in RIDGES:
        shrunk = vectors / (values + penalty)
        error = (shrunk @ turned) / np.einsum("ij,ij->i", shrunk, vectors)[:, None]
        share = 1.0 - np.sum(error**2, axis=0) / np.where(varies, alone, 1.0)
        best = np.where(varies, np.maximum(best, share), best)
    return best
