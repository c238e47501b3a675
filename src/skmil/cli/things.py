"""Things on the command line: a folder or a file of them to a source, labels and bags."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn
from sklearn.utils import Bunch

from skmil.cli.bars import MovingBar
from skmil.cli.options import Reading
from skmil.formats._files import Rows, typed
from skmil.inspection import RememberBags
from skmil.learners import BagPipeline
from skmil.sources import BagSource, Failure, SourceError, progress
from skmil.sources.find import SOURCES, Found, find_things
from skmil.sources.things import counted, listed

PREFIX = "source__"
_SHOWN = 5  # failures named in the one line about them


def split_settings(values: dict) -> tuple[dict, dict]:
    """What ``--set source__key=value`` gives to the source, and the rest."""
    own = {k.removeprefix(PREFIX): v for k, v in values.items() if k.startswith(PREFIX)}
    return own, {k: v for k, v in values.items() if not k.startswith(PREFIX)}


def only_source(values: dict) -> dict:
    """The settings of a verb that has no method of its own to set."""
    own, rest = split_settings(values)
    if rest:
        raise ValueError(f"--set {next(iter(rest))}: here only a source can be set, as {PREFIX}key=value")
    return own


def load_things(data: str, read: Reading, of_source: dict | None = None) -> Bunch | None:
    """Things by path, turned into bags; ``None`` where the path holds no things.

    ``data`` are bags from a source that saw all of them, ``things`` and ``source`` (unfitted) what a model
    begins with.
    """
    path = Path(data)
    if not path.exists():
        return None
    found = None if read.is_table(path) else find_things(path, read.source, read.labels, read.label)
    if found is None:
        if read.source or read.labels or of_source:
            raise ValueError(f"{data}: holds no things, so --source, --labels and source__ do not apply")
        return None
    if found.ignored:
        _note(f"{data}: {len(found.ignored)} files left out, such as {found.ignored[0]}")
    return _extract(found, _configured(SOURCES[found.kind](), of_source or {}), path)


def load_like(source: BagSource, data: str, only: str | None = None, with_parts: bool = False) -> Bunch:
    """Things of the kind that a fitted source takes, as its bags, or the one that is called ``only``."""
    kind = next(k for k, cls in SOURCES.items() if isinstance(source, cls))
    path = Path(data)
    if not path.exists():
        raise ValueError(f"{data}: no such file or folder; the model takes {kind}")
    found = find_things(path, kind)
    things = [] if found is None else found.things
    if only is not None:
        things = [things[position([t.name for t in things], only)]]
    with _remembering(source):
        made = _read(source.transform_with_parts if with_parts else source.transform, source, things, kind)
    bags, parts = made if with_parts else (made, None)
    return Bunch(data=bags, parts=parts, target=None, name=path.stem)


def position(ids: list[str], wanted: str) -> int:
    """Where a bag stands among all."""
    if wanted in ids:
        return ids.index(wanted)
    some = ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
    raise ValueError(f"no bag {wanted!r}; there are {some}")


def with_source(bunch: Bunch, estimator):
    """The estimator behind the source of the things, if they are things."""
    if bunch.get("source") is None:
        return estimator
    return BagPipeline([("source", bunch.source), ("training", RememberBags()), ("method", estimator)])


def fitted_with_source(bunch: Bunch, estimator):
    """A fitted model for bags or for things; a source leaves its cache at home."""
    model = with_source(bunch, estimator)
    if bunch.get("source") is None:
        return model.fit(bunch.data, bunch.target)
    model.fit(bunch.things, bunch.target)
    model.steps[0][1].set_params(cache=None)
    return model


def split_model(model) -> tuple[BagSource | None, Any]:
    """The source of a fitted model and what follows it; (None, model) where it takes bags."""
    first = model.steps[0][1] if hasattr(model, "steps") else None
    if not isinstance(first, BagSource):
        return None, model
    rest = model.steps[1:]
    return first, rest[0][1] if len(rest) == 1 else BagPipeline(rest)


def _configured(source: BagSource, options: dict) -> BagSource:
    known = source.get_params(deep=True)
    for key in options:
        if key not in known:
            raise ValueError(f"no parameter {PREFIX}{key}; the source has {', '.join(sorted(known))}")
    return source.set_params(**({"cache": _cache_folder()} | options))


def _extract(found: Found, source: BagSource, path: Path) -> Bunch:
    bags = _read(source.fit_transform, source, found.things, found.kind)
    gone = {f.index for f in source.failures_}
    things = _kept(found.things, source)
    target = found.labels
    if target is not None:
        kept = [v for i, v in enumerate(target.tolist()) if i not in gone]
        target = typed(kept, Rows(path, lines=list(range(len(kept)))), "label")
    return Bunch(data=bags, target=target, things=things, source=source, name=path.stem)


def _kept(things: list, source: BagSource) -> list:
    gone = {f.index for f in source.failures_}
    return [t for i, t in enumerate(things) if i not in gone]


def _read(function, source: BagSource, things: list, kind: str):
    """What a source makes of things, under a progress bar; what gives no bag is said in one line."""
    try:
        with reading(kind), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r".* things were left out")
            made = function(things)
    except SourceError as error:
        some = len(error.failures) < error.total and ", or leave them out with --set source__on_error=skip"
        told = counted(len(error.failures), error.total)
        raise ValueError(f"{told}: {_few(error.failures)}; repair or drop them{some or ''}") from None
    if source.failures_:
        _note(f"{len(source.failures_)} of {len(things)} things were left out: {_few(source.failures_)}")
    return made


def _few(failures: list[Failure]) -> str:
    return listed(failures, _SHOWN, "; ")


@contextmanager
def _remembering(source: BagSource) -> Iterator[None]:
    """Let a fitted source use this machine's cache for a while."""
    source.set_params(cache=_cache_folder())
    try:
        yield
    finally:
        source.set_params(cache=None)


@contextmanager
def reading(kind: str) -> Iterator[None]:
    """A progress bar while things are read."""
    columns = "{task.description:<12}", BarColumn(), MofNCompleteColumn()
    with MovingBar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(kind, total=None)
        with progress(lambda done, total: bar.update(task, completed=done, total=total)):
            yield


def _cache_folder() -> str | None:
    """``$SKMIL_CACHE``, or where this system keeps such things; ``None`` where the variable is empty."""
    if (named := os.environ.get("SKMIL_CACHE")) is not None:
        return named or None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME")
    return str(Path(base or Path.home() / ".cache") / "skmil")


def _note(text: str) -> None:
    print(f"skmil: {text}", file=sys.stderr)
