"""A progress bar over the folds of all methods, and what remains once enough is known to say it."""

import os
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from skmil.cli.bars import MovingBar
from skmil.cli.support import rough
from skmil.report.text import seconds


class Bar:
    """Shows which method runs and how long the rest will take; in a log, a line per method.

    Parameters
    ----------
    console : where to show it
    runs : what is done, each with its ``name``, ``plan``, ``found``, ``todo`` and ``error``
    jobs : folds at the same time
    """

    def __init__(self, console: Console, runs: Sequence, jobs: int):
        self.runs = runs
        self.jobs = max(1, jobs if jobs > 0 else os.cpu_count() or 1)
        self.several = len({run.plan.data for run in runs}) > 1
        columns = (
            "{task.description:<12}",
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self.progress = MovingBar(*columns, console=console)
        total = sum(len(run.plan.places) for run in runs)
        self.task = self.progress.add_task("", total=total, left="")
        self.under_way = None

    def __enter__(self):
        self.progress.__enter__()
        return self

    def __exit__(self, *error):
        self.progress.__exit__(*error)

    def start(self, run) -> None:
        """Some folds of a method begin."""
        self.under_way = run
        name = run.name if self.several else run.plan.name
        self.progress.update(self.task, description=name)
        self.tell()

    def tell(self) -> None:
        """One fold is done, or has failed; a method that failed is not waited for."""
        done = sum(len(r.plan.places) if r.error else len(r.found) for r in self.runs)
        left = seconds_left(self.runs)
        text = "" if left is None or left <= 0 else f"about {rough(left / self.jobs)} left"
        self.progress.update(self.task, completed=done, left=text)

    def finish(self, run) -> None:
        """Where no bar can move, as in a log, say when a method is done."""
        if run.todo or self.progress.console.is_terminal:
            return
        times = [r.fit_seconds + r.predict_seconds for r in run.found]
        said = f"failed, {run.error}" if run.error else f"{len(times)} folds, {seconds(sum(times))}"
        self.progress.console.print(f"{run.name}: {said}", highlight=False, markup=False, soft_wrap=True)


def seconds_left(runs: Sequence) -> float | None:
    """Seconds that the remaining folds will take, from those of each method that are done.

    None as long as nothing is known of some method: they differ by factors of a thousand, so that one says
    nothing about another.
    """
    left = 0.0
    for run in runs:
        times = [r.fit_seconds + r.predict_seconds for r in run.found]
        missing = 0 if run.error else len(run.plan.places) - len(times)
        if missing and not times:
            return None
        left += missing * sum(times) / max(1, len(times))
    return left
