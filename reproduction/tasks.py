"""Tables as data: one TOML file per paper says which methods, which sets, which protocol."""

import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from skmil.registry import Grid


@dataclass(frozen=True)
class Table:
    """One comparison table or figure of a paper.

    Parameters
    ----------
    name : what the command line calls it, such as "tao-8"
    paper, title : where it comes from, and what it shows
    kind : "accuracy" (methods x data sets by cross-validation) or the name of an experiment
    methods, data : rows and columns
    own : the rows that are the paper's own systems
    folds, repeats, nested : protocol; ``nested`` searches the registered grid on training bags
    leave_out : cells "method / data" that are not run, each with the reason
    overrides : cells "method / data" that are run with other parameters, as for ``skmil.method``
    grids : cells "method / data", or rows "method", that search another grid than the registered one
    published : figures of the paper that are not accuracies (those are in ``published.toml``), as rows
    settings : what else an experiment needs
    quick : values that replace these for ``--quick``
    """

    name: str
    paper: str
    title: str
    kind: str
    methods: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    folds: int = 10
    repeats: int = 1
    nested: bool = True
    leave_out: dict[str, str] = field(default_factory=dict)
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)
    grids: dict[str, Grid] = field(default_factory=dict)
    published: tuple[dict[str, Any], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    quick: dict[str, Any] = field(default_factory=dict)

    def quickly(self) -> "Table":
        """The same table with fewer folds, sets or repetitions."""
        known = {k: v for k, v in self.quick.items() if k not in self.settings}
        settings = self.settings | {k: v for k, v in self.quick.items() if k in self.settings}
        return replace(self, settings=settings, **_tuples(known))

    def cells(self) -> list[tuple[str, str]]:
        """(method, data) pairs that are run."""
        pairs = [(m, d) for d in self.data for m in self.methods]
        return [(m, d) for m, d in pairs if f"{m} / {d}" not in self.leave_out]


def load_tables(names=None) -> list[Table]:
    """The tables of all papers, or those named; a paper's name stands for all of its tables.

    Examples
    --------
    >>> from reproduction import load_tables
    >>> [t.title for t in load_tables(["tao-8"])]
    ['Musk: ten-fold error (Table 8)']
    """
    tables = [t for file in _files() for t in _read(file)]
    if not names:
        return tables
    chosen = []
    for name in names:
        found = [t for t in tables if t.name == name or t.name.split("-")[0] == name]
        if not found:
            raise ValueError(f"no table {name!r}; there are {', '.join(t.name for t in tables)}")
        chosen += [t for t in found if t not in chosen]
    return chosen


def _files():
    folder = files("reproduction").joinpath("tables")
    return sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)


def _read(file) -> list[Table]:
    paper = tomllib.loads(file.read_text("utf-8"))
    return [Table(paper=paper["paper"], **_tuples(t)) for t in paper["table"]]


def _tuples(values: dict) -> dict:
    return {
        k: tuple(v) if isinstance(v, list) and k in ("methods", "data", "own", "published") else v
        for k, v in values.items()
    }
