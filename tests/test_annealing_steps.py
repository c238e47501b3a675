"""The two steps of the annealed SVMs against slow optimisers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import xlogy

from skmil import Bags
from skmil.learners.annealing.assumptions import AllLabels, ConvexWitness, Witness
from skmil.learners.annealing.dual import DualMachine
from skmil.learners.annealing.losses import losses
from skmil.learners.annealing.primal import PrimalMachine
from tests.naive import best_hard_labels, label_objective, two_cost_svm

SIZES = (1, 2, 5, 9, 3)
Y = np.array([1.0, 1.0, -1.0, 1.0, 1.0])
LOSSES = ("squared_hinge", "hinge")


@pytest.fixture
def five():
    rng = np.random.default_rng(3)
    return Bags.from_list([rng.normal(size=(m, 2)) for m in SIZES])


def values(bags, seed=0, scale=2.0):
    return np.random.default_rng(seed).normal(-1.0, scale, size=bags.offsets[-1])


def problem(kind, bags, C=3.0, loss="squared_hinge", **options):
    return kind(bags, Y, np.ones(len(bags)), C, loss, **options)


def in_positive_bags(bags, *arrays):
    return [parts for y, *parts in zip(Y, *(bags.split(a) for a in arrays), strict=True) if y > 0]


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # older SciPy says so
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("T", [0.5, 3.0, 100.0])
@pytest.mark.parametrize("share", [None, 0.2, 0.9])
def test_soft_labels_minimise(five, loss, T, share):
    f = values(five)
    p = problem(AllLabels, five, loss=loss, share=share, share_cost=2.0).step(f, T)
    e = 3.0 * (losses(f, loss)[0] - losses(f, loss)[1])
    extra = (0.0, 0.0) if share is None else (share, 2.0)
    for q, cost in in_positive_bags(five, p, e):
        slow = minimize(
            lambda v, c=cost: label_objective(v, c, T, *extra),
            np.full(len(q), 0.9),
            bounds=[(1e-12, 1 - 1e-12)] * len(q),
            constraints={"type": "ineq", "fun": lambda v: v.sum() - 1},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-13},
        )
        assert label_objective(q, cost, T, *extra) <= slow.fun + 1e-6 * (1 + abs(slow.fun))
    assert_array_equal(five.split(p)[2], 0.0)


@pytest.mark.parametrize("T", 10.0 ** np.arange(-10, 4))
@pytest.mark.parametrize("share", [None, 0.05, 0.7])
def test_at_least_one_positive_at_any_temperature(five, T, share):
    for seed in range(5):
        f = values(five, seed, scale=10.0**seed / 10)
        p = problem(AllLabels, five, C=100.0, share=share).step(f, T)
        sums = [q.sum() for (q,) in in_positive_bags(five, p)]
        assert np.min(sums) >= 1 - 1e-9
        assert p.min() >= 0 and p.max() <= 1


@pytest.mark.parametrize("share", [None, 0.1, 0.5, 1.0])
def test_hard_labels_are_the_best_of_all(five, share):
    extra = (0.0, 0.0) if share is None else (share, 5.0)
    for seed in range(10):
        f = values(five, seed)
        p = problem(AllLabels, five, share=share, share_cost=5.0).step(f, 0.0)
        e = 3.0 * (losses(f, "squared_hinge")[0] - losses(f, "squared_hinge")[1])
        for q, cost in in_positive_bags(five, p, e):
            assert_array_equal(q, best_hard_labels(cost, *extra))


def test_cold_labels_are_hard_labels(five):
    f = values(five)
    labels = problem(AllLabels, five)
    assert_allclose(labels.step(f, 1e-8), labels.step(f, 0.0), atol=1e-9)


def test_labels_stay_ordered_like_f(five):
    f = values(five)
    for p, v in in_positive_bags(five, problem(AllLabels, five, share=0.4).step(f, 2.0), f):
        assert (np.diff(p[np.argsort(v)]) >= 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_witness_is_a_softmax_of_the_loss(five, loss):
    f = values(five)
    p = problem(Witness, five, loss=loss).step(f, 2.0)
    for q, v in in_positive_bags(five, p, f):
        weight = np.exp(-3.0 * losses(v, loss)[0] / 2.0)
        assert_allclose(q, weight / weight.sum(), rtol=1e-12)
    hard = problem(Witness, five, loss=loss).step(f, 0.0)
    assert all(np.argmax(v) == np.argmax(q) and q.sum() == 1 for q, v in in_positive_bags(five, hard, f))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("T", [0.3, 5.0])
@pytest.mark.parametrize("shift", [-1.0, 1.5])
def test_convex_witness_minimises(five, loss, T, shift):
    f = values(five) + 1.0 + shift
    p = problem(ConvexWitness, five, loss=loss).step(f, T)

    def cost(q, v):
        return 3.0 * losses(np.array([q @ v]), loss)[0, 0] + T * np.sum(q * np.log(np.maximum(q, 1e-300)))

    for q, v in in_positive_bags(five, p, f):
        assert_allclose(q.sum(), 1.0, atol=1e-12)
        slow = minimize(
            cost,
            np.full(len(q), 1 / len(q)),
            args=(v,),
            bounds=[(0, 1)] * len(q),
            constraints={"type": "eq", "fun": lambda u: u.sum() - 1},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-13},
        )
        assert cost(q, v) <= slow.fun + 1e-6


def test_convex_witness_at_zero_is_shared_by_instances_without_loss(five):
    f = values(five) + 1.0
    for q, v in in_positive_bags(five, problem(ConvexWitness, five).step(f, 0.0), f):
        chosen = v >= 1 if (v >= 1).any() else v == v.max()
        assert_allclose(q, chosen / chosen.sum())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_both_machines_reach_the_minimum(loss, kind):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(24, 3))
    p = (Z[:, 0] + rng.normal(size=24) > 0).astype(float) if kind == "hard" else rng.uniform(size=24)
    costs = 2.0 * np.stack([p, 1 - p])
    K = Z @ Z.T
    best = two_cost_svm(K, costs, loss)
    dual, primal = DualMachine(K, loss, 1e-6, 10**6), PrimalMachine(Z, loss, 1e-6, 1000)
    assert_allclose(dual.fit(costs), best, rtol=1e-5)
    assert_allclose(primal.fit(costs), best, rtol=1e-5)
    if loss == "squared_hinge":
        assert_allclose(dual.values, primal.values, atol=1e-4)
    assert dual.converged and primal.converged


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_ends_where_a_cold_one_does(loss):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(60, 4))
    K = Z @ Z.T + np.eye(60)
    warm = DualMachine(K, loss, 1e-6, 10**6)
    for _ in range(5):
        p = rng.integers(0, 2, size=60) * rng.uniform(size=60) ** 5
        costs = np.stack([p, 1 - p])
        assert_allclose(warm.fit(costs), DualMachine(K, loss, 1e-6, 10**6).fit(costs), rtol=1e-5)


def test_mixed_points_are_combinations_of_instances(five):
    convex = problem(ConvexWitness, five)
    p = convex.start()
    A = convex.mixing(p).toarray()
    expected = [b.mean(axis=0, keepdims=True) if y > 0 else b for b, y in zip(five, Y, strict=True)]
    assert_allclose(A @ five.instances, np.concatenate(expected))
    K = five.instances @ five.instances.T
    dual = DualMachine(K, "squared_hinge", 1e-6, 10**6)
    primal = PrimalMachine(five.instances, "squared_hinge", 1e-6, 1000)
    objective = dual.fit(convex.costs(p), convex.mixing(p))
    assert_allclose(objective, two_cost_svm(A @ K @ A.T, convex.costs(p), "squared_hinge"), rtol=1e-6)
    assert_allclose(primal.fit(convex.costs(p), convex.mixing(p)), objective, rtol=1e-6)
    assert_allclose(primal.values, dual.values, atol=1e-4)


# Older versions of SciPy say so of the reference's steps, which they clip.
CLIPPED = "ignore:Values in x were outside bounds during a minimize step"


@pytest.mark.filterwarnings(CLIPPED)
@pytest.mark.parametrize("T", [1e-6, 0.5, 20.0])
@pytest.mark.parametrize("least", [2, 4])
def test_at_least_k_labels_minimise(five, least, T):
    f = values(five) - 3.0  # most instances would rather be negative
    p = problem(AllLabels, five, least=least).step(f, T)
    e = 3.0 * (losses(f, "squared_hinge")[0] - losses(f, "squared_hinge")[1])
    for q, cost in in_positive_bags(five, p, e):
        k = min(least, len(q))
        assert q.sum() >= k - 1e-9
        if T < 0.1 or len(q) == k:
            continue
        slow = minimize(
            lambda v, c=cost: label_objective(v, c, T),
            np.full(len(q), 0.9),
            bounds=[(1e-12, 1 - 1e-12)] * len(q),
            constraints={"type": "ineq", "fun": lambda v, k=k: v.sum() - k},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-13},
        )
        assert label_objective(q, cost, T) <= slow.fun + 1e-6 * (1 + abs(slow.fun))


@pytest.mark.parametrize("least", [1, 2, 4])
def test_at_least_k_hard_labels_are_the_best_of_all(five, least):
    for seed in range(5):
        f = values(five, seed)
        p = problem(AllLabels, five, least=least).step(f, 0.0)
        e = 3.0 * (losses(f, "squared_hinge")[0] - losses(f, "squared_hinge")[1])
        for q, cost in in_positive_bags(five, p, e):
            assert_array_equal(q, best_hard_labels(cost, least=least))


@pytest.mark.filterwarnings(CLIPPED)
@pytest.mark.parametrize("least", [1, 2, 4])
def test_k_witnesses_minimise_and_no_part_is_above_one(five, least):
    T, f = 2.0, values(five, scale=4.0)
    p = problem(Witness, five, least=least).step(f, T)
    hard = problem(Witness, five, least=least).step(f, 0.0)
    for q, h, v in in_positive_bags(five, p, hard, f):
        k, cost = min(least, len(q)), 3.0 * losses(v, "squared_hinge")[0]
        assert_allclose([q.sum(), h.sum()], k)
        assert q.max() <= 1 + 1e-12 and set(np.flatnonzero(h)) == set(np.argsort(-v)[:k])
        if len(q) == k:
            continue
        slow = minimize(
            lambda v, c=cost: v @ c + T * np.sum(v * np.log(v)),
            np.full(len(q), k / len(q)),
            bounds=[(1e-9, 1)] * len(q),
            constraints={"type": "eq", "fun": lambda v, k=k: v.sum() - k},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-13},
        )
        value = q @ cost + T * np.sum(xlogy(q, q))
        assert value <= slow.fun + 1e-6 * (1 + abs(slow.fun))


def test_a_share_for_each_bag_is_that_of_its_bag(five):
    f, shares = values(five), np.array([0.3, 0.9, 0.5, 0.2, 0.6])
    together = problem(AllLabels, five, share=shares, share_cost=2.0)
    p = together.step(f, 1.0)
    for i, share in enumerate(shares):
        alone = problem(AllLabels, five, share=share, share_cost=2.0).step(f, 1.0)
        assert_array_equal(five.split(p)[i], five.split(alone)[i])
    assert_array_equal(together.step(f, 0.0) > 0.5, together.step(f, 1e-9) > 0.5)
