"""What an experiment is: tasks that can be done in any order, and a page made from their results."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skmil.reproduce.table import Table


@dataclass(frozen=True)
class Experiment:
    """Three functions: which tasks, how to do one, how to show all.

    Parameters
    ----------
    tasks : (table, data sets at hand) -> list of plain dictionaries, each the key of its result
    run : (table, task) -> plain dictionary of numbers
    page : (table, results with their tasks in them, folder for plots) -> Markdown
    """

    tasks: Callable[[Table, list[str]], list[dict]]
    run: Callable[[Table, dict], dict]
    page: Callable[[Table, list[dict], Path], str]


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
    import matplotlib.pyplot as plt

    figure.savefig(out / f"{name}.png", dpi=120, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    return f"\n![{name}]({name}.png)\n"


def axes(width: float = 6.0, height: float = 4.0, columns: int = 1):
    """A figure that needs no screen, and its axes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(1, columns, figsize=(width, height), squeeze=False)


def _show(values, form: str) -> str:
    if not values:
        return "–"
    if len(values) == 1:
        return form.format(values[0])
    return f"{form.format(np.mean(values))} ± {form.format(np.std(values, ddof=1))}"
