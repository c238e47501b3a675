"""Every parameter of every estimator is declared, and a wrong value is refused by its name."""

import inspect
from pkgutil import walk_packages

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_param_validation

import skmil
from skmil import Bags
from skmil._engines.pairs import InstanceKernel
from skmil.inspection import RememberBags
from skmil.kernels import (
    BagKernel,
    BoxKernel,
    EmpiricalMap,
    IsolationKernel,
    Normalized,
    ProfileAlignment,
    SetKernel,
)
from skmil.learners import (
    APR,
    DD,
    GMIL1,
    AnnealedSVM,
    BagPipeline,
    BagSVC,
    BlendKernel,
    MILBoost,
    PositiveClass,
    WideLinearSVC,
)
from skmil.learners.auto.decision import DecisionKernel
from skmil.learners.auto.whitening import BagWhitener
from skmil.learners.c45 import C45Partition
from skmil.preprocessing import BagImputer, ForInstances
from skmil.registry import REGISTRY
from skmil.sources import ImageBags, MoleculeBags, PairwiseAlignment, SequenceBags, TextBags
from tests.catalogue import CLASSIFIERS, EMBEDDINGS, KERNELS, PREPROCESSORS, REGRESSORS

ON_TABLES = [WideLinearSVC(), C45Partition()]
BEFORE = [*PREPROCESSORS, BagImputer(), BagWhitener(), ForInstances(StandardScaler())]
AROUND = [
    BlendKernel(),
    DecisionKernel(DD(max_starts=2, random_state=0), positive=1),
    PositiveClass(BagSVC(SetKernel(gamma=0.5)), positive=1),
    RememberBags(),
]
ALL = KERNELS + EMBEDDINGS + BEFORE + CLASSIFIERS + REGRESSORS + ON_TABLES + AROUND
# What takes no bags, and something that each takes.
OF_THINGS = {
    ImageBags: [np.zeros((8, 8))],
    TextBags: ["a few words"],
    MoleculeBags: ["CCO"],
    SequenceBags: ["MKV"],
}
OF_PAIRS = (PairwiseAlignment, ProfileAlignment)

# What no parameter means, whatever it is called.
NEVER = [np.nan, np.inf, -np.inf, 1j, "nonsense", b"rbf", object(), [], [np.nan], {"a"}, np.ones((3, 1))]
# What goes beyond the kinds below, and is meant: a number of citers, no limit, a share or cut at the end.
MEANT = {
    "n_citers": "0",
    "max_iter": "-1",
    "coef0": "0.0 -1 -1e-300",
    "fill_value": "0.0 -1 -1e-300",
    "margin": "0.0",
    "beta": "0.0",
    "tol": "0.0",
    "reg_covar": "0.0",
    "epsilon": "0.0",
    "grid": "None",
    "n_components": "None",
    "verbose": "2",
    "p": "1.5",
    "random_state": "0 None",
    "start_temperature": "None",
    "max_side": "None",
    "max_starts": "None",
    "max_features": "None",
    "distortion": "0.0",
    "drop": "0.0",
    "overlap": "0.0",
    "rmsd": "0.0",
    "sigma": "0.0",
    "window": "inf",
    "before": "0",
    "after": "0",
    "position": "-2 -1 0",
    "letter": "-2 -1 0",
    "open_gap": "0.0 -1 -1e-300",
    "extend_gap": "0.0 -1 -1e-300",
    "end_gap": "0.0 -1 -1e-300",
    "force_field": "None",
    "indices": "[]",
    "cache": "'nonsense' ''",
    "motif": "'nonsense' ''",
    "positive": "True",
    "n_jobs": "-1",
}
TABLES = {"anchors", "unlabeled"}  # may be a table of bags


def wrong_values(name, default):
    """Values that make no sense for a parameter with this default: of no kind, or of the wrong one."""
    values = [v for v in NEVER if not (name in TABLES and isinstance(v, np.ndarray))]
    if isinstance(default, bool):
        values += [None, 2, -1, "yes"]
    elif isinstance(default, int):
        values += [True, -2, -1, 0, 1.5, 2.0, "2", None]
    elif isinstance(default, float):
        values += [True, -1, 0.0, "1.0", None, -1e-300]
    elif isinstance(default, str):
        values += [None, True, -1, ""]
    else:
        values += [True, -1, 1.5, ""]
    return [v for v in values if repr(v) not in MEANT.get(name, "").split()]


