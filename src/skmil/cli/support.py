"""What several verbs need: options, data by name or path, settings, tables."""

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.utils import Bunch

from skmil.cli.options import Reading
from skmil.cli.scale import holds_bags, is_store, load_store
from skmil.cli.things import load_things
from skmil.datasets import load_bags
from skmil.formats import read_bags
from skmil.formats._files import is_screen

SHIPPED = ("musk1", "musk2")
out = Console()
err = Console(stderr=True)


def load(
    data: str,
    read: Reading,
    labelled: bool = True,
    missing: bool = False,
    labels: bool = True,
    of_source: dict | None = None,
    impute: str = "--impute median",
) -> Bunch:
    """Bags by name or path, with their ``name``; labels must be there if ``labelled``.

    ``missing`` lets values be missing; ``labels=False`` does not look at labels; ``of_source`` are the
    parameters of what turns things into bags; ``impute`` is the remedy for a missing value.
    """
    with standard_input(data) as file:
        table = file != data and read.source is None  # what has no name holds bags, unless said otherwise
        return _load(file, read, labelled, missing, labels, of_source or {}, impute, table)


def _load(
    data: str, read: Reading, labelled, missing, labels, of_source: dict, impute: str, table: bool
) -> Bunch:
    if holds_bags(data):
        raise ValueError(
            f"{data}: a folder with a file per bag; make a store of it first: "
            f"skmil convert {data} bags.zarr --labels labels.csv"
        )
    stored = is_store(data)
    things = None if data in SHIPPED or stored or table else load_things(data, read, of_source)
    if things is not None:
        bunch = things
    elif stored:
        bunch = load_store(data)
    elif Path(data).exists() and data not in SHIPPED:
        bunch = _read(data, impute, missing=missing, labels=labels, **read.options())
    elif data in SHIPPED or _in_folder(data):
        bunch = load_bags(data)
    else:
        raise ValueError(f"{data}: no such file or data set; `skmil data` lists the sets known by name")
    if labelled and bunch.target is None:
        where = "name their column with --label"
        if things is not None:
            where = "put the things into one subfolder per label, or name a table with --labels"
        raise ValueError(f"{data}: no labels found; {where}")
    bunch.name = Path(data).stem if Path(data).exists() else data
    return bunch


def _read(data: str, impute: str, **options) -> Bunch:
    """Read a file; an error speaks of options where the library speaks of arguments."""
    try:
        return read_bags(data, **options)
    except ValueError as error:
        error.args = (_with_options(str(error), impute),)
        raise


def _with_options(message: str, impute: str) -> str:
    """The message with options in its remedy; what comes before may hold the name of a file."""
    what, mark, remedy = message.rpartition("; ")
    words = {"missing=True and a BagImputer": impute, "bag=": "--bag", "label=": "--label"}
    words["ignore="] = "--ignore"
    for argument, option in words.items():
        remedy = remedy.replace(argument, option)
    return what + mark + remedy


def known_sets() -> list[str]:
    """Names of the sets in the folder ``$SKMIL_DATA``."""
    folder = os.environ.get("SKMIL_DATA")
    return sorted(p.stem for p in Path(folder).glob("*.npz")) if folder else []


def _in_folder(name: str) -> bool:
    return name in known_sets()


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
    folder = path.parent if not path.is_symlink() else Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist")
    return path


@contextmanager
def standard_input(data: str) -> Iterator[str]:
    """The path of a file; what comes through a pipe, or as "-", is kept in one for a while, as a table."""
    path = Path("/dev/stdin" if data == "-" else data)
    if data != "-" and (path.is_file() or path.is_dir() or not path.exists()):
        yield data
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, path.name if path.suffix else f"{path.name}.csv")
        copy.write_bytes(sys.stdin.buffer.read() if path.name == "stdin" else path.read_bytes())
        try:
            yield str(copy)
        except ValueError as error:
            error.args = (str(error).replace(f"{folder}/", ""),)
            raise


def say(text: str, target=None) -> None:
    """One line about what was written; it does not go where the data goes."""
    (err if is_screen(target) else out).print(text, highlight=False, markup=False, soft_wrap=True)


def plural(count: int, what: str) -> str:
    """A number of things."""
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('s') else 's'}"


def tell_missing(bags, strategy: str) -> None:
    """Say what is missing and what stands in for it."""
    gone = np.isnan(bags.to_dense().instances)
    features = np.flatnonzero(gone.any(axis=0))
    if not len(features):
        err.print("no value is missing; --impute has nothing to fill in here", highlight=False)
        return
    what = f"{plural(int(gone.sum()), 'missing value')} in {plural(len(features), 'feature')}"
    by = f"the {strategy.replace('_', ' ')} of the training instances"
    err.print(f"{what} filled in with {by}", highlight=False)


def plain_table(first: str, *others: str, left: Sequence[str] = (), **options) -> Table:
    """A quiet table: first column to the left, numbers to the right."""
    options = {"title_justify": "left", "caption_justify": "left", "title_style": "bold"} | options
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, **options)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=name not in left)
    return table


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
