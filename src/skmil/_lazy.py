"""How bags are cut into blocks, and what stands for bags that are not in memory."""

from abc import ABCMeta, abstractmethod

import numpy as np

GROUP = 4096  # instances computed on by one call; a larger bag is a group of its own
BLOCK_BYTES = 2**25  # instances that are read at a time; larger blocks come in fresh pages, which cost more


class LazyBags(metaclass=ABCMeta):
    """Bags that lie elsewhere and are read block by block; ``load()`` brings them all into memory.

    An estimator with ``_streams = True`` is given one as it is; for any other it is loaded.
    """

    @abstractmethod
    def load(self):
        """All bags, in memory."""


def groups(sizes: np.ndarray) -> list[slice]:
    """Neighbouring bags with at most ``GROUP`` instances together, or one bag.

    What is computed by BLAS depends, in its last bits, on the shape of a block. Groups depend on nothing
    but the sizes of the bags, and blocks that are read are unions of them: so memory and disk agree.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    found, start = [], 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + GROUP, side="right")) - 1)
        found.append(slice(start, stop))
        start = stop
    return found


def cut(sizes: np.ndarray, row_bytes: float, max_bytes: int | None = None) -> list[slice]:
    """Unions of groups with at most ``max_bytes`` bytes of instances, or one group."""
    limit = BLOCK_BYTES if max_bytes is None else max_bytes
    if not limit > 0:
        raise ValueError(f"max_bytes is {max_bytes!r}; give a positive number")
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    found: list[slice] = []
    for g in groups(sizes):
        start = found[-1].start if found else 0
        if found and (offsets[g.stop] - offsets[start]) * row_bytes <= limit:
            found[-1] = slice(start, g.stop)
        else:
            found.append(g)
    return found


def sample(key, n: int, size: int) -> np.ndarray:
    """``size`` different numbers below ``n`` in ascending order; all of them where there are no more."""
    if n <= size:
        return np.arange(n)
    random = np.random.default_rng(int(key))
    return np.sort(random.choice(n, size, replace=False, shuffle=False))
