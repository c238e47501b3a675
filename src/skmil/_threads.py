"""Where blocks of work run: the standard library's threads.

Unlike Numba's own parallel loops these may be entered from any thread or forked process, and give the same
bits whatever their number. The main thread never computes: it waits, and so hears Ctrl-C, which Python
tells to no other. Then it raises a flag that ends the work between two blocks, and inside long compiled
loops, which read it.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache, wraps
from multiprocessing import current_process
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

PATIENCE = 0.5  # seconds that work may take to end after Ctrl-C; then it is left behind

_local = threading.local()
_blas_lock = threading.Lock()
_blas_before: list[list[int]] = []  # threads of BLAS as each that is inside ``one_blas_thread`` found them
_stop: ContextVar["np.ndarray | None"] = ContextVar("stop", default=None)


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
    return 1 if worker or not _is_main() else _all_threads()


def map_blocks(function: Callable, blocks: Iterable, brief: bool = False) -> list:
    """``[function(b) for b in blocks]`` in threads, results in order.

    BLAS runs on one thread inside, so the bits do not depend on how many of ours there are. Context
    variables, such as what a search has kept, are those of the caller. Work that is ``brief``, a few
    milliseconds, need not be interrupted: then no thread is started to wait for it.
    """
    if _is_main() and _stop.get() is None and not brief:
        return interruptible(map_blocks)(function, blocks)
    blocks = list(blocks)
    n, stop = min(n_threads(), len(blocks)), stop_flag()

    def work(block):
        if not stop[0]:
            result = function(block)
        if stop[0]:  # what a loop that was told to end gives is of no use
            raise KeyboardInterrupt
        return result

    with one_blas_thread():
        if n <= 1:
            return [work(b) for b in blocks]
        context = copy_context()
        pool = ThreadPoolExecutor(n)
        try:
            # A copy for each block, because a context is entered by one thread at a time.
            return list(pool.map(lambda b: context.copy().run(work, b), blocks))
        finally:
            pool.shutdown(cancel_futures=True)


def interruptible(function: Callable) -> Callable:
    """The function in a thread of its own while the main thread waits for it, or for Ctrl-C."""

    @wraps(function)
    def call(*args, **named):
        if not _is_main() or _stop.get() is not None:
            return function(*args, **named)
        return _Work(lambda: function(*args, **named)).result()

    return call


class _Work:
    """A call in another thread, with the settings of this one; it dies with the process."""

    def __init__(self, function: Callable):
        self.stop, self.ended = np.zeros(1, dtype=np.uint8), threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.n = n_threads()
        context = copy_context()
        context.run(_stop.set, self.stop)
        # Its settings belong to a thread; the library is there whenever they can have been changed.
        sklearn = sys.modules.get("sklearn")
        settings = sklearn.config_context(**sklearn.get_config()) if sklearn else nullcontext()
        threading.Thread(target=context.run, args=(self._run, function, settings), daemon=True).start()

    def _run(self, function, settings) -> None:
        _local.n = self.n
        try:
            with settings:
                self.value = function()
        except BaseException as error:
            self.error = error
        self.ended.set()

    def result(self):
        try:
            while not self.ended.wait(0.1):  # a wait without end is deaf on Windows
                pass
        except KeyboardInterrupt:
            self.stop[0] = 1
            self.ended.wait(PATIENCE)
            raise
        if self.error is not None:
            raise self.error
        return self.value


@contextmanager
def stoppable(flag: np.ndarray) -> Iterator[None]:
    """Let work in this block end by ``KeyboardInterrupt`` once ``flag[0]`` is not zero.

    For a thread whose work another one may end; the main thread hears Ctrl-C without this.
    """
    token = _stop.set(flag)
    try:
        yield
    finally:
        _stop.reset(token)


def stop_flag() -> np.ndarray:
    """One number for compiled loops that take long: not zero where the work shall end."""
    flag = _stop.get()
    return np.zeros(1, dtype=np.uint8) if flag is None else flag


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


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
