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
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

import skmil
from skmil import Bags, persistence
from skmil._sound import parts, without_trees
from skmil.cli import main
from skmil.learners import SIL, BagPipeline
from skmil.persistence import ModelVersionWarning, load_model, read_about, save_model
from skmil.sources import TextBags


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
    ids=["empty", "text", "pickle", "dict"],  # two workers must agree, and bytes of skops hold addresses
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
    tree = next(p for p in parts(model) if isinstance(p, Tree))
    for part, value in [("left_child", 10**6), ("right_child", 0), ("feature", 99)]:
        state = tree.__getstate__()
        state["nodes"] = state["nodes"].copy()
        state["nodes"][part][0] = value
        bad = copy.deepcopy(model)
        next(p for p in parts(bad) if isinstance(p, Tree)).__setstate__(state)
        with pytest.raises(ValueError, match=r"cannot be saved: Tree: .* points outside itself"):
            save_model(bad, path)
        path.write_bytes(skops.io.dumps(without_trees(bad)))
        with pytest.raises(ValueError, match="points outside itself"):
            load_model(path)


def test_samples_that_point_outside_their_table_are_refused(toy, tmp_path):
    X, y = toy
    model = skmil.method("ISK", n_partitions=5, n_cells=4).fit(X, y)
    model.named_steps["isolation"].map_.partitions.samples[0, 0] = 10**6
    path = tmp_path / "model.skops"
    path.write_bytes(skops.io.dumps(model))
    with pytest.raises(ValueError, match="Voronoi: samples points outside its table"):
        load_model(path)


def test_terms_of_texts_and_places_to_write_are_checked(tmp_path):
    texts = ["good day. fine", "bad night. poor", "good fine", "poor bad"]
    model = BagPipeline([("source", TextBags("words", 2, 0)), ("method", skmil.method("Simple-MI"))])
    save_model(model.fit(texts, [1, 0, 1, 0]), tmp_path / "m")
    assert load_model(tmp_path / "m").predict(texts).tolist() == model.predict(texts).tolist()
    source = model.steps[0][1]
    source.cache = str(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="may not say where to write"):
        save_model(model, tmp_path / "m")
    source.cache = None
    vectorizer = next(p for p in parts(source) if hasattr(p, "vocabulary_"))
    vectorizer.vocabulary_["good"] = 10**6
    (tmp_path / "m").write_bytes(skops.io.dumps(model))
    with pytest.raises(ValueError, match="does not number its terms"):
        load_model(tmp_path / "m")


def test_estimators_that_cannot_be_checked_are_not_written(toy, tmp_path):
    X, y = toy
    model = SIL(KNeighborsClassifier(algorithm="brute")).fit(X, y)
    with pytest.raises(ValueError, match="KNeighborsClassifier is not among the estimators"):
        save_model(model, tmp_path / "m")
    (tmp_path / "m").write_bytes(skops.io.dumps(model))
    with pytest.raises(ValueError, match="KNeighborsClassifier is not among the estimators"):
        load_model(tmp_path / "m")


def test_a_missing_attribute_and_a_deep_schema_are_one_line(toy, tmp_path):
    X, y = toy
    path = tmp_path / "model.skops"
    save_model(skmil.method("MI-Kernel").fit(X, y), path)
    whole = path.read_bytes()

    def without(schema):
        content = schema["content"]["content"]["steps"]["content"][0]["content"][1]["content"]["content"]
        del content["center_"]
        return schema

    path.write_bytes(_changed(whole, without))
    with pytest.raises(ValueError, match=r"damaged model \(.*center_"):
        load_model(path)
    deep = io.BytesIO()
    with zipfile.ZipFile(deep, "w") as archive:
        archive.writestr("schema.json", '{"content": ' * 10**5 + "1" + "}" * 10**5)
    path.write_bytes(deep.getvalue())
    with pytest.raises(ValueError, match="not a model") as error:
        load_model(path)
    assert "\n" not in str(error.value)


