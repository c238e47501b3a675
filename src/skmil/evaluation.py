"""Repeated and nested cross-validation on bags: one record per fold, resumable."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import joblib
import numpy as np
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.base import clone, is_regressor

from skmil._cluster import active, run
from skmil._fitting import failure, random_states, try_fold, warm_up
from skmil._folds import fold_table, task_of
from skmil._identity import digest, fingerprint, plain, settings_of, text_of, versions
from skmil._schema import check_lengths
from skmil._version import __version__
from skmil._workers import TimeLimit, run_limited
from skmil.bags import Bags, as_source
from skmil.records import Answers, Record, append_records, read_records
from skmil.registry import REGISTRY, TASKS, Grid
from skmil.registry import grid as registered_grid
from skmil.registry import method as registered_method

Place = tuple[int, int]  # repetition and fold


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
    revision: str | None = None,
    records=None,
    n_jobs: int = 1,
    time_limit: float | None = None,
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
        Draws the folds and sets each ``random_state``: all of a method given by its name, those that are
        None of an estimator.
    given_folds : array (n_bags,) or (n, n_bags), optional
        Fold of each bag, in each repetition, instead of folds drawn here; the first ``repeats`` rows
        are used.
    task : "classification" or "regression"; told from the method or from y where not given
    revision : str, optional
        Part of what records know a method by: change it when the code of your own estimator changes.
        Where not given, the registered method's, or the version of skmil.
    records : path, optional
        File to which each record is added as soon as its fold is done. Folds that it already holds
        are not done again, so an interrupted run goes on where it stopped. Folds that failed are.
    n_jobs : int
        Folds at the same time, each in a process; -1 for all cores.
    time_limit : seconds, optional
        A fold that takes longer is stopped and ``TimeoutError`` raised; folds then run in processes.
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
    run = CrossValidation.of(
        method, X, y, data=data, folds=folds, repeats=repeats, nested=nested, grid=grid, seed=seed,
        given_folds=given_folds, task=task, revision=revision, source=source,
    )  # fmt: skip
    known = run.known(Answers(read_records(records))) if records is not None else {}
    found = {place: r for place, r in known.items() if r.error is None}
    for record in found.values():
        _tell(progress, record)
    todo = [place for place in run.places if place not in found]
    failed = None
    for record, error in run.outcomes(todo, records, n_jobs, time_limit):
        if error is None:
            found[record.repeat, record.fold] = record
            _tell(progress, record)
        failed = failed or error
    if failed is not None:
        raise failed
    return [found[place] for place in run.places]


@dataclass(frozen=True)
class CrossValidation:
    """A method on a data set: everything that its folds share, and how to do them.

    Parameters
    ----------
    name, estimator, revision : the method
    data, fingerprint, bags, y, task : the data set
    seed, table, drawn, grid : the protocol: fold of each bag in each repetition, whether these were drawn
        here, and the parameters that are searched, or None
    source, things : what makes the bags of each fold, where the data are things
    """

    name: str
    estimator: Any
    revision: str
    data: str
    fingerprint: str
    bags: Bags
    y: np.ndarray
    task: str
    seed: int
    table: np.ndarray
    drawn: bool
    grid: Grid | None
    source: Any = None
    things: list | None = None

    @classmethod
    def of(
        cls, method, X, y, *, data="data", folds=10, repeats=1, nested=False, grid=None, seed=0,
        given_folds=None, task=None, revision=None, known_fingerprint=None, source=None, things=None,
    ) -> "CrossValidation":  # fmt: skip
        """The parameters of ``cross_validate_bags``, checked.

        A hash of the data, if known, saves time; so do bags X that the source has made of ``things``.
        """
        if source is not None and things is None:
            # What a source learns from all things here only names the data; each fold fits its own.
            things, X = list(X), clone(source).fit_transform(X)
        bags = as_source(X, missing=isinstance(X, Bags))  # an estimator that imputes takes bags with gaps
        y = check_lengths(y, bags)
        name, estimator, task = _resolve(method, y, task)
        registered = str(REGISTRY[name].revision) if name in REGISTRY else f"skmil {__version__}"
        return cls(
            name=name,
            estimator=estimator,
            revision=registered if revision is None else str(revision),
            data=data,
            fingerprint=known_fingerprint or fingerprint(bags, y),
            bags=bags,
            y=y,
            task=task,
            seed=int(seed),
            table=fold_table(y, task, folds, repeats, seed, given_folds),
            drawn=given_folds is None,
            grid=_search_grid(method, task, grid) if nested else None,
            source=source,
            things=things,
        )

    def halves(self, train: np.ndarray, test: np.ndarray) -> tuple[Bags, Bags]:
        """Bags to fit on and bags to predict; a source learns from the first alone."""
        if self.things is None:
            return self.bags[train], self.bags[test]
        source = clone(self.source)
        first, second = ([self.things[i] for i in part] for part in (train, test))
        return source.fit_transform(first), source.transform(second)

    @property
    def places(self) -> list[Place]:
        """All folds, in order."""
        return [(r, f) for r, row in enumerate(self.table) for f in np.unique(row).tolist()]

    @cached_property
    def question(self) -> Record:
        """A record that has everything but results."""
        return Record(
            data=self.data,
            fingerprint=self.fingerprint,
            method=self.name,
            task=self.task,
            estimator=text_of(self.estimator),
            settings=settings_of(self.estimator) | self._source_settings(),
            revision=self.revision,
            seed=self.seed,
            folds=len(np.unique(self.table)),
            given=None if self.drawn else digest(self.table),
            nested=self.grid is not None,
            grid=plain(self.grid),
            classes=[] if self.task == "regression" else np.unique(self.y).tolist(),
            versions=versions(),
            repeat=0, fold=0, parameters={}, n_train=0, n_test=0, scores={}, outputs={},
            fit_seconds=0.0, predict_seconds=0.0,
        )  # fmt: skip

    def _source_settings(self) -> dict[str, Any]:
        if self.source is None:
            return {}
        found = settings_of(self.source).items()
        own = {f"source__{k}": v for k, v in found if k not in ("cache", "on_error")}
        return own | {"source": type(self.source).__name__}

    def record(self, place: Place, **results) -> Record:
        """A record of a fold; without results only good for what it asks."""
        n_test = int((self.table[place[0]] == place[1]).sum())
        n_train = len(self.y) - n_test
        return replace(
            self.question, repeat=place[0], fold=place[1], n_test=n_test, n_train=n_train, **results
        )

    def known(self, answers: Answers) -> dict[Place, Record]:
        """Folds that were done or failed before; the same bags under another name take that of today."""
        found = {place: answers.to(self.record(place)) for place in self.places}
        return {place: replace(r, data=self.data) for place, r in found.items() if r is not None}

    def outcomes(
        self, todo: Sequence[Place], path=None, n_jobs: int = 1, time_limit: float | None = None
    ) -> Iterator[tuple[Record, Exception | None]]:
        """Do some folds, until one fails: the record of each, and why it failed.

        A record is on the disk before it is given. Folds that are under way when one fails are still done.
        """
        failed = False
        going = (place for place in todo if not failed)
        n_jobs = min(len(todo), joblib.effective_n_jobs(n_jobs))
        if time_limit is not None:
            results = self._limited(todo, going, n_jobs, time_limit)
        elif active():
            results = (outcome for _, outcome in run(try_fold, self, todo))
        elif n_jobs > 1:
            results = self._parallel(todo, going, n_jobs)
        else:
            results = (try_fold(self, place) for place in going)
        for record, error in results:
            failed = failed or error is not None
            if path is not None:
                append_records(path, [record])
            yield record, error

    def _parallel(self, todo, going, n_jobs) -> Iterator[tuple[Record, Exception | None]]:
        """Outcomes in the order in which folds end, in processes of joblib."""
        left = list(todo)
        try:
            parallel = joblib.Parallel(n_jobs, return_as="generator_unordered")
            for record, error in parallel(joblib.delayed(try_fold)(self, place) for place in going):
                left.remove((record.repeat, record.fold))
                yield record, error
        except TerminatedWorkerError as error:  # a process was killed, as a rule for want of memory
            yield failure(self, left[0], error)

    def _limited(self, todo, going, n_jobs, limit) -> Iterator[tuple[Record, Exception | None]]:
        """The same in processes of our own, which are stopped when a fold takes too long."""
        calls = ((try_fold, (self, place)) for place in going)
        for k, answer in run_limited((warm_up, (self,)), calls, limit, n_jobs):
            if isinstance(answer, TimeLimit):
                answer = TimeoutError(f"fold {todo[k][1]} was stopped after the time limit of {limit:g} s")
            yield failure(self, todo[k], answer) if isinstance(answer, Exception) else answer


def _resolve(method, y, task):
    """Name, unfitted estimator and task."""
    if task is not None and task not in TASKS:
        raise ValueError(f"task is {task!r}; use 'classification' or 'regression'")
    if isinstance(method, str):
        task = task or task_of(y)
        estimator = registered_method(method, task)
        return method, estimator.set_params(**dict.fromkeys(random_states(estimator))), task
    name, estimator = method if isinstance(method, tuple) else (type(method).__name__, method)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise TypeError(f"method is {estimator!r}; give a name, an estimator or (name, estimator)")
    return name, clone(estimator), task or ("regression" if is_regressor(estimator) else "classification")


def _search_grid(method, task, grid) -> Grid:
    if grid is not None:
        return grid
    if isinstance(method, str):
        return registered_grid(method, task)
    raise ValueError("nested=True with an estimator needs a grid: grid={parameter: [values]}")


def _tell(progress: Callable[[Record], None] | None, record: Record) -> None:
    if progress is not None:
        progress(record)
