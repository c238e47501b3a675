"""Compile what the methods need before somebody waits for it."""

import warnings
from collections.abc import Callable

import numpy as np

from skmil.bags import Bags
from skmil.registry import REGISTRY, method

SHAPES = [(24, 6, 4), (24, 3, 40)]  # bags, instances of a bag, features: boxes are counted in several ways


def warm_up(say: Callable[[int, int, str], None]) -> None:
    """Fit and apply every method on a few small bags; compiled code stays in the cache of numba.

    ``say`` is told how many methods are done, of how many, and which.
    """
    for done, (name, entry) in enumerate(REGISTRY.items()):
        for task in entry.tasks:
            for shape in SHAPES:
                _use(name, task, *_made(*shape))
        say(done + 1, len(REGISTRY), name)


def _use(name: str, task: str, X: Bags, y: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about data that mean nothing
        try:
            model = method(name, task).fit(X, y if task == "classification" else y / 2.0)
        except ValueError:  # refused, as GMIL refuses many features: then there is nothing to compile
            return
        model.predict(X)
        model.score_instances(X[:2])


def _made(n: int, m: int, d: int) -> tuple[Bags, np.ndarray]:
    X, y = np.random.default_rng(0).normal(size=(n * m, d)), np.arange(n) % 2
    X[::m] += y[:, None]
    return Bags(X, np.arange(0, n * m + 1, m)), y
