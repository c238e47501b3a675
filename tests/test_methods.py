import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

import skmil
from skmil.registry import REGISTRY, TASKS, find, grid

ALL = [(name, task) for name, m in REGISTRY.items() for task in m.tasks]


@pytest.mark.parametrize(("name", "task"), ALL)
def test_every_name_builds_a_clean_estimator(name, task):
    estimator = skmil.method(name, task)
    clone(estimator)
    for combination in ParameterGrid(grid(name, task)):
        assert set(combination) <= set(estimator.get_params()), "the grid names parameters that exist"
    assert REGISTRY[name].paper and REGISTRY[name].assumes


def test_names_by_task():
    assert set(skmil.methods()) == set(REGISTRY)
    assert set(skmil.methods("regression")) <= set(skmil.methods())
    assert set(skmil.methods("classification")) | set(skmil.methods("regression")) == set(REGISTRY)


def test_overrides_reach_the_step_that_has_them():
    assert skmil.method("MI-Kernel", C=3).get_params()["svm__C"] == 3
    assert skmil.method("MI-Kernel", gamma=0.5).get_params()["svm__kernel__gamma"] == 0.5
    assert skmil.method("MI-Kernel", svm__tol=0.1).get_params()["svm__tol"] == 0.1
    assert skmil.method("DD", verbose=True).get_params()["dd__verbose"] is True
    assert skmil.method("MI-Kernel", equal_bags=True).get_params()["scale__equal_bags"] is True


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match=r"did you mean .*MI-Kernel"):
        skmil.method("MI-Kernell")
    with pytest.raises(ValueError, match="no parameter 'depth'; this method has C"):
        skmil.method("Minimax", depth=3)
    with pytest.raises(ValueError, match="has no form for regression"):
        skmil.method("Minimax", task="regression")
    with pytest.raises(ValueError, match="task is 'ranking'"):
        skmil.methods("ranking")


def test_published_figures_name_their_source():
    figures = skmil.published("MI-Kernel")
    assert {f.data for f in figures} >= {"musk1", "musk2", "elephant", "fox", "tiger"}
    assert all(f.source and 0 < f.accuracy < 100 for f in figures)
    # An error of 13.6 % in one paper is an accuracy here.
    assert {f.accuracy for f in figures if f.data == "musk1"} == {100 - 13.6, 88.1}


def test_registry_is_read_only_in_use():
    assert find("SIL") is REGISTRY["SIL"]
    grid("SIL")["sil__pooling"] = ["max"]
    assert "sil__pooling" not in grid("SIL")
    assert TASKS == ("classification", "regression")


def test_defaults_beat_chance_on_musk1():
    X, y = skmil.datasets.load_musk1(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:60], order[60:]
    for name in ("MI-Kernel", "Minimax", "Simple-MI", "SIL"):
        assert skmil.method(name).fit(X[train], y[train]).score(X[test], y[test]) > 0.7, name


@pytest.mark.parametrize("name", ["PPMM", "ISK", "GMIL-1", "k_and emp"])
def test_a_seed_reaches_every_step_that_draws(name):
    params = skmil.method(name, random_state=7).get_params()
    states = [v for k, v in params.items() if k.split("__")[-1] == "random_state"]
    assert states and set(states) == {7}
