"""TLC: node counts against a walk down the tree, leave-one-out in counts, rules that need counting."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmil import Bags
from skmil.learners import TLC, leave_one_out
from tests import naive


def test_counts_are_those_of_a_walk(toy):
    X, y = toy
    model = TLC(random_state=0).fit(X, y)
    counts = model._counts(X).toarray()
    assert_array_equal(counts, naive.tree_counts(model.tree_, X))
    assert_array_equal(counts[:, 0], X.sizes)  # the root holds all


def test_all_bags_weigh_the_same():
    # A large negative bag must not outvote small positive ones: weights halve, so no label wins.
    X = [np.zeros((10, 1)), np.zeros((1, 1)), np.ones((2, 1))]
    tree = TLC(random_state=0).fit(X, [0, 1, 1]).tree_
    zero = tree.tree_.value[tree.apply(np.zeros((1, 1)))[0]].ravel()
    assert_allclose(zero[0], zero[1])


def test_scores_are_leave_one_out(toy):
    X, y = toy
    model = TLC(random_state=0).fit(X, y)
    expected = leave_one_out(model.decision_function, X)
    assert_allclose(np.concatenate(model.score_instances(X)), np.concatenate(expected), atol=1e-12)


def test_learns_a_threshold_on_counts():
    rng = np.random.default_rng(0)
    near = rng.integers(0, 7, 120)  # instances near 5; positive from four on
    X = Bags.from_list(
        [np.r_[rng.normal(5, 0.3, (k, 2)), rng.normal(0, 1, (rng.integers(1, 6), 2))] for k in near]
    )
    y = np.where(near >= 4, "many", "few")
    assert TLC(random_state=0).fit(X[:60], y[:60]).score(X[60:], y[60:]) > 0.9


def test_any_classifier_on_top(toy):
    X, y = toy
    assert TLC(LogisticRegression(C=10)).fit(X, y).score(X, y) > 0.8
    assert TLC(DecisionTreeClassifier(max_depth=3)).fit(X, y).score(X, y) > 0.8


def test_same_seed_same_bits(toy):
    X, y = toy
    a, b = (TLC(random_state=3).fit(X, y).decision_function(X) for _ in range(2))
    assert_array_equal(a, b)
