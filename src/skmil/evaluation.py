"""Repeated and nested cross-validation on bags: one record per fold, resumable."""

import hashlib
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numba
import numpy as np
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import GridSearchCV
from sklearn.utils.multiclass import type_of_target

from skmil._folds import draw, fold_table, splitter
from skmil._memo import SearchMemory, searching
from skmil._version import __version__
from skmil.bags import Bags, as_bags, check_lengths
from skmil.records import Record, append_records, read_records, repair_records
from skmil.registry import TASKS, Grid
from skmil.registry import grid as registered_grid
from skmil.registry import method as registered_method

INNER_FOLDS = 5


@dataclass(frozen=True)
class Plan:
    """Everything that the folds of one run share."""

    name: str
    estimator: Any
    data: str
    fingerprint: str
    task: str
    seed: int
    folds: int
    given: str | None
    grid: Grid | None
    source: Any = None
    things: list | None = None

    def halves(self, bags: Bags, train, test) -> tuple[Bags, Bags]:
        """Bags to fit on and to predict; a source learns from the first alone."""
        if self.things is None:
            return bags[train], bags[test]
        source = clone(self.source)
        first, second = ([self.things[i] for i in part] for part in (train, test))
        return source.fit_transform(first), source.transform(second)

    def record(self, repeat: int, fold: int, **results) -> Record:
        """A record of this plan; without results only good for its key."""
        empty: dict[str, Any] = dict(
            parameters={}, n_train=0, n_test=0, scores={}, outputs={}, classes=[],
            fit_seconds=0.0, predict_seconds=0.0, versions={},
        )  # fmt: skip
        return Record(
            data=self.data,
            fingerprint=self.fingerprint,
            method=self.name,
            task=self.task,
            estimator=text_of(self.estimator) + (f" after {text_of(self.source)}" if self.source else ""),
            seed=self.seed,
            folds=self.folds,
            given=self.given,
            nested=self.grid is not None,
            grid=self.grid,
            repeat=repeat,
            fold=fold,
            **(empty | results),
        )


def cross_validate_bags(
    method,
    X,
    y,
    *,
    data: str = "data",
    folds: int = 10,
    repeats: int = 1,
    nested: bool = False,
    grid: Grid | None = None,
    seed: int = 0,
    given_folds=None,
    task: str | None = None,
    records=None,
    n_jobs: int = 1,
    progress: Callable[[Record], None] | None = None,
    source=None,
) -> list[Record]:
    """Cross-validate a method on bags; everything, scaling included, is fitted inside the fold.

    Parameters
    ----------
    method : str, estimator, or (name, estimator)
        A name of ``skmil.methods()``, or anything with ``fit`` and ``predict`` that takes bags.
    X, y : bags and one label per bag
    data : name of the data set in the records
    folds, repeats : number of folds, and how often they are drawn anew; stratified for classification
    nested : search ``grid`` by five inner folds of each training part
    grid : parameters to search, or a list of such grids; where not given, those registered for the method
    seed : int
        Draws the folds and sets each ``random_state`` that is None.
    given_folds : array (n_bags,) or (n, n_bags), optional
        Fold of each bag, in each repetition, instead of folds drawn here; the first ``repeats`` rows
        are used.
    task : "classification" or "regression"; told from the method or from y where not given
    records : path, optional
        File to which each record is added as soon as its fold is done. Folds that it already holds
        are not done again, so an interrupted run goes on where it stopped.
    n_jobs : int
        Folds at the same time, each in a process; -1 for all cores.
    progress : function of a record, called after each fold, also for folds found in the file
    source : unfitted source, optional
        X are then things; the source is fitted on the training things of each fold.

    Returns
    -------
    list of Record, ordered by repetition and fold

    Examples
    --------
    >>> from skmil.datasets import load_musk1
    >>> from skmil.evaluation import cross_validate_bags
    >>> musk = load_musk1()
    >>> found = cross_validate_bags("Simple-MI", musk.data, musk.target, folds=2)
    >>> [r.n_test for r in found], 0.5 < found[0].scores["accuracy"] < 1
    ([46, 46], True)
    """
    # What a source learned from all things here only names the data; each fold fits its own.
    bags = as_bags(X) if source is None else clone(source).fit_transform(X)
    y = check_lengths(y, bags)
    name, estimator, task = _resolve(method, y, task)
    table = fold_table(y, task, folds, repeats, seed, given_folds)
    plan = Plan(
        name=name,
        estimator=estimator,
        data=data,
        fingerprint=fingerprint(bags, y),
        task=task,
        seed=int(seed),
        folds=len(np.unique(table)),
        given=None if given_folds is None else _hash(table),
        grid=plain(_search_grid(method, task, grid)) if nested else None,
        source=source,
        things=None if source is None else list(X),
    )
    return _run(plan, bags, y, table, records, n_jobs, progress)


