"""What a model was fitted on is part of it: number, names and order of features, dense or sparse, sizes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler

import skmil
from skmil import Bags
from skmil.cli import main
from skmil.datasets import load_musk1
from skmil.formats import write_bags
from skmil.inspection import RememberBags
from skmil.kernels import SetKernel
from skmil.learners import BagSVC
from skmil.preprocessing import BagImputer, BagScaler, ForInstances

NAMES = ["mass", "charge", "logp"]
FAST = ["MI-Kernel", "Simple-MI", "MILES", "miFV", "APR", "SIL", "TLC", "MILBoost", "Boost", "Citation-kNN"]


@pytest.fixture
def named(toy):
    """The forty bags with names and features of very different sizes, so that order matters."""
    bags, y = toy
    return Bags(bags.instances * [1.0, 50.0, 0.02], bags.offsets, None, NAMES), y


def permuted(bags, order):
    return Bags(bags.instances[:, order], bags.offsets, None, [NAMES[k] for k in order])


@pytest.mark.parametrize("name", FAST)
def test_columns_may_come_in_any_order(name, named):
    X, y = named
    model = skmil.method(name).fit(X, y)
    assert model.feature_names_in_.tolist() == NAMES
    other = permuted(X, [2, 0, 1])
    assert_array_equal(model.predict(other), model.predict(X))
    for a, b in zip(model.score_instances(other), model.score_instances(X), strict=True):
        assert_array_equal(a, b)


def test_missing_and_new_features_are_named(named):
    X, y = named
    model = skmil.method("MI-Kernel").fit(X, y)
    fewer = Bags(X.instances[:, :2], X.offsets, None, NAMES[:2])
    with pytest.raises(ValueError, match=r"lack the feature 'logp'.*'mass', 'charge', 'logp'"):
        model.predict(fewer)
    renamed = Bags(X.instances, X.offsets, None, ["mass", "charge", "LogP"])
    with pytest.raises(ValueError, match="lack the feature 'logp' and have 'LogP', unknown to BagScaler"):
        model.predict(renamed)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(Bags(X.instances, X.offsets))


def test_a_new_fit_forgets_names(named):
    X, _ = named
    scaler = BagScaler().fit(X)
    scaler.fit(Bags(X.instances, X.offsets))
    assert not hasattr(scaler, "feature_names_in_")


def test_parts_are_put_in_the_order_of_the_first(named):
    X, _ = named
    assert Bags.concat([X[:3], permuted(X, [1, 2, 0])[3:]]) == Bags(X.instances, X.offsets, X.ids, NAMES)


@pytest.mark.parametrize("name", ["MI-Kernel", "Simple-MI", "ISK", "miGraph", "PPMM", "Boost"])
def test_dense_and_sparse_bags_are_the_same_bags(name, toy):
    X, y = toy
    model = skmil.method(name).fit(X, y)
    assert_allclose(model.decision_function(X.to_sparse()), model.decision_function(X), atol=1e-12)
    sparse = skmil.method(name).fit(X.to_sparse(), y)
    expected = sparse.decision_function(X.to_sparse())
    assert_allclose(sparse.decision_function(X), expected, atol=1e-12)


@pytest.mark.parametrize("give", [lambda b: b, lambda b: b.tolist()], ids=["array", "lists"])
def test_one_bag_does_not_pass_for_many(give, toy):
    X, y = toy
    i = int(X.sizes.argmax())
    for model in (skmil.method("MI-Kernel"), skmil.method("Simple-MI"), BagSVC(SetKernel(gamma=1.0))):
        model.fit(X, y)
        with pytest.raises(ValueError, match=r"one table of 5 rows.*to 5 instances.*X\[\[0\]\]"):
            model.predict(give(X[i]))
        assert model.predict([X[i]]) == model.predict(X[[i]])


def test_a_table_is_fitted_with_a_word(toy):
    X, y = toy
    with pytest.warns(skmil._schema.TableWarning, match="counts as a bag of one instance"):
        skmil.method("MI-Kernel").fit(X.instances, np.repeat(y, X.sizes))


def test_swapped_columns_between_fit_and_predict(tmp_path, capsys, monkeypatch):
    X, y = load_musk1(return_X_y=True)
    names = [f"ray {k}" for k in range(X.n_features)]
    X = Bags(X.instances * np.linspace(1, 9, X.n_features), X.offsets, X.ids, names)
    back = X.with_features(names[::-1])
    write_bags(tmp_path / "train.csv", X, y)
    write_bags(tmp_path / "swapped.csv", back, None)
    write_bags(tmp_path / "same.csv", X, None)
    monkeypatch.chdir(tmp_path)
    assert main(["fit", "train.csv", "m.skops", "--method", "Simple-MI"]) == 0
    capsys.readouterr()
    said = []
    for file in ("same.csv", "swapped.csv"):
        assert main(["predict", "m.skops", file]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    text = (tmp_path / "same.csv").read_text().replace("ray 7,", "beam,")
    (tmp_path / "renamed.csv").write_text(text)
    assert main(["predict", "m.skops", "renamed.csv"]) == 2
    assert "lack the feature 'ray 7' and have 'beam'" in capsys.readouterr().err


@pytest.mark.parametrize("thin", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("step", [BagScaler(), BagImputer(), RememberBags(), ForInstances(MaxAbsScaler())])
def test_every_step_puts_columns_in_order_and_keeps_to_one_kind(step, thin, named):
    bags, y = named
    fitted, later = (b.to_sparse() if thin else b for b in (bags, permuted(bags, [2, 0, 1])))
    model = clone(step).fit(fitted, y)
    assert model.feature_names_in_.tolist() == NAMES
    wanted = model.transform(fitted)
    for other in (later, later.to_dense() if thin else later.to_sparse()):
        found = model.transform(other)
        assert found.is_sparse == wanted.is_sparse
        assert_array_equal(found.to_dense().instances, wanted.to_dense().instances)
    with pytest.raises(ValueError, match="lack the feature 'logp'"):
        model.transform(Bags(bags.instances[:, :2], bags.offsets, None, NAMES[:2]))


def test_similar_bags_are_the_same_in_any_order_of_columns(named):
    bags, y = named
    kept = RememberBags().fit(bags.to_sparse(), y)
    told = [[n.bag for n in near] for near in kept.alike(bags)]
    assert told == [[n.bag for n in near] for near in kept.alike(permuted(bags, [1, 2, 0]).to_sparse())]
