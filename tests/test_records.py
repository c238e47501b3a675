"""What makes two records answers to one question."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import skmil
from skmil._fitting import _seeded, random_states
from skmil._folds import draw
from skmil._identity import plain, settings_of, text_of, unsearched_text
from skmil.evaluation import CrossValidation, cross_validate_bags
from skmil.kernels import SetKernel
from skmil.records import Answers, Record, read_records
from skmil.registry import REGISTRY, methods


@pytest.fixture
def record(toy):
    return cross_validate_bags("Simple-MI", *toy, folds=2)[0]


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": "0"}, {"task": "regression"}, {"estimator": "other"}, {"revision": "2"},
        {"folds": 3}, {"given": "0"}, {"nested": True, "grid": {}}, {"grid": {"svm__C": [1.0]}},
        {"seed": 1}, {"repeat": 1}, {"fold": 1}, {"method": "other"},
    ],
)  # fmt: skip
def test_everything_that_decides_is_in_the_key(record, change):
    other = replace(record, **change)
    assert other.key != record.key and Answers([record]).to(other) is None


def test_every_setting_is_in_the_key_at_its_default_too(record):
    assert record.settings["svm__tol"] == 1e-3 and record.settings["scale"] == "BagScaler"
    for name in record.settings:
        other = replace(record, settings=record.settings | {name: "another value"})
        assert other.key != record.key and Answers([record]).to(other) is None, name


def test_a_parameter_that_came_later_had_no_say(record):
    old = replace(record, settings={k: v for k, v in record.settings.items() if k != "svm__tol"})
    assert Answers([old]).to(record) is old


def test_what_does_not_decide_is_not_in_the_key(record):
    other = replace(record, data="new name", fit_seconds=9.0, versions={})
    assert other.key == record.key


def _asked(toy, grid, **base):
    model = skmil.method("MI-Kernel").set_params(**base)
    return CrossValidation.of(("mine", model), *toy, folds=2, nested=True, grid=grid).question


@pytest.mark.parametrize(
    "grid, same",
    [
        ({"svm__C": [1.0], "scale__method": ["none"], "svm__kernel__gamma": [1.0]}, True),
        ([{"svm__C": [1.0], "scale__method": ["none"], "svm__kernel": [SetKernel()]}], True),
        ([{"svm__C": [1.0], "scale__method": ["none"]}, {"svm__kernel__gamma": [1.0]}], False),
        ({"svm__C": [1.0], "scale__method": ["none"]}, False),
        ({"svm__kernel__gamma": [1.0]}, False),
    ],
)
def test_what_every_alternative_of_a_grid_sets_has_no_say(toy, grid, same):
    asked = _asked(toy, grid)
    other = _asked(toy, grid, svm__C=7.0, scale__method="minmax", svm__kernel__gamma=3.0)
    assert (other.key == asked.key) is same and (Answers([other]).to(asked) is other) is same
    assert Answers([_asked(toy, grid, svm__tol=1.0)]).to(asked) is None


def test_a_search_goes_on_though_the_default_of_a_searched_parameter_changed(toy, tmp_path):
    path = tmp_path / "r.jsonl"
    for C in (1.0, 5.0):
        model = ("mine", skmil.method("Simple-MI", C=C))
        cross_validate_bags(model, *toy, folds=2, nested=True, grid={"svm__C": [1.0, 2.0]}, records=path)
    assert len(read_records(path)) == 2


def test_the_text_of_an_estimator_without_what_is_searched():
    text = text_of(skmil.method("MI-Kernel", C=3.0))
    kept = unsearched_text(text, frozenset({"svm__C", "svm__kernel", "scale__skip_sparse"}))
    assert kept == "BagPipeline(steps=[('scale', BagScaler()), ('svm', BagSVC())])"
    assert "BagScaler" not in unsearched_text(text, frozenset({"scale"}))
    assert unsearched_text(text, frozenset()) == text
    assert unsearched_text("F(a=Bags(2 bags))", frozenset({"a"})) == "F(a=Bags(2 bags))"


class Guess(ClassifierMixin, BaseEstimator):
    """A stranger's estimator whose default may change."""

    def __init__(self, label=0):
        self.label = label

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