def seconds_left(times: dict[str, list[float]], todo: dict[str, int]) -> float | None:
    """Seconds that the remaining folds will take, from those of each method that are done.

    A method of which nothing is known yet counts as the mean of the others.
    """
    known = {name: sum(t) / len(t) for name, t in times.items() if t}
    if not known:
        return None
    typical = sum(known.values()) / len(known)
    return sum(n * known.get(name, typical) for name, n in todo.items())


def _run(plan: Plan, bags, y, table, path, n_jobs, progress) -> list[Record]:
    """Do the folds that ``path`` does not hold."""
    tasks = [(r, f) for r, row in enumerate(table) for f in np.unique(row).tolist()]
    if path is not None:
        repair_records(path)
    done = {r.key: r for r in (read_records(path) if path is not None else [])}
    found = {t: done[k] for t in tasks if (k := plan.record(*t).key) in done}
    # The same bags under another name: the numbers stand, the name is the caller's.
    found = {t: replace(r, data=plan.data) for t, r in found.items()}
    for record in found.values():
        _tell(progress, record)
    todo = [t for t in tasks if t not in found]
    for record in _results(plan, bags, y, table, todo, n_jobs):
        if path is not None:
            append_records(path, [record])
        found[record.repeat, record.fold] = record
        _tell(progress, record)
    return [found[t] for t in tasks]


def _results(plan: Plan, bags, y, table, todo, n_jobs) -> Iterator[Record]:
    """Records in the order in which folds end."""
    calls: Iterable = ((plan, bags, y, table[r], r, f) for r, f in todo)
    if n_jobs == 1 or len(todo) < 2:
        yield from (_fold(*c) for c in calls)
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from parallel(joblib.delayed(_fold)(*c) for c in calls)


def _fold(plan: Plan, bags: Bags, y, row, repeat: int, fold: int) -> Record:
    """Fit on all bags but those of a fold, and predict these."""
    test = np.flatnonzero(row == fold)
    train = np.flatnonzero(row != fold)
    model = _seeded(plan.estimator, plan.seed, repeat, fold)
    _warm_up(plan, bags, y)
    known, new = plan.halves(bags, train, test)
    start = time.perf_counter()
    model = _fit(plan, model, known, y[train], repeat)
    fitted = time.perf_counter()
    with searching(keep=False):
        predicted = np.asarray(model.predict(new))
        stop = time.perf_counter()
        decision = predicted if plan.task == "regression" else decision_values(model, new)
    outputs = {
        "bag": test.tolist(),
        "true": y[test].tolist(),
        "predicted": predicted.tolist(),
        "decision": [None] * len(test) if decision is None else decision.tolist(),
    }
    classes = [] if plan.task == "regression" else np.unique(y).tolist()
    return plan.record(
        repeat,
        fold,
        parameters=_simple_parameters(model),
        n_train=len(train),
        n_test=len(test),
        scores=_scores(outputs, classes),
        outputs=outputs,
        classes=classes,
        fit_seconds=fitted - start,
        predict_seconds=stop - fitted,
        versions=_versions(),
    )


def _fit(plan: Plan, model, bags, y, repeat):
    if not plan.grid:
        return model.fit(bags, y)
    inner = splitter(y, plan.task, INNER_FOLDS, draw(plan.seed, repeat, 1), inner=True)
    searched = clone(model)
    if searched.get_params(deep=False).get("memory", "none") is None:
        searched.set_params(memory=SearchMemory())
    with searching():
        search = GridSearchCV(searched, plan.grid, cv=inner, error_score="raise", refit=False)
        best = search.fit(bags, y).best_params_
    with searching(keep=False):
        return model.set_params(**best).fit(bags, y)


def decision_values(model, bags) -> np.ndarray | None:
    """One number per bag: for the second of two classes, for the winning one of more; or None."""
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            values = np.asarray(getattr(model, name)(bags), dtype=float)
            if values.ndim == 1:
                return values
            return values[:, 1] if values.shape[1] == 2 else values.max(axis=1)
    return None


