"""Citation-kNN and the pruned Hausdorff distances behind it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import directed_hausdorff

import skmil
from skmil import Bags, threads
from skmil._engines.hausdorff import BagIndex
from skmil.datasets import load_musk1
from skmil.learners import CitationKNN, CitationKNNRegressor, hausdorff
from tests import naive

KINDS = ["minimal", "maximal", "average"]


def sparsely(bags):
    return bags.with_instances(sparse.csr_matrix(bags.instances))


@pytest.fixture
def crowded():
    """Bags larger than a leaf, with empty, constant and repeated columns and repeated instances."""
    rng = np.random.default_rng(3)
    X = [rng.integers(-4, 5, size=(m, 21)).astype(float) for m in (40, 1, 70, 17, 3, 16, 5)]
    X = [b * (rng.random(b.shape) < 0.4) for b in X]
    X[2][:3] = X[0][:3]
    for b in X:
        b[:, 4], b[:, 5] = 7.0, b[:, 6]
    return Bags.from_list(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [lambda b: b, sparsely])
def test_distances_are_exact(kind, form, crowded, bags):
    for X in (crowded, bags):
        expected = naive.gram(X, X, lambda a, b: naive.hausdorff(a, b, kind))
        X = form(X)
        assert_allclose(hausdorff(X, distance=kind), expected, rtol=1e-12, atol=1e-12)
        assert_allclose(hausdorff(X[:3], X[2:], kind), expected[:3, 2:], rtol=1e-12, atol=1e-12)


def test_maximal_distance_against_scipy(crowded):
    D = hausdorff(crowded, distance="maximal")
    for i in range(7):
        for j in range(7):
            A, B = crowded[i].copy(), crowded[j].copy()  # older SciPy wants to be able to write
            assert_allclose(D[i, j], max(directed_hausdorff(A, B)[0], directed_hausdorff(B, A)[0]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("R", "C"), [(1, 0), (1, 1), (2, 4), (3, 2), (50, 50)])
def test_votes_against_ranking_everything(kind, R, C, crowded, toy):
    # Small integers: many distances are exactly equal, and equal distances have equal rank.
    X, y = crowded, np.array([0, 1, 0, 1, 1, 0, 1])
    rng = np.random.default_rng(0)
    queries = [rng.integers(-4, 5, size=(m, 21)).astype(float) for m in (1, 3, 20)] + [X[2], X[4]]
    for form in (lambda b: b, sparsely):
        model = CitationKNN(R, C, kind).fit(form(X), y)
        got = model.decision_function(form(Bags.from_list(queries)))
        for q, value in zip(queries, got, strict=True):
            votes = naive.citation_votes(X, y, q, R, C, kind)
            assert_allclose(value, (votes[1] - votes[0]) / votes.sum())


def test_by_hand():
    # On a line: a at 0, b at 1, c at 3, d at 7; the query is at 4.
    X, y = [[[0.0]], [[1.0]], [[3.0]], [[7.0]]], ["x", "x", "y", "y"]
    # Its two references are c (1) and b or d (both 3): equal ranks, so both. Nearest other bags: a-b 1,
    # b-a 1, c-b 2, d-c 4. It is cited by c (1 <= 2) and d (3 <= 4). Votes: x 1, y 2 + 2.
    model = CitationKNN(n_references=2, n_citers=1).fit(X, y)
    assert_allclose(model.decision_function([[[4.0]]]), [3 / 5])
    target = CitationKNNRegressor(n_references=2, n_citers=1).fit(X, [10.0, 20.0, 30.0, 40.0])
    assert_allclose(target.predict([[[4.0]]]), [(20 + 30 + 40 + 30 + 40) / 5])


def test_a_tie_is_negative():
    model = CitationKNN(n_references=2, n_citers=0).fit([[[0.0]], [[2.0]]], [0, 1])
    assert model.predict([[[1.9]]]) == [0]


def test_weights_are_votes():
    X = [[[0.0]], [[2.0]], [[9.0]]]
    model = CitationKNN(n_references=2, n_citers=0)
    assert model.fit(X, [0, 1, 0], sample_weight=[1, 3, 1]).predict([[[1.0]]]) == [1]
    assert_allclose(model.decision_function([[[1.0]]]), [0.5])
    regressor = CitationKNNRegressor(n_references=2, n_citers=0)
    assert_allclose(regressor.fit(X, [0.0, 4.0, 9.0], sample_weight=[1, 3, 1]).predict([[[1.0]]]), [3.0])


def test_constant_columns_and_offsets_do_no_harm(toy):
    X, y = toy
    wider = X.with_instances(np.hstack([X.instances, np.full((X.offsets[-1], 2), 1e6)]))
    moved = X.with_instances(X.instances + 1e5)
    base = CitationKNN().fit(X, y).decision_function(X)
    assert_array_equal(CitationKNN().fit(wider, y).decision_function(wider), base)
    assert_allclose(hausdorff(moved), hausdorff(X), atol=1e-9)


def test_several_classes_vote_together(toy):
    X, _ = toy
    y = np.arange(40) % 3
    share = CitationKNN(3, 2).fit(X, y).decision_function(X)
    assert_allclose(share.sum(axis=1), 1)
    for c in range(3):
        against = CitationKNN(3, 2).fit(X, y == c).decision_function(X)
        assert_allclose(share[:, c], (against + 1) / 2)


def test_instance_scores_are_distances():
    X, y = [[[0.0], [5.0]], [[1.0]], [[10.0]], [[12.0]]], [0, 0, 1, 1]
    scores = CitationKNN(n_references=2).fit(X, y).score_instances([[[2.0], [9.0]]])[0]
    # Nearest instances of the four bags: 2 1 8 10 from 2, and 4 8 1 3 from 9.
    assert_allclose(scores, [1.5 - 9, 6 - 2])


def test_same_bits_on_any_number_of_threads(crowded):
    with threads(1):
        one = hausdorff(crowded, distance="average")
    with threads(2):
        assert_array_equal(hausdorff(crowded, distance="average"), one)


def test_wide_sparse_bags_stay_sparse():
    X = Bags(sparse.random(60, 10**5, 1e-4, "csr", random_state=0), np.arange(0, 61, 3))
    y = np.arange(20) % 2
    assert CitationKNN().fit(X, y).predict(X).shape == (20,)
    assert CitationKNNRegressor().fit(X, y).predict(X).shape == (20,)


def test_distances_need_the_same_features():
    with pytest.raises(ValueError, match="X has 1 features and Y has 2"):
        hausdorff([[[1.0]]], [[[1.0, 2.0]]])


def test_musk1_near_the_published_accuracy():
    X, y = load_musk1(return_X_y=True)
    folds = np.arange(92) % 10
    hits = [
        (
            skmil.method("Citation-kNN").fit(X[folds != f], y[folds != f]).predict(X[folds == f])
            == y[folds == f]
        )
        for f in range(10)
    ]
    assert np.concatenate(hits).mean() > 0.85


def test_products_and_boxes_find_the_same_distances(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4, 5)).round(1)  # with many equal distances
    X[75:] = X[:75]  # and bags that are the same
    index = BagIndex(Bags.from_list(list(X)), "minimal")
    for k in (1, 3, 20):
        monkeypatch.setattr("skmil._engines.hausdorff.MANY", 10**9)
        boxes = index.kth_distances(k)
        monkeypatch.setattr("skmil._engines.hausdorff.MANY", 2)
        assert_array_equal(index.kth_distances(k), boxes)
