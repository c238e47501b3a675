"""Bags that tell whether a method keeps to its assumption (Raff & Holt, NeurIPS 2023)."""

import numpy as np
from sklearn.utils import Bunch

from skmil._random import random_key
from skmil.bags import Bags
from skmil.datasets.loaders import as_result

KINDS = ("single", "double", "frequency")
POISON = -10.0  # mean of the instances that belong to the negative class in training


def make_assumption(
    kind="single", n_bags=200, n_features=16, bag_size=10, random_state=None, *, return_X_y=False
) -> Bunch:
    r"""Draw training bags, test bags like them, and test bags in which a false shortcut fails [1]_.

    Under the standard assumption a bag is positive if it holds what makes it positive, whatever else
    it holds. Half of the bags are positive; :math:`N(a, v)` stands for independent features with mean a and
    variance v.

    - "single": a positive bag adds one to three instances of the concept, each from :math:`N(0, 3)` or
      :math:`N(1, 1)`, to its noise :math:`N(0, 1)`. *Poison* :math:`N(-10, 0.1)`: in training every
      negative bag holds one such instance, in the attack every positive bag does.
    - "double": a positive bag holds one to three instances of each of :math:`N(2, 0.1)` and
      :math:`N(3, 0.1)`, a negative bag one instance of only one of them; poison as before.
    - "frequency": a positive bag holds one instance of each concept, a negative bag one instance of the
      first in training and 35 to 44 of them in the attack. There is no poison.

    A method that respects the assumption keeps its AUC under attack; one that takes poison for
    evidence of the negative class, or counts where presence decides, falls, below one half if it
    relies on it. Methods free to use such evidence break no promise.

    Parameters
    ----------
    kind : "single", "double" or "frequency"
    n_bags : int
        Bags in each of the three sets.
    n_features : int
    bag_size : int
        A bag holds one to ``bag_size`` - 1 instances of noise.
    random_state : int, RandomState or None
    return_X_y : bool
        Make each of the three sets a pair ``(X, y)`` instead of everything.

    Returns
    -------
    Bunch
        ``train``, ``test`` and ``attacked``, each what a loader returns: a Bunch with ``data`` (Bags),
        ``target`` (0 or 1), ``ids`` and ``instance_target`` (1 for an instance of a concept, -1 for
        poison, 0 for noise).

    References
    ----------
    .. [1] E. Raff, J. Holt, "Reproducibility in multiple instance learning: a case for algorithmic unit
       tests", NeurIPS 2023.

    Examples
    --------
    >>> from skmil.datasets import make_assumption
    >>> sets = make_assumption("single", n_bags=4, random_state=0)
    >>> sets.train.target, sets.attacked.data.n_features
    (array([0, 1, 0, 1]), 16)
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; use one of {', '.join(KINDS)}")
    if n_bags < 2 or n_features < 1 or bag_size < 2:
        raise ValueError(
            f"n_bags is {n_bags}, n_features {n_features} and bag_size {bag_size}; "
            "give at least 2 bags, 1 feature and a bag size of 2"
        )
    rng = np.random.default_rng(int(random_key(random_state)))
    draw = _Draw(rng, kind, n_features, bag_size)
    attacks = {"train": False, "test": False, "attacked": True}
    return Bunch(**{name: as_result(draw.bags(n_bags, a), return_X_y) for name, a in attacks.items()})


class _Draw:
    """Draws bags of one kind, each a list of (instances, what they are)."""

    def __init__(self, rng, kind, n_features, bag_size):
        self.rng, self.kind, self.d, self.bag_size = rng, kind, n_features, bag_size

    def bags(self, n, attack) -> Bunch:
        y = np.arange(n) % 2
        drawn = [self._bag(bool(label), attack) for label in y]
        data = Bags.from_list([np.vstack([x for x, _ in parts]) for parts in drawn])
        marks = [np.full(len(x), mark) for parts in drawn for x, mark in parts]
        return Bunch(data=data, target=y, instance_target=np.concatenate(marks))

    def _bag(self, positive, attack):
        parts = [(self._normal(self.rng.integers(1, self.bag_size), 0, 1), 0)]
        parts += [(x, 1) for x in getattr(self, f"_{self.kind}")(positive, attack)]
        if self.kind != "frequency" and positive == attack:
            parts.append((self._normal(1, POISON, 0.1), -1))
        return parts

    def _single(self, positive, attack):
        if not positive:
            return []
        wide = self.rng.random(self.rng.integers(1, 4)) < 0.5
        return [self._normal(1, 0, 3) if w else self._normal(1, 1, 1) for w in wide]

    def _double(self, positive, attack):
        if positive:
            return [self._normal(self.rng.integers(1, 4), mean, 0.1) for mean in (2, 3)]
        return [self._normal(1, self.rng.integers(2, 4), 0.1)]

    def _frequency(self, positive, attack):
        if positive:
            return [self._normal(1, mean, 0.1) for mean in (2, 3)]
        return [self._normal(self.rng.integers(35, 45) if attack else 1, 2, 0.1)]

    def _normal(self, n, mean, variance) -> np.ndarray:
        return self.rng.normal(mean, np.sqrt(variance), size=(n, self.d))
