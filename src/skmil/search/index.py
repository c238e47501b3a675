"""The index of a collection: its things as bags, on disk beside it, made once and kept true."""

import hashlib
import os
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from skmil.bags import Bags
from skmil.formats import read_bags
from skmil.formats._files import replacing
from skmil.sources import BagSource, Failure, Thing
from skmil.sources.cache import fingerprint
from skmil.sources.find import SOURCES, find_things
from skmil.store import open_bags


@dataclass(frozen=True)
class Collection:
    """Things, their names and their bags, as they were when the index was last looked at.

    ``ids`` name things in the page and in marks: they say nothing about paths and stay the same from run to
    run. ``source`` is fitted; it is ``None``, as are the contents of things, for a file of bags.
    """

    kind: str
    root: Path
    source: BagSource | None
    things: list[Thing]
    bags: Bags
    stamps: list[str]
    failures: list[Failure] = field(default_factory=list)
    ids: list[str] = field(init=False)
    row: dict[str, int] = field(init=False)

    def __post_init__(self):
        ids = [_id(t.name) for t in self.things]
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "row", {x: i for i, x in enumerate(ids)})

    def __len__(self) -> int:
        return len(self.things)

    def name(self, i: int) -> str:
        """What a thing is called, in letters that every file can hold."""
        return self.things[i].name.encode("utf-8", "replace").decode("utf-8")

    def bag_of(self, thing: Thing) -> Bags:
        """The bag of a thing that is not in the collection."""
        if self.source is None:
            raise ValueError("a file of bags takes no examples from outside")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.source.transform([thing])

    def trouble(self, i: int) -> str | None:
        """Why a thing cannot be shown as it was indexed, or ``None``: files change while a page is open."""
        thing = self.things[i]
        if not isinstance(thing.content, Path):
            return None
        if not _inside(thing.content, self.root):
            return "this file is gone"
        return None if _stamp(thing) == self.stamps[i] else "this file has changed: look for new files"


@dataclass(frozen=True)
class Changes:
    """How many things are new, changed or gone since the index was written."""

    new: int = 0
    changed: int = 0
    deleted: int = 0

    def __str__(self) -> str:
        return f"{self.new} new, {self.changed} changed, {self.deleted} deleted"


class Index:
    """An index on disk; ``open`` makes or updates it.

    Extraction goes through the cache of the sources, which is kept inside the index: what was extracted
    before an interruption, or before other files changed, is not extracted again. Where no file has
    changed, not even their contents are read.

    Parameters
    ----------
    path : folder or file of things, or bags in a file or a store
    kind : of the things, told from their content where ``None``
    options : parameters of the source
    folder : where to keep the index; ``.skmil`` inside a folder, ``.NAME.skmil`` beside a file or store

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skmil.search import Index
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("cat", "dog"):
    ...     _ = (folder / f"{name}.txt").write_text(f"a text about a {name}")
    >>> len(Index(folder).open())
    2
    """

    def __init__(self, path, kind: str | None = None, options: dict | None = None, folder=None):
        self.path = Path(path)
        if not self.path.exists():
            raise ValueError(f"{path}: no such file or folder")
        inside = self.path.is_dir() and not _is_store(self.path)
        beside = self.path / ".skmil" if inside else self.path.with_name(f".{self.path.name}.skmil")
        self.folder = beside if folder is None else Path(folder)
        self.kind, self.options = kind, options or {}
        self.changes = Changes()
        self.ignored: tuple[str, ...] = ()

    def open(self) -> Collection:
        """The collection as it is now; writes what changed."""
        self._make_folder()
        found = None if _is_store(self.path) else find_things(self.path, self.kind)
        if found is None:
            return self._of_bags()
        root = self.path if self.path.is_dir() else self.path.parent
        things = _named_once(t for t in found.things if _is_safe(t, root))
        outside = [t.name for t in found.things if not _is_safe(t, root)]
        self.ignored = (*found.ignored, *outside)
        if not things:
            raise ValueError(f"{self.path}: all its things are links that lead outside")
        source = self._source(found.kind)
        stamps = [_stamp(t) for t in things]
        recipe = fingerprint([found.kind, source._recipe() or b"", repr(sorted(self.options.items()))])
        kept = self._load(recipe)
        self.changes = _compare(kept, things, stamps)
        made = self._unchanged(kept, found.kind, root, source, things, stamps)
        if made is None:
            made = _extracted(found.kind, root, source, things, stamps)
            self._save(made, things, stamps, recipe)
        return made

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"{self.folder}: the index cannot be written here ({error.strerror}); "
                "name a folder with --index"
            ) from None

    def _source(self, kind: str) -> BagSource:
        source = SOURCES[kind]()
        known = source.get_params()
        if unknown := [k for k in self.options if k not in known]:
            raise ValueError(
                f"no parameter source__{unknown[0]}; the source has {', '.join(sorted(known))}"
            )
        return source.set_params(**({"on_error": "skip", "cache": str(self.folder)} | self.options))

    def _of_bags(self) -> Collection:
        if self.options:
            raise ValueError(f"{self.path}: holds bags, so that source__ does not apply")
        if _is_store(self.path):
            bags = open_bags(self.path).load()
        else:
            bags = read_bags(self.path, labels=False).data
        things = _named_once(Thing(None, str(i)) for i in bags.ids)
        stamps = [_stamp_of_bag(b) for b in bags]
        self.changes = _compare(self._load("bags"), things, stamps)
        made = Collection("bags", self.path.parent, None, things, bags, stamps)
        self._save(made, things, stamps, "bags")
        return made

    def _unchanged(self, kept, kind, root, source, things, stamps) -> Collection | None:
        """The collection from the index alone, where nothing is new and the source learns nothing."""
        if kept is None or source._learns() or (kept["names"], kept["stamps"]) != (_names(things), stamps):
            return None
        source.fit(things)
        gone = {f.index for f in kept["failures"]}
        return _collection(kind, root, source, things, stamps, kept["bags"], kept["failures"], gone)

    def _load(self, recipe: str) -> dict[str, Any] | None:
        """What the index holds; ``None`` where there is none, or one of other settings or a damaged one."""
        try:
            with open(self.folder / "index.npz", "rb") as raw, np.load(raw, allow_pickle=False) as file:
                if str(file["recipe"]) != recipe:
                    return None
                rows = zip(file["failed"].tolist(), file["reasons"].tolist(), strict=True)
                names = file["names"].tolist()
                return {
                    "names": names,
                    "stamps": file["stamps"].tolist(),
                    "failures": [Failure(i, names[i], r) for i, r in rows],
                    "bags": Bags(file["instances"], file["offsets"]) if "instances" in file else None,
                }
        except (OSError, ValueError, KeyError, IndexError, EOFError, BadZipFile, zlib.error):
            return None

    def _save(self, made: Collection, things, stamps, recipe: str) -> None:
        columns: dict[str, Any] = {
            "recipe": np.array(recipe),
            "names": np.array(_names(things), dtype=str),
            "stamps": np.array(stamps, dtype=str),
            "failed": np.array([f.index for f in made.failures], dtype=np.int64),
            "reasons": np.array([f.reason for f in made.failures], dtype=str),
        }
        if made.source is not None and not made.bags.is_sparse:
            columns |= {"instances": made.bags.instances, "offsets": made.bags.offsets}
        with replacing(self.folder / "index.npz", "wb") as file:
            np.savez(file, **columns)


