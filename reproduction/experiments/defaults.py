"""Which setting of a method should be its default: one search on the design sets, one rule for all."""

import time
import warnings
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold, cross_val_score

import skmil
from reproduction.experiments.base import Experiment, _fingerprint
from skmil._identity import plain
from skmil._memo import SearchMemory, searching
from skmil.datasets import load_bags
from skmil.registry import find, methods

READING = """Every method that has a grid, at each setting of it, by five folds on each design set. The
rule, the same for all: the setting of the best mean accuracy over the design sets is the one to take; where
the default is within half a point of it, that stays. A cell that takes longer than its time ends, and its
set is then left out for that method. Sets that have not been run are not counted.

"""
HEAD = """| method | sets | default | best setting | its mean | rule |
|---|---|---|---|---|---|
"""
MARGIN = 0.005  # by which another setting must be better than the one that is there


@dataclass(frozen=True)
class Search(Experiment):
    """An experiment whose result does not depend on what is the default today, but on the grid."""

    def stamp(self, task):
        """The version, the revision of the method, its grid, and the data."""
        entry = find(task["method"])
        grid = [plain(s) for s in ParameterGrid(entry.grid)]
        return {"version": self.version, "grid": grid, "data": _fingerprint(task["data"])}


def tasks(table, data):
    """Every method with a grid on every design set; the sets that say most first."""
    names = methods("classification") if table.methods == ("all",) else table.methods
    return [{"method": m, "data": d} for d in data for m in names if find(m).grid]


def run(table, task):
    """Mean accuracy of each setting over five folds, as far as the time goes."""
    bunch, end = load_bags(task["data"]), time.process_time() + table.settings["seconds"]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found: list = []
    with warnings.catch_warnings(), searching():
        warnings.simplefilter("ignore")
        for settings in [{}, *ParameterGrid(find(task["method"]).grid)]:
            if time.process_time() > end:
                return {"settings": found, "whole": False}
            model = _remembering(skmil.method(task["method"]).set_params(**settings))
            try:
                scores = cross_val_score(
                    model, bunch.data, bunch.target, cv=folds, scoring="accuracy", error_score="raise"
                )
            except (ValueError, TypeError, MemoryError) as refusal:
                return {"settings": found, "whole": False, "refused": str(refusal)}
            found.append([plain(settings), float(np.mean(scores))])
    return {"settings": found, "whole": True}


def page(table, results, out):
    """The setting that the rule chooses for each method, beside the one that was the default."""
    lines = [_line(m, rows) for m, rows in _by_method(results).items()]
    return READING + HEAD + "\n".join(lines) + "\n"


def chosen(rows: list[dict]) -> tuple[dict, float, float]:
    """The best setting of a method over its sets, its mean, and the mean of the default of before."""
    scores: dict[str, list] = defaultdict(list)
    named: dict[str, dict] = {}
    for row in rows:
        for settings, score in row["settings"]:
            scores[str(settings)].append(score)
            named[str(settings)] = settings
    means = {k: float(np.mean(v)) for k, v in scores.items()}
    best = max(means, key=lambda k: (means[k], k == "{}"))
    return named[best], means[best], means["{}"]


def _by_method(results) -> dict[str, list[dict]]:
    groups = defaultdict(list)
    for r in results:
        if r["whole"]:
            groups[r["method"]].append(r)
    return groups


def _line(method: str, rows: list[dict]) -> str:
    settings, mean, before = chosen(rows)
    told = ", ".join(f"`{k}={v!r}`" for k, v in settings.items()) or "as before"
    which = "the best" if mean > before + MARGIN else "as before"
    return f"| {method} | {len(rows)} | {100 * before:.1f} | {told} | {100 * mean:.1f} | {which} |"


def _remembering(model):
    if clone(model).get_params(deep=False).get("memory", "none") is None:
        model.set_params(memory=SearchMemory())
    return model


EXPERIMENTS = {"defaults": Search(tasks, run, page)}
