"""Cross-validation on bags: folds, records, resuming, nested search."""

import json
import time
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.svm import SVC

import skmil
from skmil._folds import task_of
from skmil.embeddings import MeanEmbedding
from skmil.evaluation import cross_validate_bags
from skmil.learners import BagPipeline
from skmil.records import Record, read_records
from skmil.registry import grid as grid_of

TIMES = ("fit_seconds", "predict_seconds")


def untimed(records):
    return [{k: v for k, v in asdict(r).items() if k not in TIMES} for r in records]


def test_every_bag_is_tested_once_per_repetition_and_classes_are_spread(toy):
    X, y = toy
    records = cross_validate_bags("Simple-MI", X, y, folds=4, repeats=2)
    assert [(r.repeat, r.fold) for r in records] == [(a, b) for a in range(2) for b in range(4)]
    for repeat in range(2):
        tested = sorted(b for r in records if r.repeat == repeat for b in r.outputs["bag"])
        assert tested == list(range(40))
    assert {sum(r.outputs["true"]) for r in records} == {5}
    assert records[0].outputs["bag"] != records[4].outputs["bag"]


def test_scores_are_those_of_a_model_fitted_on_the_other_bags(toy):
    X, y = toy
    r = cross_validate_bags("MI-Kernel", X, y, folds=4)[1]
    test = np.array(r.outputs["bag"])
    train = np.setdiff1d(np.arange(40), test)
    model = skmil.method("MI-Kernel").fit(X[train], y[train])
    assert r.outputs["decision"] == model.decision_function(X[test]).tolist()
    assert r.scores["accuracy"] == accuracy_score(y[test], model.predict(X[test]))
    assert r.scores["auc"] == roc_auc_score(y[test], model.decision_function(X[test]))
    assert (r.n_train, r.n_test, r.parameters["svm__C"]) == (30, 10, 10.0)
    assert set(r.versions) == {"skmil", "scikit-learn", "numpy", "numba", "python"}


def test_same_seed_same_records_for_any_number_of_processes(toy):
    X, y = toy
    one, again, two, other = (
        untimed(cross_validate_bags("Simple-MI", X, y, folds=3, seed=seed, n_jobs=jobs))
        for seed, jobs in [(5, 1), (5, 1), (5, 2), (6, 1)]
    )
    assert one == again == two
    assert one != other


def test_random_methods_are_seeded(toy):
    X, y = toy
    forest = BagPipeline([("mean", MeanEmbedding()), ("forest", _forest())])
    runs = [untimed(cross_validate_bags(("forest", forest), X, y, folds=2, seed=1)) for _ in range(2)]
    assert runs[0] == runs[1]
    states = [r["parameters"]["forest__random_state"] for r in runs[0]]
    assert None not in states and len(set(states)) == 2


def _forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(5)


