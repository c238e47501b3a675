"""Synthetic musk molecules with Lennard-Jones energies, after Dooly, Zhang, Goldman & Amar (JMLR 2002)."""

import numpy as np
from sklearn.utils import Bunch

from skmil._random import random_key
from skmil.bags import Bags
from skmil.datasets.loaders import as_result

WALL = (8.0, 13.0)  # where the wall of the receptor lies, in each direction


def make_lj(
    n_relevant=16,
    n_features=30,
    n_scales=1,
    n_bags=92,
    sizes=(3, 5),
    radius=2.5,
    random_state=None,
    *,
    return_X_y=False,
):
    r"""Make molecules whose target is the binding energy of their best conformation.

    Feature k of a conformation is the distance from its centre to its surface along one ray, and the
    receptor is a wall at distance :math:`t_k`. The gap between the two gives the energy

    .. math::
        E(x) = \frac{\sum_k s_k V(t_k - x_k)}{\sum_k s_k}, \qquad
        V(g) = 2 \Big(\frac{r}{r + g}\Big)^6 - \Big(\frac{r}{r + g}\Big)^{12}, \quad g \ge 0,

    a Lennard-Jones potential turned around, 1 at contact and falling to 0. A molecule binds with its best
    conformation, so that targets are in (0, 1]; thresholded at 1/2 they make a set for classification.
    ``make_lj(160, 166, 1)`` resembles LJ-160.166.1 of the paper.

    Parameters
    ----------
    n_relevant : int
        The first so many features have a scale :math:`s_k > 0`; the others look alike and do not matter.
    n_features : int
    n_scales : int
        Number of different scales: 1, 1/2, ..., 1/n_scales in turn.
    n_bags : int
    sizes : (int, int)
        Fewest and most conformations of a molecule.
    radius : float
        The r of the potential: small ones make a narrow optimum.
    random_state : int, Generator or None
    return_X_y : bool
        Return ``(X, y)`` instead of everything.

    Returns
    -------
    Bunch with ``data``, ``target`` in (0, 1], ``wall`` (t), ``scales`` (s) and ``energy`` of each instance

    Examples
    --------
    >>> from skmil.datasets import make_lj
    >>> bags, y = make_lj(5, 8, n_bags=20, random_state=0, return_X_y=True)
    >>> bags.n_features, bool((y > 0).all() and (y <= 1).all())
    (8, True)
    """
    if not 1 <= n_relevant <= n_features:
        raise ValueError(f"n_relevant is {n_relevant} of {n_features} features; give 1 to n_features")
    if not 1 <= n_scales <= n_relevant:
        raise ValueError(f"n_scales is {n_scales}; give 1 to n_relevant ({n_relevant})")
    if n_bags < 1 or not 1 <= sizes[0] <= sizes[1] or not radius > 0:
        raise ValueError(
            f"n_bags={n_bags}, sizes={sizes}, radius={radius}: all must be positive, sizes in order"
        )
    rng = np.random.default_rng(int(random_key(random_state)))
    wall = rng.uniform(*WALL, n_features)
    scale = np.where(np.arange(n_features) < n_relevant, 1.0 / (1 + np.arange(n_features) % n_scales), 0.0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(sizes[0], sizes[1] + 1, n_bags))])
    # A molecule has a typical gap of its own, which spreads the energies; its conformations vary around it.
    gap = np.repeat(rng.uniform(0, 1.2 * radius, n_bags), np.diff(offsets))
    X = wall - gap[:, None] * rng.uniform(0, 2, (offsets[-1], n_features))
    energy = binding_energy(X, wall, scale, radius)
    y = np.maximum.reduceat(energy, offsets[:-1])
    return as_result(
        Bunch(data=Bags(X, offsets), target=y, wall=wall, scales=scale, energy=energy), return_X_y
    )


def binding_energy(X, wall, scale, radius) -> np.ndarray:
    """E of each conformation (row of X)."""
    sixth = (radius / (radius + wall - X)) ** 6
    return (2 * sixth - sixth**2) @ scale / scale.sum()
