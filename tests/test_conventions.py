"""scikit-learn's conventions beyond its own checks: seeds, names, outputs, weights, ensembles."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import skmil
from skmil import Bags, inspection
from skmil._random import random_key
from skmil.embeddings import IsolationEmbedding, MeanEmbedding, MinMaxEmbedding
from skmil.evaluation import cross_validate_bags
from skmil.kernels import SetKernel
from skmil.kernels.base import BagKernel
from skmil.learners import BagPipeline, BagSVC
from skmil.preprocessing import BagScaler
from tests.catalogue import EMBEDDINGS, PREPROCESSORS
from tests.test_laws import dense, labels

TASKS = [(name, task) for task in ("classification", "regression") for name in skmil.methods(task)]


def test_no_seed_follows_the_global_one(bags):
    def draw():
        np.random.seed(7)  # noqa: NPY002
        return random_key(None), IsolationEmbedding(10, 4).fit_transform(bags).toarray()

    (a, A), (b, B) = draw(), draw()
    assert a == b != random_key(None)
    assert_array_equal(A, B)


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=repr)
def test_every_column_of_an_embedding_has_a_name(embedding, bags):
    e = clone(embedding).fit(bags, labels)
    names = e.get_feature_names_out()
    assert len(set(names)) == len(names) == dense(e.transform(bags)).shape[1]


def test_names_say_what_a_column_is():
    X = Bags([[1.0, 5.0], [3.0, 4.0]], [0, 2], feature_names=["size", "mass"])
    assert MeanEmbedding().fit(X).get_feature_names_out().tolist() == ["mean_size", "mean_mass"]
    found = MinMaxEmbedding().set_output(transform="pandas").fit_transform(X)
    assert found.to_dict("list") == {"min_size": [1], "min_mass": [4], "max_size": [3], "max_mass": [5]}


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=repr)
def test_frames_come_out_where_they_are_asked_for(embedding, bags):
    e = clone(embedding).set_output(transform="pandas").fit(bags, labels)
    plain = clone(embedding).fit(bags, labels).transform(bags)
    if hasattr(plain, "toarray"):
        with pytest.raises(ValueError, match="sparse"):
            e.transform(bags)
        return
    frame = e.transform(bags)
    assert frame.columns.tolist() == e.get_feature_names_out().tolist()
    assert_array_equal(frame.to_numpy(), plain)


@pytest.mark.parametrize("step", PREPROCESSORS, ids=repr)
def test_bags_stay_bags(step, bags):
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(clone(step).set_output(transform="pandas").fit(bags).transform(bags), Bags)
    assert len(clone(step).fit(bags).get_feature_names_out()) == bags.n_features


def test_learners_do_not_see_the_containers_of_others(toy):
    X, y = toy
    with sklearn.config_context(transform_output="pandas"):
        for name in ("MILES", "Simple-MI", "MI-Kernel", "miFV"):
            assert_array_equal(
                skmil.method(name).fit(X, y).predict(X), skmil.method(name).fit(X, y).predict(X)
            )


@pytest.mark.parametrize(("name", "task"), TASKS)
def test_weights_reach_the_learner_of_every_method(name, task, toy, monkeypatch):
    X, y = toy
    y = y if task == "classification" else y + 0.1 * np.arange(len(y)) / len(y)
    w = np.linspace(0.5, 2.0, len(y))
    model = skmil.method(name, task)
    last = model.steps[-1][1] if isinstance(model, BagPipeline) else model
    seen = []

    def spy(self, X, y=None, sample_weight=None):
        seen.append(sample_weight)
        raise StopIteration

    monkeypatch.setattr(type(last), "fit", spy)
    for routing in (False, True):
        with sklearn.config_context(enable_metadata_routing=routing), pytest.raises(StopIteration):
            model.fit(X, y, sample_weight=w)
        assert_array_equal(seen.pop(), w)


@pytest.mark.parametrize("routing", [False, True])
def test_weights_go_through_a_search(routing, toy):
    X, y = toy
    w = np.where(y == 1, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = BagPipeline([("scale", BagScaler()), ("svm", BagSVC(SetKernel(gamma=0.5), C=0.01))])
        plain, heavy = clone(model).fit(X, y), clone(model).fit(X, y, sample_weight=w)
        assert heavy.predict(X).sum() > plain.predict(X).sum()
        if routing:  # which scikit-learn 1.6 wants to be said of every pipeline
            model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"svm__C": [0.01]}, cv=2).fit(X, y, sample_weight=w)
        assert_allclose(search.decision_function(X), heavy.decision_function(X))


def test_a_learner_without_weights_says_so(toy):
    model = BagPipeline([("mean", MeanEmbedding()), ("knn", KNeighborsClassifier())])
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(*toy, sample_weight=np.ones(40))


def test_predictions_and_decisions_share_a_gram_matrix(toy, monkeypatch):
    X, y = toy
    made = []
    transform = BagKernel.transform
    monkeypatch.setattr(BagKernel, "transform", lambda self, X: made.append(1) or transform(self, X))
    model = BagSVC(SetKernel(gamma=0.5)).fit(X, y)
    model.predict(X)
    assert len(made) == 1
    made.clear()
    cross_validate_bags(BagSVC(SetKernel(gamma=0.5)), X, y, folds=2)
    assert len(made) <= 3  # one a fold, and one to compile


def test_bags_in_ensembles_and_importances(toy):
    X, y = toy
    with pytest.raises(TypeError, match="put an embedding in front of BaggingClassifier"):
        BaggingClassifier(BagSVC(SetKernel(gamma=0.5))).fit(X, y)
    fitted = BagSVC(SetKernel(gamma=0.5)).fit(X, y)
    with pytest.raises(TypeError, match=r"use skmil\.inspection\.permutation_importance"):
        permutation_importance(fitted, X, y)
    wide = Bags(
        np.column_stack([X.instances, np.zeros(len(X.owner))]), X.offsets, None, ["a", "b", "c", "none"]
    )
    found = inspection.permutation_importance(
        BagSVC(SetKernel(gamma=0.5)).fit(wide, y), wide, y, random_state=0
    )
    assert found.importances.shape == (4, 5) and found.feature_names.tolist()[-1] == "none"
    assert found.importances_mean[-1] == 0 and found.importances_mean.max() > 0.05
    with pytest.raises(ValueError, match="n_repeats is 0"):
        inspection.permutation_importance(fitted, X, y, n_repeats=0)
    model = make_pipeline(
        BagScaler(), MeanEmbedding(), BaggingClassifier(SVC(), n_estimators=3, random_state=0)
    )
    assert model.fit(X, y).score(X, y) > 0.7
    Z = MeanEmbedding().fit_transform(X)
    assert len(permutation_importance(SVC().fit(Z, y), Z, y, random_state=0).importances_mean) == 3
