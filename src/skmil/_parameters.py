"""What parameters may be: declared once per class, checked where every ``fit`` begins.

A class lists in ``_parameter_constraints`` what each of its parameters may be, in scikit-learn's words
and the few of this file. ``check_bags`` calls ``start_fit`` for all families alike, so no method
checks its parameters itself, but for what depends on the data or on two parameters together.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)


class _Numbers(Interval):
    """scikit-learn's interval, without truth values: ``True`` is no count and no length."""

    def is_satisfied_by(self, val) -> bool:
        """Whether the value is a number of this interval; NaN never is."""
        return not isinstance(val, (bool, np.bool_)) and super().is_satisfied_by(val)


def whole(least: int, most: int | None = None) -> Interval:
    """Integers from ``least`` to ``most``, both included."""
    return _Numbers(Integral, least, most, closed="left" if most is None else "both")


def real(low: float | None, high: float | None, closed: str = "neither") -> Interval:
    """Finite numbers between two bounds; ``closed`` says which of them are included."""
    return _Numbers(Real, low, high, closed=closed)


def one_of(*words: str) -> StrOptions:
    """One of a few words."""
    return StrOptions(set(words))


ANY = real(None, None)
POSITIVE = real(0, None)
NOT_NEGATIVE = real(0, None, "left")
COUNT = whole(1)
INDEX = _Numbers(Integral, None, None, closed="neither")  # from the end where negative
SEED = [whole(0, 2**32 - 1), np.random.RandomState, None]
GAMMA = [POSITIVE, one_of("scale", "median")]
CLASS_WEIGHT = [one_of("balanced"), dict, None]
ESTIMATOR = [HasMethods("fit"), None]
JOBS = [COUNT, _Numbers(Integral, None, -1, closed="right"), None]  # joblib's -1: all processors
SVM_ITERATIONS = [COUNT, Options(Integral, {-1})]  # libsvm's -1: no limit


def start_fit(estimator) -> None:
    """What every ``fit`` does first: check the parameters, forget what an earlier fit has learned."""
    check_parameters(estimator)
    for name in [n for n in vars(estimator) if n.endswith("_") and not n.startswith("_")]:
        delattr(estimator, name)


def check_parameters(estimator) -> None:
    """Hold the parameters to what their class declares, those of estimators among them included.

    Raises
    ------
    InvalidParameterError
        A ``ValueError`` that names the class, the parameter, its value and what is allowed.
    """
    constraints = getattr(estimator, "_parameter_constraints", None)
    if constraints is None:  # a class of the user's own need not declare any
        return
    params = {name: getattr(estimator, name) for name in _names(estimator.__class__)}
    validate_parameter_constraints(constraints, params, type(estimator).__name__)
    for part in params.values():
        if isinstance(part, BaseEstimator):
            check_parameters(part)


@cache
def _names(kind: Any) -> list[str]:
    """Names of the parameters of a class, which scikit-learn reads from its signature at each call."""
    return kind._get_param_names()


@contextmanager
def naming(parameter: str) -> Iterator[None]:
    """Let an error about the content of a parameter begin with its name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ValueError(f"{parameter}: {error}") from None