def _extracted(kind, root, source, things, stamps) -> Collection:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".* things were left out")
        bags = source.fit_transform(things)
    gone = {f.index for f in source.failures_}
    return _collection(kind, root, source, things, stamps, bags, source.failures_, gone)


def _collection(kind, root, source, things, stamps, bags, failures, gone) -> Collection:
    kept = [i for i in range(len(things)) if i not in gone]
    named = Bags(
        bags.instances, bags.offsets, [things[i].name for i in kept], source.get_feature_names_out()
    )
    own = [things[i] for i in kept], named, [stamps[i] for i in kept]
    return Collection(kind, root, source, *own, list(failures))


def _compare(kept, things, stamps) -> Changes:
    old = {} if kept is None else dict(zip(kept["names"], kept["stamps"], strict=True))
    now = dict(zip(_names(things), stamps, strict=True))
    changed = sum(now[n] != old[n] for n in now.keys() & old.keys())
    return Changes(len(now.keys() - old.keys()), changed, len(old.keys() - now.keys()))


def _names(things: list[Thing]) -> list[str]:
    return [t.name for t in things]


def _named_once(things: Iterable[Thing]) -> list[Thing]:
    """Things of one name, as in an SDF, get numbers: a mark belongs to one of them."""
    found: list[Thing] = []
    seen: dict[str, int] = {}
    for t in things:
        seen[t.name] = seen.get(t.name, 0) + 1
        found.append(t if seen[t.name] == 1 else replace(t, name=f"{t.name} ({seen[t.name]})"))
    return found


def _stamp(thing: Thing) -> str:
    """What changes when a thing does."""
    if not isinstance(thing.content, Path):
        return _digest(repr(thing.content).encode("utf-8", "replace"))
    try:
        stat = thing.content.stat()
    except OSError:  # it went while we looked; reading it will say so
        return ""
    return f"{stat.st_mtime_ns} {stat.st_size}"


def _stamp_of_bag(bag) -> str:
    arrays = (bag.data, bag.indices, bag.indptr) if sparse.issparse(bag) else (bag,)
    return _digest(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _id(name: str) -> str:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _is_safe(thing: Thing, root: Path) -> bool:
    return not isinstance(thing.content, Path) or _inside(thing.content, root)


def _is_store(path: Path) -> bool:
    return path.suffix == ".zarr" or (path / "zarr.json").is_file()


def _inside(path: Path, root: Path) -> bool:
    """Whether a file, with all links followed, lies in a folder."""
    try:
        return Path(os.path.realpath(path, strict=True)).is_relative_to(os.path.realpath(root))
    except OSError:
        return False
