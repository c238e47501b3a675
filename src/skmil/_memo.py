"""What a search over parameters would compute again and again, computed once.

Nothing is kept until ``searching()`` is entered. Inside, a pure function called through ``once`` with
arguments of the same content gives a copy of what it gave before: the Gram matrix of a fold serves every C,
the maxima of Diverse Density serve every machine on top of them.
"""

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

import joblib

LIMIT = 2**29  # bytes; the results that were used longest ago go first

_kept: ContextVar["Store | None"] = ContextVar("kept", default=None)


class Store:
    """Results by key, the one used last at the end, and how many bytes of them to keep.

    Threads share it. One that computes a result holds the key, and others that ask for it wait.
    """

    def __init__(self, limit: int):
        self.limit, self.size = limit, 0
        self.results: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()
        self._keys: dict[str, Lock] = {}

    @contextmanager
    def holding(self, key: str) -> Iterator[None]:
        """Let nobody else compute the result of this key."""
        with self._lock:
            held = self._keys.setdefault(key, Lock())
        with held:
            yield

    def find(self, key: str) -> bytes | None:
        """The result, which becomes the one used last."""
        with self._lock:
            if key in self.results:
                self.results.move_to_end(key)
            return self.results.get(key)

    def keep(self, key: str, result) -> None:
        """Keep a result as bytes, which nobody can change, and drop old ones beyond the limit."""
        try:
            data = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception:  # whatever a stranger's object raises when it is pickled: then nothing is kept
            return
        with self._lock:
            self.size += len(data) - len(self.results.pop(key, b""))
            self.results[key] = data
            while self.size > self.limit:
                self.size -= len(self.results.popitem(last=False)[1])


@contextmanager
def searching(keep: bool = True, limit: int | None = None) -> Iterator[None]:
    """Keep the results of ``once`` until the end, up to ``limit`` bytes; a search inside a search joins it.

    ``keep=False`` steps outside for a while.
    """
    kept = _kept.get() if _kept.get() is not None else Store(limit or LIMIT)
    token = _kept.set(kept if keep else None)
    try:
        yield
    finally:
        _kept.reset(token)


def is_searching() -> bool:
    """Whether results are kept."""
    return _kept.get() is not None


def once(function: Callable, *args, ignored=None, **named):
    """What a pure function gives for its arguments, or a copy of what it gave for the same.

    ``ignored`` are named arguments that the result does not depend on.
    """
    kept = _kept.get()
    key = None if kept is None else _key(function, args, named)
    if kept is None or key is None:
        return function(*args, **named, **(ignored or {}))
    with kept.holding(key):
        found = kept.find(key)
        if found is not None:
            return pickle.loads(found)
        result = function(*args, **named, **(ignored or {}))
        kept.keep(key, result)
    return result


class SearchMemory:
    """``once`` as the ``memory`` of a scikit-learn pipeline, whose first steps are then fitted once."""

    def cache(self, function: Callable, ignore=()) -> Callable:
        """The function, through ``once``."""

        def call(*args, **named):
            ignored = {k: named.pop(k) for k in ignore if k in named}
            return once(function, *args, ignored=ignored, **named)

        return call


def _key(function, args, named) -> str | None:
    """A name for a call by the content of its arguments; None where they hold what cannot be hashed."""
    try:
        return joblib.hash((function.__module__, function.__qualname__, args, named))
    except Exception:  # as in ``keep``
        return None
