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

import joblib

LIMIT = 2**29  # bytes; the results that were used longest ago go first

_kept: ContextVar["Store | None"] = ContextVar("kept", default=None)


class Store(OrderedDict[str, bytes]):
    """Results by key, the one used last at the end, and how many bytes of them to keep."""

    def __init__(self, limit: int):
        super().__init__()
        self.limit = limit

    def keep(self, key: str, result) -> None:
        """Keep a result as bytes, which nobody can change, and drop old ones beyond the limit."""
        try:
            self[key] = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception:  # whatever a stranger's object raises when it is pickled: then nothing is kept
            return
        while self and sum(map(len, self.values())) > self.limit:
            self.popitem(last=False)


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
    if key in kept:
        kept.move_to_end(key)
        return pickle.loads(kept[key])
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
