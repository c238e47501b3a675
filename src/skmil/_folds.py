"""Which bags are tested when: the task that labels pose, folds drawn from a seed, or given."""

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.multiclass import type_of_target


def task_of(y) -> str:
    """Regression where y holds numbers that are not all whole, classification otherwise."""
    return "regression" if type_of_target(y).startswith("continuous") else "classification"


def look_like_quantities(y) -> bool:
    """Whether labels are numbers of so many values, for so few bags, that they hardly name classes."""
    y = np.asarray(y)
    return y.dtype.kind in "iuf" and len(np.unique(y)) > max(10, len(y) ** 0.5)


def fold_table(y, task, folds, repeats, seed, given) -> np.ndarray:
    """Fold of each bag, one row per repetition."""
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}; give at least 1")
    if given is not None:
        return _given_table(given, len(y), repeats)
    table = np.empty((repeats, len(y)), dtype=int)
    for r in range(repeats):
        split = splitter(y, task, folds, draw(seed, r))
        for f, (_, test) in enumerate(split.split(np.empty((len(y), 1)), y)):
            table[r, test] = f
    return table


def _given_table(given, n, repeats) -> np.ndarray:
    table = np.atleast_2d(np.asarray(given))
    if table.ndim != 2 or table.shape[1] != n or table.dtype.kind not in "iu":
        raise ValueError(
            f"given_folds has shape {np.shape(given)} and type {table.dtype}; expected whole numbers, "
            f"({n},) or (repeats, {n})"
        )
    if repeats > len(table):
        raise ValueError(f"given_folds has {len(table)} rows; repeats={repeats} needs as many")
    for r, row in enumerate(table[:repeats]):
        if len(np.unique(row)) < 2:
            raise ValueError(f"given_folds puts all bags of repetition {r} into one fold; it needs two")
    return table[:repeats].astype(int)


def splitter(y, task, folds, seed, inner=False):
    """Shuffled folds; stratified for classes, each of which must fill every fold."""
    part = "the training part of an outer fold" if inner else "the data"
    if folds < 2 or (task == "regression" and folds > len(y)):
        raise ValueError(f"folds is {folds}; give 2 to {len(y)}, the number of bags in {part}")
    if task == "regression":
        return KFold(folds, shuffle=True, random_state=seed)
    labels, counts = np.unique(y, return_counts=True)
    least = int(counts.argmin())
    if counts[least] < folds and not inner:
        raise ValueError(
            f"class {str(labels[least])!r} has {counts[least]} bags, too few for {folds} folds; "
            + _remedy(y, int(counts[least]))
        )
    if inner:
        folds = max(2, min(folds, int(counts[least])))
    return StratifiedKFold(folds, shuffle=True, random_state=seed)


def _remedy(y, least: int) -> str:
    if look_like_quantities(y):
        n = len(np.unique(y))
        return f"there are {n} different numbers: if they are quantities, give task='regression'"
    if least < 2:
        return "drop the class, or give it more bags"
    return f"use {least} folds or fewer, or drop the class"


def draw(*numbers: int) -> int:
    """A seed from several numbers."""
    return int(np.random.SeedSequence([n % 2**32 for n in numbers]).generate_state(1)[0] >> 1)
