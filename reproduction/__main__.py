"""``python -m reproduction``: the papers' tables, run again."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from reproduction import load_tables, reproduce
from reproduction.run import available
from reproduction.tasks import Table
from skmil.cli import Interrupted, run_app
from skmil.cli.scale import Cluster
from skmil.cli.support import err, out, rough


def main(
    tables: Annotated[
        list[str] | None, typer.Argument(help="Tables, or papers such as 'tao'; all if none.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Fewer folds, sets and repetitions.")] = False,
    jobs: Annotated[int, typer.Option(help="Folds at the same time; -1 for all cores.")] = 1,
    folder: Annotated[Path, typer.Option("--out", help="Folder for records and pages.")] = Path("results"),
    show: Annotated[bool, typer.Option("--list", help="Only list the tables.")] = False,
    cluster: Cluster = None,
) -> None:
    """Run the papers' comparison tables again and set the results beside the published figures."""
    chosen = load_tables(tables)
    if show:
        for t in chosen:
            out.print(f"{t.name:<16} {t.paper}: {t.title}", highlight=False)
        return
    _tell_absent([t.quickly() if quick else t for t in chosen])
    bar = _Bar()
    try:
        with bar.progress:
            index = reproduce(tables, out=folder, quick=quick, n_jobs=jobs, progress=bar.tell)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {folder} keeps what is done, the same command goes on") from None
    out.print(f"results: {index}", highlight=False)


def _tell_absent(tables: list[Table]) -> None:
    """Name the sets that are not here: their cells are not run, and pages are made from records alone."""
    absent = sorted({d for t in tables for d in t.data if not available(d)})
    if absent:
        names = ", ".join(absent)
        err.print(f"left out, neither shipped nor in the folder $SKMIL_DATA: {names}", highlight=False)


class _Bar:
    """Progress within a table, with an estimate from the pace so far; a line per cell in a log."""

    def __init__(self):
        columns = (
            "{task.description:<40}",
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self.progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self.task = self.progress.add_task("", total=None, left="")
        self.start, self.first, self.table, self.last = time.monotonic(), 0, "", ""

    def tell(self, what: str, done: int, of: int) -> None:
        """One fold or task is done."""
        table, now = what.split(" ")[0], time.monotonic()
        if table != self.table:
            self.start, self.first, self.table = now, done, table
        pace = (now - self.start) / (done - self.first) if done > self.first else 0.0
        left = f"about {rough(pace * (of - done))} left" if pace else ""
        self.progress.update(self.task, description=what, completed=done, total=of, left=left)
        if not err.is_terminal and what != self.last:
            err.print(f"{what}: {done} of {of} {left}", highlight=False, markup=False)
            self.last = what


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command()(main)

if __name__ == "__main__":
    sys.exit(run_app(app, None, "python -m reproduction"))
