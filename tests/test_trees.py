"""Regression trees: scikit-learn's where one cut is best; a rule, and not rounding, where several are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from skmil._engines.trees import RegressionTree, StumpBoost, sorted_columns
from skmil.learners.c45 import C45Partition


def grown(X, t, w, depth=1):
    tree = RegressionTree(depth)
    leaf = tree.grow(sorted_columns(X), t, w)
    assert_array_equal(leaf, tree.apply(X))
    return tree


def table(rng, n=60, d=5, zeros=0.4):
    """Few values in single precision, which is what scikit-learn's trees see."""
    X = rng.normal(size=(n, d)).round(1) * (rng.random((n, d)) > zeros)
    return X.astype(np.float32).astype(float), rng.normal(size=n), rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_scikit_learn_grows_the_same_tree(depth):
    for seed in range(10):
        X, t, w = table(np.random.default_rng(seed))
        theirs = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X, t, sample_weight=w)
        ours = grown(X, t, w, depth)
        assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("to", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_is_dense(to):
    for seed in range(10):
        X, t, w = table(np.random.default_rng(seed))
        dense, thin = grown(X, t, w, 3), grown(to(X), t, w, 3)
        assert_array_equal(thin.feature_, dense.feature_)
        assert_allclose(thin.threshold_, dense.threshold_)
        assert_allclose(thin.predict(to(X)), dense.predict(X))


def test_ties_do_not_depend_on_order_or_on_copies():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, t = rng.random((12, 40)), rng.integers(0, 2, 12) - 0.3  # forty features, hardly one best cut
        times = rng.integers(1, 5, 12)
        shuffled, rows = rng.permutation(12), np.repeat(np.arange(12), times)
        trees = [
            grown(X, t, times / 3.0, 2),
            grown(X[shuffled], t[shuffled], times[shuffled] / 3.0, 2),
            grown(X[rows], t[rows], np.ones(len(rows)), 2),
        ]
        for tree in trees[1:]:
            assert_array_equal(tree.feature_, trees[0].feature_)
            assert_allclose(tree.threshold_, trees[0].threshold_)


def test_the_first_of_equal_features_wins():
    x = np.array([0.0, 0.1, 0.7, 0.9])
    X = np.column_stack([x[::-1], x, 3 * x])
    for w in (np.ones(4), np.array([0.1, 0.2, 0.3, 0.7])):
        assert grown(X, x > 0.5, w).feature_[0] == 0
        assert C45Partition(1.0).fit(X, np.where(x > 0.5, 1, -1), 10 * w).feature_[0] == 0


def test_no_cut_where_there_is_nothing_to_gain():
    X = np.arange(6.0)[:, None]
    assert len(grown(X, np.full(6, 0.1), np.arange(1.0, 7.0), 3).feature_) == 1
    assert len(grown(np.ones((6, 2)), np.arange(6.0), np.ones(6), 3).feature_) == 1


def test_stumps_are_those_of_gradient_boosting():
    for seed in range(5):
        X, t, w = table(np.random.default_rng(seed))
        y = np.where(t + X[:, 0] > 0, 1, -1)
        theirs = GradientBoostingClassifier(max_depth=1, learning_rate=1.0, n_estimators=8, random_state=0)
        theirs.fit(X, y, sample_weight=w)
        ours = StumpBoost(8).fit(sparse.csr_array(X), y, sample_weight=w)
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-6)


def test_boosting_ends_certain_and_finite():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([-1, -1, 1])
    f = StumpBoost(500).fit(X, y).decision_function(X)
    assert np.isfinite(f).all() and (np.sign(f) == y).all()
