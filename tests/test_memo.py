"""Results kept during a search: computed once, the same as without, forgotten afterwards."""

import numpy as np
import pytest
from joblib import Memory
from sklearn.base import clone
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import skmil
from skmil import _memo
from skmil._memo import is_searching, once, searching
from skmil.datasets import load_musk1, make_gmil
from skmil.embeddings import MeanEmbedding
from skmil.evaluation import cross_validate_bags
from skmil.kernels import BoxKernel
from skmil.learners import BagPipeline, BagSVC

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
    monkeypatch.setattr(_memo, "LIMIT", 2500)  # two arrays of a hundred numbers, and what pickling adds
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


def test_a_kept_result_cannot_be_changed():
    with searching():
        once(double, np.arange(3.0))[:] = 7
        assert once(double, np.arange(3.0)).tolist() == [0, 2, 4]


def test_a_step_that_works_in_place_finds_the_same_as_without_memory(monkeypatch):
    musk = load_musk1()
    steps = [("mean", MeanEmbedding()), ("scale", StandardScaler(copy=False)), ("svm", SVC())]

    def outputs():
        found = cross_validate_bags(
            ("own", BagPipeline(steps)), musk.data, musk.target, folds=3, nested=True,
            grid={"svm__C": [1.0, 10.0, 100.0]},
        )  # fmt: skip
        return [(r.parameters, r.outputs) for r in found]

    kept = outputs()
    monkeypatch.setattr(_memo, "_key", lambda *call: None)
    assert kept == outputs()


def test_steps_that_hold_types_or_themselves_are_searched():
    class Own(RandomTreesEmbedding):
        def fit_transform(self, X, y=None, **params):
            self.self_ = self
            return super().fit_transform(X, y, **params)

    musk = load_musk1()
    for step in (RandomTreesEmbedding(5, random_state=0), Own(5, random_state=0)):
        model = BagPipeline([("mean", MeanEmbedding()), ("trees", step), ("svm", SVC())])
        found = cross_validate_bags(
            ("own", model), musk.data, musk.target, folds=2, nested=True, grid={"svm__C": [1.0, 10.0]}
        )
        assert len(found) == 2


def test_the_memory_of_a_user_stays(tmp_path):
    memory = Memory(tmp_path, verbose=0)
    model = BagPipeline([("mean", MeanEmbedding()), ("svm", SVC())], memory=memory)
    musk = load_musk1()
    cross_validate_bags(
        ("own", model), musk.data, musk.target, folds=2, nested=True, grid={"svm__C": [1.0]}
    )
    assert any(tmp_path.rglob("*.pkl"))


def test_the_winner_is_the_machine_that_fits_outside():
    # Boxes shared by a block of bags are where the training bags that a machine keeps make a difference.
    made = make_gmil(70, 1, 1, n_features=4, bag_size=(24, 30), radius=0.2, random_state=0)
    model = BagSVC(BoxKernel(random_state=0), C=1e4)
    folds = np.arange(70) // 2 % 2
    found = cross_validate_bags(
        ("own", model), made.data, made.target, nested=True, grid={"C": [1e4]}, given_folds=folds
    )
    alone = clone(model).set_params(random_state=0).fit(made.data[folds == 1], made.target[folds == 1])
    np.testing.assert_array_equal(
        found[0].outputs["decision"], alone.decision_function(made.data[folds == 0])
    )


def test_a_machine_fitted_in_a_search_scores_instances_as_any_other():
    musk = load_musk1()
    model = skmil.method("MI-Kernel").fit(musk.data, musk.target)
    with searching():
        other = skmil.method("MI-Kernel").fit(musk.data, musk.target)
    for a, b in zip(
        model.score_instances(musk.data[:5]), other.score_instances(musk.data[:5]), strict=True
    ):
        np.testing.assert_allclose(a, b)
