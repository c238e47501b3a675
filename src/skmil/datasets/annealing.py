"""The two-dimensional sets of Gehler & Chapelle (AISTATS 2007, section 5)."""

import numpy as np
from sklearn.utils import Bunch, check_random_state

from skmil.bags import Bags
from skmil.datasets.loaders import as_result

SIDE, RADIUS = 4.0, 1.5  # half the side of the square; radius of the discs
LARGEST = 10  # instances of a bag
CENTRES = np.array([[-2.0, -2.0], [2.0, 2.0]])


def make_annealing_toy(n_bags=30, fraction=0.5, random_state=None, *, return_X_y=False):
    r"""Bags in the plane of whose instances, if positive, a known fraction is positive.

    The label is -1 or +1 and the size m is 1 to 10, both uniformly. A positive bag holds
    :math:`\lceil f m \rceil` points of the positive region; all other points are negative. Points are
    uniform in their region: two discs of radius 1.5 around (-2, -2) and (2, 2), and the rest of the square
    of side 8. (The paper shows its regions only as a picture.)

    Parameters
    ----------
    n_bags : int
        At least 2; the first two bags have different labels, so that both occur.
    fraction : float
        f, above 0 and at most 1.
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(X, y)`` instead of everything.

    Returns
    -------
    Bunch with ``data``, ``target`` and ``instance_target``, both -1 or +1

    Examples
    --------
    >>> from skmil.datasets import make_annealing_toy
    >>> make_annealing_toy(n_bags=5, fraction=0.5, random_state=0).data
    Bags(5 bags, ...
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction is {fraction!r}; give a number above 0 and at most 1")
    if n_bags < 2:
        raise ValueError(f"n_bags is {n_bags!r}; two are needed for two labels")
    rng = check_random_state(random_state)
    y = np.where(rng.uniform(size=n_bags) < 0.5, -1, 1)
    y[1] = -y[0]
    sizes = rng.randint(1, LARGEST + 1, size=n_bags)
    # Rounding must not turn f m = 3 into a ceiling of 4.
    positives = np.where(y > 0, np.ceil(np.round(fraction * sizes, 9)), 0).astype(int)
    labels = [np.repeat([1, -1], [k, m - k]) for k, m in zip(positives, sizes, strict=True)]
    X = Bags.from_list([_points(rng, part) for part in labels])
    return as_result(Bunch(data=X, target=y, instance_target=np.concatenate(labels)), return_X_y)


def is_positive(points) -> np.ndarray:
    """Whether points lie in the positive region."""
    distance = np.linalg.norm(np.asarray(points)[:, None] - CENTRES, axis=2)
    return (distance < RADIUS).any(axis=1)


def _points(rng, labels) -> np.ndarray:
    """A uniform point of its region for each label, by rejection."""
    points = np.empty((len(labels), 2))
    missing = np.arange(len(labels))
    while len(missing):
        draw = rng.uniform(-SIDE, SIDE, size=(len(missing), 2))
        fits = is_positive(draw) == (labels[missing] > 0)
        points[missing[fits]] = draw[fits]
        missing = missing[~fits]
    return points
