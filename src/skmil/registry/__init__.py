"""The registry: a paper's name for a method -> a ready estimator, its grid and its published figures.

A new method is one entry in ``entries.py``: a name and a function that builds the estimator with its
defaults, scaling included.
"""

import tomllib
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from skmil.learners import CalibratedBagClassifier, PositiveClass
from skmil.registry.entries import REGISTRY, TASKS, Grid, Method

__all__ = [
    "REGISTRY",
    "TASKS",
    "Figure",
    "Grid",
    "Method",
    "data_known_as",
    "figures",
    "find",
    "fingerprint_of",
    "grid",
    "method",
    "methods",
    "published",
]


@dataclass(frozen=True)
class Figure:
    """One published figure: accuracy in percent."""

    method: str
    data: str
    accuracy: float
    source: str
    protocol: str


def methods(task: str | None = None) -> list[str]:
    """Names of all methods, or of those for one task.

    Examples
    --------
    >>> import skmil
    >>> "MI-Kernel" in skmil.methods("regression")
    True
    """
    if task is not None:
        _check_task(task)
    return [m.name for m in REGISTRY.values() if task is None or task in m.tasks]


def method(name: str, task: str = "classification", **overrides: Any):
    """Build the unfitted estimator of a method, with its defaults: the paper's, or better ones.

    Parameters
    ----------
    name : one of ``skmil.methods()``
    task : "classification" or "regression"
    **overrides : parameters of the estimator or of one of its steps
        ``C=10`` reaches the step that has a ``C``; ``svm__C=10`` names the step. ``random_state=1``
        reaches every step that draws. ``probability=True`` calibrates a classifier, which then has
        ``predict_proba``; ``positive="active"`` says which of two classes is the positive one.

    Examples
    --------
    >>> import skmil
    >>> skmil.method("MI-Kernel", C=10).get_params()["svm__C"]
    10
    """
    entry = find(name)
    _check_task(task)
    build = getattr(entry, task)
    if build is None:
        raise ValueError(f"{name} has no form for {task}; those that have: {', '.join(methods(task))}")
    estimator = build()
    probability, positive = overrides.pop("probability", False), overrides.pop("positive", None)
    estimator.set_params(**{name: v for k, v in overrides.items() for name in _locate(estimator, k)})
    if (probability or positive is not None) and task != "classification":
        raise ValueError("probability and positive are for classification; a regressor has no classes")
    estimator = estimator if positive is None else PositiveClass(estimator, positive)
    return CalibratedBagClassifier(estimator) if probability else estimator


def find(name: str) -> Method:
    """The registry's entry for a name."""
    if name not in REGISTRY:
        near = get_close_matches(name, REGISTRY, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise ValueError(f"no method {name!r}; {hint}`skmil methods` lists all")
    return REGISTRY[name]


def grid(name: str, task: str = "classification") -> Grid:
    """Parameters that nested cross-validation searches for a method."""
    entry = find(name)
    _check_task(task)
    return deepcopy(entry.grid if task == "classification" else entry.regression_grid)


def published(name: str) -> list[Figure]:
    """Published figures of a method, each with its source.

    Examples
    --------
    >>> import skmil
    >>> [f.accuracy for f in skmil.published("MI-Kernel") if f.data == "tiger"]
    [80.9]
    """
    find(name)
    return [f for f in figures() if f.method == name]


@cache
def figures() -> tuple[Figure, ...]:
    """All published figures."""
    tables = tomllib.loads(files("skmil.registry").joinpath("published.toml").read_text("utf-8"))["table"]
    return tuple(
        Figure(name, data, 100 - v if t["metric"] == "error" else v, t["source"], t["protocol"])
        for t in tables
        for data, row in t.items()
        if isinstance(row, dict)
        for name, v in row.items()
    )


def data_known_as(fingerprint: str) -> str | None:
    """Name under which figures were published on a data set; None where it is none of those.

    Examples
    --------
    >>> from skmil.registry import data_known_as
    >>> data_known_as("99018898c01c9eb6"), data_known_as("0123456789abcdef")
    ('musk1', None)
    """
    return next((name for name, known in _fingerprints().items() if known == fingerprint), None)


def fingerprint_of(data: str) -> str | None:
    """Hash of the bags and labels on which figures were published under a name."""
    return _fingerprints().get(data)


@cache
def _fingerprints() -> dict[str, str]:
    return tomllib.loads(files("skmil.registry").joinpath("fingerprints.toml").read_text("utf-8"))


def _check_task(task: str) -> None:
    if task not in TASKS:
        raise ValueError(f"task is {task!r}; use 'classification' or 'regression'")


def _locate(estimator, name: str) -> list[str]:
    """Full names of a parameter: as given, or of the last and shallowest step that has it."""
    params = estimator.get_params(deep=True)
    found = [p for p in params if p.endswith(f"__{name}")]
    if name == "random_state" and (found or name in params):
        return [p for p in params if p.split("__")[-1] == name]
    if name in params and not (found and hasattr(estimator, "steps")):
        return [name]  # a pipeline's own ``verbose`` is not what is meant where a step has one
    if not found:
        known = sorted({p.rsplit("__", 1)[-1] for p in params if not p.startswith(("memory", "steps"))})
        raise ValueError(f"no parameter {name!r}; this method has {', '.join(known)}")
    order = [step for step, _ in getattr(estimator, "steps", [])]
    depth = {p: (-order.index(p.split("__")[0]) if p.split("__")[0] in order else 0) for p in found}
    return [min(found, key=lambda p: (depth[p], p.count("__")))]