@pytest.mark.parametrize("one_row", [True, False])
def test_given_folds_are_honoured(toy, one_row):
    X, y = toy
    folds = np.stack([np.arange(40) // 20, np.arange(40) % 4 // 2])
    given = folds[0] if one_row else folds
    records = cross_validate_bags("Simple-MI", X, y, given_folds=given, repeats=1 if one_row else 2)
    assert len(records) == (2 if one_row else 4)
    for r in records:
        assert r.outputs["bag"] == np.flatnonzero(folds[r.repeat] == r.fold).tolist()
    assert records[0].given is not None


def test_musk1_has_folds_to_give():
    musk = skmil.datasets.load_musk1()
    records = cross_validate_bags("Simple-MI", musk.data, musk.target, given_folds=musk.folds, repeats=1)
    assert [r.outputs["bag"] for r in records] == [
        np.flatnonzero(musk.folds[0] == f).tolist() for f in range(10)
    ]


def test_nested_search_records_what_it_chose(toy):
    X, y = toy
    grid = {"svm__C": [1e-6, 10.0]}
    records = cross_validate_bags("Simple-MI", X, y, folds=2, nested=True, grid=grid)
    assert {r.parameters["svm__C"] for r in records} == {10.0}
    assert all(r.nested and r.grid == grid for r in records)
    registered = cross_validate_bags("Simple-MI", X, y, folds=2, nested=True)
    assert registered[0].grid == grid_of("Simple-MI")


def test_regression_and_more_than_two_classes(toy):
    X, _ = toy
    y = np.array([b[:, 0].mean() for b in X])
    r = cross_validate_bags("Simple-MI", X, y, folds=3, nested=True)[0]
    assert r.task == "regression" and set(r.scores) == {"r2", "rmse", "mae"}
    assert r.outputs["decision"] == r.outputs["predicted"] and r.classes == []
    three = cross_validate_bags("MI-Kernel", X, np.array(["a", "b", "c", "d"])[np.arange(40) % 4], folds=3)[
        0
    ]
    assert set(three.scores) == {"accuracy", "balanced_accuracy", "auc"} and three.classes == [
        "a",
        "b",
        "c",
        "d",
    ]
    assert (
        task_of(np.array([0.5, 2.0])) == "regression" and task_of(np.array([1.0, 2.0])) == "classification"
    )


def test_an_interrupted_run_goes_on_where_it_stopped(toy, tmp_path):
    X, y = toy
    path = tmp_path / "records.jsonl"

    class Stop(Exception):
        pass

    def stop_after_two(record, seen=[]):  # noqa: B006 -- counts calls
        seen.append(record)
        if len(seen) == 2:
            raise Stop

    with pytest.raises(Stop):
        cross_validate_bags("Simple-MI", X, y, folds=4, records=path, progress=stop_after_two)
    assert [r.fold for r in read_records(path)] == [0, 1]
    before = path.read_bytes()
    torn = before + read_records(path)[0].to_json().encode()[:100]
    path.write_bytes(torn)
    assert len(read_records(path)) == 2
    told = []
    records = cross_validate_bags("Simple-MI", X, y, folds=4, records=path, progress=told.append)
    assert path.read_bytes().startswith(before) and len(read_records(path)) == 4
    assert [r.fold for r in told] == [0, 1, 2, 3]
    assert [r.fit_seconds for r in records[:2]] == [r.fit_seconds for r in read_records(path)[:2]]
    assert untimed(records) == untimed(cross_validate_bags("Simple-MI", X, y, folds=4))
    cross_validate_bags("Simple-MI", X, y, folds=4, records=path)
    assert len(read_records(path)) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"folds": 3},
        {"nested": True},
        {"method": ("Simple-MI", skmil.method("Simple-MI", C=3.0))},
        {"y": 1 - np.arange(40) % 2},
        {"given_folds": np.arange(40) // 20},
    ],
)
def test_another_question_is_not_answered_from_the_file(toy, tmp_path, change):
    X, y = toy
    path = tmp_path / "records.jsonl"
    cross_validate_bags("Simple-MI", X, y, folds=2, records=path)
    asked = {"method": "Simple-MI", "X": X, "y": y, "folds": 2, "records": path} | change
    done = cross_validate_bags(**asked)
    assert len(read_records(path)) == 2 + len(done)


def test_records_survive_the_file(toy, tmp_path):
    X, y = toy
    path = tmp_path / "r.jsonl"
    records = cross_validate_bags("Simple-MI", X, np.where(y, "yes", "no"), folds=2, records=path)
    assert read_records(path) == records
    assert all(json.loads(line) for line in path.read_text("utf-8").splitlines())


@pytest.mark.parametrize(
    "line, message",
    [
        ("nonsense", "line 1: Expecting value"),
        ("[]", "expected a JSON object"),
        ('{"data": 1}', "no 'classes'"),
    ],
)
def test_a_file_of_something_else_is_named(tmp_path, line, message):
    path = tmp_path / "r.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        read_records(path)
    assert path.read_text() == line + "\n"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"folds": 21}, r"class '0' has 20 bags, too few for 21 folds"),
        ({"folds": 1}, "folds is 1"),
        ({"repeats": 0}, "repeats is 0"),
        ({"given_folds": [0, 1]}, r"given_folds has shape \(2,\)"),
        ({"given_folds": np.zeros(40, int)}, "into one fold"),
        ({"given_folds": np.arange(40) % 2, "repeats": 2}, "1 rows; repeats=2"),
        ({"method": "no such"}, "no method 'no such'"),
        ({"method": SVC(), "nested": True}, "needs a grid"),
        ({"task": "ranking"}, "task is 'ranking'"),
        ({"y": np.zeros(3)}, "40 bags but 3 labels"),
    ],
)
def test_wrong_questions_are_refused(toy, options, message):
    X, y = toy
    with pytest.raises(ValueError, match=message):
        cross_validate_bags(**({"method": "Simple-MI", "X": X, "y": y} | options))


