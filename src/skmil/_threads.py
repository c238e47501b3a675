"""Where blocks of work run: the standard library's threads.

Unlike Numba's own parallel loops these may be entered from any thread or forked process, can be interrupted
between blocks, and give the same bits whatever their number.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from multiprocessing import current_process

from threadpoolctl import ThreadpoolController

_local = threading.local()
_blas_lock = threading.Lock()
_blas_before: list[list[int]] = []  # threads of BLAS as each that is inside ``one_blas_thread`` found them


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

    BLAS runs on one thread inside, so the bits do not depend on how many of ours there are. Context
    variables, such as what a search has kept, are those of the caller.
    """
    blocks = list(blocks)
    n = min(n_threads(), len(blocks))
    with one_blas_thread():
        if n <= 1:
            return [function(b) for b in blocks]
        context = copy_context()
        pool = ThreadPoolExecutor(n)
        try:
            # A copy for each block, because a context is entered by one thread at a time.
            return list(pool.map(lambda b: context.copy().run(function, b), blocks))
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS runs on one thread, so that its bits do not depend on the machine.

    Most libraries have one number of threads for the whole process: the first to enter sets it, the last to
    leave, in whatever thread and order, puts it back. Those on OpenMP have one for each thread.
    """
    shared, own = _blas()
    mine = [lib.get_num_threads() for lib in own]
    with _blas_lock:
        before = _blas_before[0] if _blas_before else [lib.get_num_threads() for lib in shared]
        _blas_before.append(before)
        _set_threads(shared + own, [1] * len(shared + own))
    try:
        yield
    finally:
        with _blas_lock:
            _blas_before.pop()
            _set_threads(own, mine)
            if not _blas_before:
                _set_threads(shared, before)


def slices(n: int, size: int) -> list[slice]:
    """Cut ``range(n)`` into slices of at most ``size``."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _all_threads() -> int:
    named = os.environ.get("SKMIL_NUM_THREADS", "")
    return int(named) if named.isdigit() and int(named) > 0 else _cores()


def _cores() -> int:
    """Cores that this process may use, as far as Python and the system can tell."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _blas() -> tuple[list, list]:
    """The BLAS libraries of this process: those with one pool of threads, and with one a thread."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    own = [lib for lib in found if getattr(lib, "threading_layer", None) == "openmp"]
    return [lib for lib in found if lib not in own], own


def _set_threads(libraries, numbers) -> None:
    for lib, n in zip(libraries, numbers, strict=True):
        # The plain setter of newer versions of threadpoolctl hears only the thread that called it first.
        getattr(lib, "_real_set_num_threads", lib.set_num_threads)(n)
