"""Results kept during a search: computed once, the same as without, forgotten afterwards."""

import numpy as np
import pytest
from sklearn.base import clone

import skmil
from skmil import _memo
from skmil._memo import is_searching, once, searching
from skmil.datasets import load_musk1
from skmil.evaluation import cross_validate_bags

calls = []


def double(x):
    calls.append(x)
    return 2 * x


@pytest.fixture(autouse=True)
def _no_calls():
    calls.clear()


def test_equal_content_is_computed_once_inside_a_search_only():
    with searching():
        assert once(double, np.arange(3)).tolist() == once(double, np.arange(3)).tolist() == [0, 2, 4]
        once(double, np.arange(4))
    assert len(calls) == 2
    once(double, np.arange(3))
    assert len(calls) == 3 and not is_searching()


def test_a_search_inside_a_search_joins_it():
    with searching():
        once(double, 1)
        with searching():
            once(double, 1)
        assert is_searching()
        once(double, 1)
    assert len(calls) == 1


def test_what_cannot_be_hashed_is_computed_each_time():
    with searching():
        for _ in range(2):
            once(lambda f: calls.append(f), lambda: None)
    assert len(calls) == 2


def test_old_results_go_first_beyond_the_limit(monkeypatch):
    monkeypatch.setattr(_memo, "LIMIT", 2000)
    with searching():
        for i in (0, 1, 0, 2, 0, 1):
            once(double, np.full(100, i))
    assert [int(c[0]) for c in calls] == [0, 1, 2, 1]


GRIDS = {
    "MI-Kernel": {"svm__C": [0.1, 10.0]},
    "MG-ACC": {"svm__C": [0.1, 10.0]},
    "DD-SVM": {"svm__C": [0.1, 10.0]},
    "k_and emp": {"kernel__kernel__power": [0.1, 0.02]},
    "k_and": {"kernel__power": [0.1, 0.02]},
    "miFV": {"svm__C": [0.1, 10.0]},
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_search_finds_what_it_finds_without_memory(name, monkeypatch):
    musk = load_musk1()
    X, y = musk.data[::4], musk.target[::4]
    few = {"max_starts": 5} if name in ("MG-ACC", "DD-SVM") else {}
    model = skmil.method(name, **few)

    def outputs():
        found = cross_validate_bags((name, clone(model)), X, y, folds=2, nested=True, grid=GRIDS[name])
        return [(r.parameters, r.outputs) for r in found]

    kept = outputs()
    monkeypatch.setattr(_memo, "_key", lambda *call: None)
    assert kept == outputs()


def test_a_machine_fitted_in_a_search_scores_instances_as_any_other():
    musk = load_musk1()
    model = skmil.method("MI-Kernel").fit(musk.data, musk.target)
    with searching():
        other = skmil.method("MI-Kernel").fit(musk.data, musk.target)
    for a, b in zip(
        model.score_instances(musk.data[:5]), other.score_instances(musk.data[:5]), strict=True
    ):
        np.testing.assert_allclose(a, b)
