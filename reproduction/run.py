"""Running tables: every fold is a record in a file, so that a run can be stopped and goes on later."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from reproduction.cells import build, current, grid_of, revision_of
from reproduction.experiments import EXPERIMENTS
from reproduction.ledger import run_tasks
from reproduction.pages import write_pages
from reproduction.tasks import Table, load_tables
from skmil._journal import Journal
from skmil._memo import searching
from skmil.datasets import load_bags
from skmil.evaluation import cross_validate_bags
from skmil.records import Answers, Record, append_records, read_records

SHARED = 2**32  # bytes of Gram matrices and the like that the methods on one data set share


def reproduce(
    tables=None,
    *,
    out="results",
    quick: bool = False,
    n_jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> Path:
    """Run tables of the papers and write the results beside the published figures.

    Parameters
    ----------
    tables : names such as "tao-8", or "tao" for all of a paper; all tables where not given
    out : folder of records, pages and plots; what its records hold is not done again
    quick : fewer folds, sets and repetitions
    n_jobs : folds at the same time, each in a process
    progress : called with (what, done, all) after each fold or task

    Returns
    -------
    Path of the index page
    """
    out = Path(out)
    (out / "records").mkdir(parents=True, exist_ok=True)
    tell = progress or (lambda what, done, of: None)
    for table in load_tables(tables):
        run_table(table.quickly() if quick else table, out, n_jobs, tell)
    return write_pages(out)


def run_table(table: Table, out: Path, n_jobs: int, progress: Callable) -> None:
    """Run what is missing of one table."""
    path = out / "records" / f"{table.name}.jsonl"
    if table.kind == "accuracy":
        _run_accuracy(table, path, n_jobs, progress)
    else:
        experiment = EXPERIMENTS[table.kind]
        present = [d for d in table.data if available(d)]
        tasks = experiment.tasks(table, present)
        run_tasks(lambda t: experiment.run(table, t), tasks, path, n_jobs, progress, experiment.stamp)
    Journal(path).pack()


def available(name: str) -> bool:
    """Whether a data set is shipped or in the folder ``$SKMIL_DATA``."""
    try:
        load_bags(name)
    except (OSError, ValueError):
        return False
    return True


def _run_accuracy(table: Table, path: Path, n_jobs: int, progress: Callable) -> None:
    """Every cell by cross-validation; what the methods on one data set share is computed once."""
    _borrow(table, path)
    cells = [(m, d) for m, d in table.cells() if available(d)]
    total = len(cells) * table.folds * table.repeats
    done = 0

    def count(record: Record) -> None:
        nonlocal done
        done += 1
        progress(f"{table.name} {record.method} {record.data}", done, total)

    for data, group in groupby(cells, key=lambda cell: cell[1]):
        with searching(limit=SHARED):
            for name, _ in group:
                _run_cell(table, name, data, records=path, n_jobs=n_jobs, progress=count)


def _run_cell(table: Table, name: str, data: str, **how) -> None:
    bunch = load_bags(data)
    grid = grid_of(table, name, data)
    cross_validate_bags(
        (name, build(table, name, data, bunch.data)),
        bunch.data,
        bunch.target,
        data=data,
        folds=table.folds,
        repeats=table.repeats,
        nested=bool(grid),
        grid=grid or None,
        revision=revision_of(name),
        given_folds=bunch.get("folds") if table.folds == 10 else None,
        **how,
    )


def _borrow(table: Table, path: Path) -> None:
    """Take over records of other tables: papers share cells, and a cell is run once."""
    own = Answers(read_records(path))
    for other in sorted(path.parent.glob("*.jsonl.gz")):
        rows = [row for _, row in Journal(other.with_suffix("")).entries()]
        found = [Record.from_dict(row) for row in rows if "fingerprint" in row]
        fresh = [r for r in current(table, found) if own.to(r) is None]
        append_records(path, fresh)
        own = Answers([*own, *fresh])