def _scores(outputs: dict[str, list], classes: list) -> dict[str, float | None]:
    true, predicted, decision = (outputs[k] for k in ("true", "predicted", "decision"))
    if not classes:
        many = len(true) > 1
        return {
            "r2": float(r2_score(true, predicted)) if many else None,
            "rmse": float(root_mean_squared_error(true, predicted)),
            "mae": float(mean_absolute_error(true, predicted)),
        }
    with warnings.catch_warnings():
        # A fold may lack a class that is predicted there: balanced accuracy is over those present.
        warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
        warnings.filterwarnings("ignore", message="A single label was found")
        scores: dict[str, float | None] = {
            "accuracy": float(accuracy_score(true, predicted)),
            "balanced_accuracy": float(balanced_accuracy_score(true, predicted)),
        }
    if len(classes) == 2:
        defined = len(set(true)) == 2 and None not in decision
        positive = [t == classes[1] for t in true]
        scores["auc"] = float(roc_auc_score(positive, decision)) if defined else None
    return scores


def _resolve(method, y, task):
    """Name, unfitted estimator and task."""
    if task is not None and task not in TASKS:
        raise ValueError(f"task is {task!r}; use 'classification' or 'regression'")
    if isinstance(method, str):
        task = task or task_of(y)
        return method, registered_method(method, task), task
    name, estimator = method if isinstance(method, tuple) else (type(method).__name__, method)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise TypeError(f"method is {estimator!r}; give a name, an estimator or (name, estimator)")
    return name, clone(estimator), task or ("regression" if is_regressor(estimator) else "classification")


def fingerprint(bags: Bags, y) -> str:
    """A hash of bags and labels, by which records know their data."""
    return _hash(bags.instances, bags.offsets, y)


def text_of(estimator) -> str:
    """An estimator with all parameters that differ from their defaults, in one line."""
    return " ".join(estimator.__repr__(N_CHAR_MAX=10**6).split())


def task_of(y) -> str:
    """Regression where y holds numbers that are not all whole, classification otherwise."""
    return "regression" if type_of_target(y).startswith("continuous") else "classification"


def _search_grid(method, task, grid) -> Grid:
    if grid is not None:
        return grid
    if isinstance(method, str):
        return registered_grid(method, task)
    raise ValueError("nested=True with an estimator needs a grid: grid={parameter: [values]}")


def _seeded(estimator, seed, repeat, fold):
    """A clone in which each ``random_state`` that was left open is set."""
    model = clone(estimator)
    states = [k for k, v in model.get_params().items() if k.split("__")[-1] == "random_state" and v is None]
    return model.set_params(**dict.fromkeys(states, draw(seed, repeat, fold)))


_warm: set[str] = set()


def _warm_up(plan: Plan, bags, y) -> None:
    """Fit a few of the smallest bags once per process, so that compiling is not in the seconds."""
    if (key := plan.name + plan.fingerprint) in _warm:
        return
    _warm.add(key)
    order = np.argsort(bags.sizes, kind="stable")
    few = order[:6] if plan.task == "regression" else _few_of_each(y, order)
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        model = _seeded(plan.estimator, plan.seed, 0, 0).fit(bags[few], y[few])
        model.predict(bags[few])


def _few_of_each(y, order) -> np.ndarray:
    return np.sort(np.concatenate([order[y[order] == c][:3] for c in np.unique(y)]))


def _simple_parameters(model) -> dict[str, Any]:
    """Parameters that are numbers, texts or None, by their nested names."""
    skipped = ("memory", "verbose", "transform_input")
    return {
        k: plain(v)
        for k, v in sorted(model.get_params().items())
        if isinstance(v, (int, float, str, bool, type(None), np.generic)) and k not in skipped
    }


def plain(value):
    """The value in types that JSON gives back as they were; text for what JSON does not know."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def _hash(*arrays) -> str:
    """Sixteen hexadecimal digits that tell arrays apart."""
    digest = hashlib.sha256()
    for a in arrays:
        parts = (a.data, a.indices, a.indptr) if hasattr(a, "indptr") else (np.asarray(a),)
        for part in parts:
            part = part.astype(str) if part.dtype == object else part
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def _versions() -> dict[str, str]:
    return {
        "skmil": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }


def _tell(progress, record) -> None:
    if progress is not None:
        progress(record)
