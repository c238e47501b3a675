"""Where blocks of work run: the standard library's threads.

Unlike Numba's own parallel loops these may be entered from any thread or forked process, can be interrupted
between blocks, and give the same bits whatever their number.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import current_process

from threadpoolctl import ThreadpoolController

_local = threading.local()


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
