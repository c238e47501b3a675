"""Model files: what goes in comes out, and a stranger's file runs nothing."""

import copy
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import skmil
from skmil.learners import SIL
from skmil.persistence import _trees, load_model, save_model


@pytest.mark.parametrize("name", ["MI-Kernel", "Minimax", "Simple-MI", "SIL"])
def test_a_model_answers_the_same_after_the_file(toy, tmp_path, name):
    X, y = toy
    model = skmil.method(name).fit(X, np.where(y, "yes", "no"))
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    scores = zip(again.score_instances(X), model.score_instances(X), strict=True)
    assert all(np.array_equal(a, b) for a, b in scores)


def test_every_registered_method_can_be_saved(toy, tmp_path):
    X, y = toy
    path = tmp_path / "model.skops"
    for task in ("classification", "regression"):
        for name in skmil.methods(task):
            model = skmil.method(name, task).fit(X[:12], y[:12] + 0.0)
            save_model(model, path)
            assert np.array_equal(load_model(path).predict(X), model.predict(X)), name


def test_calibrated_models_too(toy, tmp_path):
    X, y = toy
    model = skmil.method("MI-Kernel", probability=True).fit(X, y)
    save_model(model, tmp_path / "m")
    assert np.array_equal(load_model(tmp_path / "m").predict_proba(X), model.predict_proba(X))


def _changed(data: bytes, change) -> bytes:
    """The same archive with another schema."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, json.dumps(change(json.loads(text))) if name == "schema.json" else text)
    return out.getvalue()


def test_a_strangers_function_is_refused_and_not_run(tmp_path):
    path, trace = tmp_path / "model.skops", tmp_path / "trace"
    path.write_bytes(skops.io.dumps(FunctionTransformer(os.system, kw_args={"command": f"touch {trace}"})))
    with pytest.raises(ValueError, match=r"refused, because it holds \w+\.system"):
        load_model(path)
    assert not trace.exists()


@pytest.mark.parametrize(
    "module, name",
    [
        ("os", "system"),
        ("skmil.formats", "read_bags"),
        ("skmil.bags", "as_bags"),
        ("skmil.learners.base", "Callable"),
    ],
)
def test_only_known_classes_are_rebuilt(toy, tmp_path, module, name):
    X, y = toy

    def rename(schema):
        return schema | {"__module__": module, "__class__": name}

    path = tmp_path / "model.skops"
    path.write_bytes(_changed(skops.io.dumps(skmil.method("Simple-MI").fit(X, y)), rename))
    with pytest.raises(ValueError, match=f"refused, because it holds .*{name}"):
        load_model(path)


class Foreign(LogisticRegression):
    pass


def test_models_with_foreign_classes_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="Foreign"):
        save_model(Foreign(), tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "not a model"),
        (b"not a zip at all", "not a model"),
        (pickle.dumps([1, 2]), "not a model"),
        (skops.io.dumps({"a": 1}), "holds dict, not a model"),
    ],
)
def test_other_files_are_named(tmp_path, content, message):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_model(path)


def test_damaged_models_are_named(toy, tmp_path):
    X, y = toy
    path = tmp_path / "model.skops"
    save_model(skmil.method("Simple-MI").fit(X, y), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for cut in rng.integers(1, len(whole), size=20):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"not a model|damaged"):
            load_model(path)
    path.write_bytes(_changed(whole, lambda s: {k: v for k, v in s.items() if k != "content"}))
    with pytest.raises(ValueError, match=r"not a model|damaged"):
        load_model(path)


def test_a_tree_that_points_outside_itself_is_refused(toy, tmp_path):
    X, y = toy
    model = SIL(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    path = tmp_path / "model.skops"
    save_model(model, path)
    assert np.array_equal(load_model(path).predict(X), model.predict(X))
    tree = next(_trees(model))
    for part, value in [("left_child", 10**6), ("right_child", 0), ("feature", 99)]:
        state = tree.__getstate__()
        state["nodes"] = state["nodes"].copy()
        state["nodes"][part][0] = value
        bad = copy.deepcopy(model)
        next(_trees(bad)).__setstate__(state)
        save_model(bad, path)
        with pytest.raises(ValueError, match="points outside itself"):
            load_model(path)
