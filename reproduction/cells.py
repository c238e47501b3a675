"""A cell of an accuracy table: which estimator, which grid, and which records are of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.base import clone

from reproduction.pinned import paper_method
from reproduction.tasks import Table
from skmil._identity import agree, plain, searched, settings_of, text_of, unsearched, unsearched_text
from skmil.bags import Bags
from skmil.datasets import load_bags
from skmil.kernels.base import BagKernel
from skmil.records import Record
from skmil.registry import Grid, find

TRANSDUCTION = " (transduction)"
# Rows that are a registered method with other parameters.
VARIANTS: dict[str, dict] = {
    " (T0 = 0)": {"start_temperature": None},
    " (weights searched)": {"weights": "presence"},
}


def base_of(name: str) -> tuple[str, dict]:
    """The registered method of a row, and the parameters that make it a variant."""
    for suffix, parameters in VARIANTS.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), parameters
    return name, {}


def build(table: Table, name: str, data: str, bags):
    """The estimator of a cell; in transduction the kernel and its map see all bags, without labels."""
    overrides = table.overrides.get(f"{name} / {data}", {})
    base = name.removesuffix(TRANSDUCTION)
    if base == name:
        base, variant = base_of(name)
        return paper_method(base, **{**variant, **overrides})
    model = paper_method(base, anchors=bags, **overrides)
    return model.set_params(kernel__kernel=Sliced(model.kernel.kernel, data))


def grid_of(table: Table, name: str, data: str) -> Grid:
    """What the inner cross-validation of a cell searches; empty where there is none."""
    if not table.nested:
        return {}
    base = name.removesuffix(TRANSDUCTION)
    own = table.grids.get(f"{name} / {data}", table.grids.get(name))
    grid = find(base_of(base)[0]).grid if own is None else own
    if base == name:
        return grid
    assert isinstance(grid, dict), "the grids of kernels with a map have no alternatives"
    return {f"kernel__{k}": v for k, v in grid.items()}


class Sliced(BagKernel):
    """A kernel that learns nothing from labels, fitted on a whole data set and computed once.

    Calls take rows and columns of that matrix, for bags of the set.

    Parameters
    ----------
    kernel : BagKernel
    data : name of the data set
    """

    def __init__(self, kernel, data):
        self.kernel = kernel
        self.data = data

    def _gram(self, A, B):
        place = _places(self.data)
        rows, columns = ([place[bag.tobytes()] for bag in bags] for bags in (A, B))
        return self._whole()[np.ix_(rows, columns)]

    def _whole(self) -> np.ndarray:
        key = text_of(self.kernel), self.data
        if key not in _grams:
            _grams[key] = clone(self.kernel).fit_transform(load_bags(self.data).data)
        return _grams[key]


_grams: dict[tuple[str, str], np.ndarray] = {}


@cache
def _places(data: str) -> dict[bytes, int]:
    """Number of each bag of a set, by its content."""
    return {bag.tobytes(): i for i, bag in enumerate(load_bags(data).data)}


@dataclass(frozen=True)
class Settings:
    """What the records of a cell were run with, if they are of today; what is searched has no say."""

    estimator: str
    settings: dict
    revision: str
    grid: Grid | None

    def fit(self, record: Record) -> bool:
        """Whether a record was run with them; bags in parameters are those of its data."""
        return (
            record.revision == self.revision
            and record.grid == self.grid
            and _fixed_text(record.estimator, self.grid) == self.estimator
            and agree(_no_bags(record.fixed_settings), self.settings)
        )


def settings_today(table: Table, name: str, data: str) -> Settings:
    """The settings of a cell."""
    model = build(table, name, data, Bags(np.zeros((1, 1)), np.array([0, 1])))
    grid = plain(grid_of(table, name, data)) or None
    return Settings(
        _fixed_text(text_of(model), grid),
        _no_bags(unsearched(settings_of(model), grid)),
        revision_of(name),
        grid,
    )


def revision_of(name: str) -> str:
    """The revision of the method of a row."""
    return str(find(base_of(name.removesuffix(TRANSDUCTION))[0]).revision)


def current(table: Table, records: Iterable[Record]) -> list[Record]:
    """The records that are of cells of this table, with the settings of today."""
    today = {cell: settings_today(table, *cell) for cell in table.cells()}
    return [
        r
        for r in records
        if (r.method, r.data) in today
        and r.error is None
        and r.folds == table.folds
        and r.repeat < table.repeats
        and today[r.method, r.data].fit(r)
    ]


def _fixed_text(text: str, grid: Grid | None) -> str:
    return unsearched_text(re.sub(r"Bags\([^()]*\)", "Bags", text), searched(grid))


def _no_bags(settings: dict) -> dict:
    return {k: v for k, v in settings.items() if not str(v).startswith("Bags ")}
