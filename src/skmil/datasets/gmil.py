"""Bags from generalized concepts (Scott et al. 2005; Weidmann et al. 2003), with the concept returned."""

import numpy as np
from sklearn.utils import Bunch, check_random_state

from skmil.bags import Bags
from skmil.datasets.loaders import as_result


def make_gmil(
    n_bags=100,
    n_attraction=2,
    n_repulsion=1,
    r=None,
    n_features=2,
    bag_size=(4, 8),
    radius=0.12,
    random_state=None,
    *,
    return_X_y=False,
):
    """Bags labelled by attraction and repulsion points.

    A bag is positive iff at least ``r`` of these hold: an attraction point has an instance within
    ``radius`` (largest difference of a feature), a repulsion point has none. A toss of a coin decides
    whether a bag has an instance near a point; the other instances are uniform in the rest of the cube.

    Parameters
    ----------
    n_bags : int
    n_attraction, n_repulsion : int
    r : int, optional
        All of them where not given.
    n_features : int
    bag_size : (int, int)
        Smallest and largest number of instances.
    radius : float
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(X, y)`` instead of everything.

    Returns
    -------
    Bunch with ``data`` (Bags), ``target`` (0 or 1), ``instance_target`` (1: near an attraction point,
    -1: near a repulsion point, 0: elsewhere) and ``concept``: attraction, repulsion, r, radius

    Examples
    --------
    >>> from skmil.datasets import make_gmil
    >>> made = make_gmil(20, random_state=0)
    >>> len(made.data), int(made.target.sum()), made.concept.attraction.shape
    (20, 10, (2, 2))
    """
    k = n_attraction + n_repulsion
    r = k if r is None else r
    if not 1 <= r <= k:
        raise ValueError(f"r is {r}; give a number from 1 to {k}, the number of points")
    rng = check_random_state(random_state)
    points = _apart(rng, k, n_features, 2.5 * radius)
    concept = Bunch(
        attraction=points[:n_attraction], repulsion=points[n_attraction:], r=int(r), radius=radius
    )
    flips = np.arange(k) >= n_attraction

    def label(bag):
        return int((_near(bag, points, radius).any(axis=0) != flips).sum() >= r)

    def propose():
        # Each point is hit or missed by the toss of a coin, whatever the label will be.
        return _place(rng, points, rng.randint(0, 2, k), bag_size, radius)

    made = _balanced(propose, label, n_bags, concept)
    made.instance_target = _near(made.data.instances, points, radius) @ np.where(flips, -1, 1)
    return as_result(made, return_X_y)


def make_counts(
    n_bags=100,
    n_points=1,
    low=2,
    high=3,
    r=None,
    n_features=2,
    bag_size=(6, 10),
    radius=0.15,
    random_state=None,
    *,
    return_X_y=False,
):
    """Bags labelled by counts: positive iff ``r`` points have ``low`` to ``high`` instances near them.

    Negative bags have too few or too many near the others, so presence alone does not tell. Nor does the
    size of a bag: it is drawn alike for both classes, and the rest of a bag lies far from all points.

    Parameters
    ----------
    n_bags, n_points, n_features : int
    low, high : int, or one for each point
        Weidmann's t and z: 0 and 0 ask for a point that nothing is near.
    r : int, optional
        How many points must have the right number; all of them where not given.
    bag_size, radius, random_state, return_X_y : as in ``make_gmil``

    Returns
    -------
    Bunch with ``data``, ``target``, ``instance_target`` (1: counted, as near a point; 0: elsewhere) and
    ``concept``: points, low and high (arrays, one number for each point), r, radius

    Examples
    --------
    >>> from skmil.datasets import make_counts
    >>> made = make_counts(20, random_state=0)
    >>> len(made.data), int(made.target.sum())
    (20, 10)
    """
    low, high = (_per_point(v, n_points, name) for v, name in ((low, "low"), (high, "high")))
    r = n_points if r is None else r
    if not ((low >= 0) & (low <= high)).all():
        raise ValueError(f"low is {low} and high is {high}; give 0 <= low <= high")
    if not 1 <= r <= n_points:
        raise ValueError(f"r is {r}; give a number from 1 to {n_points}, the number of points")
    _check_room(low, high, r, bag_size)
    rng = check_random_state(random_state)
    points = _apart(rng, n_points, n_features, 2.5 * radius)
    bags, y = [], np.arange(n_bags) % 2
    for label in y:
        # First the label and the size, independent of each other, then counts that fit both.
        n = rng.randint(bag_size[0], bag_size[1] + 1)
        bags.append(_place(rng, points, _counts(rng, low, high, r, label, n), (n, n), radius))
    concept = Bunch(points=points, low=low, high=high, r=int(r), radius=radius)
    made = Bunch(data=Bags.from_list(bags), target=y, concept=concept)
    made.instance_target = _near(made.data.instances, points, radius).any(axis=1).astype(int)
    return as_result(made, return_X_y)


