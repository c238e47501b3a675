"""Axis-parallel rectangles."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr, ndtri

import skmil
from skmil.datasets import load_musk1
from skmil.learners import APR
from skmil.learners.apr import _start, discriminate, expand, grow
from tests import naive

TINY = [[[0.0, 1.0], [9.0, 5.0]], [[1.0, 7.0], [4.0, 8.0]], [[5.0, 0.0]], [[6.0, 9.0]]]


def grown(bags):
    P, offsets = np.concatenate(bags), np.cumsum([0] + [len(b) for b in bags])
    return P[grow(P, offsets)]


def test_by_hand():
    # The middle of the minimax box is ((4 + 1) / 2, (5 + 7) / 2), so (1, 7) starts. (0, 1) adds 1 + 6 to
    # the sides and (9, 5) would add 8 + 2; going back, (4, 8) is no better beside (0, 1).
    assert_array_equal(grown([np.array(b) for b in TINY[:2]]), [[0, 1], [1, 7]])
    # Feature 0 excludes both negatives by 4 and 5, feature 1 by 1 and 2, and one feature is enough.
    model = APR(margin=3.0).fit(TINY, [1, 1, 0, 0])
    assert model.features_.tolist() == [0] and (model.tight_low_, model.tight_high_) == ([0.0], [1.0])


def test_start_is_near_the_middle_of_the_minimax_box():
    P = np.array([[0.0], [4.0], [3.0], [10.0], [6.0]])
    # Bags {0, 4}, {3, 10}, {6}: every bag reaches [4, 6], whose middle 5 is nearest to 4.
    assert _start(P, np.array([0, 2, 4, 5])) == 1


def test_growing_finds_small_boxes():
    rng = np.random.default_rng(0)
    found, smallest = [], []
    for _ in range(30):
        bags = [rng.normal(size=(3, 2)) for _ in range(5)]
        found.append(np.ptp(grown(bags), axis=0).sum())
        smallest.append(naive.smallest_box(bags))
    assert (np.array(found) >= np.array(smallest) - 1e-12).all()
    assert np.isclose(found, smallest).mean() >= 0.5
    assert np.mean(np.array(found) / smallest) < 1.15


def test_growing_is_the_naive_one_with_ties_too():
    rng = np.random.default_rng(2)
    for draw in (lambda shape: rng.normal(size=shape), lambda shape: rng.integers(0, 6, shape) * 1.0) * 8:
        bags = [draw((rng.integers(1, 5), 3)) for _ in range(rng.integers(1, 12))]
        P, offsets = np.concatenate(bags), np.cumsum([0] + [len(b) for b in bags])
        start = _start(P, offsets)
        bag = int(np.searchsorted(offsets, start, side="right")) - 1
        assert_array_equal(grown(bags), naive.grown_box(bags, (bag, start - offsets[bag])))


def test_no_single_replacement_makes_the_box_smaller():
    rng = np.random.default_rng(1)
    bags = [rng.normal(size=(rng.integers(1, 9), 4)) for _ in range(12)]
    box = grown(bags)
    size = np.ptp(box, axis=0).sum()
    for i, b in enumerate(bags):
        assert any((box[i] == x).all() for x in b)
        for x in b:
            assert np.ptp(np.vstack([np.delete(box, i, axis=0), x]), axis=0).sum() >= size - 1e-9


def test_features_are_chosen_greedily():
    low, high = np.zeros(3), np.ones(3)
    N = np.array([[3.0, 0.5, 0.5], [4.0, 3.0, 0.5], [0.5, 3.0, 0.5], [0.5, 0.5, 0.5], [0.5, 1.2, 1.1]])
    # Feature 1 excludes instances 1 and 2 and, as its furthest, 4; feature 0 then excludes 0; 3 is inside.
    one = np.ones(5)
    assert_array_equal(discriminate(N, low, high, one, 1.0), [0, 1])
    assert_array_equal(discriminate(N[[3]], low, high, one[:1], 1.0), [])
    # With a margin that nothing reaches only the furthest feature counts.
    assert_array_equal(discriminate(np.array([[3.0, 2.0, 4.0]]), low, high, one[:1], 100.0), [2])


def test_expansion_leaves_epsilon_outside():
    rng = np.random.default_rng(0)
    P, tau, epsilon = rng.normal(size=(20, 3)), 0.99, 0.05
    tight = P.min(axis=0), P.max(axis=0)
    low, high = expand(P, *tight, np.ones(20), tau, epsilon)
    for x, a, b in zip(P.T, low, high, strict=True):
        width = np.ptp(x) / 2 / ndtri((1 + tau) / 2)
        assert_allclose(ndtr((a - x) / width).mean(), epsilon / 2, rtol=1e-6)
        assert_allclose(1 - ndtr((b - x) / width).mean(), epsilon / 2, rtol=1e-6)
    doubled = expand(np.vstack([P, P[:5]]), *tight, np.ones(25), tau, epsilon)
    assert_allclose(expand(P, *tight, np.r_[np.full(5, 2.0), np.ones(15)], tau, epsilon), doubled)


def test_expansion_asks_the_instances_between_the_sides_of_each_feature():
    low, high = np.zeros(2), np.ones(2)
    P = np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 9.0], [0.9, -9.0]])
    both = expand(P, low, high, np.ones(4), 0.99, 0.01)
    for k, x in enumerate([P[:, :1], P[:2, 1:]]):
        alone = expand(x, low[:1], high[:1], np.ones(len(x)), 0.99, 0.01)
        assert_allclose([side[k] for side in both], [side[0] for side in alone])


def test_expansion_never_cuts_into_the_box():
    # One outlier among a thousand: a share of 0.01 outside would leave it out.
    P = np.r_[np.zeros(999), 10.0][:, None]
    low, high = expand(P, np.array([0.0]), np.array([10.0]), np.ones(1000), 0.999, 0.01)
    assert low <= 0 and high >= 10


def test_a_feature_that_was_left_out_can_come_back():
    # In all features (1, 1, 9) makes the smaller box, and feature 0 alone excludes the negatives. Along it
    # (0.5, 12, 1) is closer, and beside that feature 2 excludes all of them, and feature 0 one less.
    X = [[[0.0, 0.0, 0.0]], [[1.0, 1.0, 9.0], [0.5, 12.0, 1.0]]]
    X += [[[9.0, 0.5, 8.0]], [[7.0, 0.5, 12.0]], [[1.1, 0.5, 8.5]]]
    found = [
        APR(margin=5.0, reconsider=r).fit(X, [1, 1, 0, 0, 0]).features_.tolist() for r in (False, True)
    ]
    assert found == [[0], [2]]


def test_smaller_tau_or_epsilon_makes_a_larger_box(toy):
    def size(**settings):
        model = APR(**settings).fit(*toy)
        return (model.high_ - model.low_).sum()

    assert size(tau=0.9) > size() and size(epsilon=1e-4) > size()


def test_a_needle_is_found():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = [rng.uniform(0, 100, size=(6, 10)) for _ in y]
    for b, label in zip(X, y, strict=True):
        if label:
            b[3, [2, 7]] = rng.uniform([40, 10], [44, 14])
    model = APR(margin=20.0).fit(X[:40], y[:40])
    assert {2, 7} <= set(model.features_)
    assert model.score(X[40:], y[40:]) > 0.8
    assert (
        np.mean([np.argmax(s) == 3 for s, label in zip(model.score_instances(X), y, strict=True) if label])
        > 0.7
    )


def test_margin_of_an_instance():
    model = APR().fit([[[0.0]], [[1.0]], [[5.0]]], [1, 1, 0])
    low, high = model.low_[0], model.high_[0]
    bag = [[(low + high) / 2], [low], [high + (high - low) / 2], [(3 * low + high) / 4]]
    assert_allclose(model.score_instances([bag])[0], [1, 0, -1, 0.5], atol=1e-12)
    assert_allclose(model.decision_function([bag, bag[2:3]]), [1, -1])


def test_constant_features_and_one_positive_bag():
    model = APR().fit([[[0.0, 3.0]], [[5.0, 3.0]]], [1, 0])
    assert_array_equal(model.predict([[[0.0, 3.0]], [[5.0, 3.0]]]), [1, 0])
    same = APR().fit([[[1.0]], [[1.0]]], [1, 0])
    assert np.isfinite(same.decision_function([[[1.0]], [[2.0]]])).all()


def test_musk1_near_the_published_accuracy_with_the_tau_of_the_paper():
    X, y = load_musk1(return_X_y=True)
    train = np.arange(92) % 4 > 0
    model = skmil.method("APR", apr__tau=0.999).fit(X[train], y[train])
    assert model.score(X[~train], y[~train]) > 0.75
    assert 10 <= len(model.features_) <= 40
