r"""Axis-parallel rectangles, iterated-discrim APR (Dietterich, Lathrop & Lozano-Pérez, AIJ 1997)."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from skmil._jit import njit
from skmil._memo import once
from skmil._parameters import CLASS_WEIGHT, COUNT, NOT_NEGATIVE, real
from skmil.learners.base import BinaryBagClassifier


class APR(BinaryBagClassifier):
    r"""A box that holds an instance of every positive bag and none of the negative bags [1]_.

    Repeat until the features stay the same, or come back:

    - *grow*: from the positive instance nearest to the middle of the smallest box that every positive bag
      reaches, take in one instance of each positive bag, always the one that adds least to the sum of
      the sides; after each step go back over all earlier choices (backfitting);
    - *discriminate*: choose features greedily, each time the one that excludes most negative instances
      that are left. A feature excludes an instance that lies at least ``margin`` outside the box
      along it, or further outside than along any other feature.

    Then *expand* the sides. Along each feature the positive instances between its sides give a kernel
    density with Gaussians as wide as leaves a share ``tau`` of one, put in the middle, inside the box; the
    new sides leave a probability of ``epsilon`` outside, or less where that would cut into the box.

    The decision value of an instance is its margin: the smallest of its distances to the sides, in
    units of half a side, hence 1 in the middle, 0 on the border and negative outside. A bag has that
    of its best instance.

    Cost: :math:`O(n_+ N_+ d)`, over the :math:`N_+` instances of :math:`n_+` positive bags. Sparse bags are
    made dense.

    Parameters
    ----------
    tau, epsilon : float in (0, 1)
        A smaller ``tau`` or ``epsilon`` makes a larger box.
    margin : float
        In the units of the features.
    reconsider : bool
        Let each round choose among all features, instead of among those that the round before has left.
    max_rounds : int
        Rounds of growing and discriminating at most; a few are enough.
    class_weight : dict, "balanced" or None
        Weights of negative bags count in the choice of features, those of positive bags in the density.
        A box holds every positive bag, whatever its weight.

    Attributes
    ----------
    features_ : array of int
        The features that the box restricts.
    low_, high_ : arrays
        Its sides along these.
    tight_low_, tight_high_ : arrays
        The sides before the expansion.
    n_rounds_ : int

    References
    ----------
    .. [1] T. G. Dietterich, R. H. Lathrop, T. Lozano-Pérez, "Solving the multiple instance problem with
       axis-parallel rectangles", Artificial Intelligence 89, 1997.

    Examples
    --------
    >>> from skmil.learners import APR
    >>> bags = [[[0.0, 1.0], [9.0, 5.0]], [[1.0, 7.0], [4.0, 8.0]], [[5.0, 0.0]], [[6.0, 9.0]]]
    >>> model = APR(margin=1.0).fit(bags, [1, 1, 0, 0])
    >>> model.features_, model.tight_low_, model.tight_high_
    (array([0]), array([0.]), array([1.]))
    >>> model.predict([[[0.5, 100.0], [7.0, 0.0]], [[3.0, 4.0]]])
    array([1, 0])
    """

    _parameter_constraints: dict = {
        "tau": [real(0, 1)],
        "epsilon": [real(0, 1)],
        "margin": [NOT_NEGATIVE],
        "reconsider": ["boolean"],
        "max_rounds": [COUNT],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self, tau=0.999, epsilon=0.01, margin=1.0, reconsider=False, max_rounds=20, class_weight=None
    ):
        self.tau = tau
        self.epsilon = epsilon
        self.margin = margin
        self.reconsider = reconsider
        self.max_rounds = max_rounds
        self.class_weight = class_weight

    @property
    def has_witness(self) -> bool:
        """Whether the instance of largest score decides alone."""
        return True

    def _fit(self, bags, y, w):
        bags = bags.to_dense()
        positive, negative = bags[y > 0], bags[y < 0]
        weight = np.repeat(w[y < 0], negative.sizes)
        every = keep = np.arange(bags.n_features)
        seen = set()
        for self.n_rounds_ in range(1, self.max_rounds + 1):  # noqa: B020 -- an attribute, not self
            features = keep
            seen.add(features.tobytes())
            P = np.ascontiguousarray(positive.instances[:, features])
            chosen = positive.instances[once(grow, P, np.array(positive.offsets))]
            low, high = chosen.min(axis=0), chosen.max(axis=0)
            among = every if self.reconsider else features
            N = negative.instances[:, among]
            keep = among[discriminate(N, low[among], high[among], weight, self.margin)]
            if len(keep) == 0 or keep.tobytes() in seen:
                break
        self.features_, self.tight_low_, self.tight_high_ = features, low[features], high[features]
        weight = np.repeat(w[y > 0], positive.sizes)
        self.low_, self.high_ = expand(P, self.tight_low_, self.tight_high_, weight, self.tau, self.epsilon)

    def _decision(self, bags):
        return np.maximum.reduceat(self._instances(bags), bags.offsets[:-1])

    def _instances(self, bags):
        """The margin of each instance: positive inside the box, whatever bag it comes from."""
        X = bags.instances[:, self.features_]
        X = X.toarray() if bags.is_sparse else X
        half = (self.high_ - self.low_) / 2
        return np.min((half - np.abs(X - (self.low_ + half))) / half, axis=1)


def grow(P: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """One instance of each bag such that their box is small; row numbers."""
    return _grow(P, offsets, _start(P, offsets))


def discriminate(N: np.ndarray, low, high, weight, margin: float) -> np.ndarray:
    """Features that exclude the negative instances N from the box, few of them, in order."""
    outside = np.maximum(np.maximum(low - N, N - high), 0)
    furthest = outside.max(axis=1)
    # An instance inside the box is excluded by no feature.
    excludes = (outside > 0) & ((outside >= margin) | (outside == furthest[:, None]))
    counted = excludes.astype(float)
    left = weight * (furthest > 0)
    chosen: list[int] = []
    while left.any():
        best = int(np.argmax(left @ counted))
        chosen.append(best)
        left = np.where(excludes[:, best], 0.0, left)
    return np.sort(np.array(chosen, dtype=int))


def expand(P, low, high, weight, tau: float, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Sides that leave a probability of epsilon outside, by a kernel density of each feature."""
    width = (high - low) / 2 / ndtri((1 + tau) / 2)
    # A feature without spread still has a side, so that margins are finite.
    width = np.maximum(width, 1e-9 * np.maximum(1.0, np.abs(low)))
    columns = zip(P.T, ((low <= P) & (high >= P)).T, width, strict=True)
    tails = epsilon / 2, 1 - epsilon / 2
    sides = np.array([[_quantile(x[i], weight[i], s, q) for q in tails] for x, i, s in columns])
    # One extreme among many leaves less than epsilon outside; the box must not shrink and lose its bag.
    return np.minimum(sides[:, 0], low), np.maximum(sides[:, 1], high)