def test_what_is_not_a_method_is_refused(toy):
    with pytest.raises(TypeError, match="give a name, an estimator"):
        cross_validate_bags(3, *toy)


def test_a_fold_with_one_class_has_no_auc(toy):
    X, y = toy
    given = np.where(np.arange(40) < 38, np.arange(40) // 19, 2)
    given[39], given[0] = given[0], 2  # fold 2 holds the bags 0 and 38, both of class 0
    records = cross_validate_bags("Simple-MI", X, y, given_folds=given)
    assert records[2].outputs["true"] == [0, 0] and records[2].scores["auc"] is None
    assert Record.from_json(records[2].to_json()) == records[2]


def test_auc_of_many_classes_is_the_mean_over_each_against_the_rest(toy):
    X, _ = toy
    y = np.array(["a", "b", "c"])[np.arange(40) % 3]
    r = cross_validate_bags("Simple-MI", X, y, folds=3)[0]
    test = np.array(r.outputs["bag"])
    train = np.setdiff1d(np.arange(40), test)
    model = skmil.method("Simple-MI").fit(X[train], y[train])
    values = model.decision_function(X[test])
    each = [roc_auc_score(y[test] == c, values[:, k]) for k, c in enumerate("abc")]
    assert r.scores["auc"] == pytest.approx(np.mean(each))


def test_numbers_that_look_like_quantities_name_the_task(toy):
    X, _ = toy
    with pytest.raises(ValueError, match="40 different numbers: if they are quantities"):
        cross_validate_bags("Simple-MI", X, np.arange(40), folds=2)


class Broken(ClassifierMixin, BaseEstimator):
    """Raises when it has seen some bag."""

    def __init__(self, kind="memory"):
        self.kind = kind

    def fit(self, X, y):
        if len(X) > 6:  # not while warming up
            raise {"memory": MemoryError("out of it"), "interrupt": SystemError("compiled")}[
                self.kind
            ] from KeyboardInterrupt() if self.kind == "interrupt" else None
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


@pytest.mark.parametrize("how", [{}, {"n_jobs": 2}, {"time_limit": 60}])
def test_a_failure_is_raised_recorded_and_tried_again(toy, tmp_path, how):
    path = tmp_path / "r.jsonl"
    before = 0
    for _ in range(2):
        with pytest.raises(MemoryError, match="out of it"):
            cross_validate_bags(Broken(), *toy, folds=3, records=path, **how)
        found = read_records(path)
        assert before < len(found) <= before + how.get("n_jobs", 1) * 3
        assert {r.error for r in found} == {"MemoryError: out of it"} and found[0].scores == {}
        before = len(found)


def test_ctrl_c_that_compiled_code_dressed_up_is_no_failure(toy, tmp_path):
    path = tmp_path / "r.jsonl"
    with pytest.raises(KeyboardInterrupt):
        cross_validate_bags(Broken("interrupt"), *toy, folds=3, records=path)
    assert read_records(path) == []


class Slow(ClassifierMixin, BaseEstimator):
    """Takes its time."""

    def fit(self, X, y):
        if len(X) > 6:
            time.sleep(60)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def test_a_fold_over_the_limit_is_stopped_and_recorded(toy, tmp_path):
    path = tmp_path / "r.jsonl"
    with pytest.raises(TimeoutError, match=r"fold 0 was stopped after the time limit of 0\.5 s"):
        cross_validate_bags(Slow(), *toy, folds=3, records=path, time_limit=0.5)
    assert [r.error for r in read_records(path)] == ["fold 0 was stopped after the time limit of 0.5 s"]


def test_a_limit_changes_nothing_else(toy):
    X, y = toy
    plain, limited = (
        untimed(cross_validate_bags("ISK", X, y, folds=3, time_limit=limit, n_jobs=jobs))
        for limit, jobs in [(None, 1), (120, 2)]
    )
    assert plain == limited
