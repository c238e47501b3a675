"""Random numbers by counter: the same ones in any block, thread or worker."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skmil._jit import njit


def random_key(random_state: Any) -> np.uint64:
    """One 64-bit key from an int, a RandomState or a Generator; every stream is derived from it.

    ``None`` is the global RandomState, as in scikit-learn: it follows ``np.random.seed``.
    """
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return np.uint64(int(random_state) % 2**64)
    random_state = check_random_state(None) if random_state is None else random_state
    if isinstance(random_state, np.random.Generator):
        return np.uint64(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return np.uint64(random_state.randint(2**62))
    raise ValueError(f"random_state is {random_state!r}; give an int, None or a RandomState")


# SplitMix64 (Steele, Lea & Flood 2014): a hash of (key, counter), so any draw can be made anywhere.
@njit
def mix(key, counter):
    """Hash a key and a counter (both uint64) to 64 random bits; also makes the key of a stream."""
    z = np.uint64(key) + (np.uint64(counter) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit
def uniform(key, counter):
    """The ``counter``-th number of the stream ``key``, uniform on [0, 1)."""
    return np.float64(mix(key, counter) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