def test_a_default_that_changes_is_another_question(toy, tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    cross_validate_bags(Guess(), *toy, folds=2, records=path)

    def other_default(self, label=1):
        self.label = label

    monkeypatch.setattr(Guess, "__init__", other_default)
    again = cross_validate_bags(Guess(), *toy, folds=2, records=path)
    assert len(read_records(path)) == 4 and again[0].outputs["predicted"][0] == 1
    cross_validate_bags(Guess(), *toy, folds=2, records=path, revision="mine 2")
    assert len(read_records(path)) == 6


def test_a_revision_that_is_raised_is_another_question(toy, tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    cross_validate_bags("Simple-MI", *toy, folds=2, records=path)
    monkeypatch.setitem(REGISTRY, "Simple-MI", replace(REGISTRY["Simple-MI"], revision=2))
    assert [r.revision for r in cross_validate_bags("Simple-MI", *toy, folds=2, records=path)] == ["2", "2"]
    assert len(read_records(path)) == 4


def test_a_record_of_the_first_version_is_of_revision_one(record):
    values = {k: v for k, v in asdict(record).items() if k not in ("settings", "revision", "error")}
    values["estimator"] = values["estimator"].replace("SVC(", "GramSVC(")
    old = Record.from_dict(values)
    assert old.revision == "1" and old.error is None and "WideLinearSVC(" in old.estimator
    assert old.settings["svm__tol"] == 1e-3 and "svm__random_state" not in old.settings
    assert Answers([replace(old, estimator=record.estimator)]).to(record) is not None
    wrong = replace(old, estimator=record.estimator, settings=old.settings | {"svm__tol": 1.0})
    assert Answers([wrong]).to(record) is None


def test_a_failure_does_not_replace_a_result(record):
    failed = replace(record, error="no luck", scores={})
    assert Answers([record, failed]).to(record) is record and Answers([failed, record]).to(record) is record
    assert list(Answers([failed, record])) == [record]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_method_that_draws_gets_the_seed(toy, task):
    X, y = toy
    y = y if task == "classification" else y + 0.5
    for name in methods(task):
        run = CrossValidation.of(name, X, y, folds=2, seed=7, task=task)
        model = _seeded(run.estimator, run.seed, 0, 1)
        states = {model.get_params()[k] for k in random_states(model)}
        assert states <= {draw(7, 0, 1)}, name
    kept = CrossValidation.of(("mine", skmil.method("ISK", random_state=3)), *toy, folds=2)
    assert kept.estimator.get_params()["isolation__random_state"] == 3


def test_the_seed_reaches_what_is_drawn(toy):
    halves = np.arange(40) // 20
    a, b, c = (
        [r.outputs["decision"] for r in cross_validate_bags("PPMM", *toy, given_folds=halves, seed=s)]
        for s in (0, 0, 1)
    )
    assert a == b != c


def test_a_grid_over_weights_of_classes(toy, tmp_path):
    X, y = toy
    path = tmp_path / "r.jsonl"
    grid = {"svm__class_weight": [{0: 1, 1: 10}, {0: 1.0, 1: 1.0}, None, "balanced"]}
    found = cross_validate_bags("MI-Kernel", X, y, folds=2, nested=True, grid=grid, records=path)
    assert found[0].grid["svm__class_weight"][0] == "{0: 1, 1: 10}"
    assert read_records(path) == found
    cross_validate_bags("MI-Kernel", X, y, folds=2, nested=True, grid=grid, records=path)
    assert len(read_records(path)) == 2
    words = np.where(y, "yes", "no")
    by_name = {"svm__class_weight": [{"no": 1, "yes": 10}]}
    one = cross_validate_bags("MI-Kernel", X, words, folds=2, nested=True, grid=by_name)[0]
    assert one.grid == by_name


def test_plain_tells_keys_and_contents_apart():
    assert plain({0: 1}) != plain({"0": 1}) and plain((1, np.float64(2))) == [1, 2.0]
    assert plain(np.arange(3)) != plain(np.arange(4)) and plain(np.arange(3)) == plain(np.arange(3))
    assert plain(SetKernel(gamma=1.0)) != plain(SetKernel(gamma=2.0))
    assert plain(np.mean) == "numpy.mean" and plain(float("nan")) == "nan"
    assert "n_jobs" not in settings_of(LogisticRegression())
