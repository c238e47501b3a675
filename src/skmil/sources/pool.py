"""Work on things in threads, a few at a time, results in order."""

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from skmil._threads import one_blas_thread

T = TypeVar("T")
R = TypeVar("R")
_AHEAD = 2  # things begun beyond one per thread, so that a slow one does not leave the others idle


def ordered(function: Callable[[T], R], items: Iterable[T], n: int) -> Iterator[R]:
    """``map(function, items)`` in ``n`` threads; at most ``n + 2`` items are begun and not handed out."""
    with one_blas_thread():
        if n <= 1:
            yield from map(function, items)
            return
        pool = ThreadPoolExecutor(n)
        waiting: deque[Future[R]] = deque()
        patient = True
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= n + _AHEAD:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        except KeyboardInterrupt:
            patient = False  # a library that is deep in one thing cannot be told to end
            raise
        finally:
            pool.shutdown(wait=patient, cancel_futures=True)


def _result(future: Future[R]) -> R:
    """What the future gives; meanwhile Ctrl-C is heard, whatever a library in a thread makes of it."""
    while True:
        try:
            return future.result(timeout=0.1)
        except TimeoutError:
            if future.done():  # it is the work's own
                raise
            _hear_interrupts()


def _hear_interrupts() -> None:
    """Put Python's handler of Ctrl-C back: RDKit has its own, and threads may leave it behind."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
