"""All tables in a few lines: how many cells reach the published figure, and the papers' own systems."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from reproduction.cells import TRANSDUCTION
from reproduction.tasks import Table

TIED = "\N{NO-BREAK SPACE}"  # a number keeps its deviation, or its neighbour in brackets, on its line


@dataclass(frozen=True)
class Cell:
    """One method on one data set: our accuracy in percent, and the paper's where it has one."""

    table: str
    method: str
    data: str
    mean: float
    sd: float
    error: float
    folds: int
    published: float | None
    p_value: float | None
    fit_seconds: float

    @property
    def difference(self) -> float | None:
        """Ours less the published figure."""
        return None if self.published is None else self.mean - self.published

    @property
    def differs(self) -> bool:
        """Whether the difference is more than chance, at the level of 5 %."""
        return self.p_value is not None and self.p_value < 0.05

    @property
    def verdict(self) -> str:
        """Above, within one point, or below the published figure."""
        if self.difference is None:
            return "not published"
        return (
            "within one point" if abs(self.difference) <= 1 else "above" if self.difference > 0 else "below"
        )


def summary(cells: Iterable[Cell], tables: Iterable[Table]) -> str:
    """The count of cells, and a table of the papers' own systems on each set."""
    compared = [c for c in cells if c.published is not None]
    if not compared:
        return "No accuracy table has been run yet.\n"
    own = {(t.name, m) for t in tables for m in t.own}
    return _count(compared) + _systems([c for c in compared if (c.table, c.method) in own])


def _count(cells: list[Cell]) -> str:
    """In how many cells we are above, within one point of, and below the published figure."""
    count = {v: sum(c.verdict == v for c in cells) for v in ("above", "within one point", "below")}
    differs = sum(c.differs and c.verdict == "below" for c in cells)
    return (
        f"Of {len(cells)} cells with a published figure, {count['above']} are above it, "
        f"{count['within one point']} within one point and {count['below']} below "
        f"({differs} of those significantly, p < 0.05 by the corrected resampled t-test).\n"
    )


def _systems(cells: list[Cell]) -> str:
    """The papers' own systems, ours and published."""
    return "\n" + _grid("ours (published), %", cells, _both) if cells else ""


def overview(cells: Iterable[Cell]) -> str:
    """What each method reaches on each set, over all tables, and how long it takes to fit."""
    unique = {(c.method, c.data): c for c in cells if not c.method.endswith(TRANSDUCTION)}
    return _grid("accuracy in %, seconds", list(unique.values()), _cost) if unique else ""


def _grid(corner: str, cells: list[Cell], show: Callable[[list[Cell]], str]) -> str:
    """Markdown with a row for each method and a column for each set, the newsgroups in one."""
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for c in cells:
        groups[c.method, _column(c.data)].append(c)
    rows, columns = (list(dict.fromkeys(key[i] for key in groups)) for i in (0, 1))
    lines = [[corner, *columns], ["---"] * (1 + len(columns))]
    lines += [[m, *(show(groups[m, c]) if (m, c) in groups else "" for c in columns)] for m in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _column(data: str) -> str:
    return "newsgroups (mean)" if data.startswith("news_") else data


def _both(cells: list[Cell]) -> str:
    ours, theirs = np.array([(c.mean, c.published) for c in cells]).mean(axis=0)
    return f"{ours:.1f}{TIED}({theirs:.1f})"


def _cost(cells: list[Cell]) -> str:
    ours, seconds = np.array([(c.mean, c.fit_seconds) for c in cells]).mean(axis=0)
    return f"{ours:.1f},{TIED}{seconds:.0f}{TIED}s"
