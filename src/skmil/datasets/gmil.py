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
    n_features=2,
    bag_size=(6, 10),
    radius=0.15,
    random_state=None,
    *,
    return_X_y=False,
):
    """Bags labelled by counts: positive iff every point has ``low`` to ``high`` instances near it.

    Negative bags have too few or too many near some point, so presence alone does not tell.

    Parameters
    ----------
    n_bags, n_points, n_features : int
    low, high : int
        Weidmann's t and z.
    bag_size, radius, random_state, return_X_y : as in ``make_gmil``

    Returns
    -------
    Bunch with ``data``, ``target``, ``instance_target`` (1: counted, as near a point; 0: elsewhere) and
    ``concept``: points, low, high, radius

    Examples
    --------
    >>> from skmil.datasets import make_counts
    >>> made = make_counts(20, random_state=0)
    >>> len(made.data), int(made.target.sum())
    (20, 10)
    """
    if not 0 <= low <= high:
        raise ValueError(f"low is {low} and high is {high}; give 0 <= low <= high")
    if n_points * (high + 1) > bag_size[1]:
        raise ValueError(
            f"bags of {bag_size[1]} instances cannot hold {high + 1} near each of {n_points} points"
        )
    rng = check_random_state(random_state)
    points = _apart(rng, n_points, n_features, 2.5 * radius)
    concept = Bunch(points=points, low=int(low), high=int(high), radius=radius)

    def label(bag):
        near = _near(bag, points, radius).sum(axis=0)
        return int(((low <= near) & (near <= high)).all())

    def propose():
        return _place(rng, points, rng.randint(1, high + 3, n_points), bag_size, radius)

    made = _balanced(propose, label, n_bags, concept)
    made.instance_target = _near(made.data.instances, points, radius).any(axis=1).astype(int)
    return as_result(made, return_X_y)


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
    far = rng.uniform(0, 1, (200, d))
    far = far[~_near(far, points, radius).any(axis=1)][: max(0, n - sum(counts))]
    return np.vstack([*near, far, rng.uniform(0, 1, (int(sum(counts) + len(far) == 0), d))])


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
