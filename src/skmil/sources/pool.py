"""Work on things in threads, a few at a time, results in order."""

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
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= n + _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
