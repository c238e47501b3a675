"""A cell of an accuracy table: which estimator, which grid, and which records are of it."""

import re
from functools import cache

import numpy as np
from sklearn.base import clone

import skmil
from reproduction.tasks import Table
from skmil.bags import Bags
from skmil.datasets import load_bags
from skmil.evaluation import plain, text_of
from skmil.kernels.base import BagKernel
from skmil.records import Record
from skmil.registry import Grid, find

TRANSDUCTION = " (transduction)"


def build(table: Table, name: str, data: str, bags):
    """The estimator of a cell; in transduction the kernel and its map see all bags, without labels."""
    base = name.removesuffix(TRANSDUCTION)
    overrides = table.overrides.get(f"{name} / {data}", {})
    if base == name:
        return skmil.method(base, **overrides)
    model = skmil.method(base, anchors=bags, **overrides)
    return model.set_params(kernel__kernel=Sliced(model.kernel.kernel, data))


def grid_of(table: Table, name: str, data: str) -> Grid:
    """What the inner cross-validation of a cell searches; empty where there is none."""
    if not table.nested:
        return {}
    base = name.removesuffix(TRANSDUCTION)
    own = table.grids.get(f"{name} / {data}", table.grids.get(name))
    grid = find(base).grid if own is None else own
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


def is_current(table: Table, record: Record) -> bool:
    """Whether a record is of a cell of this table, with the settings of today."""
    if (record.method, record.data) not in table.cells():
        return False
    any_bags = Bags(np.zeros((1, 1)), np.array([0, 1]))
    estimator = text_of(build(table, record.method, record.data, any_bags))
    grid = plain(grid_of(table, record.method, record.data)) or None
    return (
        _without_bags(record.estimator) == _without_bags(estimator)
        and record.grid == grid
        and record.folds == table.folds
        and record.repeat < table.repeats
    )


def _without_bags(text: str) -> str:
    return re.sub(r"Bags\([^()]*\)", "Bags", text)
