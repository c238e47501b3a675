"""What an experiment is: tasks that can be done in any order, and a page made from their results."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import skmil
from reproduction.pinned import paper_method
from reproduction.tasks import Table
from skmil._identity import fingerprint, settings_of, text_of
from skmil.datasets import load_bags
from skmil.registry import find, fingerprint_of


@dataclass(frozen=True)
class Experiment:
    """Three functions: which tasks, how to do one, how to show all.

    Parameters
    ----------
    tasks : (table, data sets at hand) -> list of plain dictionaries, each the key of its result
    run : (table, task) -> plain dictionary of numbers
    page : (table, results with their tasks in them, folder for plots) -> Markdown
    version : to be raised when what ``run`` measures changes
    methods : those whose settings a task depends on, beside its own "method"
    kind : "classification" or "regression", of the methods
    pinned : whether methods have the settings of the papers' tables, not the registered ones
    """

    tasks: Callable[[Table, list[str]], list[dict]]
    run: Callable[[Table, dict], dict]
    page: Callable[[Table, list[dict], Path], str]
    version: int = 1
    methods: tuple[str, ...] = ()
    kind: str = "classification"
    pinned: bool = True

    def stamp(self, task: dict) -> dict:
        """What else decides a result: the version, the methods with all their settings, the data."""
        names = [*self.methods, *([task["method"]] if "method" in task else [])]
        told = {
            "version": self.version,
            "methods": {name: _method(name, self.kind, self.pinned) for name in names},
        }
        return {**told, "data": _fingerprint(task["data"])} if "data" in task else told


@cache
def _method(name: str, kind: str, pinned: bool) -> dict:
    model = (paper_method if pinned else skmil.method)(name, kind)
    return {
        "revision": find(name).revision,
        "estimator": text_of(model),
        "settings": settings_of(model),
    }


@cache
def _fingerprint(data: str) -> str | None:
    """Of a set that is at hand, else of the one that is known by this name."""
    try:
        bunch = load_bags(data)
    except (OSError, ValueError):
        return fingerprint_of(data)
    return fingerprint(bunch.data, bunch.target)


def pivot(results: list[dict], rows: Sequence[str], column: str, value: str, form: str = "{:.1f}") -> str:
    """Markdown table of the mean (± sd where there are several) of a value, by rows and columns."""
    groups = defaultdict(list)
    for r in results:
        if r.get(value) is not None:
            groups[tuple(r[k] for k in rows), r[column]].append(r[value])
    left = list(dict.fromkeys(k for k, _ in groups))
    top = list(dict.fromkeys(c for _, c in groups))
    head = "| " + " | ".join([*rows, *map(str, top)]) + " |\n|" + "---|" * (len(rows) + len(top))
    lines = [
        "| " + " | ".join([*map(str, k), *(_show(groups.get((k, c)), form) for c in top)]) + " |"
        for k in left
    ]
    return "\n".join([head, *lines]) + "\n"


def save(figure, out: Path, name: str) -> str:
    """Write a plot beside the pages; returns the Markdown that shows it."""
    figure.savefig(out / f"{name}.png", dpi=120, bbox_inches="tight", metadata={"Software": None})
    return f"\n![{name}]({name}.png)\n"


def axes(width: float = 6.0, height: float = 4.0, columns: int = 1):
    """A figure that needs no screen and leaves the caller's alone, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(1, columns, squeeze=False)


def _show(values, form: str) -> str:
    if not values:
        return "–"
    if len(values) == 1:
        return form.format(values[0])
    return f"{form.format(np.mean(values))} ± {form.format(np.std(values, ddof=1))}"
