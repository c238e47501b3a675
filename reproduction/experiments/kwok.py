"""Image categorisation and regression of Kwok & Cheung (IJCAI 2007)."""

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

import skmil
from reproduction.experiments.base import Experiment, pivot
from skmil.datasets import load_bags


def halves_tasks(table, data):
    """Each method on each random half."""
    n = range(table.settings["repeats"])
    return [{"data": d, "method": m, "repeat": r} for d in data for m in table.methods for r in n]


def halves_run(table, task):
    """Accuracy of one half trained, the other tested."""
    bunch = load_bags(task["data"])
    X, y = bunch.data, bunch.target
    split = StratifiedShuffleSplit(1, test_size=0.5, random_state=task["repeat"])
    train, test = next(split.split(np.zeros(len(y)), y))
    return {
        "accuracy": 100
        * float(skmil.method(task["method"]).fit(X[train], y[train]).score(X[test], y[test]))
    }


def halves_page(table, results, out):
    """Mean accuracy over the halves."""
    return "Accuracy in %.\n\n" + pivot(results, ["method"], "data", "accuracy")


def lj_tasks(table, data):
    """Each regression method on each set."""
    return [{"data": d, "method": m} for d in data for m in table.methods]


def lj_run(table, task):
    """Squared error, and the error of classifying at one half."""
    bunch = load_bags(task["data"])
    train, test = np.flatnonzero(bunch.split == 0), np.flatnonzero(bunch.split == 1)[1:]
    X, y = bunch.data, bunch.target
    predicted = skmil.method(task["method"], task="regression").fit(X[train], y[train]).predict(X[test])
    return {
        "squared error": float(np.mean((predicted - y[test]) ** 2)),
        "classification error": 100 * float(np.mean((predicted > 0.5) != (y[test] > 0.5))),
    }


def lj_page(table, results, out):
    """Both errors."""
    return (
        "## Mean squared error\n\n"
        + pivot(results, ["method"], "data", "squared error", "{:.4f}")
        + "\n## Classification error at one half (%)\n\n"
        + pivot(results, ["method"], "data", "classification error")
    )


EXPERIMENTS = {
    "halves": Experiment(halves_tasks, halves_run, halves_page),
    "lennard-jones": Experiment(lj_tasks, lj_run, lj_page, kind="regression"),
}
