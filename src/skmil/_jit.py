"""How code is compiled, how many threads run it, and where its random numbers come from.

Compiled cores are plain sequential functions that release the GIL; threads come from the standard
library's pool, one call per block of work. Unlike Numba's own parallel loops this
compiles fast, may be called from any thread or forked process, can be interrupted between blocks,
and gives the same bits whatever the number of threads.
"""

import os
import threading
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import current_process
from typing import Any

import numba
import numpy as np
import scipy.linalg  # noqa: F401 -- loads its BLAS, so that the controller below sees it
from threadpoolctl import ThreadpoolController

Flat = namedtuple("Flat", ["instances", "offsets"])
Flat.__doc__ = "Bags as compiled code sees them: instances (N x d) and offsets (n + 1)."

_local = threading.local()


def njit(function: Callable | None = None, **options: Any) -> Any:
    """``numba.njit`` with the defaults of this package: cached, GIL released, IEEE arithmetic."""
    return numba.njit(function, cache=True, nogil=True, error_model="numpy", **options)


@njit
def bag(flat, i):
    """Return the i-th bag of ``flat`` as a view."""
    return flat.instances[flat.offsets[i] : flat.offsets[i + 1]]


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Run compiled code in ``n`` threads inside this block; ``None`` or -1 means all cores.

    Examples
    --------
    >>> import skmil
    >>> with skmil.threads(1):
    ...     K = skmil.kernels.SetKernel(gamma=1.0)([[[0.0]], [[1.0]]])
    """
    before = getattr(_local, "n", None)
    _local.n = _all_threads() if n is None or n < 1 else int(n)
    try:
        yield
    finally:
        _local.n = before


def n_threads() -> int:
    """Threads that a call may use here: one inside a worker, so that nothing oversubscribes."""
    chosen = getattr(_local, "n", None)
    if chosen is not None:
        return chosen
    worker = current_process().name != "MainProcess"
    return 1 if worker or threading.current_thread() is not threading.main_thread() else _all_threads()


def map_blocks(function: Callable, blocks: Iterable) -> list:
    """``[function(b) for b in blocks]`` in threads, results in order.

    BLAS runs on one thread inside, so the bits do not depend on how many of ours there are.
    """
    blocks = list(blocks)
    n = min(n_threads(), len(blocks))
    with one_blas_thread():
        if n <= 1:
            return [function(b) for b in blocks]
        pool = ThreadPoolExecutor(n)
        try:
            return list(pool.map(function, blocks))
        finally:
            pool.shutdown(cancel_futures=True)


def one_blas_thread():
    """Context in which BLAS runs on one thread, so that its bits do not depend on the machine."""
    return _blas().limit(limits=1, user_api="blas")


def slices(n: int, size: int) -> list[slice]:
    """Cut ``range(n)`` into slices of at most ``size``."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _all_threads() -> int:
    named = os.environ.get("SKMIL_NUM_THREADS", "")
    return int(named) if named.isdigit() and int(named) > 0 else len(os.sched_getaffinity(0))


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def random_key(random_state: Any) -> np.uint64:
    """One 64-bit key from an int, ``None`` or a RandomState; every stream is derived from it."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return np.uint64(int(random_state) % 2**64)
    if random_state is None:
        return np.uint64(np.random.SeedSequence().generate_state(1, np.uint64)[0])
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


@njit
def exp(x):
    """e^x for x <= 0 to one unit in the last place; unlike ``math.exp``, loops over it vectorise."""
    x = max(x, -708.0)
    z = x * 1.4426950408889634 + 6755399441055744.0  # adding 1.5 * 2^52 rounds to an integer
    n = z - 6755399441055744.0
    r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10
    p = 1.6059043836821613e-10  # Taylor series of e^r, |r| <= ln(2) / 2
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.int64((np.float64(z).view(np.int64) + np.int64(1023)) << np.int64(52))
    return p * power.view(np.float64)
