"""TLC: node counts against a walk down the tree, leave-one-out in counts, rules that need counting."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmil import Bags
from skmil.learners import TLC, leave_one_out
from skmil.learners.c45 import C45Partition
from tests import naive


def test_splits_are_those_of_the_definitions():
    rng = np.random.default_rng(0)
    grown = 0
    for _ in range(20):
        X, w = rng.normal(size=(40, 3)).round(1), rng.uniform(0.2, 2, 40)
        y = np.where(X[:, 1] + rng.normal(0, 0.7, 40) > 0, 1.0, -1.0)
        tree = C45Partition().fit(X, y, sample_weight=w)
        expected = naive.c45_split(X, y, w * 40 / w.sum(), 2.0)
        assert (tree.feature_[0] >= 0) == (expected is not None)
        if expected is not None:
            grown += 1
            assert tree.feature_[0] == expected[0]
            assert_allclose(tree.threshold_[0], expected[1])
    assert grown > 15


def test_first_split_by_hand():
    # Both features tell the classes apart; the first cuts off one instance of four, so that its
    # gain is smaller, and the second halves the node: gain 1 - log2(3) / 4.
    X = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 4.0], [1.0, 5.0]])
    tree = C45Partition(min_weight=1.0).fit(X, [-1, -1, 1, 1])
    assert (tree.feature_[0], tree.threshold_[0]) == (1, 2.5)
    assert_array_equal(tree.feature_, [1, -1, -1])


def test_counts_are_those_of_a_walk(toy):
    X, y = toy
    model = TLC().fit(X, y)
    counts = model._counts(X).toarray()
    assert counts.shape[1] > 1
    assert_array_equal(counts, naive.tree_counts(model.tree_, X))
    assert_array_equal(counts[:, 0], X.sizes)  # the root holds all


def test_all_bags_weigh_the_same(bags):
    class Spy(C45Partition):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.weight_ = sample_weight
            return self

    w = np.arange(1.0, 10.0)
    model = TLC(Spy()).fit(bags, [0, 1, 0, 1, 1, 0, 1, 0, 1], sample_weight=w)
    assert_allclose([part.sum() for part in bags.split(model.tree_.weight_)], w)


def test_any_tree_below_takes_sparse_features(toy):
    X, y = toy
    csr = X.with_instances(sparse.csr_matrix(X.instances))
    tree = DecisionTreeClassifier(random_state=0)
    dense, thin = TLC(tree).fit(X, y), TLC(tree).fit(csr, y)
    assert_allclose(thin.decision_function(csr), dense.decision_function(X))
    with pytest.raises(TypeError, match="needs dense features"):
        TLC().fit(csr, y)


def test_scores_are_leave_one_out(toy):
    X, y = toy
    model = TLC().fit(X, y)
    expected = leave_one_out(model.decision_function, X)
    assert_allclose(np.concatenate(model.score_instances(X)), np.concatenate(expected), atol=1e-12)


def test_learns_a_threshold_on_counts():
    rng = np.random.default_rng(0)
    near = rng.integers(0, 7, 120)  # instances near 5; positive from four on
    X = Bags.from_list(
        [np.r_[rng.normal(5, 0.3, (k, 2)), rng.normal(0, 1, (rng.integers(1, 6), 2))] for k in near]
    )
    y = np.where(near >= 4, "many", "few")
    assert TLC().fit(X[:60], y[:60]).score(X[60:], y[60:]) > 0.9


def test_any_classifier_on_top(toy):
    X, y = toy
    assert TLC(estimator=LogisticRegression(C=10)).fit(X, y).score(X, y) > 0.8
    assert TLC(estimator=DecisionTreeClassifier(max_depth=3)).fit(X, y).score(X, y) > 0.8


def test_twice_the_same_bits(toy):
    X, y = toy
    a, b = (TLC().fit(X, y).decision_function(X) for _ in range(2))
    assert_array_equal(a, b)
