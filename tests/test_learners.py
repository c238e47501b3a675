"""BagSVC, BagSVR, SIL, BagPipeline: what the laws do not say about them."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from skmil import Bags
from skmil.embeddings import MeanEmbedding, MinMaxEmbedding
from skmil.kernels import (
    BoxKernel,
    EmpiricalMap,
    GraphKernel,
    IsolationKernel,
    MinimaxKernel,
    Power,
    SetKernel,
)
from skmil.learners import SIL, BagPipeline, BagSVC, BagSVR, CalibratedBagClassifier, leave_one_out
from skmil.preprocessing import BagScaler


def test_same_as_svc_on_the_gram_matrix(toy):
    X, y = toy
    k = SetKernel(gamma=0.3)
    ours = BagSVC(k, C=5, class_weight="balanced").fit(X[:30], y[:30])
    theirs = SVC(kernel="precomputed", C=5, class_weight="balanced").fit(k(X[:30]), y[:30])
    assert_allclose(ours.decision_function(X[30:]), theirs.decision_function(k(X[30:], X[:30])), rtol=1e-9)
    assert_array_equal(ours.support_, theirs.support_)


def test_three_classes_same_as_svc(toy):
    X, _ = toy
    y = np.arange(40) % 3
    k = SetKernel(gamma=0.3)
    theirs = SVC(kernel="precomputed").fit(k(X), y)
    assert_allclose(BagSVC(k).fit(X, y).decision_function(X), theirs.decision_function(k(X)), atol=1e-12)


def test_same_as_svr_on_the_gram_matrix(toy):
    X, y = toy
    k = SetKernel(gamma=0.3)
    theirs = SVR(kernel="precomputed").fit(k(X), y)
    assert_allclose(BagSVR(k).fit(X, y).predict(X), theirs.predict(k(X)), rtol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "most"),
    [
        (SetKernel(gamma=1.0), 1.2),
        (SetKernel(gamma=1.0, normalization="cosine"), 1.2),
        (MinimaxKernel(), 1.2),
        (GraphKernel(gamma=1.0), 1.2),
        (Power(SetKernel(gamma=1.0)), 1.2),
        (IsolationKernel(20, 32, random_state=0), 1.4),  # and the features of the bags
        (EmpiricalMap(SetKernel(gamma=1.0), anchors=20), 1.3),  # and the anchors
        (BoxKernel(method="shared", n_boxes=50, power="auto", random_state=0), 1.4),  # and the boxes
        (SetKernel(gamma=1.0) + MinimaxKernel(), 2.2),  # a matrix for each term
    ],
    ids=lambda k: " ".join(repr(k).split()) if not isinstance(k, float) else None,
)
def test_memory_is_that_of_one_matrix(kernel, most):
    X, y = np.random.default_rng(0).normal(size=(2000, 1, 2)), np.arange(2000) % 2
    for fit in (lambda: clone(kernel).fit_transform(X), lambda: BagSVC(kernel, max_iter=10).fit(X, y)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ten iterations, of bags that are alike or not at all
            BagSVC(kernel).fit(X[:50], y[:50])  # loads compiled code
            tracemalloc.start()
            fit()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most * 8 * len(X) ** 2


def test_prediction_touches_support_bags_only(toy):
    X, y = toy
    model = BagSVC(SetKernel(gamma=0.3), C=100).fit(X, y)
    assert len(model.support_bags_) == len(model.support_) < len(X)
    assert model.support_bags_ == X[model.support_]


def test_instance_scores_are_exact_shares(toy):
    X, y = toy
    for kernel in (SetKernel(), SetKernel(normalization="cosine")):
        model = BagSVC(kernel).fit(X, y)
        total = [s.sum() for s in model.score_instances(X)]
        assert_allclose(np.add(total, model.svm_.intercept_), model.decision_function(X), atol=1e-10)
    model = BagSVR(SetKernel()).fit(X, y)
    total = [s.sum() for s in model.score_instances(X)]
    assert_allclose(np.add(total, model.svm_.intercept_), model.predict(X), atol=1e-10)


def test_probabilities_only_on_request(toy):
    X, y = toy
    assert not hasattr(BagSVC(), "predict_proba")
    model = CalibratedBagClassifier(BagSVC()).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (40, 2)
    assert_allclose(P.sum(axis=1), 1)
    assert roc_auc_score(y, P[:, 1]) > 0.9


def test_flat_target_without_support_bags(bags):
    model = BagSVR(SetKernel(gamma=1.0)).fit(bags, np.full(9, 3.0))
    assert_allclose(model.predict(bags), 3.0, atol=0.11)
    assert [len(s) for s in model.score_instances(bags)] == bags.sizes.tolist()


def test_grid_search_over_kernel_and_machine(toy):
    X, y = toy
    grid = {"C": [1, 10], "kernel__gamma": [0.1, 1.0], "kernel__normalization": ["mean", "cosine"]}
    search = GridSearchCV(BagSVC(SetKernel()), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.6


def test_leave_one_out_is_what_it_says(bags):
    def f(b):
        return np.array([x.sum() ** 2 for x in b])

    scores = leave_one_out(f, bags)
    for x, s in zip(bags, scores, strict=True):
        expected = [x.sum() ** 2 - np.delete(x, j, axis=0).sum() ** 2 for j in range(len(x))]
        assert_allclose(s, expected, rtol=1e-9, atol=1e-12)


def test_leave_one_out_in_small_blocks(bags, monkeypatch):
    from skmil.learners import base

    def f(b):
        return np.array([np.abs(x).max() for x in b])

    whole = leave_one_out(f, bags)
    monkeypatch.setattr(base, "LARGEST_BLOCK", 1)
    for a, b in zip(leave_one_out(f, bags), whole, strict=True):
        assert_array_equal(a, b)


def test_leave_one_out_watches_the_winning_class(bags):
    def f(b):
        return np.column_stack([b.sizes, 2 * b.sizes, -b.sizes])

    for s, m in zip(leave_one_out(f, bags), bags.sizes, strict=True):
        assert_allclose(s, 2.0 if m > 1 else 2.0 * m)


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_sil_pools_its_instances(pooling, toy):
    X, y = toy
    model = SIL(LogisticRegression(), pooling=pooling).fit(X, y)
    inner = LogisticRegression().fit(X.instances, np.repeat(y, X.sizes))
    scores = X.split(inner.decision_function(X.instances))
    assert_allclose(model.decision_function(X), [getattr(np, pooling)(s) for s in scores], rtol=1e-6)
    assert_allclose(np.concatenate(model.score_instances(X)), np.concatenate(scores), rtol=1e-6)


def test_sil_with_a_classifier_that_only_has_probabilities(toy):
    X, y = toy
    model = SIL(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    assert model.score(X, y) > 0.7


def test_pipeline_explains_a_linear_model_exactly(toy):
    X, y = toy
    steps = [("scale", BagScaler()), ("mean", MeanEmbedding()), ("svm", SVC(kernel="linear"))]
    model = BagPipeline(steps).fit(X, y)
    total = [s.sum() for s in model.score_instances(X)]
    assert_allclose(np.add(total, model[-1].intercept_), model.decision_function(X), atol=1e-10)


def test_pipeline_asks_a_bag_learner(toy):
    X, y = toy
    model = BagPipeline([("scale", BagScaler()), ("svm", BagSVC())]).fit(X, y)
    scaled = model[0].transform(X)
    for a, b in zip(model.score_instances(X), model[-1].score_instances(scaled), strict=True):
        assert_array_equal(a, b)


def test_pipeline_leaves_instances_out_elsewhere(toy):
    X, y = toy
    for last in (SVC(), DecisionTreeClassifier(random_state=0), Ridge(), SVC(kernel="linear")):
        target = np.arange(40) % 3 if isinstance(last, SVC) and last.kernel == "linear" else y
        model = BagPipeline([("stat", MinMaxEmbedding()), ("last", last)]).fit(X, target)
        assert [len(s) for s in model.score_instances(X)] == X.sizes.tolist()


def test_pipeline_forwards_learned_attributes(toy):
    X, y = toy
    model = BagPipeline([("scale", BagScaler()), ("svm", BagSVC())])
    with pytest.raises(AttributeError):
        _ = model.support_
    assert_array_equal(model.fit(X, y).support_, model[-1].support_)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = model.nonsense


def test_weights_that_cannot_be(toy):
    X, y = toy
    with pytest.raises(ValueError, match="40 bags but sample_weight has shape"):
        BagSVC().fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=r"the weight of bag 0 is -1"):
        BagSVC().fit(X, y, sample_weight=np.r_[-1, np.ones(39)])
    with pytest.raises(ValueError, match="the class '1' has no bag with a positive weight"):
        BagSVC().fit(X, y, sample_weight=1.0 - y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        BagSVR().fit(X, y, sample_weight=np.zeros(40))


def test_minimax_is_explained_by_leaving_out(toy):
    X, y = toy
    model = BagSVC(MinimaxKernel()).fit(X, y)
    i = int(np.argmax(X.sizes))
    without = Bags.from_list([np.delete(X[i], 0, axis=0)])
    expected = model.decision_function(X[i : i + 1]) - model.decision_function(without)
    assert_allclose(model.score_instances(X[i : i + 1])[0][0], expected[0], atol=1e-12)
