"""Named searches and their marks: a line on disk for each, so that no stop and no second tab loses one."""

import csv
import hashlib
import io
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skmil._journal import Journal
from skmil.formats._files import replacing

WANTED, NOT_WANTED = "wanted", "not wanted"
MARKS = {"y": WANTED, "n": NOT_WANTED, "u": None}
FIRST = "first search"
EXAMPLE = "example-"  # what the ids of a person's own things begin with
_LONGEST = 80


class NoSearch(ValueError):
    """There is no search of this name."""


@dataclass(frozen=True)
class Action:
    """One mark: of which thing, what it says (y, n, or u for none), and the tab it was made in."""

    thing: str
    name: str
    mark: str
    tab: str


class Searches:
    """All searches on one collection.

    Parameters
    ----------
    folder : of the index

    Examples
    --------
    >>> import tempfile
    >>> from skmil.search import Searches
    >>> searches = Searches(tempfile.mkdtemp())
    >>> searches.create("boats")
    >>> searches.mark("boats", "id1", "first.jpg", "y", tab="a")
    >>> searches.marks("boats")
    {'id1': 'wanted'}
    >>> searches.undo("boats", tab="a").thing, searches.marks("boats")
    ('id1', {})
    """

    def __init__(self, folder):
        self.folder = Path(folder) / "searches"

    def names(self) -> list[str]:
        """Names of all searches, the oldest first."""
        found = sorted(self.folder.glob("*.jsonl"))
        rows: list[Any] = [next(Journal(p).entries(), ("", None))[1] for p in found]
        named = [r for r in rows if isinstance(r, dict) and "search" in r]
        return [r["search"] for r in sorted(named, key=lambda r: r.get("number", 0))]

    def create(self, name: str) -> None:
        """Begin a search; one that is there stays as it is."""
        path, there = self._path(name), self.names()
        if name not in there:
            self.folder.mkdir(parents=True, exist_ok=True)
            Journal(path).append([{"search": name, "number": len(there) + 1}])

    def mark(self, search: str, thing: str, name: str, mark: str, tab: str = "") -> None:
        """Say that a thing is wanted (y), is not (n), or take that back (u); on disk when this returns."""
        if mark not in MARKS:
            raise ValueError(f"mark is {mark!r}; use y, n or u")
        self._append(search, {"thing": thing, "name": name, "mark": mark, "tab": tab})

    def undo(self, search: str, tab: str = "") -> Action | None:
        """Take back the last mark that was made in a tab; returns it."""
        mine = [a for a in self.actions(search) if a.tab == tab]
        if not mine:
            return None
        self._append(search, {"undo": tab})
        return mine[-1]

    def actions(self, search: str) -> list[Action]:
        """All marks that were not undone, the oldest first."""
        found: list[Action] = []
        for _, row in self._entries(search):
            if "undo" in row:
                last = max((i for i, a in enumerate(found) if a.tab == row["undo"]), default=None)
                found = found if last is None else found[:last] + found[last + 1 :]
            elif "thing" in row:
                found.append(Action(row["thing"], row["name"], row["mark"], row["tab"]))
        return found

    def marks(self, search: str) -> dict[str, str]:
        """What the marked things are: "wanted" or "not wanted"."""
        return {thing: label for thing, (_, label) in self._latest(search).items()}

    def to_csv(self, search: str) -> str:
        """Names and labels, which ``skmil fit --labels`` reads."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["name", "label"])
        rows.writerows(self._latest(search).values())
        return text.getvalue()

    def add_example(self, search: str, picture: bytes, tab: str = "") -> str:
        """Keep a person's own picture and mark it as wanted; returns its id."""
        self._path(search, there=True)
        key = EXAMPLE + hashlib.blake2b(picture, digest_size=8).hexdigest()
        path = self.example(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, "wb") as file:
            file.write(picture)
        self.mark(search, key, key, "y", tab)
        return key

    def example(self, key: str) -> Path:
        """Where the picture of an example lies."""
        if not re.fullmatch(EXAMPLE + "[0-9a-f]{16}", key):
            raise ValueError(f"{key!r} is no example")
        return self.folder / "examples" / f"{key}.png"

    def _latest(self, search: str) -> dict[str, tuple[str, str]]:
        """Name and label of each marked thing, in the order in which they were marked last."""
        found: dict[str, tuple[str, str]] = {}
        for a in self.actions(search):
            found.pop(a.thing, None)
            label = MARKS[a.mark]
            if label is not None:
                found[a.thing] = (a.name, label)
        return found

    def _append(self, search: str, row: dict) -> None:
        Journal(self._path(search, there=True)).append([row])

    def _entries(self, search: str):
        return Journal(self._path(search, there=True)).entries()

    def _path(self, name: str, there: bool = False) -> Path:
        """The file of a search; its name is made safe, and told apart from others by a hash."""
        check_name(name)
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
        slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40]
        path = self.folder / f"{slug}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}.jsonl"
        if there and not path.exists():
            raise NoSearch(f"no search named {name!r}")
        return path


def check_name(name: str) -> None:
    """Complain about a name for a search that cannot be shown or kept."""
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST or name != name.strip():
        raise ValueError(f"give a search a name of 1 to {_LONGEST} letters without spaces around it")
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
        raise ValueError("the name of a search cannot hold control characters")