def _per_point(value, n_points: int, name: str) -> np.ndarray:
    found = np.asarray(value, dtype=int)
    if found.ndim > 1 or (found.ndim and len(found) != n_points):
        raise ValueError(f"{name} is {value!r}; give one number, or one for each of {n_points} points")
    return np.full(n_points, found)


def _check_room(low, high, r: int, bag_size) -> None:
    """Whether the smallest bag can be of either class: what the cheapest counts of each take."""
    wrong = np.where(low > 0, 0, high + 1)
    for label, needed in (
        ("positive", np.sort(low)[:r].sum()),
        ("negative", np.sort(wrong)[: len(low) - r + 1].sum()),
    ):
        if needed > bag_size[0] or bag_size[0] < 1:
            raise ValueError(
                f"bags of {bag_size[0]} instances cannot be {label}: that takes {max(needed, 1)} near the "
                "points; make bag_size larger, or low and high smaller"
            )


def _counts(rng, low, high, r: int, label: int, n: int) -> np.ndarray:
    """Numbers near each point that make the label and are not more than n together."""
    for _ in range(1000):
        tried = rng.randint(0, high + 3, (1000, len(low)))
        right = ((low <= tried) & (tried <= high)).sum(axis=1) >= r
        found = np.flatnonzero((right == label) & (tried.sum(axis=1) <= n))
        if len(found):
            return tried[found[0]]
    raise ValueError("this concept leaves one of the classes almost empty; change its numbers or r")


def _balanced(propose, label, n_bags: int, concept) -> Bunch:
    """Propose bags until both classes have half."""
    wanted = {0: n_bags - n_bags // 2, 1: n_bags // 2}
    made: dict[int, list] = {0: [], 1: []}
    for _ in range(10_000 * n_bags):
        bag = propose()
        y = label(bag)
        if len(made[y]) < wanted[y]:
            made[y].append(bag)
        if all(len(made[c]) == wanted[c] for c in made):
            break
    else:
        raise ValueError(
            "this concept leaves one of the classes almost empty; change its numbers or radius"
        )
    y = np.arange(n_bags) % 2
    take = {c: iter(made[c]) for c in made}
    return Bunch(data=Bags.from_list([next(take[int(c)]) for c in y]), target=y, concept=concept)


def _place(rng, points, counts, bag_size, radius) -> np.ndarray:
    """A bag with the given number of instances near each point, the others far from all."""
    d = points.shape[1]
    near = [p + radius * rng.uniform(-1, 1, (c, d)) for p, c in zip(points, counts, strict=True)]
    n = max(rng.randint(bag_size[0], bag_size[1] + 1), 1)
    far = np.empty((0, d))
    for _ in range(100):
        new = rng.uniform(0, 1, (200, d))
        far = np.vstack([far, new[~_near(new, points, radius).any(axis=1)]])[: max(0, n - sum(counts))]
        if len(far) + sum(counts) >= n:
            break
    else:
        raise ValueError(f"{len(points)} points of radius {radius:g} leave no room elsewhere; use fewer")
    return np.vstack([*near, far])


def _near(bag, points, radius) -> np.ndarray:
    """Which instance (row) is near which point (column)."""
    return (np.abs(bag[:, None] - points) <= radius).all(axis=2)


def _apart(rng, k: int, d: int, distance: float) -> np.ndarray:
    """Points of the unit cube that keep a distance in some feature, so that their regions do not touch."""
    points = np.empty((0, d))
    for _ in range(200 * k):
        new = rng.uniform(0.15, 0.85, (1, d))
        if (np.abs(points - new).max(axis=1) >= distance).all():
            points = np.vstack([points, new])
        if len(points) == k:
            return points
    raise ValueError(f"{k} points do not fit at a distance of {distance:g}; use fewer, or a smaller radius")
