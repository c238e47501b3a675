"""What a fitted model keeps: what it learned last, in memory of its own, and no more bags than it needs."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skmil import Bags
from skmil.kernels import BoxKernel, EmpiricalMap, MinimaxKernel, Normalized, Power, SetKernel
from skmil.learners import MICA, MILES, SIL, AnnealedSVM, BagPipeline, BagSVC, BagSVR, WideLinearSVC
from skmil.preprocessing import BagImputer, ForInstances
from tests.catalogue import CLASSIFIERS, EMBEDDINGS, KERNELS, PREPROCESSORS, REGRESSORS

BEFORE = [*PREPROCESSORS, BagImputer(), ForInstances(StandardScaler(with_mean=False))]
ALL = KERNELS + EMBEDDINGS + BEFORE + CLASSIFIERS + REGRESSORS


def made(n, seed, size=3, classes=2):
    """A table of instances, offsets of bags of one size, labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, size, 3))
    X[:, 0] += 3.0 * (y[:, None] == 1)
    return X, y


def target(estimator, y):
    return y.astype(float) if estimator in REGRESSORS else y


def answers(model, X) -> np.ndarray:
    """What a fitted model says about bags, as one table."""
    name = next(n for n in ("decision_function", "predict", "transform") if hasattr(model, n))
    found = getattr(model, name)(X)
    found = found.instances if isinstance(found, Bags) else found
    return found.toarray() if sparse.issparse(found) else np.asarray(found)


def learned(model) -> set[str]:
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_a_second_fit_knows_nothing_of_the_first(estimator):
    A, a = made(18, 0, size=2, classes=3)
    B, b = made(16, 1)
    again = clone(estimator).fit(A[:, :, :2] * 5, target(estimator, a)).fit(B, target(estimator, b))
    once = clone(estimator).fit(B, target(estimator, b))
    assert learned(again) == learned(once)
    assert_array_equal(answers(again, B), answers(once, B))


def test_three_classes_then_two_leave_no_machines_behind():
    X, y = made(18, 0, classes=3)
    model = MILES(gamma=0.5).fit(X, y)
    assert len(model.estimators_) == 3
    model.fit(X[y < 2], y[y < 2])
    assert not hasattr(model, "estimators_") and len(model.selected_)
    wide = WideLinearSVC().fit(X[y < 2, 0], y[y < 2])
    assert not hasattr(wide.fit(X[:, 0], y), "coef_")


@pytest.mark.parametrize("estimator", [*ALL, SIL(KNeighborsClassifier())], ids=repr)
@pytest.mark.parametrize("give", ["array", "bags", "sparse"])
def test_writing_to_the_input_after_fit_changes_nothing(estimator, give):
    X, y = made(16, 0)
    table, offsets, new = X.reshape(-1, 3).copy(), np.arange(17) * 3, made(6, 1)[0]
    given = {"array": X.copy(), "bags": table, "sparse": sparse.csr_matrix(table)}[give]
    if give == "sparse" and not estimator.__sklearn_tags__().input_tags.sparse:
        pytest.skip("dense features only")
    labels = target(estimator, y).copy()
    model = clone(estimator).fit(given if give == "array" else Bags(given, offsets), labels)
    before = answers(model, new)
    values = given.data if give == "sparse" else given
    values[...] = np.random.default_rng(2).normal(size=values.shape) * 9
    offsets[1:-1] += 1
    labels[:] = labels[::-1]
    assert_array_equal(answers(model, new), before)


def test_anchors_may_be_overwritten_too():
    X, anchors = made(6, 0)[0], made(4, 1)[0]
    k = EmpiricalMap(SetKernel(gamma=0.5), anchors=anchors).fit(X)
    before = k(X)
    anchors[:] = 0.0
    assert_array_equal(k(X), before)


def bags_in(part, seen):
    """All training bags inside an object."""
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, Bags):
        yield part
    elif isinstance(part, BaseEstimator):
        for value in vars(part).values():
            yield from bags_in(value, seen)


SET = SetKernel(gamma=0.001)


@pytest.mark.parametrize(
    "kernel",
    [SET, Normalized(SET), Power(SET), SET + MinimaxKernel(), SET * Normalized(SET), Normalized(SET + SET)],
    ids=repr,
)
def test_a_machine_keeps_no_bag_that_it_does_not_need(kernel):
    X, y = made(40, 0)
    X[y == 1] += 20.0
    model = BagSVC(kernel).fit(X, y)
    new = made(5, 1)[0]
    assert len(model.support_) < 20
    assert {len(b) for b in bags_in(model, set())} == {len(model.support_)}
    K = clone(kernel).fit(X, y)(new, X[model.support_])
    expected = K @ model.svm_.dual_coef_.ravel() + model.svm_.intercept_
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-9)


@pytest.mark.parametrize("learner", [BagSVC(SET), BagSVR(SET)], ids=repr)
def test_support_bags_are_numbered_as_given(learner):
    X, y = made(20, 0)
    w = np.where(np.arange(20) % 4 < 2, 0.0, 1.0)
    model = clone(learner).fit(X, y, sample_weight=w)
    assert (w[model.support_] > 0).all()
    assert_array_equal(model.support_bags_.instances, X[model.support_].reshape(-1, 3))
    some = clone(learner).fit(X[w > 0], y[w > 0])
    assert_array_equal(np.flatnonzero(w)[some.support_], model.support_)
    assert_array_equal(model.predict(X), some.predict(X))
    assert len(model.score_instances(X)) == 20


@pytest.mark.parametrize("classes", [2, 3])
def test_selected_instances_are_numbered_as_given(classes):
    X, y = made(24, 0, classes=classes)
    w = np.where(np.arange(24) < 8, 0.0, 1.0)
    model = MILES(gamma=0.5).fit(X, y, sample_weight=w)
    for part in getattr(model, "estimators_", [model]):
        assert len(part.selected_) and (part.selected_bags_ >= 8).all()
        assert_array_equal(part.selected_ // 3, part.selected_bags_)
        assert_array_equal(X.reshape(-1, 3)[part.selected_], part.selected_instances_)


@pytest.mark.parametrize("learner", [AnnealedSVM("witness", gamma=0.5), MICA(gamma=0.5)], ids=repr)
def test_witnesses_are_numbered_as_given(learner):
    X, y = made(20, 0)
    w = np.where(np.arange(20) < 6, 0.0, 1.0)
    model = clone(learner).fit(X, y, sample_weight=w)
    assert_array_equal(model.witness_ >= 0, (y == 1) & (w > 0))
    assert [len(p) for p in model.instance_probability_] == [3] * 20
    assert all(p.sum() == 0 for p in model.instance_probability_[:6])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_call_does_not_fit_a_kernel(kernel):
    X = made(4, 0)[0]
    k = clone(kernel)
    try:
        k(X)
    except NotFittedError:
        pass
    with pytest.raises(NotFittedError):
        k.transform(X)


def test_the_report_of_a_call_without_fit():
    k = BoxKernel(method="exact")
    k([[[0.0]], [[1.0]]])
    assert sum(k.report_.entries.values()) > 0


def test_learned_attributes_of_a_pipeline():
    X, y = made(12, 0)
    model = BagPipeline([("svm", BagSVC(SET))]).fit(X, y)
    assert_array_equal(model.support_, model.steps[-1][1].support_)