def public_estimators():
    """Every estimator class that the package shows."""
    for found in walk_packages(skmil.__path__, "skmil."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            for value in vars(__import__(found.name, fromlist=["_"])).values():
                if inspect.isclass(value) and issubclass(value, BaseEstimator):
                    if value.__module__ == found.name and not inspect.isabstract(value):
                        if not value.__name__.startswith("_"):
                            yield value


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    return Bags.from_list([rng.normal(size=(2, 3)) + 2 * c for c in y]), y


def fit(estimator, data):
    X, y = data
    if type(estimator) in map(type, ON_TABLES):
        X, y = make_blobs(12, 3, centers=2, random_state=0)
    return estimator.fit(X, y + 0.0 if estimator in REGRESSORS else y)


@pytest.mark.parametrize("kind", sorted(set(public_estimators()), key=lambda k: k.__qualname__))
def test_every_parameter_is_declared(kind):
    if kind is BagPipeline:
        pytest.skip("scikit-learn declares and checks them")
    declared = getattr(kind, "_parameter_constraints", {})
    assert set(kind._get_param_names()) == set(declared)


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_a_wrong_value_is_refused_by_name(estimator, data):
    defaults = inspect.signature(type(estimator)).parameters
    for name in estimator.get_params(deep=False):
        for value in wrong_values(name, defaults[name].default):
            wrong = clone(estimator).set_params(**{name: value})
            with pytest.raises((ValueError, TypeError), match=name):
                fit(wrong, data)
                pytest.fail(f"{type(estimator).__name__}({name}={value!r}) was accepted")


def test_the_law_leaves_no_estimator_out():
    tried = {type(e) for e in ALL} | set(OF_THINGS) | set(OF_PAIRS) | {BagPipeline}
    assert set(public_estimators()) == tried


@pytest.mark.parametrize("kind", [*OF_THINGS, *OF_PAIRS])
def test_a_wrong_value_of_what_takes_no_bags(kind):
    for name, parameter in inspect.signature(kind).parameters.items():
        for value in wrong_values(name, parameter.default):
            with pytest.raises((ValueError, TypeError), match=name):
                if kind in OF_THINGS:
                    kind(**{name: value}).fit(OF_THINGS[kind])
                else:
                    kind(**{name: value})(np.zeros((3, 2)), np.zeros((4, 2)))
                pytest.fail(f"{kind.__name__}({name}={value!r}) was accepted")


# Ends of ranges, which no general list of wrong values knows.
EDGES = [
    (BoxKernel(), {"epsilon": [0.0, 1.0], "delta": [0.0, 1.5]}),
    (IsolationKernel(), {"n_cells": [2**16 + 1], "n_partitions": [2**15], "similarity_threshold": [1.01]}),
    (AnnealedSVM(), {"cooling": [1.0], "start_temperature": [0.0], "positive_share": [0.0, 1.5]}),
    (APR(), {"tau": [1.0], "epsilon": [0.0, 1.0], "margin": [-1e-9]}),
    (GMIL1(), {"alpha": [1.0], "n_clusters": [61]}),
    (MILBoost(), {"learning_rate": [0.0, 2]}),
    (DD(), {"threshold": [-0.1, 1.1], "max_starts": [0]}),
    (SetKernel("poly"), {"degree": [0, 2.5]}),
]


@pytest.mark.parametrize(("estimator", "edges"), EDGES, ids=repr)
def test_ends_of_ranges(estimator, edges, data):
    for name, values in edges.items():
        for value in values:
            with pytest.raises(ValueError, match=f"'{name}' parameter of"):
                clone(estimator).set_params(**{name: value}).fit(*data)


@pytest.mark.parametrize("estimator", [e for e in ALL if e.get_params()], ids=repr)
def test_scikit_learns_own_check(estimator):
    check_param_validation(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", KERNELS, ids=repr)
def test_a_kernel_called_without_fit_is_checked_too(estimator, data):
    defaults = inspect.signature(type(estimator)).parameters
    for name in estimator.get_params(deep=False):
        for value in wrong_values(name, defaults[name].default):
            if name in TABLES:
                continue
            for call in ("__call__", "diag"):
                with pytest.raises((ValueError, TypeError), match=name):
                    getattr(clone(estimator).set_params(**{name: value}), call)(data[0])


def test_parts_of_a_kernel_are_checked_without_fit(data):
    part = SetKernel(gamma=1.0, power=np.nan)
    for wrong in (Normalized(part), SetKernel(gamma=1.0) + part, EmpiricalMap(part)):
        with pytest.raises(ValueError, match="'power' parameter of SetKernel"):
            wrong(data[0])


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_steps_of_registered_methods(name, data):
    X, y = data
    for task in REGISTRY[name].tasks:
        model = skmil.method(name, task)
        for full in model.get_params():
            *way, last = full.split("__")
            owner = model.get_params()["__".join(way)] if way else model
            if not hasattr(owner, "_parameter_constraints") or hasattr(owner, "steps"):
                continue
            for value in (np.nan, "nonsense", [], object()):
                with pytest.raises((ValueError, TypeError), match=f"{last}"):
                    clone(model).set_params(**{full: value}).fit(X, y + 0.0)


@pytest.mark.parametrize("learner", CLASSIFIERS + [WideLinearSVC()], ids=repr)
def test_weights_of_classes_are_numbers(learner, data):
    for weights in ({0: 1, 1: -1}, {0: 1, 1: np.nan}, {0: 1, 1: np.inf}, {0: 1, 1: "much"}):
        with pytest.raises(ValueError, match="class_weight"):
            fit(clone(learner).set_params(class_weight=weights), data)


@pytest.mark.parametrize("field", ["kind", "gamma", "degree", "coef0", "power"])
def test_kernels_of_instances_are_checked_too(field):
    for value in (np.nan, "nonsense", [], None, True):
        with pytest.raises(ValueError, match=f"'{field}' parameter of InstanceKernel"):
            InstanceKernel(**{field: value})


def test_a_kernel_of_ones_own_need_not_declare(data):
    class Mine(BagKernel):
        def __init__(self, anything=None):
            self.anything = anything

        def _gram(self, A, B):
            return np.outer(A.sizes, B.sizes).astype(float)

    assert Mine(anything=object()).fit_transform(data[0]).shape == (12, 12)
    assert EmpiricalMap(Mine("x")).fit_transform(data[0]).shape == (12, 12)
