"""The linear machine through a Gram matrix is scikit-learn's linear SVC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from skmil.learners import WideLinearSVC


@parametrize_with_checks([WideLinearSVC()])
def test_scikit_learn_checks(estimator, check):
    if "sample_weight_equivalence" in check.func.__name__:
        estimator = clone(estimator).set_params(tol=1e-12)  # libsvm stops at a tolerance
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("to", [np.asarray, csr_array])
def test_it_is_the_linear_svc(n_classes, to):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * (rng.uniform(size=(60, 40)) < 0.3)
    y, w = rng.integers(n_classes, size=60), rng.uniform(0.5, 2, 60)
    X[:, 0] += 2 * y
    ours = WideLinearSVC(C=3.0, class_weight="balanced").fit(to(X[:40]), y[:40], w[:40])
    theirs = SVC(kernel="linear", C=3.0, class_weight="balanced").fit(X[:40], y[:40], w[:40])
    assert_allclose(ours.decision_function(to(X)), theirs.decision_function(X), atol=1e-6)
    assert_array_equal(ours.predict(to(X)), theirs.predict(X))
    assert hasattr(ours, "coef_") == (n_classes == 2)
    if n_classes == 2:
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


def test_a_class_without_weight_is_refused():
    y = np.arange(9) % 3
    with pytest.raises(ValueError, match="the class '1' has no bag with a positive weight"):
        WideLinearSVC().fit(np.eye(9), y, sample_weight=y != 1)


def test_a_weight_of_k_is_a_row_k_times():
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(30, 4)), rng.integers(2, size=30), rng.integers(0, 3, size=30)
    weighed = WideLinearSVC(tol=1e-12).fit(X, y, w)
    repeated = WideLinearSVC(tol=1e-12).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighed.decision_function(X), repeated.decision_function(X), atol=1e-6)
