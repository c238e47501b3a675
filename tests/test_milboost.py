"""MILBoost: likelihood and gradient against loops, a constant by hand, a likelihood that never falls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmil.learners import MILBoost
from skmil.learners.milboost import _NoisyOr
from tests import naive


def test_likelihood_and_gradient(bags):
    rng = np.random.default_rng(0)
    y, w = np.where(rng.random(len(bags)) < 0.5, 1.0, -1.0), rng.uniform(0.5, 2, len(bags))
    f = rng.normal(size=bags.offsets[-1])
    L = _NoisyOr(y, w, bags.offsets[:-1])
    assert_allclose(L(f), naive.noisy_or(bags.split(f), y > 0, w), rtol=1e-12)
    step = 1e-6 * np.eye(len(f))
    numeric = [(L(f + s) - L(f - s)) / 2e-6 for s in step]
    assert_allclose(L.gradient(f), numeric, rtol=1e-6, atol=1e-9)


def test_extreme_scores_stay_finite():
    L = _NoisyOr(np.array([1.0, -1.0]), np.ones(2), np.array([0, 2]))
    for f in ([-800.0, -800.0, 800.0], [800.0, 800.0, -800.0]):
        assert np.isfinite(L(np.array(f)))
        assert np.isfinite(L.gradient(np.array(f))).all()


def test_best_constant_by_hand():
    # With q = 1 - p: L = log(1 - q^2) + log q, largest at q = 1 / sqrt(3).
    model = MILBoost().fit([[[1.0], [1.0]], [[1.0]]], [1, 0])
    assert_allclose(model.intercept_, np.log(np.sqrt(3) - 1), atol=1e-4)
    assert_allclose(model.predict_proba([[[1.0]]])[0, 0], 1 / np.sqrt(3), atol=1e-4)


@pytest.mark.parametrize("depth", [1, 3])
def test_likelihood_never_falls(depth, toy):
    X, y = toy
    model = MILBoost(n_rounds=20, max_depth=depth).fit(X, y)
    assert (np.diff(model.log_likelihood_) > 0).all()
    assert len(model.trees_) == len(model.steps_) == len(model.log_likelihood_) - 1


def test_probability_of_a_bag_is_the_noisy_or(toy):
    X, y = toy
    model = MILBoost(n_rounds=10).fit(X, y)
    p = [1 - np.prod(1 - 1 / (1 + np.exp(-s))) for s in model.score_instances(X)]
    assert_allclose(model.predict_proba(X)[:, 1], p, atol=1e-10)
    assert_array_equal(model.predict(X), np.array(p) > 0.5)


def test_probabilities_of_three_classes(toy):
    X, _ = toy
    model = MILBoost(n_rounds=3).fit(X, np.arange(40) % 3)
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(P.argmax(axis=1), model.predict(X))


def test_the_step_is_where_the_slope_is_zero(toy):
    X, y = toy
    L = _NoisyOr(np.where(y == 1, 1.0, -1.0), np.ones(40), X.offsets[:-1])
    f, h = np.zeros(X.offsets[-1]), X.instances[:, 0] / np.abs(X.instances[:, 0]).max()
    step = L.climb(f, h, 0.0, 4.0)
    assert 0 < step < 4
    assert abs(L.gradient(f + step * h) @ h) < 1e-10
    assert L.climb(f, np.where(y[X.owner] == 1, 1.0, -1.0), 0.0, 4.0) == 4.0  # it rises all the way


def test_bad_learning_rate(toy):
    with pytest.raises(ValueError, match=r"learning_rate is 2; give a number in \(0, 1\]"):
        MILBoost(learning_rate=2).fit(*toy)
