"""Sequences whose positions only mean something relative to each other (after Tao et al. 2008)."""

import numpy as np
from sklearn.utils import Bunch, check_random_state

from skmil.bags import Bags
from skmil.datasets.loaders import as_result


def make_profiles(
    n_bags=60,
    length=(24, 32),
    gap=(6, 12),
    noise=0.1,
    random_state=None,
    *,
    return_X_y=False,
):
    """Bags of positions with a measurement each; where a mark lies behind a motif tells the class.

    An instance is (position, measurement). Every sequence starts anywhere, holds a motif of five strong
    measurements somewhere in its first third, and a mark ``gap[0]`` (positive) or ``gap[1]`` (negative)
    steps behind the motif; the rest is noise. Absolute positions say nothing, those relative to the motif
    all.

    Parameters
    ----------
    n_bags : int
    length : (int, int)
        Shortest and longest sequence.
    gap : (int, int)
        Steps from the end of the motif to the mark, in positive and in negative bags.
    noise : float
        Standard deviation of the measurements.
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(X, y)`` instead of everything.

    Returns
    -------
    Bunch with ``data``, ``target``, ``instance_target`` (1: motif, 2: mark, 0: noise)

    Examples
    --------
    >>> from skmil.datasets import make_profiles
    >>> made = make_profiles(4, random_state=0)
    >>> made.data.n_features, made.target.tolist()
    (2, [0, 1, 0, 1])
    """
    if length[0] < max(gap) + 12:
        raise ValueError(
            f"sequences of {length[0]} steps cannot hold motif and mark; give {max(gap) + 12} or more"
        )
    rng = check_random_state(random_state)
    y = np.arange(n_bags) % 2
    bags, marks = zip(
        *(_profile(rng, length, gap[0] if label else gap[1], noise) for label in y), strict=True
    )
    made = Bunch(data=Bags.from_list(list(bags)), target=y, instance_target=np.concatenate(marks))
    return as_result(made, return_X_y)


MOTIF = np.array([4.0, -4.0, 5.0, -5.0, 4.0])


def _profile(rng, length, gap: int, noise: float):
    n = rng.randint(length[0], length[1] + 1)
    values, what = noise * rng.normal(size=n), np.zeros(n, int)
    start = rng.randint(0, max(1, min(n // 3, n - len(MOTIF) - gap)))
    values[start : start + len(MOTIF)] += MOTIF
    what[start : start + len(MOTIF)] = 1
    mark = start + len(MOTIF) - 1 + gap
    values[mark] += 2.0
    what[mark] = 2
    return np.column_stack([rng.randint(0, 300) + np.arange(n), values]), what
