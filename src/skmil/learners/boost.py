r"""Boosting balls and boxes around positive instances (Auer & Ortner, ECML 2004)."""

from dataclasses import dataclass

import numpy as np

from skmil._engines.nearest import nearest
from skmil._jit import bag, njit
from skmil._parameters import CLASS_WEIGHT, COUNT, one_of
from skmil._threads import map_blocks, slices
from skmil.learners.base import BinaryBagClassifier, groupwise

CENTRES, SORTED = 64, 1024  # in one block of work, and in one of those that are sorted in turn


class BallBoost(BinaryBagClassifier):
    r"""AdaBoost with regions of the instance space: a bag that meets a region is called positive [1]_.

    .. math::
        f(B) = \alpha_0 + \sum_t \alpha_t h_t(B), \qquad
        h_t(B) = \begin{cases} +1 & B \cap R_t \ne \emptyset \\ -1 & \text{else} \end{cases}, \qquad
        \alpha_t = \tfrac{1}{2} \log \frac{1 - \varepsilon_t}{\varepsilon_t}

    :math:`R_t` is the best of all balls around an instance of a positive bag, for the bag weights of
    round t. With the bags sorted by their distance to a centre, one pass over them finds its best radius
    among all; the radius lies halfway between the last bag inside and the first outside. Distances are
    Euclidean ("ball") or largest coordinate differences ("cube"); a "box" starts as the best cube and moves
    the one of its 2d faces that most lowers the weighted error, until none does.

    ``score_instances`` is exact: a region's vote is split among the instances inside it, and the shares
    of a bag add up to f(B) less what f is for a bag that meets no region.

    Cost: :math:`O(N_+ N d)` for the distances, once; :math:`O(N_+ n)` per round, for a box
    :math:`O(N d)` more per face moved. Memory :math:`12 N_+ n` bytes, with N+ instances of positive bags.

    Parameters
    ----------
    shape : "ball", "cube", "box" or "auto"
        Cubes and boxes need dense features; "auto" is a box for these, and a ball for sparse ones.
    n_rounds : int
        Most rounds; it ends earlier with a region that makes no error, or none better than chance.
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    shape_ : "ball", "cube" or "box"
    centers_ : array (T, d)
        Centres of the regions, all of them instances of positive bags.
    radii_ : array (T,)
        Of the balls, or of the cubes that boxes started from.
    low_, high_ : arrays (T, d)
        Faces of the cubes and boxes.
    weights_ : array (T,), the :math:`\alpha_t`
    intercept_ : float
        Half the log-odds of the classes: the best constant, a hypothesis of round zero, which keeps
        the effect of bag weights.

    References
    ----------
    .. [1] P. Auer, R. Ortner, "A boosting approach to multiple instance learning", ECML 2004.

    Examples
    --------
    >>> from skmil.learners import BallBoost
    >>> X = [[[0.0], [5.0]], [[0.1]], [[0.2], [5.4]], [[0.3]]]
    >>> model = BallBoost().fit(X, [1, 0, 1, 0])
    >>> model.centers_, model.radii_.round(3)
    (array([[5.]]), array([2.55]))
    >>> model.predict([[[4.9]], [[0.0], [0.2]]])
    array([1, 0])
    """

    _parameter_constraints: dict = {
        "shape": [one_of("ball", "cube", "box", "auto")],
        "n_rounds": [COUNT],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(self, shape="ball", n_rounds=50, class_weight=None):
        self.shape = shape
        self.n_rounds = n_rounds
        self.class_weight = class_weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.shape in ("ball", "auto")
        return tags

    def _fit(self, bags, y, w):
        automatic = "ball" if bags.is_sparse else "box"
        self.shape_ = automatic if self.shape == "auto" else self.shape
        positive = bags[y > 0]
        search = _Search(bags, positive.instances, self.shape_)
        self.intercept_ = 0.5 * np.log(w[y > 0].sum() / w[y < 0].sum())
        p, rounds = _normalised(w * np.exp(-y * self.intercept_)), []
        for _ in range(self.n_rounds):
            region = search.best(p * y)
            h = np.where(region.hit, 1.0, -1.0)
            error = p[h != y].sum()
            if error >= 0.5 - 1e-12:
                break
            alpha = 0.5 * np.log((1 - error) / max(error, 1e-10))
            rounds.append((region, alpha))
            if error < 1e-10:  # nothing is left to learn
                break
            p = _normalised(p * np.exp(-alpha * y * h))
        self._keep(rounds, positive.instances)

    def _keep(self, rounds, centres):
        self.centers_ = centres[[r.centre for r, _ in rounds]]
        self.radii_ = np.array([r.radius for r, _ in rounds])
        self.weights_ = np.array([alpha for _, alpha in rounds])
        if self.shape_ != "ball":
            shape = len(rounds), centres.shape[1]
            self.low_ = np.array([r.low for r, _ in rounds]).reshape(shape)
            self.high_ = np.array([r.high for r, _ in rounds]).reshape(shape)

    @groupwise
    def _decision(self, bags):
        inside = self._inside(bags)
        hit = np.maximum.reduceat(inside, bags.offsets[:-1])
        return (2.0 * hit - 1.0) @ self.weights_ + self.intercept_

    @groupwise
    def _instances(self, bags):
        """Exact shares: those of a bag add up to f(B) less what f would be if it met no region.

        A region's share is split evenly among the instances of the bag inside it.
        """
        inside = self._inside(bags).astype(float)
        number = np.add.reduceat(inside, bags.offsets[:-1])[bags.owner]
        return (inside / np.maximum(number, 1.0)) @ (2.0 * self.weights_)

    def _inside(self, bags) -> np.ndarray:
        """Whether an instance (row) lies in a region (column)."""
        if self.shape_ == "ball":
            one_by_one = bags.one_by_one()
            return nearest(one_by_one, self.centers_) <= self.radii_**2
        X = bags.flat.instances
        columns = [((X >= a) & (X <= b)).all(axis=1) for a, b in zip(self.low_, self.high_, strict=True)]
        return np.column_stack(columns) if columns else np.zeros((len(X), 0), dtype=bool)


@dataclass
class _Region:
    """One weak hypothesis: number of its centre, radius, faces (of a cube or box), bags that meet it."""

    centre: int
    radius: float
    low: np.ndarray | None
    high: np.ndarray | None
    hit: np.ndarray


class _Search:
    """Finds the best region for given bag weights; distances are computed and sorted once."""

    def __init__(self, bags, centres, shape):
        self.bags, self.centres, self.shape = bags, centres, shape
        distances = _euclidean if shape == "ball" else _largest_difference
        size = centres.shape[0], len(bags)
        self.order, self.sorted = np.empty(size, dtype=np.int32), np.empty(size)
        for block in slices(size[0], SORTED):
            D = distances(bags, centres[block])
            order = np.argsort(D, axis=1, kind="stable")
            self.order[block], self.sorted[block] = order, np.take_along_axis(D, order, axis=1)

    def best(self, signed) -> _Region:
        """The region that meets the largest sum of ``signed``: the weight of a bag times its label."""
        c, radius = _best_ball(self.sorted, self.order, signed)
        hit = np.zeros(len(self.bags), dtype=bool)
        hit[self.order[c, self.sorted[c] <= radius]] = True
        if self.shape == "ball":
            return _Region(c, radius, None, None, hit)
        low, high = self.centres[c] - radius, self.centres[c] + radius
        if self.shape == "box":
            _grow(self.bags.instances, self.bags.owner, signed, low, high, hit)
        return _Region(c, radius, low, high, hit)


def _normalised(p) -> np.ndarray:
    return p / p.sum()


def _euclidean(bags, centres) -> np.ndarray:
    return np.sqrt(nearest(bags, centres)).T


def _largest_difference(bags, centres) -> np.ndarray:
    flat = bags.flat  # first, because it refuses sparse features
    blocks = [centres[s] for s in slices(len(centres), CENTRES)]
    return np.concatenate(map_blocks(lambda block: _chebyshev(block, flat), blocks))


@njit
def _chebyshev(centres, flat):
    """Distance of each centre to each bag in the largest-coordinate norm."""
    n = len(flat.offsets) - 1
    D = np.empty((len(centres), n))
    for c in range(len(centres)):
        for i in range(n):
            least = np.inf
            for x in bag(flat, i):
                d = 0.0
                for k in range(len(x)):
                    d = max(d, abs(x[k] - centres[c, k]))
                    if d >= least:  # not the nearest of its bag
                        break
                least = min(least, d)
            D[c, i] = least
    return D


@njit
def _best_ball(D, order, signed):
    """Centre and radius with the largest sum of ``signed`` inside; D and order are sorted by row."""
    most, centre, radius = -np.inf, 0, 0.0
    n = D.shape[1]
    for c in range(D.shape[0]):
        inside = 0.0
        equal = 1e-6 * D[c, n - 1]  # closer distances differ by rounding only
        for i in range(n):
            inside += signed[order[c, i]]
            last = i + 1 == n
            if inside > most + 1e-12 and (last or D[c, i + 1] - D[c, i] > equal):
                most, centre = inside, c
                radius = D[c, i] * (1 + 1e-9) if last else (D[c, i] + D[c, i + 1]) / 2
    return centre, radius


@njit
def _grow(X, owner, signed, low, high, hit):
    """Move faces of the box, in place, one at a time, as long as the sum of ``signed`` met rises."""
    d = X.shape[1]
    seen = np.zeros(len(hit), dtype=np.int64)
    for move in range(1, 2 * d * len(hit)):
        rows, faces, beyond = _candidates(X, owner, low, high, hit)
        order = np.argsort(beyond, kind="mergesort")
        order = order[np.argsort(faces[order], kind="mergesort")]
        best, stop = 1e-12, -1
        gain = 0.0
        for q in range(len(order)):
            r = order[q]
            stamp = 2 * d * move + faces[r]
            gain = 0.0 if q == 0 or faces[order[q - 1]] != faces[r] else gain
            if seen[owner[rows[r]]] != stamp:
                seen[owner[rows[r]]] = stamp
                gain += signed[owner[rows[r]]]
            if gain > best and _parts(faces, beyond, order, q):
                best, stop = gain, q
        if stop < 0:
            return
        _move(faces, beyond, order, stop, low, high)
        for q in range(stop + 1):
            if faces[order[q]] == faces[order[stop]]:
                hit[owner[rows[order[q]]]] = True


@njit
def _candidates(X, owner, low, high, hit):
    """Instances of bags not met that one face keeps out: row, face and distance beyond it."""
    n, d = X.shape
    rows, faces, beyond = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    m = 0
    for i in range(n):
        outside = 0
        if hit[owner[i]]:
            continue
        for k in range(d):
            if X[i, k] < low[k] or X[i, k] > high[k]:
                outside += 1
                if outside > 1:
                    break
                above = X[i, k] > high[k]
                rows[m], faces[m] = i, k + d * above
                beyond[m] = X[i, k] - high[k] if above else low[k] - X[i, k]
        m += outside == 1
    return rows[:m], faces[:m], beyond[:m]


@njit
def _parts(faces, beyond, order, q):
    """Whether a face can stop after the q-th candidate: the next one lies further out."""
    if q + 1 == len(order) or faces[order[q + 1]] != faces[order[q]]:
        return True
    return beyond[order[q + 1]] > beyond[order[q]]


@njit
def _move(faces, beyond, order, stop, low, high):
    """Put a face halfway between the last candidate inside and the next one, if there is one."""
    face, by = faces[order[stop]], beyond[order[stop]]
    if stop + 1 < len(order) and faces[order[stop + 1]] == face:
        by = (by + beyond[order[stop + 1]]) / 2
    else:
        by = by * (1 + 1e-9)
    if face < len(low):
        low[face] -= by
    else:
        high[face - len(low)] += by
