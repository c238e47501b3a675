"""One fold of a cross-validation: fit on all bags but its own, and predict these.

Here ``run`` is what the folds share (``evaluation.CrossValidation``), ``place`` a repetition and a fold.
"""

import pickle
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skmil._folds import draw, splitter
from skmil._identity import plain
from skmil._memo import SearchMemory, searching
from skmil._scores import class_scores, decision_values, decisions, regression_scores
from skmil.records import Record

INNER_FOLDS = 5


def reason(error: Exception) -> str:
    """Why something failed, in one line; the kind of an error where its words do not explain it."""
    said = " ".join(str(error).split())
    if isinstance(error, (ValueError, TypeError, TimeoutError)) and said:
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def failure(run, place, error: Exception) -> tuple[Record, Exception]:
    """The outcome of a fold that failed."""
    return run.record(place, error=reason(error)), error


def try_fold(run, place) -> tuple[Record, Exception | None]:
    """The outcome of a fold; an exception among it can travel between processes."""
    try:
        return _fold(run, place), None
    except Exception as error:
        _hear_ctrl_c(error)
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return failure(run, place, RuntimeError(reason(error)))
        return failure(run, place, error)


def _hear_ctrl_c(error: BaseException) -> None:
    """Compiled code turns Ctrl-C into another exception: it is none of the method's faults."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        cause = cause.__cause__ or cause.__context__


def _fold(run, place) -> Record:
    """Fit on all bags but those of a fold, and predict these."""
    row = run.table[place[0]]
    test, train = np.flatnonzero(row == place[1]), np.flatnonzero(row != place[1])
    model = _seeing(_seeded(run.estimator, run.seed, *place), run.bags[test])
    warm_up(run)
    known, new = run.halves(train, test)
    start = time.perf_counter()
    model = _fit(run, model, known, run.y[train], place[0])
    fitted = time.perf_counter()
    # A store of its own: decision values use the Gram matrix of the predictions.
    with searching(keep=False), searching():
        predicted = np.asarray(model.predict(new))
        stop = time.perf_counter()
        outputs, scores = _judged(run, model, test, new, predicted)
    return run.record(
        place,
        parameters=_simple_parameters(model),
        scores=scores,
        outputs=outputs,
        fit_seconds=fitted - start,
        predict_seconds=stop - fitted,
    )


def _judged(run, model, test: np.ndarray, bags, predicted: np.ndarray) -> tuple[dict, dict]:
    """Outputs and scores of a fold."""
    true = run.y[test].tolist()
    outputs = {"bag": test.tolist(), "true": true, "predicted": predicted.tolist()}
    if run.task == "regression":
        return outputs | {"decision": predicted.tolist()}, regression_scores(true, predicted)
    values = decision_values(model, bags)
    outputs["decision"] = [None] * len(test) if values is None else values.tolist()
    classes = np.unique(run.y).tolist()
    if len(classes) > 2:
        values = decisions(model, bags)
        classes = np.asarray(getattr(model, "classes_", classes)).tolist()
    return outputs, class_scores(true, predicted, values, classes)


def _seeing(model, test):
    """The model with the test bags, without labels, where a parameter ``unlabeled`` asks for them."""
    asked = [k for k, v in model.get_params().items() if isinstance(v, str) and v == "test"]
    return model.set_params(**{k: test for k in asked if k.rsplit("__", 1)[-1] == "unlabeled"})


def _fit(run, model, bags, y, repeat):
    if not run.grid:
        return model.fit(bags, y)
    inner = splitter(y, run.task, INNER_FOLDS, draw(run.seed, repeat, 1), inner=True)
    searched = clone(model)
    if searched.get_params(deep=False).get("memory", "none") is None:
        searched.set_params(memory=SearchMemory())
    with searching():
        search = GridSearchCV(searched, run.grid, cv=inner, error_score="raise", refit=False)
        best = search.fit(bags, y).best_params_
    with searching(keep=False):
        return model.set_params(**best).fit(bags, y)


def random_states(estimator) -> list[str]:
    """Names of all parameters that seed something."""
    return [k for k in estimator.get_params() if k.rsplit("__", 1)[-1] == "random_state"]


def _seeded(estimator, seed, repeat, fold):
    """A clone in which each ``random_state`` that was left open is set."""
    model = clone(estimator)
    params = model.get_params()
    states = [k for k in random_states(model) if params[k] is None]
    return model.set_params(**dict.fromkeys(states, draw(seed, repeat, fold)))


_warm: set[str] = set()


def warm_up(run) -> None:
    """Fit a few of the smallest bags once per process, so that compiling is not in the seconds."""
    if (key := run.name + run.fingerprint) in _warm:
        return
    _warm.add(key)
    order = np.argsort(run.bags.sizes, kind="stable")
    few = order[:6] if run.task == "regression" else _few_of_each(run.y, order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = _seeded(run.estimator, run.seed, 0, 0).fit(run.bags[few], run.y[few])
            model.predict(run.bags[few])
        except Exception as error:  # of a method that cannot do so few bags; the fold will say what counts
            _hear_ctrl_c(error)


def _few_of_each(y, order) -> np.ndarray:
    return np.sort(np.concatenate([order[y[order] == c][:3] for c in np.unique(y)]))


def _simple_parameters(model) -> dict[str, Any]:
    """Parameters made of numbers, texts and None, by their nested names."""
    skipped = ("memory", "verbose", "transform_input")
    params = sorted(model.get_params().items())
    return {k: plain(v) for k, v in params if _is_simple(v) and k not in skipped}


def _is_simple(value) -> bool:
    if isinstance(value, dict):
        return all(map(_is_simple, value)) and all(map(_is_simple, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_simple, value))
    return isinstance(value, (int, float, str, bool, type(None), np.generic))
