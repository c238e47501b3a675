"""What several verbs need: data by name or path, settings, tables, progress."""

import ast
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from sklearn.utils import Bunch

from skmil.cli.things import load_things
from skmil.datasets import load_bags
from skmil.evaluation import seconds_left
from skmil.formats import read_bags
from skmil.records import Record
from skmil.registry import find, methods
from skmil.report.summary import sections
from skmil.report.text import cells, seconds, title

SHIPPED = ("musk1", "musk2")
# One method of each paper and two baselines, in this order, as far as they are registered.
DEMO = ("k_and emp", "ALP-SVM", "ISK", "MG-ACC", "PPMM", "MI-Kernel", "Simple-MI")


def load(
    data: str,
    bag: str | None = None,
    label: str | None = None,
    labelled: bool = True,
    option: str = "--bag",
    **things,
) -> Bunch:
    """Bags by name or path, with their ``name``; labels must be there if ``labelled``.

    ``option`` is what the verb calls the column of bag ids; ``things`` are the options of ``load_things``.
    """
    if (found := load_things(data, label=label, **things)) is not None:
        bunch = found
    elif Path(data).exists() and data not in SHIPPED:
        bunch = _read(data, bag, label, option)
    elif data in SHIPPED or _in_folder(data):
        bunch = load_bags(data)
    else:
        raise ValueError(f"{data}: no such file or data set; `skmil data` lists the sets known by name")
    if labelled and bunch.target is None:
        where = "name their column with --label"
        if found is not None:
            where = "put the things into one subfolder per label, or name a table with --labels"
        raise ValueError(f"{data}: no labels found; {where}")
    bunch.name = Path(data).stem if Path(data).exists() else data
    return bunch


def _read(data: str, bag, label, option: str) -> Bunch:
    """Read a file; an error speaks of options where the library speaks of arguments."""
    try:
        return read_bags(data, bag=bag, label=label)
    except ValueError as error:
        raise ValueError(_with_options(str(error), option)) from None


def _with_options(message: str, option: str) -> str:
    """The message with options in its remedy; what comes before may hold the name of a file."""
    what, mark, remedy = message.rpartition("; ")
    if not (mark and remedy.endswith("=")):
        return message
    return what + mark + remedy.replace("bag=", option).replace("label=", "--label")


def known_sets() -> list[str]:
    """Names of the sets in the folder ``$SKMIL_DATA``."""
    folder = os.environ.get("SKMIL_DATA")
    return sorted(p.stem for p in Path(folder).glob("*.npz")) if folder else []


def _in_folder(name: str) -> bool:
    return name in known_sets()


def choose(names: str, task: str) -> list[str]:
    """Names of methods from "all", "demo" or a list with commas."""
    able = methods(task)
    if names == "all":
        return able
    if names == "demo":
        return [n for n in DEMO if n in able]
    chosen = list(dict.fromkeys(n.strip() for n in names.split(",") if n.strip()))
    if not chosen:
        raise ValueError("--methods is empty; give 'all', 'demo' or names with commas between")
    for name in chosen:
        if task not in find(name).tasks:
            raise ValueError(f"{name} has no form for {task}; those that have: {', '.join(able)}")
    return chosen


def settings(pairs: Sequence[str]) -> dict:
    """``key=value`` texts as parameters; values are Python literals, or text."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise ValueError(f"--set {pair}: expected key=value, such as --set C=10")
        try:
            found[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[key] = value
    return found


def check_folder(path: Path) -> Path:
    """The path, if its folder exists: better said before the work than after."""
    if path.is_dir():
        raise ValueError(f"{path}: this is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist")
    return path


def result_tables(records: Sequence[Record]) -> Iterator[Table]:
    """One table per data set, as the terminal shows it."""
    for section in sections(records):
        header, rows, notes = cells(section)
        table = plain_table(*header, title=title(section), caption="\n".join(notes) or None)
        for row in rows:
            table.add_row(*row)
        yield table


def plain_table(first: str, *others: str, left: Sequence[str] = (), **options) -> Table:
    """A quiet table: first column to the left, numbers to the right."""
    options = {"title_justify": "left", "caption_justify": "left", "title_style": "bold"} | options
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, **options)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=name not in left)
    return table


class Bar:
    """A progress bar over the folds of all methods, with an estimate of what remains."""

    def __init__(self, console: Console, names: Sequence[str], folds: int, jobs: int):
        self.todo = dict.fromkeys(names, folds)
        self.times: dict[str, list[float]] = {n: [] for n in names}
        self.jobs = max(1, jobs if jobs > 0 else os.cpu_count() or 1)
        columns = (
            "{task.description:<12}",
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self.progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.task = self.progress.add_task(names[0], total=folds * len(names), left="")

    @contextmanager
    def method(self, name: str) -> Iterator[None]:
        """Show the name of the method that runs; what it leaves undone is not waited for.

        Where no bar can move, as in a log, a line says when it is done.
        """
        self.progress.update(self.task, description=name)
        try:
            yield
        finally:
            self.progress.advance(self.task, self.todo.pop(name))
            times = self.times[name]
            if times and not self.progress.console.is_terminal:
                line = f"{name}: {len(times)} folds, {seconds(sum(times))}"
                self.progress.console.print(line, highlight=False, markup=False)

    def tell(self, record: Record) -> None:
        """One fold is done, now or in an earlier run."""
        self.times[record.method].append(record.fit_seconds + record.predict_seconds)
        self.todo[record.method] -= 1
        left = seconds_left(self.times, self.todo)
        text = "" if not left else f"about {rough(left / self.jobs)} left"
        self.progress.update(self.task, advance=1, left=text)


def rough(value: float) -> str:
    """A waiting time: whole seconds, minutes or hours."""
    if value < 90:
        return f"{max(1, round(value))} s"
    return f"{value / 60:.0f} min" if value < 5400 else f"{value / 3600:.1f} h"


def histogram(sizes: np.ndarray, width: int = 40, most: int = 10) -> list[tuple[str, int, str]]:
    """Bag sizes as (range, number of bags, bar), in ranges that grow where sizes differ a lot."""
    low, high = int(sizes.min()), int(sizes.max())
    if high - low < most:
        edges = np.arange(low, high + 2)
    else:
        grow = np.geomspace if high > 20 * low else np.linspace
        edges = np.unique(np.ceil(grow(low, high + 1, most + 1)).astype(int))
    counts = np.histogram(sizes, edges)[0]
    rows = []
    for a, b, c in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True):
        bar = "█" * max(int(c > 0), round(width * c / counts.max()))
        rows.append((f"{a}" if b - a == 1 else f"{a}–{b - 1}", c, bar))
    return rows
