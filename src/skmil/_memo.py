"""What a search over parameters would compute again and again, computed once.

Nothing is kept until ``searching()`` is entered. Inside, a pure function called through ``once`` with
arguments of the same content gives the result it gave before: the Gram matrix of a fold serves every C, the
maxima of Diverse Density serve every machine on top of them.
"""

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import joblib

LIMIT = 2**29  # bytes; the results that were used longest ago go first

_kept: ContextVar[OrderedDict[str, tuple[Any, int]] | None] = ContextVar("kept", default=None)


@contextmanager
def searching() -> Iterator[None]:
    """Keep the results of ``once`` until the end; a search inside a search joins it."""
    token = _kept.set(OrderedDict() if _kept.get() is None else _kept.get())
    try:
        yield
    finally:
        _kept.reset(token)


def is_searching() -> bool:
    """Whether results are kept."""
    return _kept.get() is not None


def once(function: Callable, *args, ignored=None, **named):
    """What a pure function gives for its arguments, or gave for the same; do not change the result.

    ``ignored`` are named arguments that the result does not depend on.
    """
    kept = _kept.get()
    key = None if kept is None else _key(function, args, named)
    if kept is None or key is None:
        return function(*args, **named, **(ignored or {}))
    if key not in kept:
        result = function(*args, **named, **(ignored or {}))
        kept[key] = result, _size(result)
    kept.move_to_end(key)
    _forget(kept)
    return kept[key][0]


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
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def _forget(kept: OrderedDict) -> None:
    """Drop old results beyond the limit, but not the last one."""
    while len(kept) > 1 and sum(size for _, size in kept.values()) > LIMIT:
        kept.popitem(last=False)


def _size(value) -> int:
    """Bytes of the arrays in a result."""
    if hasattr(value, "nbytes"):
        return value.nbytes
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return sum(map(_size, (value if isinstance(value, dict) else getattr(value, "__dict__", {})).values()))
