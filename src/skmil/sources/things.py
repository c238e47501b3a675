"""Things: what a source takes, what they are called, and what is wrong with them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_SHOWN = 50  # failures written out in a message; the error object holds all of them


@dataclass(frozen=True)
class Thing:
    """A thing and its name, for a list of things that should not be called by path or number.

    ``content`` is a path, or the picture, text, molecule or sequence itself.
    """

    content: Any
    name: str


@dataclass(frozen=True)
class Failure:
    """A thing that gave no bag: its number in the list, its name and the reason."""

    index: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.index} ({self.name!r}): {self.reason}"


class BadThing(ValueError):
    """What an extractor raises about the content of a thing: the same content fails again, always."""


class SourceError(ValueError):
    """Some things gave no bags; ``failures`` lists all of them."""

    def __init__(self, failures: Sequence[Failure], total: int, remedy: str):
        self.failures, self.total = list(failures), total
        super().__init__(f"{counted(len(failures), total)}; {remedy}\n{listed(failures)}")


def listed(failures: Sequence[Failure], shown: int = _SHOWN, between: str = "\n") -> str:
    """The first failures, and how many more there are."""
    more = len(failures) - shown
    return between.join([str(f) for f in failures[:shown]] + [f"and {more} more"] * (more > 0))


def counted(failed: int, total: int) -> str:
    """How many things failed."""
    return f"{failed} of {total} thing{'s' * (total != 1)} could not be turned into bags"


def as_things(things, is_path: Callable[[Any], bool], name: Callable[[Any], str | None]) -> list[Thing]:
    """Name every element of a list, 1-D array or one-column table; paths become ``Path``."""
    found = [_as_thing(x, i, is_path, name) for i, x in enumerate(_column(things))]
    if not found:
        raise ValueError("there are no things; expected at least one")
    return found


def _as_thing(x, i: int, is_path, name) -> Thing:
    if isinstance(x, Thing):
        content = Path(x.content) if is_path(x.content) else x.content
        return Thing(content, str(x.name))
    if is_path(x):
        return Thing(Path(x), str(x))
    return Thing(x, name(x) or str(i))


def _column(things) -> list:
    """The elements of whatever holds things in one column."""
    if isinstance(things, (str, bytes, os.PathLike, Thing, dict)) or np.isscalar(things):
        raise TypeError(f"expected a list of things, got {_short(things)}; put a single thing into a list")
    if hasattr(things, "columns"):
        columns = list(things.columns)
        _one_column(len(columns), f"the table has the columns {', '.join(map(str, columns[:8]))}")
        things = things[columns[0]]
    if hasattr(things, "to_numpy"):
        things = things.to_numpy()
    if isinstance(things, np.ndarray):
        if things.ndim > 2:
            raise ValueError(
                f"the array has shape {things.shape}; pass list(array) if its rows are the things"
            )
        _one_column(1 if things.ndim == 1 else things.shape[1], f"the array has shape {things.shape}")
        return things.ravel().tolist()
    if not hasattr(things, "__iter__"):
        raise TypeError(f"expected a list of things, got {type(things).__name__}")
    rows = list(things)
    if rows and all(isinstance(r, (list, tuple)) for r in rows):
        widest = max(len(r) for r in rows)
        _one_column(widest if min(len(r) for r in rows) else 0, f"the rows have up to {widest} entries")
        return [r[0] for r in rows]
    return rows


def _one_column(n: int, what: str) -> None:
    if n != 1:
        raise ValueError(f"{what}; expected one column of things, select it first")


def _short(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
