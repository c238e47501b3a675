"""PPMM: aggregate posteriors, the alignment and the learned power."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import norm

import skmil
from skmil import Bags, threads
from skmil._random import random_key
from skmil.datasets import make_mixture_bags
from skmil.embeddings import PosteriorEmbedding
from skmil.embeddings.posterior import P_GRID, aggregate, alignment, best_power, ideal, inner_score
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


def test_unlabelled_instances_go_through_the_scaler():
    """Without it the training bags fell into one component, and nothing was said."""
    rng = np.random.default_rng(0)
    X, y = make_mixture_bags(1, n_bags=80, random_state=0, return_X_y=True)
    X = X.with_instances(100 * X.instances + 5000)
    more = 100 * rng.normal(size=(200, X.n_features)) + 5000
    model = skmil.method("PPMM", unlabeled=more, n_init=2, n_components=10).fit(X, y)
    assert_array_equal(model.get_params()["ppmm__unlabeled"], more)  # as it was given
    share = aggregate(model.named_steps["ppmm"].mixture_, model[:1].transform(X)).mean(axis=0)
    assert (share > 0).sum() >= 8
    again = model.fit(X, y).named_steps["ppmm"].mixture_.cluster_centers_
    scaled = model[:1].transform(X), model[:1].transform(more[:, None])
    by_hand = PosteriorEmbedding(10, unlabeled=scaled[1], n_init=2, random_state=0).fit(scaled[0], y)
    assert_array_equal(again, by_hand.mixture_.cluster_centers_)


def test_unlabelled_instances_from_elsewhere_are_noticed():
    X, y = make_mixture_bags(1, n_bags=40, random_state=0, return_X_y=True)
    far = 1000 * np.random.default_rng(0).normal(size=(300, X.n_features))
    with pytest.warns(UserWarning, match=r"fall into 1 of 20 components.*scaled like the bags"):
        PosteriorEmbedding(20, unlabeled=far, n_init=1, random_state=0).fit(X, y)


def test_all_mixtures_side_by_side_with_one_power():
    X, y = make_mixture_bags(2, n_bags=40, random_state=0, return_X_y=True)
    e = PosteriorEmbedding(5, n_init=3, combine="all", random_state=0).fit(X, y)
    psi = np.hstack([aggregate(m, X) for m in e.mixtures_])
    assert len(e.mixtures_) == 3 and psi.shape == (40, 15)
    assert_allclose(e.transform(X), psi**e.p_)
    assert_allclose(e.alignment_, naive.alignment(psi, e.p_, np.where(y == 1, 1.0, -1.0)))
    assert e.alignment_ >= e.alignment_curve_[:, 1].max() - 1e-12
    assert PosteriorEmbedding(5, n_init=3, combine="all", random_state=0).fit_transform(X).shape == (40, 15)


def test_the_mixture_of_best_inner_accuracy():
    X, y = make_mixture_bags(1, n_bags=60, random_state=1, return_X_y=True)
    kept = PosteriorEmbedding(8, n_init=4, combine="cv", random_state=0).fit(X, y)
    scores = []
    seeds = np.random.SeedSequence(int(random_key(0))).generate_state(4)
    for m in (kept._fit_mixture(X.instances, int(s)) for s in seeds):
        psi = aggregate(m, X)
        scores.append(inner_score(psi ** best_power(psi, ideal(y), None)[0], y))
    assert_allclose(inner_score(kept.transform(X), y), max(scores))
    with pytest.raises(ValueError, match="two bags of each class"):
        PosteriorEmbedding(2, combine="cv").fit(X[:3], [0, 1, 1])


def test_no_power_at_all_is_presence(bags):
    e = PosteriorEmbedding(3, p=0, random_state=0).fit(bags)
    assert_array_equal(e.transform(bags), aggregate(e.mixture_, bags) > 0)
    close = PosteriorEmbedding(3, p=1e-9, random_state=0).fit_transform(bags)
    assert_allclose(e.transform(bags), close, atol=1e-6)