def _quantile(x: np.ndarray, weight: np.ndarray, width: float, q: float) -> float:
    """The q-quantile of a weighted mixture of Gaussians around x."""
    share, reach = weight / weight.sum(), (abs(ndtri(q)) + 1) * width
    return brentq(lambda t: share @ ndtr((t - x) / width) - q, x.min() - reach, x.max() + reach)


def _start(P: np.ndarray, offsets: np.ndarray) -> int:
    """The positive instance nearest to the middle of the minimax box, the smallest that all bags reach."""
    low = np.maximum.reduceat(P, offsets[:-1]).min(axis=0)
    high = np.minimum.reduceat(P, offsets[:-1]).max(axis=0)
    return int(np.argmin(np.square(P - (low + high) / 2).sum(axis=1)))


@njit
def _grow(P, offsets, start):
    """Greedily, with backfitting."""
    n = len(offsets) - 1
    chosen = np.full(n, -1)
    chosen[np.searchsorted(offsets, start, side="right") - 1] = start
    for _ in range(n - 1):
        sides = _sides(P, chosen)
        best, bag = np.inf, -1
        for i in range(n):
            if chosen[i] < 0:
                row, size = _cheapest(P, offsets, i, sides[0], sides[1])
                if size < best:
                    best, bag, found = size, i, row
        chosen[bag] = found
        _backfit(P, offsets, chosen)
    return chosen


@njit
def _backfit(P, offsets, chosen):
    """Replace choices, in place, as long as the box shrinks; one that holds no side cannot shrink it."""
    changed = True
    while changed:
        changed = False
        sides = _sides(P, chosen)
        for i in range(len(chosen)):
            if chosen[i] < 0 or not _holds(P[chosen[i]], sides):
                continue
            low, high = _without(P[chosen[i]], sides)
            row, size = _cheapest(P, offsets, i, low, high)
            if size < _growth(P, chosen[i], low, high) * (1 - 1e-12):  # rounding must not go in circles
                chosen[i], changed = row, True
                sides = _sides(P, chosen)


@njit
def _sides(P, chosen):
    """Sides of the box of the chosen instances, low and high, and the next values inside them."""
    low, high = np.full((2, P.shape[1]), np.inf), np.full((2, P.shape[1]), -np.inf)
    for row in chosen:
        if row >= 0:
            for k in range(P.shape[1]):
                x = P[row, k]
                low[1, k] = min(low[1, k], max(low[0, k], x))
                low[0, k] = min(low[0, k], x)
                high[1, k] = max(high[1, k], min(high[0, k], x))
                high[0, k] = max(high[0, k], x)
    return low[0], high[0], low[1], high[1]


@njit
def _holds(x, sides):
    """Whether x lies on a side of the box."""
    for k in range(len(x)):
        if x[k] == sides[0][k] or x[k] == sides[1][k]:
            return True
    return False


@njit
def _without(x, sides):
    """Low and high sides of the box of all chosen instances but x."""
    low, high = sides[0].copy(), sides[1].copy()
    for k in range(len(x)):
        low[k] = sides[2][k] if x[k] == low[k] else low[k]
        high[k] = sides[3][k] if x[k] == high[k] else high[k]
    return low, high


@njit
def _cheapest(P, offsets, i, low, high):
    """The instance of bag i that makes the box grow least, and by how much."""
    best, row = np.inf, offsets[i]
    for a in range(offsets[i], offsets[i + 1]):
        size = _growth(P, a, low, high)
        if size < best:
            best, row = size, a
    return row, best


@njit
def _growth(P, a, low, high):
    """Sum over the features of how far a lies outside the box; nothing is outside an empty one."""
    total = 0.0
    for k in range(P.shape[1]):
        below, above = low[k] - P[a, k], P[a, k] - high[k]
        side = below if below > above else above
        total += side if 0.0 < side < np.inf else 0.0
    return total
