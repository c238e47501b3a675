"""GMIL-1 and GMIL-2: Winnow over groups of boxes (Scott, Zhang & Brown 2005; Tao & Scott 2004)."""

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans

from skmil._engines.boxes.groups import LIMIT, group_boxes
from skmil._engines.boxes.space import default_grid
from skmil._jit import njit
from skmil._parameters import CLASS_WEIGHT, COUNT, POSITIVE, SEED, one_of, real, whole
from skmil._threads import slices
from skmil.learners.base import BinaryBagClassifier, groupwise
from skmil.preprocessing import BagGrid

ROUNDING = 1e-12  # at the start every bag scores theta exactly, up to rounding
WIDE, BITS = 2**16, 2**27  # most groups that are looked at together, and most bits of their masks


class GMIL1(BinaryBagClassifier):
    r"""Winnow on all boxes of a grid, grouped by the training points they contain [1]_.

    The training points are clustered into representatives; boxes that contain the same representatives
    form a group :math:`G_i`, stood for by its largest box :math:`b_i`. With :math:`a_i(P) = 1` iff
    :math:`b_i` contains a point of P, a bag is positive iff

    .. math:: \sum_i |G_i| \left( w_i a_i(P) + \bar w_i (1 - a_i(P)) \right) \ge \theta,

    and a mistake on bag P multiplies the weights of its active attributes by :math:`\alpha^{y - \hat y}`.
    Boxes without any representative are left out. The number of groups grows like
    :math:`\min(2^m, m^{2d})` with m representatives in d dimensions; what does not fit is refused.

    Parameters
    ----------
    n_clusters : int
        Representatives, at most 60.
    alpha : float
        Promotion factor, larger than 1.
    theta : float
        Threshold relative to the sum of all :math:`|G_i|`, which every bag scores at the start.
    max_iter : int
        Rounds through the training bags; fewer where a round makes no mistake.
    grid : "auto" or BagGrid
        As in ``BoxKernel``.
    class_weight : dict, "balanced" or None
        Weights multiply the exponent of alpha.
    random_state : int, RandomState or None
        Of the clustering.

    Attributes
    ----------
    lower_, upper_ : arrays (groups, d)
        Corners of the largest box of each group, on the grid.
    size_ : array (groups,)
        Number of boxes of each group, relative to all.
    hit_, missed_ : arrays (groups,)
        Log weights of both attributes.
    mistakes_ : array (``n_iter_``,)
        Mistakes in each round through the training bags.
    n_iter_ : int

    Notes
    -----
    ``score_instances`` is exact: the shares of a bag add up to its weighted sum, relative to theta, less
    that of a bag that hits nothing.

    References
    ----------
    .. [1] S. Scott, J. Zhang, J. Brown, "On generalized multiple-instance learning", International
       Journal of Computational Intelligence and Applications 5(1), 2005.

    Examples
    --------
    >>> from skmil.datasets import make_gmil
    >>> from skmil.learners import GMIL1
    >>> made = make_gmil(40, n_attraction=1, n_repulsion=0, random_state=0)
    >>> GMIL1(random_state=0).fit(made.data, made.target).score(made.data, made.target) > 0.8
    True
    """

    _parameter_constraints: dict = {
        "n_clusters": [whole(1, 60)],
        "alpha": [real(1, None)],
        "theta": [POSITIVE],
        "max_iter": [COUNT],
        "grid": [one_of("auto"), BagGrid],
        "class_weight": CLASS_WEIGHT,
        "random_state": SEED,
    }

    def __init__(
        self,
        n_clusters=30,
        alpha=1.1,
        theta=1.0,
        max_iter=200,
        grid="auto",
        class_weight=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.theta = theta
        self.max_iter = max_iter
        self.grid = grid
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Group the boxes and run Winnow; more than two classes go one against the rest."""
        super().fit(X, y, sample_weight)
        if len(self.classes_) > 2:
            self.n_iter_ = max(e.n_iter_ for e in self.estimators_)
        return self

    def _fit(self, bags, y, w):
        bags = bags.to_dense()
        self.grid_ = (default_grid(bags) if isinstance(self.grid, str) else clone(self.grid)).fit(bags)
        points = self.grid_.transform(bags).instances
        n_clusters = _distinct_up_to(self.n_clusters, points)
        clusters = KMeans(n_clusters, n_init=1, random_state=self.random_state)
        clusters.fit(points, sample_weight=np.repeat(w, bags.sizes))
        centers = np.unique(np.rint(clusters.cluster_centers_), axis=0)
        self.lower_, self.upper_, size = group_boxes(centers, self.grid_.s_, self._cuts(centers))
        self.size_ = np.exp(size - size.max())
        self.size_ /= self.size_.sum()
        self._winnow(self._merge(self._attributes(bags)), y, w)

    def _cuts(self, centers: np.ndarray) -> list[np.ndarray]:
        """Values of each feature at which boxes are told apart: those of all representatives."""
        return [np.unique(c) for c in centers.T]

    def _merge(self, active: np.ndarray) -> np.ndarray:
        """Attributes of the groups to keep: all of them."""
        return active

    def _attributes(self, bags) -> np.ndarray:
        """a_i(P): (bags, groups)."""
        parts = [
            np.unpackbits(bits.view(np.uint8), axis=1, count=group.stop - group.start, bitorder="little")
            for group, bits in self._hits(bags)
        ]
        return np.hstack(parts).view(bool)

    def _hits(self, bags):
        """Which groups have a point of which bag: a slice of the groups, and their bits for each bag.

        A group holds a point where it holds each of its coordinates, and these have few values: one mask of
        groups for each value serves all points that have it.
        """
        X = self.grid_.transform(bags.to_dense()).instances
        values = [np.unique(x, return_inverse=True) for x in X.T]
        first = np.cumsum([0, *(len(v) for v, _ in values)])
        rows = np.column_stack([start + r for start, (_, r) in zip(first, values, strict=False)])
        for group in slices(len(self.lower_), min(WIDE, max(64, BITS // int(first[-1])))):
            low, high = self.lower_[group].T, self.upper_[group].T
            masks = [
                _packed((v[:, None] >= a) & (v[:, None] <= b))
                for (v, _), a, b in zip(values, low, high, strict=True)
            ]
            yield group, _hits(np.vstack(masks), rows, bags.offsets)

    def _inside(self, bags):
        """Which instances lie in which boxes: a slice of the groups and a table of truth values each."""
        X = self.grid_.transform(bags.to_dense()).instances
        for block in slices(len(self.lower_), max(1, LIMIT // max(1, X.size))):
            low, high = self.lower_[block], self.upper_[block]
            inside = np.ones((len(X), len(low)), bool)
            for k in range(X.shape[1]):
                inside &= (X[:, k, None] >= low[:, k]) & (X[:, k, None] <= high[:, k])
            yield block, inside

    def _winnow(self, active: np.ndarray, y: np.ndarray, w: np.ndarray) -> None:
        self.hit_, self.missed_ = np.zeros(len(self.size_)), np.zeros(len(self.size_))
        counted: list[int] = []
        weights = self._weights()
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_, mistakes = n_iter, 0
            for a, label, weight in zip(active, y, w, strict=True):
                guess = 1.0 if self._scores(a, *weights) > 0 else -1.0
                if guess != label:
                    step = 0.5 * (label - guess) * weight * np.log(self.alpha)
                    self.hit_[a] = np.clip(self.hit_[a] + step, -300, 300)
                    self.missed_[~a] = np.clip(self.missed_[~a] + step, -300, 300)
                    weights = self._weights()
                    mistakes += 1
            counted.append(mistakes)
            if not mistakes:
                break
        self.mistakes_ = np.array(counted)

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the groups that are hit and of those that are missed."""
        return self.size_ * np.exp(self.hit_), self.size_ * np.exp(self.missed_)

    def _scores(self, active: np.ndarray, hit: np.ndarray, missed: np.ndarray) -> np.ndarray:
        """Log of the weighted sum over theta; the border itself, up to rounding, counts as positive."""
        return np.log((active @ hit + ~active @ missed) / self.theta) + ROUNDING

    @groupwise
    def _decision(self, bags):
        hit, missed = self._weights()
        total = np.zeros(len(bags))
        for group, bits in self._hits(bags):
            total += _weighted(bits, hit[group], missed[group])
        return np.log(total / self.theta) + ROUNDING

    @groupwise
    def _instances(self, bags):
        r"""Exact shares of the weighted sum: what a hit adds is split among the points inside the box."""
        gain = self.size_ * (np.exp(self.hit_) - np.exp(self.missed_))
        total = np.zeros(bags.offsets[-1])
        for block, inside in self._inside(bags):
            held = np.add.reduceat(inside, bags.offsets[:-1], dtype=float)
            total += (inside / np.maximum(held, 1.0)[bags.owner]) @ gain[block]
        return total / self.theta


class GMIL2(GMIL1):
    r"""GMIL-1 with fewer groups: few cuts per feature, and groups that no training bag tells apart merged.

    Two heuristics in the spirit of [1]_. Boxes are only told apart at ``n_cuts`` values of each feature
    (quantiles of the representatives), so their number no longer grows with the number of representatives.
    Groups whose boxes hit the same training bags always carry the same weights; they become one.

    Parameters
    ----------
    n_cuts : int
        Most values of a feature at which boxes are told apart.
    n_clusters, alpha, theta, max_iter, grid, class_weight, random_state : as in ``GMIL1``

    References
    ----------
    .. [1] Q. Tao, S. Scott, "A faster algorithm for generalized multiple-instance learning", FLAIRS 2004.
    """

    _parameter_constraints: dict = {
        **GMIL1._parameter_constraints,
        "n_cuts": [COUNT],
    }

    def __init__(
        self,
        n_cuts=6,
        n_clusters=40,
        alpha=1.1,
        theta=1.0,
        max_iter=200,
        grid="auto",
        class_weight=None,
        random_state=None,
    ):
        super().__init__(n_clusters, alpha, theta, max_iter, grid, class_weight, random_state)
        self.n_cuts = n_cuts

    def _cuts(self, centers):
        q = (np.arange(self.n_cuts) + 0.5) / self.n_cuts
        return [np.unique(np.quantile(c, q, method="inverted_cdf")) for c in centers.T]

    def _merge(self, active):
        order = np.argsort(-self.size_, kind="stable")
        _, first, group = np.unique(active[:, order], axis=1, return_index=True, return_inverse=True)
        self.size_ = np.bincount(group.ravel(), self.size_[order])
        self.lower_, self.upper_ = self.lower_[order][first], self.upper_[order][first]
        return active[:, order][:, first]


def _distinct_up_to(most: int, points: np.ndarray) -> int:
    """The number of different points, no further than ``most``."""
    seen = set()
    for point in points:
        seen.add((point + 0.0).tobytes())  # -0.0 is 0.0
        if len(seen) == most:
            break
    return len(seen)


def _packed(table: np.ndarray) -> np.ndarray:
    """Truth values as bits of 64-bit words, row by row."""
    bits = np.zeros((len(table), -(-table.shape[1] // 64) * 8), np.uint8)
    found = np.packbits(table, axis=1, bitorder="little")
    bits[:, : found.shape[1]] = found
    return bits.view("<u8")


@njit
def _hits(masks, rows, offsets):
    """Bits of the groups that hold some point of each bag; ``rows`` are the masks of its coordinates."""
    out = np.zeros((len(offsets) - 1, masks.shape[1]), np.uint64)
    inside = np.empty(masks.shape[1], np.uint64)
    for s in range(len(out)):
        for x in range(offsets[s], offsets[s + 1]):
            inside[:] = masks[rows[x, 0]]
            for k in range(1, rows.shape[1]):
                inside &= masks[rows[x, k]]
            out[s] |= inside
    return out


@njit
def _weighted(bits, hit, missed):
    """For each bag the weights of the groups it hits, and of those it misses; by words, to round less."""
    total = np.zeros(len(bits))
    for s in range(len(bits)):
        for w in range(bits.shape[1]):
            word = 0.0
            for g in range(64 * w, min(64 * w + 64, len(hit))):
                inside = bits[s, w] >> np.uint64(g & 63) & np.uint64(1)
                word += hit[g] if inside else missed[g]
            total[s] += word
    return total
