"""A cell of an accuracy table: which estimator, which grid, and which records are of it."""

import re

import numpy as np

import skmil
from skmil.bags import Bags
from skmil.evaluation import plain, text_of
from skmil.methods import find
from skmil.records import Record
from skmil.reproduce.table import Table

TRANSDUCTION = " (transduction)"


def build(table: Table, name: str, data: str, bags):
    """The estimator of a cell; "(transduction)" lets the empirical map see all bags, without labels."""
    base = name.removesuffix(TRANSDUCTION)
    anchors = {} if base == name else {"anchors": bags}
    return skmil.method(base, **anchors, **table.overrides.get(f"{name} / {data}", {}))


def grid_of(table: Table, name: str) -> dict[str, list]:
    """What the inner cross-validation of a row searches; empty where there is none."""
    return find(name.removesuffix(TRANSDUCTION)).grid if table.nested else {}


def is_current(table: Table, record: Record) -> bool:
    """Whether a record is of a cell of this table, with the settings of today."""
    if (record.method, record.data) not in table.cells():
        return False
    any_bags = Bags(np.zeros((1, 1)), np.array([0, 1]))
    estimator = text_of(build(table, record.method, record.data, any_bags))
    grid = plain(grid_of(table, record.method)) or None
    return (
        _without_bags(record.estimator) == _without_bags(estimator)
        and record.grid == grid
        and record.folds == table.folds
        and record.repeat < table.repeats
    )


def _without_bags(text: str) -> str:
    return re.sub(r"Bags\([^()]*\)", "Bags", text)
