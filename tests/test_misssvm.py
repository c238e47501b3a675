"""MissSVM: a separable case by hand, the objective against its formula, one that never rises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from skmil.learners import MILES, TLC, BallBoost, MILBoost, MissSVM
from skmil.learners.annealing.dual import DualMachine
from skmil.learners.misssvm import _Problem


def test_widest_gap_by_hand():
    # The witnesses 5 and 5.1 and the negatives 0.1 and 0.3 are separated at (0.3 + 5) / 2 with
    # f(0.3) = -1 and f(5) = 1; all unlabelled instances lie outside the margin already.
    X = [[[0.0], [5.0]], [[0.1]], [[0.2], [5.1]], [[0.3]]]
    model = MissSVM("linear", C=1e4, tol=1e-6).fit(X, [1, 0, 1, 0])
    slope = 2 / 4.7
    expected = [slope * (x - 2.65) for x in (0.0, 5.0)]
    assert_allclose(model.score_instances(X)[0], expected, atol=1e-3)
    assert_allclose(model.objective_[-1], slope**2 / 2, rtol=1e-3)


def test_unlabelled_instances_push_the_border_away():
    # Without them the border between -1 and 1 is 0; one at 0.2 wants it at its left, all the more
    # the more it counts.
    X = [[[1.0], [0.2]], [[-1.0]]]
    f = [MissSVM("linear", C=10.0, beta=b).fit(X, [1, 0]).score_instances(X)[0][1] for b in (0, 1.0)]
    assert_allclose(f[0], 0.2, atol=1e-3)
    assert f[1] > f[0] + 0.1


def objective(model, X, y, w):
    """The formula of the docstring, term by term."""
    f, sv, alpha = model.score_instances(X), model.support_instances_, model.coef_
    total = alpha @ rbf_kernel(sv, sv, gamma=model.gamma) @ alpha / 2
    mean = {s: np.average(X.sizes[y == s], weights=w[y == s]) for s in (0, 1)}
    for scores, label, weight in zip(f, y, w, strict=True):
        for t in scores:
            hidden = min(max(0, 1 - t), max(0, 1 + t)) * model.beta
            total += model.C * weight / mean[label] * (hidden if label else max(0, 1 + t))
        total += model.C * weight * max(0, 1 - scores.max()) * label
    return total


@pytest.mark.parametrize("C", [0.3, 3.0, 100.0])
def test_objective_is_the_formula_and_never_rises(C, toy):
    X, y = toy
    w = np.linspace(0.5, 2.0, len(y))
    model = MissSVM(gamma=0.3, C=C, beta=0.5).fit(X, y, sample_weight=w)
    assert_allclose(model.objective_[-1], objective(model, X, y, w), rtol=1e-6)
    assert (np.diff(model.objective_) < 0).all()
    assert model.n_iter_ == len(model.objective_) >= 1


def test_a_bag_is_as_positive_as_its_highest_instance(toy):
    X, y = toy
    model = MissSVM(C=10.0).fit(X, y)
    highest = [s.max() for s in model.score_instances(X)]
    assert_array_equal(model.decision_function(X), highest)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_the_last_step_is_the_machine_of_libsvm(kernel, toy):
    # One step from the start: the same costs, one row per instance and side, given to another solver.
    X, y = toy
    model = MissSVM(kernel, gamma=0.3, C=3.0, max_iter=1, tol=1e-6).fit(X, y)
    problem = _Problem(X, np.where(y == 1, 1, -1), np.ones(len(y)), 1.0)

    def solved(costs):
        side, rows = np.nonzero(costs)
        svc = SVC(C=3.0, kernel=kernel, gamma=0.3, tol=1e-6)
        svc.fit(X.instances[rows], 1 - 2 * side, sample_weight=costs[side, rows])
        return svc.decision_function(X.instances)

    f = solved(problem.majorised(solved(problem.start())))
    assert_allclose(np.concatenate(model.score_instances(X)), f, atol=2e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_sparse_instances_give_the_same_machine(kernel, toy):
    X, y = toy
    thin = X.with_instances(sparse.csr_matrix(X.instances))
    model = MissSVM(kernel, gamma=0.3, C=3.0, tol=1e-6).fit(X, y)
    other = MissSVM(kernel, gamma=0.3, C=3.0, tol=1e-6).fit(thin, y)
    assert_allclose(other.objective_, model.objective_, rtol=1e-3)


def test_features_from_all_instances_are_the_exact_kernel(toy):
    X, y = toy
    exact, whole, few = (
        MissSVM(gamma=0.3, C=3.0, n_components=r).fit(X, y) for r in (None, len(X.instances), 4)
    )
    assert exact.kernel_error_ == 0 and whole.kernel_error_ < 1e-9 and 0 < few.kernel_error_ < 1
    assert_allclose(whole.objective_, exact.objective_, rtol=1e-4)
    assert_allclose(whole.decision_function(X), exact.decision_function(X), atol=5e-3)


def test_a_machine_that_runs_out_of_iterations_is_named(toy, monkeypatch):
    fit = DualMachine.fit

    def short(self, costs, mixing=None):
        self.max_iter = 1
        return fit(self, costs, mixing)

    monkeypatch.setattr(DualMachine, "fit", short)
    with pytest.warns(ConvergenceWarning, match="MissSVM: the last SVM ran out of iterations"):
        MissSVM(gamma=0.3, C=3.0).fit(*toy)


def test_gamma_factor_multiplies_gamma(toy):
    X, y = toy
    two, one = MissSVM(gamma=0.3, gamma_factor=2.0).fit(X, y), MissSVM(gamma=0.6).fit(X, y)
    assert_array_equal(two.decision_function(X), one.decision_function(X))


LEARNERS = [
    MILES(),
    TLC(),
    BallBoost(),
    BallBoost("box"),
    MILBoost(5),
    MissSVM(),
]


@pytest.mark.parametrize("model", LEARNERS, ids=repr)
class TestOddInput:
    """What real data brings: constant columns, single instances, copies, one positive bag."""

    def check(self, model, X, y):
        model.fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert all(np.isfinite(s).all() for s in model.score_instances(X))
        return model.score(X, y)

    def test_constant_columns(self, model):
        rng = np.random.default_rng(0)
        y = np.arange(12) % 2
        X = [np.c_[rng.normal(4 * s, 1, (3, 1)), np.full((3, 2), 7.0)] for s in y]
        assert self.check(model, X, y) > 0.8

    def test_single_instances_are_points(self, model):
        rng = np.random.default_rng(0)
        y = np.arange(20) % 2
        assert self.check(model, rng.normal(5 * y[:, None], 1, (20, 2))[:, None], y) > 0.9

    def test_copies_only(self, model):
        X = [[[1.0, 2.0]] * m for m in (1, 2, 3, 4)]
        assert self.check(model, X, ["a", "b", "a", "b"]) >= 0.5

    def test_one_positive_bag(self, model):
        rng = np.random.default_rng(0)
        X = [rng.normal(size=(3, 2)) for _ in range(9)] + [rng.normal(9, 1, (3, 2))]
        assert self.check(model, X, [0] * 9 + [1]) >= 0.9