class TestDescription:
    def test_what_a_model_says_of_itself(self, toy, tmp_path):
        X, y = toy
        named = Bags(X.instances, X.offsets, feature_names=["a", "b", "c"])
        model = skmil.method("MI-Kernel").fit(named, np.where(y, "yes", "no"))
        path = tmp_path / "model.skops"
        save_model(model, path, bags=named, method="MI-Kernel", bag="molecule", label=None)
        about = read_about(path)
        assert about["versions"]["skmil"] == skmil.__version__
        assert (about["method"], about["bag"], about["label"]) == ("MI-Kernel", "molecule", None)
        assert (about["task"], about["classes"]) == ("classification", ["no", "yes"])
        assert (about["n_features"], about["feature_names"]) == (3, ["a", "b", "c"])
        assert about["sparse"] is False
        assert about["training"]["bags"] == 40 and about["training"]["instances"] == len(X.instances)

    def test_sparse_features_and_targets(self, toy, tmp_path):
        X, y = toy
        thin = Bags(sparse.csr_matrix(X.instances), X.offsets)
        model = skmil.method("MI-Kernel", "regression").fit(thin, y + 0.5)
        save_model(model, tmp_path / "m")
        about = read_about(tmp_path / "m")
        assert (about["task"], about["classes"], about["sparse"]) == ("regression", None, True)
        assert np.array_equal(load_model(tmp_path / "m").predict(thin), model.predict(thin))

    def test_a_search_is_saved_as_its_best_estimator(self, toy, tmp_path):
        X, y = toy
        grid = {"svm__C": [0.1, 10.0], "svm__class_weight": [{0: 1, 1: 2}]}
        search = GridSearchCV(skmil.method("MI-Kernel"), grid, cv=2)
        with pytest.raises(ValueError, match="no best estimator"):
            save_model(search, tmp_path / "m")
        save_model(search.fit(X, y), tmp_path / "m")
        again = load_model(tmp_path / "m")
        assert np.array_equal(again.decision_function(X), search.decision_function(X))
        found = read_about(tmp_path / "m")["search"]
        assert found["best_params"]["svm__C"] == search.best_params_["svm__C"]
        assert found["best_score"] == search.best_score_

    def test_another_version_says_so(self, toy, tmp_path, monkeypatch):
        X, y = toy
        path = tmp_path / "model.skops"
        model = skmil.method("Simple-MI").fit(X, y)
        with monkeypatch.context() as other:
            other.setattr(persistence, "__version__", "0.0.7")
            save_model(model, path)
        with pytest.warns(ModelVersionWarning, match=r"written by skmil 0\.0\.7, this is"):
            assert np.array_equal(load_model(path).predict(X), model.predict(X))
        path.write_bytes(skops.io.dumps(model))
        with pytest.warns(ModelVersionWarning, match="written by an earlier version"):
            load_model(path)
        with pytest.raises(ValueError, match="without a description"):
            read_about(path)

    @pytest.mark.parametrize("header", ["", "[]", "{", '{"versions": 3}', "[" * 10**5])
    def test_a_damaged_description_is_named(self, toy, tmp_path, header):
        path = tmp_path / "model.skops"
        path.write_bytes(skops.io.dumps(skmil.method("Simple-MI").fit(*toy)))
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("about.json", header)
        for read in (load_model, read_about):
            with pytest.raises(ValueError, match=r"model\.skops: (not a|damaged) model"):
                read(path)

    def test_show_prints_it(self, toy, tmp_path, capsys):
        path = tmp_path / "model.skops"
        X, y = toy
        save_model(skmil.method("ISK").fit(X, y), path, bags=X, method="ISK", bag="id")
        assert main(["show", str(path)]) == 0
        out = capsys.readouterr().out
        for part in ("ISK", "classification", "'0', '1'", "40 bags", skmil.__version__, "id"):
            assert part in out
        path.write_bytes(b"nonsense")
        assert main(["show", str(path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("skmil: ") and error.count("\n") == 1

    def test_columns_are_remembered(self, tmp_path, capsys):
        rows = ["molecule_no,x,z,activity"]
        rows += [f"{b},{b % 2 + k},{k},{'high' if b % 2 else 'low'}" for b in range(8) for k in range(2)]
        table, model = tmp_path / "t.csv", tmp_path / "m.skops"
        table.write_text("\n".join(rows) + "\n")
        named = ["--bag", "molecule_no", "--label", "activity"]
        assert main(["fit", str(table), str(model), "-m", "Simple-MI", *named]) == 0
        bare = tmp_path / "bare.csv"
        bare.write_text("\n".join(row.rpartition(",")[0] for row in rows) + "\n")
        capsys.readouterr()
        for data in (table, bare):  # with the column of labels, and without
            assert main(["predict", str(model), str(data)]) == 0
            assert capsys.readouterr().out.count("\n") == 9
