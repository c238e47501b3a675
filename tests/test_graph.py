"""miGraph: the naive double loop, cliques, sparse features, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from skmil import Bags
from skmil.kernels import GraphKernel, SetKernel
from skmil.learners import BagSVC
from tests import naive


@pytest.mark.parametrize("tau", ["mean", 0.0, 1.5, 2.5, 100.0])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_naive(bags, tau, as_sparse):
    X = Bags(sparse.csr_matrix(bags.instances), bags.offsets) if as_sparse else bags
    k = GraphKernel(tau, gamma=0.3)
    expected = naive.gram(bags, bags, lambda A, B: naive.graph_kernel(A, B, 0.3, tau))
    assert_allclose(k(X), expected, rtol=1e-9)
    assert_allclose(k(X[:3], X[2:]), expected[:3, 2:], rtol=1e-9)
    assert_allclose(k.diag(X), expected.diagonal(), rtol=1e-9)


def test_large_bags():
    rng = np.random.default_rng(0)
    X = Bags.from_list([rng.normal(size=(m, 2)) for m in (270, 30)])
    thin = Bags(sparse.csr_matrix(X.instances), X.offsets)
    k = GraphKernel(gamma=1.0)
    u, v = (naive.graph_weights(b, "mean") for b in X)
    d2 = ((X[0][:, None] - X[1]) ** 2).sum(axis=2)
    expected = u @ np.exp(-d2) @ v / (u.sum() * v.sum())
    assert_allclose(k(X)[0, 1], expected, rtol=1e-9)
    assert_allclose(k(thin)[0, 1], expected, rtol=1e-9)


def test_without_edges_it_is_the_mean_set_kernel(bags):
    assert_allclose(GraphKernel(0.0, 0.5)(bags), SetKernel(gamma=0.5)(bags), rtol=1e-12)
    # All instances of a bag in one clique weigh the same, too.
    assert_allclose(GraphKernel(1e9, 0.5)(bags), SetKernel(gamma=0.5)(bags), rtol=1e-12)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_copies_of_an_instance_count_like_one(as_sparse):
    one, two = [1.0, 2.0], [5.0, 1.3]
    X = [np.array([one] * 7 + [two] * 2), np.array([one, two])]
    X = [sparse.csr_matrix(b) for b in X] if as_sparse else X
    assert_allclose(GraphKernel(0.1, gamma=1.0)(X), GraphKernel(0.0, gamma=1.0)(X[1:])[0, 0], rtol=1e-12)


def test_equal_distances_are_no_edges_under_their_mean():
    simplex = np.eye(7)
    others = np.eye(7)[:3] * 5
    expected = SetKernel(gamma=1.0)([simplex, others])
    assert_allclose(GraphKernel("mean", 1.0)([simplex, others]), expected, rtol=1e-12)


def test_power_is_a_factor_to_gamma(bags):
    assert_allclose(GraphKernel(1.0, 0.2, power=3.0)(bags), GraphKernel(1.0, 0.6)(bags), rtol=1e-12)


def test_explains_exactly(toy):
    X, y = toy
    model = BagSVC(GraphKernel()).fit(X, y)
    totals = [s.sum() for s in model.score_instances(X)]
    assert_allclose(totals + model.svm_.intercept_, model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_relevant_distance_of_texts(as_sparse):
    rng = np.random.default_rng(0)
    X = [rng.integers(1, 4, (m, 8)) * (rng.random((m, 8)) < 0.3).astype(float) for m in (1, 3, 4)]
    bags = Bags.from_list(X)
    given = Bags(sparse.csr_matrix(bags.instances), bags.offsets) if as_sparse else bags
    k = GraphKernel(threshold=1.2, gamma=0.3, metric="relevant")
    truth = naive.gram(X, X, lambda A, B: naive.relevant_graph_kernel(A, B, 0.3, 1.2))
    assert_allclose(k(given), truth, rtol=1e-9)
    rows = bags.instances
    d2 = [naive.relevant_distance(x, y) ** 2 for i, x in enumerate(rows) for y in rows[:i]]
    assert_allclose(GraphKernel(metric="relevant").fit(given).gamma_, 1 / np.median(d2), rtol=1e-9)
    with pytest.raises(ValueError, match="give a number or 'median'"):
        GraphKernel(gamma="scale", metric="relevant").fit(given)
