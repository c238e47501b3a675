"""``skmil bench``: methods cross-validated side by side, resumable, with a table and a report."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from skmil._folds import look_like_quantities, task_of
from skmil._identity import fingerprint
from skmil.cli import Interrupted
from skmil.cli.options import Impute, Reading, Settings, Task, reads
from skmil.cli.progress import Bar
from skmil.cli.scale import Cluster
from skmil.cli.support import err, load, out, plain_table, settings, tell_missing
from skmil.cli.things import only_source
from skmil.evaluation import CrossValidation
from skmil.inspection import method_gram
from skmil.learners import BagPipeline
from skmil.preprocessing import BagImputer
from skmil.records import Answers, Record, read_records
from skmil.registry import REGISTRY, find, method, methods
from skmil.report import write_html
from skmil.report.summary import Section, sections
from skmil.report.text import cells, is_best, title

# The one for everybody, one method of each paper and two baselines, as far as they are registered.
DEMO = ("auto", "k_and emp", "ALP-SVM", "ISK", "MG-ACC", "PPMM", "MI-Kernel", "Simple-MI")


@reads
def bench(
    data: Annotated[
        list[str], typer.Option(metavar="DATA", help="A file, or musk1, musk2, ...; repeatable.")
    ],
    read: Reading,
    names: Annotated[
        list[str],
        typer.Option("--methods", metavar="NAMES", help="all, demo, or names with commas; repeatable."),
    ] = ["demo"],  # noqa: B006
    folds: Annotated[
        str, typer.Option(metavar="N", help="Number of folds, or 'given' for those in the file.")
    ] = "10",
    repeats: Annotated[int, typer.Option(metavar="N", help="How often to draw folds.")] = 1,
    nested: Annotated[bool, typer.Option(help="Search parameters inside each training part.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of folds and methods.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="N", help="Folds at the same time; -1 for all cores.")] = 1,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time for a fold; a method that takes longer has failed."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try methods again that failed before.")
    ] = False,
    task: Task = None,
    impute: Impute = None,
    set_: Settings = None,
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="For records and report.")] = Path(
        "bench"
    ),
    cluster: Cluster = None,
) -> None:
    """Compare methods by cross-validation; stop and resume at will.

    Records in the folder know what is done; the same command goes on. A method that failed is in the table
    with its reason.
    """
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"--time-limit {time_limit:g}: give seconds above 0")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: this is a file; --out names a folder")
    of_source = only_source(settings(set_ or []))
    sets = [load(d, read, missing=impute is not None, of_source=of_source) for d in data]
    for bunch in sets:
        bunch.fingerprint = fingerprint(bunch.data, bunch.target)
    runs = [Run(r) for bunch in sets for r in _runs(bunch, names, folds, repeats, nested, seed, task)]
    if impute is not None:
        runs = [Run(_imputed(run.plan, impute)) for run in runs]
        for bunch in sets:
            tell_missing(bunch.data, impute)
    folder.mkdir(parents=True, exist_ok=True)
    records = folder / "records.jsonl"
    answers = Answers(read_records(records))
    for run in runs:
        run.recall(answers, retry_failed)
    before = sum(len(run.found) for run in runs)
    try:
        _do(runs, records, jobs, time_limit)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {records} keeps what is done, the same command goes on") from None
    _finish(records, folder / "report.html", sets, runs, before)


@dataclass
class Run:
    """A method on a data set: which folds are done, which are left, and why it failed if it did."""

    plan: CrossValidation
    found: list[Record] = field(default_factory=list)
    todo: list[tuple[int, int]] = field(default_factory=list)
    error: str | None = None
    known: bool = False

    @property
    def name(self) -> str:
        """Method and data set."""
        return f"{self.plan.name} on {self.plan.data}"

    def recall(self, answers: Answers, retry: bool) -> None:
        """Take over what earlier runs did."""
        known = self.plan.known(answers)
        self.found = [r for r in known.values() if r.error is None]
        failed = [r.error for r in known.values() if r.error is not None]
        self.known = bool(failed) and not retry
        self.error = failed[0] if self.known else None
        done = {(r.repeat, r.fold) for r in self.found}
        self.todo = [] if self.known else [place for place in self.plan.places if place not in done]

    def work(self, count: int, records: Path, jobs: int, limit: float | None, bar: Bar) -> None:
        """Do up to ``count`` folds; one that fails ends the method, not the others."""
        part, self.todo = self.todo[:count], self.todo[count:]
        bar.start(self)
        for record, error in self.plan.outcomes(part, records, jobs, limit):
            if error is None:
                self.found.append(record)
            else:
                self.error, self.todo = record.error, []
            bar.tell()
        bar.finish(self)


def _runs(bunch, names: list[str], folds: str, repeats, nested, seed, task) -> list[CrossValidation]:
    """What to do on a data set; complains before anything is written."""
    t = task or task_of(bunch.target)
    if t == "classification" and len(kinds := np.unique(bunch.target)) < 2:
        raise ValueError(f"{bunch.name}: all bags are of one class, {kinds[0]}; a classifier needs two")
    given = _given(bunch, folds)
    count = _whole(folds) if given is None else len(np.unique(given[0]))
    options = dict(folds=count, repeats=repeats, nested=nested, seed=seed, given_folds=given, task=t)
    options |= {"source": bunch.get("source"), "things": bunch.get("things")}
    try:
        found = [
            CrossValidation.of(
                n, bunch.data, bunch.target, data=bunch.name, known_fingerprint=bunch.fingerprint, **options
            )
            for n in choose(names, t)
        ]
    except ValueError as error:
        raise ValueError(str(error).replace("task='regression'", "--task regression")) from None
    if task is None and t == "classification" and look_like_quantities(bunch.target):
        taken = f"{len(np.unique(bunch.target))} different numbers are taken for classes"
        _note(f"{bunch.name}: {taken}; if they are quantities, give --task regression")
    return found


def _imputed(plan: CrossValidation, strategy: str) -> CrossValidation:
    """The same with missing values filled in by a statistic of the training part of each fold."""
    model = BagPipeline([("impute", BagImputer(strategy)), ("method", plan.estimator)])
    grids = plan.grid if isinstance(plan.grid, list) else [plan.grid or {}]
    inner = [{f"method__{k}": v for k, v in grid.items()} for grid in grids]
    grid = None if plan.grid is None else inner if isinstance(plan.grid, list) else inner[0]
    return replace(plan, estimator=model, grid=grid)


def choose(names: list[str], task: str) -> list[str]:
    """Names of methods from a list with commas, in which "all" and "demo" stand for several."""
    able = methods(task)
    groups = {"all": able, "demo": [n for n in DEMO if n in able]}
    parts = [n.strip() for n in ",".join(names).split(",") if n.strip()]
    chosen = list(dict.fromkeys(n for part in parts for n in groups.get(part, [part])))
    if not chosen:
        raise ValueError("--methods is empty; give 'all', 'demo' or names with commas between")
    for name in chosen:
        if task not in find(name).tasks:
            raise ValueError(f"{name} has no form for {task}; those that have: {', '.join(able)}")
    return chosen


def _given(bunch, folds: str):
    """The folds that come with the data, if they are asked for."""
    if folds != "given":
        _whole(folds)
        return None
    if bunch.get("folds") is None:
        raise ValueError(f"{bunch.name} comes without folds; give a number: --folds 10")
    return np.atleast_2d(bunch.folds)


def _whole(folds: str) -> int:
    if not folds.isdigit() or int(folds) < 2:
        raise ValueError(f"--folds {folds}: give a number from 2, or 'given'")
    return int(folds)


def _do(runs: Sequence[Run], records: Path, jobs: int, limit: float | None) -> None:
    """Every method does a fold before any does the rest: soon we know how long it takes, and what fails."""
    with Bar(err, runs, jobs) as bar:
        for count in (max(1, jobs), 10**9):
            for run in runs:
                if run.todo:
                    run.work(count, records, jobs, limit, bar)


def _finish(records: Path, report: Path, sets, runs: Sequence[Run], before: int) -> None:
    """Tables, report, and what went wrong."""
    found = _named(read_records(records), sets)
    shown = sections(found)
    for section in shown:
        out.print(title(section), style="bold", highlight=False, markup=False)
        out.print(_table(section))
        for note in cells(section)[2]:
            out.print(note, style="dim italic", highlight=False, markup=False)
        out.print()
    write_html(found, report, grams=_grams(shown, sets))
    new = sum(len(run.found) for run in runs) - before
    out.print(f"{new} folds run, {before} from earlier runs; records in {records}", highlight=False)
    out.print(f"report: {report.resolve()}", highlight=False, soft_wrap=True)
    failed = [run for run in runs if run.error is not None]
    for run in failed:
        again = "; it failed before, --retry-failed tries again" if run.known else ""
        _note(f"{run.name}: {run.error}{again}")
    if failed:
        raise typer.Exit(1)


def _named(records: Sequence[Record], sets) -> list[Record]:
    """The records under the names that their data has today."""
    names: dict[str, str] = {}
    for b in sets:
        own = b.fingerprint
        names[own] = f"{names[own]}, {b.name}" if names.get(own, b.name) != b.name else b.name
    return [replace(r, data=names.get(r.fingerprint, r.data)) for r in records]


def _table(section: Section):
    """The table of a section, as the terminal shows it: columns that it has no room for are left out."""
    header, rows, _ = cells(section)
    kept = _fitting(header, rows, out.width)
    table = plain_table(*(header[k] for k in kept))
    for n, row in enumerate(rows):
        summary = section.rows[n] if n < len(section.rows) else None
        best = summary is not None and is_best(section, summary)
        guess = summary is None or summary is section.baseline
        table.add_row(*(row[k] for k in kept), style="bold" if best else "dim" if guess else None)
    return table


def _fitting(header: list[str], rows: list[list[str]], width: int) -> list[int]:
    """Columns that fit the width; the report has them all."""
    kept = list(range(len(header)))
    wide = [3 + max(len(row[k]) for row in [header, *rows]) for k in kept]
    for name in ("predict", "fit", "published", "MAE", "AUC"):
        if sum(wide[k] for k in kept) > width and name in header:
            kept.remove(header.index(name))
    return kept


def _grams(shown: Sequence[Section], sets, most: int = 1000) -> dict:
    """For each set of moderate size, the Gram matrix of the kernel method that is fitted fastest."""
    found = {}
    for section in shown:
        own = section.first.fingerprint
        bunch = next((b for b in sets if b.fingerprint == own), None)
        if bunch is None or len(bunch.data) > most or section.regression:
            continue
        if bunch.data.has_missing or bunch.get("stored"):
            continue
        for s in sorted(section.summaries, key=lambda s: s.fit_seconds):
            if s.method in REGISTRY:
                K = method_gram(method(s.method), bunch.data, bunch.target)
                if K is not None:
                    found[own] = (s.method, K, bunch.target)
                    break
    return found


def _note(line: str) -> None:
    err.print(f"skmil: {line}", highlight=False, markup=False, soft_wrap=True)
