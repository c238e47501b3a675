"""Bags whose labels follow one of three mechanisms: the synthetic sets of Wang, Yang & Zha (ICML 2008)."""

import numpy as np
from sklearn.utils import Bunch

from skmil._random import random_key
from skmil.bags import Bags
from skmil.datasets.loaders import as_result

# Mechanism -> (share of the components that are positive, share of a bag that must be exceeded).
SHARES = {1: (0.0, 0.0), 2: (0.2, 0.2), 3: (0.5, 0.5)}


def make_mixture_bags(
    mechanism=1,
    n_bags=200,
    bag_size=13,
    n_components=20,
    n_features=5,
    spread=0.2,
    random_state=None,
    *,
    return_X_y=False,
):
    r"""Draw the synthetic sets of the PPMM paper [1]_: three ways in which instances make a label.

    All instances come from one mixture of K round Gaussians with equal weights. Those of some
    components are positive, and a bag is positive if it holds

    1. at least one instance of one component,
    2. more than 20 % instances of K / 5 components,
    3. more than 50 % instances of K / 2 components.

    With the defaults about half of the bags are positive under each mechanism.

    The power p that PPMM learns differs little between mechanisms 2 and 3: from the true components it is
    2.24 and 2.38 in the limit of many bags, with a standard deviation of 0.16 over draws of the paper's 200
    bags. So one draw in five puts the three out of order even then; one in fifty with 2000 bags.

    Parameters
    ----------
    mechanism : 1, 2 or 3
    n_bags, bag_size, n_components, n_features : int
        N, S, K and D of the paper.
    spread : float
        Standard deviation of a component; the centres are standard normal.
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(X, y)`` instead of everything.

    Returns
    -------
    Bunch with ``data``, ``target`` (0 and 1), ``instance_target`` (1: of a positive component) and
    ``component`` of each instance

    References
    ----------
    .. [1] H.-Y. Wang, Q. Yang, H. Zha, "Adaptive p-posterior mixture-model kernels for multiple instance
       learning", ICML 2008.

    Examples
    --------
    >>> from skmil.datasets import make_mixture_bags
    >>> make_mixture_bags(mechanism=2, random_state=0).data
    Bags(200 bags, 2600 instances, 5 features; sizes 13 to 13, median 13)
    """
    if mechanism not in SHARES:
        raise ValueError(f"mechanism is {mechanism!r}; use 1, 2 or 3")
    sizes = {"n_bags": n_bags, "bag_size": bag_size, "n_components": n_components, "n_features": n_features}
    for name, value in sizes.items():
        if not value >= 1:
            raise ValueError(f"{name} is {value!r}; give at least 1")
    if not spread >= 0:
        raise ValueError(f"spread is {spread!r}; a standard deviation is not negative")
    rng = np.random.default_rng(int(random_key(random_state)))
    centers = rng.normal(size=(n_components, n_features))
    component = rng.integers(n_components, size=n_bags * bag_size)
    instances = centers[component] + spread * rng.normal(size=(n_bags * bag_size, n_features))
    among, exceed = SHARES[mechanism]
    # Components have no order, so the first ones are as random a choice as any.
    positive = component < max(1, round(among * n_components))
    y = positive.reshape(n_bags, bag_size).sum(axis=1) > exceed * bag_size
    bags = Bags(instances, np.arange(n_bags + 1) * bag_size)
    made = Bunch(data=bags, target=y.astype(int), instance_target=positive.astype(int), component=component)
    return as_result(made, return_X_y)
