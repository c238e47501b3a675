"""PPMM: aggregate posteriors, the alignment and the learned power."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import norm

import skmil
from skmil import Bags, threads
from skmil.datasets import make_mixture_bags
from skmil.embeddings import PosteriorEmbedding
from skmil.embeddings.posterior import P_GRID, alignment, best_power, ideal
from skmil.inspection import plot_alignment
from tests import naive


@pytest.mark.parametrize("mixture", ["kmeans", "diag", "full", "spherical"])
def test_rows_sum_to_one(mixture, bags):
    psi = PosteriorEmbedding(4, mixture, p=1.0, n_init=1, random_state=0).fit_transform(bags)
    assert psi.shape == (9, 4) and (psi >= 0).all()
    assert_allclose(psi.sum(axis=1), 1)


def test_posteriors_are_those_of_the_mixture(bags):
    e = PosteriorEmbedding(3, "diag", p=1.0, n_init=1, random_state=0).fit(bags)
    m = e.mixture_
    for b, row in zip(bags, e.transform(bags), strict=True):
        total = np.zeros(3)
        for x in b:
            joint = m.weights_ * [
                norm.pdf(x, mu, np.sqrt(v)).prod() for mu, v in zip(m.means_, m.covariances_, strict=True)
            ]
            total += joint / joint.sum()
        assert_allclose(row, total / total.sum(), rtol=1e-8)


def test_kmeans_counts_instances_per_cluster(bags):
    e = PosteriorEmbedding(3, p=1.0, random_state=0).fit(bags)
    for b, row in zip(bags, e.transform(bags), strict=True):
        nearest = [np.argmin([np.sum((x - c) ** 2) for c in e.mixture_.cluster_centers_]) for x in b]
        assert_allclose(row, np.bincount(nearest, minlength=3) / len(b))


def test_power_is_applied(bags):
    one, half = (PosteriorEmbedding(3, p=p, random_state=0).fit_transform(bags) for p in (1.0, 0.5))
    assert_allclose(half, np.sqrt(one))


def test_alignment_and_its_maximum_against_a_naive_grid():
    rng = np.random.default_rng(0)
    psi = rng.dirichlet(np.full(6, 0.5), size=20)
    y = np.where(psi[:, 0] > 0.1, 1.0, -1.0)
    grid = [naive.alignment(psi, p, y) for p in P_GRID]
    assert_allclose([alignment(psi, p, y[:, None]) for p in P_GRID], grid, rtol=1e-10)
    p, best, _ = best_power(psi, y[:, None], None)
    assert best >= max(grid)
    assert abs(p - P_GRID[np.argmax(grid)]) <= P_GRID[1] - P_GRID[0]
    assert_allclose(best, naive.alignment(psi, p, y))


def test_ideal_kernels():
    assert_array_equal(ideal(np.array(["a", "b", "b"])), [[-1], [1], [1]])
    Y = ideal(np.array([0, 1, 2, 1]))
    same = np.equal.outer([0, 1, 2, 1], [0, 1, 2, 1]).astype(float)
    H = np.eye(4) - 1 / 4
    assert_allclose(Y @ Y.T, H @ same @ H, atol=1e-12)
    assert_allclose(ideal(np.array([0.5, 1.5, 4.0])).sum(), 0)


def test_learned_power_tells_the_mechanisms_apart():
    # With the 200 bags of the paper one draw in five is out of order even if the components are known.
    ordered = 0
    for seed in range(10):
        data = [make_mixture_bags(m, n_bags=2000, random_state=seed, return_X_y=True) for m in (1, 2, 3)]
        embedding = PosteriorEmbedding(25, n_init=1, random_state=seed)
        p = [embedding.fit(X, y).p_ for X, y in data]
        ordered += p[0] < p[1] < p[2]
    assert ordered >= 9


def test_curve_and_best_seed():
    X, y = make_mixture_bags(3, n_bags=60, random_state=0, return_X_y=True)
    e = PosteriorEmbedding(10, n_init=5, random_state=0).fit(X, y)
    p, values = e.alignment_curve_.T
    assert_array_equal(p, P_GRID)
    assert values.max() <= e.alignment_ <= values.max() + 1e-3
    singles = [PosteriorEmbedding(10, n_init=1, random_state=s).fit(X, y).alignment_ for s in range(5)]
    assert e.alignment_ >= np.median(singles)


def test_without_labels(bags):
    e = PosteriorEmbedding(3, random_state=0).fit(bags)
    assert e.p_ == 1 and np.isnan(e.alignment_) and e.alignment_curve_.shape == (0, 2)
    with pytest.raises(ValueError, match="without labels"):
        plot_alignment(e)


def test_unlabeled_instances_move_the_mixture(bags):
    far = np.full((50, 4), 100.0) + np.arange(50)[:, None]
    for more in (far, [far[:20], far[20:]], sparse.csr_matrix(far)):
        e = PosteriorEmbedding(2, p=1.0, unlabeled=more, random_state=0).fit(bags)
        assert e.mixture_.cluster_centers_.max() > 50
    with pytest.raises(ValueError, match="unlabeled has 3 features"):
        PosteriorEmbedding(2, unlabeled=np.ones((2, 3))).fit(bags)


def test_sparse_bags_give_the_same_and_stay_sparse(toy):
    X, y = toy
    thin = X.with_instances(sparse.csr_matrix(X.instances))
    a, b = (PosteriorEmbedding(5, n_init=2, random_state=0).fit(Z, y) for Z in (X, thin))
    assert_allclose(a.transform(X), b.transform(thin))
    wide = Bags(sparse.random(60, 10**5, 1e-5, "csr", random_state=0), np.arange(0, 61, 3))
    small = PosteriorEmbedding(2, n_init=1, random_state=0)
    assert small.fit_transform(wide, np.arange(20) % 2).shape == (20, 2)
    with pytest.raises(TypeError, match="use mixture='kmeans'"):
        PosteriorEmbedding(2, "diag").fit(thin)


def test_same_bits_on_any_number_of_threads(toy):
    X, y = toy
    results = []
    for n in (1, 2):
        with threads(n):
            results.append(PosteriorEmbedding(5, n_init=4, random_state=3).fit_transform(X, y))
    assert_array_equal(*results)


def test_more_components_than_instances(bags):
    assert PosteriorEmbedding(500, random_state=0, n_init=1).fit_transform(bags).shape[1] == 32


def test_the_registry_learns_musk1():
    X, y = skmil.datasets.load_musk1(return_X_y=True)
    model = skmil.method("PPMM", n_init=3).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.65
    assert 0 < model.named_steps["ppmm"].p_ < 1.2
    assert len(model.score_instances(X[:1])[0]) == X.sizes[0]


def test_plot(toy):
    pytest.importorskip("matplotlib")
    X, y = toy
    e = PosteriorEmbedding(5, n_init=1, random_state=0).fit(X, y)
    ax = plot_alignment({"toy": e})
    assert ax.lines[0].get_ydata().max() == 1
    assert ax.get_legend().get_texts()[0].get_text() == f"toy (p = {e.p_:.2f})"
    assert plot_alignment(e, ax=ax) is ax


def test_the_registry_leaves_weights_of_terms_alone():
    X = Bags(sparse.random(60, 50, 0.2, "csr", random_state=0), np.arange(0, 61, 3))
    for name in ("PPMM", "Citation-kNN"):
        scale = skmil.method(name).named_steps["scale"]
        assert scale.fit_transform(X) == X
        assert scale.fit_transform(X.to_dense()) != X.to_dense()
