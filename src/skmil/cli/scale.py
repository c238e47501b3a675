"""Bags on disk and workers, as the command line has them."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from sklearn.utils import Bunch

import skmil
from skmil.cli import Interrupted
from skmil.cli.bars import MovingBar
from skmil.formats.folder import READERS
from skmil.inspection.gram import method_kernel
from skmil.store import convert_folder, open_bags

out, err = Console(), Console(stderr=True)


def _start(context: typer.Context, where: str | None) -> str | None:
    """Workers for as long as the command runs."""
    if where is not None:
        context.with_resource(skmil.cluster(where))
    return where


Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        callback=_start,
        help="Run on a number of workers here, or at tcp://...",
    ),
]


def is_store(path) -> bool:
    """Whether a path is a store of bags, finished or not."""
    path = Path(path)
    return path.suffix == ".zarr" or (path / "zarr.json").is_file()


def holds_bags(path) -> bool:
    """Whether a path is a folder with a file of features per bag; pictures and texts have other endings."""
    path = Path(path)
    if not path.is_dir() or is_store(path):
        return False
    endings = {p.suffix.lower() for p in path.rglob("*") if p.is_file()}
    tables = {".csv", ".parquet"}  # may be labels of other things
    return bool(endings & (set(READERS) - tables)) or (bool(endings) and endings <= tables)


def load_store(path) -> Bunch:
    """A store as readers of files return bags."""
    store = open_bags(path)
    return Bunch(**{**store.extras, "data": store, "target": store.target, "stored": True})


class Bar:
    """A bar with what remains; in a log, a line now and then."""

    def __init__(self, what: str, unit: float = 1.0, suffix: str = ""):
        shown = "{task.description}", BarColumn(), TextColumn("{task.fields[text]}"), TimeRemainingColumn()
        self.progress = MovingBar(*shown, console=err)
        self.task = self.progress.add_task(what, text="")
        self.what, self.unit, self.suffix = what, unit, suffix
        self.start = self.told = time.monotonic()
        self.first: float | None = None

    def __call__(self, done: float, total: float) -> None:
        """Say how far it is."""
        self.first = done if self.first is None else self.first
        text = f"{done / self.unit:.4g} of {total / self.unit:.4g}{self.suffix}"
        self.progress.update(self.task, completed=done, total=total, text=text)
        now = time.monotonic()
        if not err.is_terminal and now - self.told > 10 and done > self.first:
            left = (now - self.start) * (total - done) / (done - self.first)
            err.print(f"{self.what}: {text}, about {left:.0f} s left", highlight=False, markup=False)
            self.told = now


def folder_to_store(folder, target: Path, options: dict) -> None:
    """``skmil convert FOLDER x.zarr``."""
    if target.suffix != ".zarr":
        raise ValueError(f"{target}: a folder of bags becomes a store; give a name that ends in .zarr")
    bar = Bar("converting", 2**30, " GiB")
    try:
        with bar.progress:
            found = convert_folder(folder, target, progress=bar, **options)
    except KeyboardInterrupt:
        raise _kept(target) from None
    before = f", {found.resumed} of them by an earlier run" if found.resumed else ""
    without = f"; left out {len(found.unlabelled)} without a label" if found.unlabelled else ""
    line = f"{target}: {open_bags(target)!r}{before}{without}"
    out.print(line, highlight=False, markup=False, soft_wrap=True)
    for line in found.failed:
        err.print(f"skmil: {line}", highlight=False, markup=False, soft_wrap=True)
    if found.failed:
        raise typer.Exit(1)


def gram_to_store(estimator, name: str, bunch: Bunch, target: Path, tile: int | None) -> None:
    """``skmil gram DATA k.zarr``."""
    found = method_kernel(estimator, bunch.data, bunch.target)
    if found is None:
        raise ValueError(f"{name} has no kernel on bags; MI-Kernel is one that has")
    bar = Bar("tiles")
    try:
        with bar.progress:
            K = skmil.gram(found[0], found[1], out=target, tile=tile, progress=bar)
    except KeyboardInterrupt:
        raise _kept(target) from None
    line = f"{target}: {K.shape[0]} x {K.shape[1]} in tiles of {K.chunks[0]}"
    out.print(line, highlight=False, soft_wrap=True)


def _kept(target: Path) -> Interrupted:
    return Interrupted(f"interrupted; {target}.part keeps what is done, the same command goes on")
