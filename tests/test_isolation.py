"""Isolation kernel: equations 2 to 15, exact cells, Theorem 5.1, additivity, blocks, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.svm import SVC

import skmil
from skmil import Bags, threads
from skmil._engines import isolation as engine
from skmil._engines import sparse_products
from skmil._engines.isolation import _similar, _similar_in_bags, _weights
from skmil._engines.sparse_products import inner
from skmil.datasets import make_speaker_like
from skmil.embeddings import IsolationEmbedding
from skmil.kernels import IsolationKernel
from skmil.learners import BagPipeline, BagSVC
from skmil.preprocessing import BagScaler
from tests import naive

# Rows of a table are meant to be bags of one instance here.
pytestmark = pytest.mark.filterwarnings("ignore::skmil._schema.TableWarning")
DISTANCES = {"euclidean": naive.euclidean_distance, "relevant": naive.relevant_distance}


def texts(n=6, d=12, seed=0):
    """Bags of mostly empty instances, some without any word."""
    rng = np.random.default_rng(seed)
    X = [rng.integers(1, 4, (m, d)) * (rng.random((m, d)) < 0.15) for m in rng.integers(1, 6, n)]
    return Bags.from_list([b.astype(float) for b in X])


def centers(estimator, bags):
    """The tables of centres that a fitted estimator drew, told by its samples alone."""
    part = estimator.map_.partitions
    if hasattr(part, "centers"):
        return [part.centers[s] for s in part.samples]
    return [part.index.T.toarray()[s] for s in part.samples]


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.5])
@pytest.mark.parametrize("metric", ["euclidean", "relevant"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_equations(epsilon, metric, as_sparse):
    bags = texts()
    X = Bags(sparse.csr_matrix(bags.instances), bags.offsets) if as_sparse else bags
    params = {"n_partitions": 5, "n_cells": 4, "similarity_threshold": epsilon, "metric": metric}
    e = IsolationEmbedding(**params, normalize=False, random_state=1).fit(X)
    k = IsolationKernel(**params, normalize=False, random_state=1).fit(X)
    cosine = IsolationKernel(**params, random_state=1).fit(X)
    H, distance = centers(e, X), DISTANCES[metric]
    Z = [naive.isolation_features(S, H, epsilon, distance) for S in bags]
    K = naive.gram(bags, bags, lambda S, T: naive.isolation_set_kernel(S, T, H, epsilon, distance))
    norm = np.sqrt(np.diag(K))
    assert sparse.issparse(e.transform(X)) and e.transform(X).format == "csr"
    assert_allclose(e.transform(X).toarray(), Z, atol=1e-12)
    assert_allclose(k(X), K, atol=1e-12)
    assert_allclose(cosine(X), K / np.outer(norm, norm), atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "relevant"])
@pytest.mark.parametrize("weights", ["data", "presence"])
def test_other_readings_of_equation_9(weights, metric):
    known, new = texts(), texts(4, seed=1)
    params = {"n_partitions": 5, "n_cells": 4, "similarity_threshold": 0.5, "metric": metric}
    e = IsolationEmbedding(**params, weights=weights, normalize=False, random_state=1).fit(known)
    k = IsolationKernel(**params, weights=weights, random_state=1).fit(known)
    H, distance = centers(e, known), DISTANCES[metric]
    for bags in (known, new):
        if weights == "presence":
            Z = np.array([naive.isolation_presence(S, H, distance) for S in bags])
        else:
            Z = np.array(
                [naive.isolation_features(S, H, 0.5, distance, among=known.instances) for S in bags]
            )
        assert_allclose(e.transform(bags).toarray(), Z, atol=1e-12)
        norm = np.linalg.norm(Z, axis=1)
        assert_allclose(k(bags), Z @ Z.T / np.outer(norm, norm), atol=1e-12)


def test_drawn_training_instances_stand_for_all(monkeypatch):
    rng = np.random.default_rng(0)
    X = Bags.from_list([rng.normal(size=(40, 2)) for _ in range(30)])
    params = {"n_partitions": 50, "n_cells": 8, "similarity_threshold": 0.5, "weights": "data"}
    exact = IsolationKernel(**params, random_state=0).fit_transform(X)
    monkeypatch.setattr(engine, "DRAWN", 600)
    k = IsolationKernel(**params, random_state=0).fit(X)
    assert len(k.map_.known) == 600
    assert_allclose(k.transform(X), exact, atol=0.03)


def test_rows_of_a_table_are_instances():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
    k = IsolationKernel(n_partitions=10, n_cells=4, random_state=0).fit(X)
    H = centers(k, X)
    expected = [[naive.isolation_kernel(x, y, H, naive.euclidean_distance) for y in Y] for x in X]
    assert_allclose(k(X, Y), expected, atol=1e-12)


def exact_cells(X, H):
    return np.column_stack([((X[:, None] - h) ** 2).sum(axis=2).argmin(axis=1) for h in H])


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.normal(size=(700, 6)),
        lambda rng: rng.integers(0, 3, size=(700, 3)).astype(float),  # ties everywhere
        lambda rng: rng.normal(size=(700, 2)) + 1e6 * rng.integers(0, 2, size=(700, 1)),  # float32 fails
        lambda rng: 1e-30 * rng.normal(size=(700, 2)) + 5e-30,
        lambda rng: np.ones((700, 2)),
    ],
    ids=["normal", "grid", "far clusters", "tiny", "constant"],
)
@pytest.mark.parametrize("n_cells", [5, 100])
def test_cells_are_those_of_exact_arithmetic(make, n_cells):
    X = make(np.random.default_rng(3))
    e = IsolationEmbedding(n_partitions=20, n_cells=n_cells, normalize=False, random_state=0).fit(X)
    cells = e.transform(X).indices.reshape(len(X), 20) - np.arange(20) * n_cells
    assert_array_equal(cells, exact_cells(X, centers(e, X)))


def test_far_instances_do_not_overflow():
    X = np.random.default_rng(0).normal(size=(50, 2))
    e = IsolationEmbedding(n_partitions=20, n_cells=8, normalize=False, random_state=0).fit(X)
    Y = np.array([[1e20, 0.0], [-1e60, 1e60]])
    cells = e.transform(Y).indices.reshape(2, 20) - np.arange(20) * 8
    assert_array_equal(cells, exact_cells(Y, centers(e, X)))


def test_centers_are_different_training_instances():
    X = np.arange(40.0)[:, None]
    e = IsolationEmbedding(n_partitions=300, n_cells=10, random_state=0).fit(X)
    drawn = np.array(centers(e, X))[:, :, 0]
    assert all(len(set(row)) == 10 for row in drawn)
    counts = np.bincount(drawn.astype(int).ravel(), minlength=40)
    # Hypergeometric: 300 draws with chance 1/4 each, so 75 +- 7.5.
    assert counts.min() > 75 - 5 * 7.5 and counts.max() < 75 + 5 * 7.5


def two_densities(n=4000, seed=0):
    """The plane with a hundred times more instances left of x = 0 than right of it (Figure 1)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    dense = rng.random(n) < 100 / 101
    X[:, 0] = np.where(dense, -1, 1) * np.abs(X[:, 0])
    return X


def cross(x, y, r=0.1):
    return np.array([[x, y + r], [x, y - r], [x + r, y], [x - r, y]])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_cells", [16, 64, 256])
def test_theorem_5_1(seed, n_cells):
    """At equal distances, sets in a sparse region are more alike than sets in a dense one."""
    k = IsolationKernel(n_cells=n_cells, normalize=False, random_state=seed).fit(two_densities(seed=seed))
    for step in (0.1, 0.2, 0.3):
        dense = k([cross(-0.6, 0.0)], [cross(-0.6, step)])[0, 0]
        sparse_ = k([cross(0.6, 0.0)], [cross(0.6, step)])[0, 0]
        assert sparse_ > dense + 0.05


def test_proposition_6_3():
    """Two instances weigh more in a dense region than two in a sparse one as far apart."""
    X = two_densities()
    bag = np.array([[-0.6, 0.0], [-0.6, 0.15], [0.6, 0.0], [0.6, 0.15]])
    e = IsolationEmbedding(n_cells=64, similarity_threshold=0.5, normalize=False, random_state=0).fit(X)
    _, w, _ = e.map_._cells(Bags.from_list([bag]))
    assert w[0] == w[1] > w[2] == w[3]


def test_forest(bags):
    e = IsolationEmbedding(n_partitions=30, n_cells=6, partition="forest", normalize=False, random_state=0)
    Z = e.fit_transform(bags).toarray()
    assert Z.shape == (9, 180)
    assert_allclose(Z.reshape(9, 30, 6).sum(axis=2), 1.0)
    # Each tree isolates the instances it was grown from: no leaf without one of them.
    singles = e.transform(bags.one_by_one()).toarray().reshape(-1, 30, 6)
    assert (singles.sum(axis=0) > 0).all()
    X = two_densities()
    k = IsolationKernel(n_cells=64, partition="forest", random_state=0).fit(X)
    K = k(np.array([[-0.6, 0.0], [-0.6, 0.2], [0.6, 0.0], [0.6, 0.2]]))
    assert K[2, 3] > K[0, 1] + 0.1
    thin = Bags(sparse.csr_matrix(bags.instances), bags.offsets)
    assert_array_equal(e.fit_transform(thin).toarray(), Z)


@pytest.mark.parametrize("weights", ["bag", "data", "presence"])
@pytest.mark.parametrize("epsilon", [None, 0.6])
@pytest.mark.parametrize("normalize", [True, False])
def test_shares_of_instances(bags, epsilon, normalize, weights):
    k = IsolationKernel(20, 8, epsilon, normalize=normalize, weights=weights, random_state=0).fit(bags)
    parts = k.instance_gram(bags, bags[:4])
    assert_allclose(np.add.reduceat(parts, bags.offsets[:-1]), k(bags, bags[:4]), atol=1e-12)


def test_pipeline_explains_itself_exactly(toy):
    X, y = toy
    model = skmil.method("ISK", random_state=0).fit(X, y)
    totals = [s.sum() for s in model.score_instances(X)]
    assert_allclose(totals + model.steps[-1][1].intercept_, model.decision_function(X), atol=1e-9)
    machine = BagSVC(IsolationKernel(random_state=0), C=10.0).fit(X, y)
    totals = [s.sum() for s in machine.score_instances(X)]
    assert_allclose(totals + machine.svm_.intercept_, machine.decision_function(X), atol=1e-9)


def test_kernel_and_features_give_the_same_machine(toy):
    X, y = toy
    params = {"n_cells": 16, "similarity_threshold": 0.7, "random_state": 3}
    by_kernel = BagSVC(IsolationKernel(**params)).fit(X, y)
    linear = SVC(kernel="linear")
    by_features = BagPipeline([("map", IsolationEmbedding(**params)), ("svm", linear)]).fit(X, y)
    assert_allclose(by_kernel.decision_function(X), by_features.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("partition", ["voronoi", "forest"])
def test_same_bits_whatever_the_blocks_and_threads(partition, monkeypatch):
    X = make_speaker_like(20, 3000, 5, positive=8, random_state=0).data
    e = IsolationEmbedding(30, 40, 0.7, partition, random_state=5)
    with threads(1):
        one = e.fit_transform(X)
    monkeypatch.setattr("skmil._lazy.GROUP", 300)
    with threads(2):
        two = e.fit_transform(X)
    for part in ("data", "indices", "indptr"):
        assert_array_equal(getattr(one, part), getattr(two, part))


def test_sparse_and_dense_agree():
    bags = texts(30, 40)
    thin = Bags(sparse.csr_matrix(bags.instances), bags.offsets)
    for metric in ("euclidean", "relevant"):
        e = IsolationEmbedding(20, 8, metric=metric, random_state=0).fit(bags)
        assert_array_equal(e.transform(thin).toarray(), e.transform(bags).toarray())
        f = IsolationEmbedding(20, 8, metric=metric, random_state=0).fit(thin)
        assert_array_equal(f.transform(bags).toarray(), f.transform(thin).toarray())
        assert_array_equal(f.transform(thin).toarray(), e.transform(bags).toarray())


def test_explicit_zeros_are_zeros():
    X = sparse.csr_matrix(np.array([[1.0, 2.0], [0.0, 3.0], [2.0, 0.5]]))
    Y = X.copy()
    Y.data[0] = 0.0
    clean = Y.copy()
    clean.eliminate_zeros()
    e = IsolationEmbedding(50, 2, metric="relevant", random_state=0).fit(X)
    assert_array_equal(e.transform(Y).toarray(), e.transform(clean).toarray())


def test_sparse_features_are_never_densified():
    rng = np.random.default_rng(0)
    places = rng.integers(300, size=1800), rng.integers(3_000_000, size=1800)
    X = sparse.csr_matrix((rng.random(1800), places), shape=(300, 3_000_000))
    Z = IsolationEmbedding(5, 16, metric="relevant", random_state=0).fit_transform(X)
    assert Z.shape == (300, 80)


def test_auto_metric():
    bags = texts(40, 60)
    assert IsolationEmbedding(5, 4, metric="auto").fit(bags).metric_ == "euclidean"
    thin = bags.with_instances(bags.instances * (np.arange(60) < 20))
    assert IsolationEmbedding(5, 4, metric="auto").fit(thin).metric_ == "relevant"


def test_threshold_of_one_is_the_plain_kernel(bags):
    plain = IsolationEmbedding(10, 4, random_state=0).fit_transform(bags)
    one = IsolationEmbedding(10, 4, 1.0, random_state=0).fit_transform(bags)
    assert_allclose(one.toarray(), plain.toarray(), rtol=1e-12)


def test_seeds(bags):
    a, b, c = (IsolationEmbedding(10, 4, random_state=s).fit_transform(bags).toarray() for s in (1, 1, 2))
    assert_array_equal(a, b)
    assert (a != c).any()


def test_trees_know_no_distance(bags):
    for kind in (IsolationEmbedding, IsolationKernel):
        with pytest.raises(ValueError, match="needs partition='voronoi'"):
            kind(partition="forest", metric="relevant").fit(bags)


def test_contributions_need_one_weight_per_column(bags):
    e = IsolationEmbedding(5, 4, random_state=0).fit(bags)
    with pytest.raises(ValueError, match="w has 3 numbers and the features 20 columns"):
        e.contributions(bags, np.ones(3))


def test_more_than_two_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 12)
    place = {"a": (0, 0), "b": (4, 0), "c": (0, 4)}
    X = [rng.normal(size=(rng.integers(2, 6), 2)) + place[label] for label in y]
    model = skmil.method("ISK", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert [len(s) for s in model.score_instances(X[:3])] == [len(b) for b in X[:3]]


def test_speaker_like():
    made, again = (make_speaker_like(30, 900, 7, positive=12, random_state=0) for _ in range(2))
    X, y = made.data, made.target
    assert X == again.data and X.shape == (30, 7) and X.offsets[-1] == 900 and y.sum() == 12
    heard = np.add.reduceat(made.instance_target, X.offsets[:-1])
    assert (heard[y == 0] == 0).all() and (heard[y == 1] > 0).mean() > 0.9
    assert pairwise_distances(X.instances[:50]).min(where=~np.eye(50, dtype=bool), initial=9.0) > 0
    with pytest.raises(ValueError, match="ascending order"):
        make_speaker_like(n_bags=10, n_instances=5, positive=1)


def test_features_may_stay_as_they_are():
    X = texts()
    for bags in (X, Bags(sparse.csr_matrix(X.instances), X.offsets)):
        kept = BagScaler("none").fit_transform(bags)
        assert_array_equal(kept.to_dense().instances, X.instances)


@pytest.mark.parametrize("change", [lambda X: 1e-8 * X, lambda X: X + 2.0**26, lambda X: 1e8 * X - 7e9])
def test_trees_do_not_depend_on_units(change):
    """Float32 and a threshold inside the trees made all instances one: K = 1 everywhere."""
    X = [x[None] for x in np.random.default_rng(0).integers(0, 2**20, (60, 3)) / 2.0**20]
    params = {"n_partitions": 30, "n_cells": 8, "partition": "forest", "random_state": 0}
    K = IsolationKernel(**params).fit(X)(X)
    moved = [change(x) for x in X]
    assert_allclose(IsolationKernel(**params).fit(moved)(moved), K, atol=0.02)
    assert K.min() < 0.2


def test_sparse_trees_do_not_depend_on_units_and_new_instances_may_lie_anywhere():
    bags = texts()
    X = Bags(sparse.csr_matrix(bags.instances), bags.offsets)
    tiny = X.with_instances(1e-9 * X.instances)
    params = {"n_partitions": 20, "n_cells": 4, "partition": "forest", "random_state": 0}
    assert_allclose(IsolationKernel(**params).fit(tiny)(tiny), IsolationKernel(**params).fit(X)(X))
    k = IsolationKernel(**params).fit(bags)
    assert np.isfinite(k([np.full((1, 12), 1e300)], bags)).all()


@pytest.mark.parametrize("shift", [0.0, 1e6, 2.0**30])
def test_sparse_and_dense_diagrams_agree_far_from_the_origin(shift):
    X = np.random.default_rng(0).integers(0, 64, (80, 4)) / 64.0 + shift
    cuts = np.arange(0, 81, 4)
    params = {"n_partitions": 20, "n_cells": 8, "random_state": 0}
    dense = IsolationEmbedding(**params).fit_transform(Bags(X, cuts))
    as_sparse = IsolationEmbedding(**params).fit_transform(Bags(sparse.csr_matrix(X), cuts))
    assert_array_equal(dense.toarray(), as_sparse.toarray())


@pytest.mark.parametrize("n_cells", [20, 256])
def test_partitions_differ_whatever_the_number_of_cells(n_cells):
    X = [x[None] for x in np.random.default_rng(0).normal(size=(20, 2))]
    k = IsolationKernel(50, n_cells, random_state=0).fit(X)
    assert k.n_cells_ == 10
    assert 0 < k(X)[np.triu_indices(20, 1)].max() < 1
    assert IsolationKernel(50, 19, random_state=0).fit(X).n_cells_ == 19


def brute_similar(cells, least):
    return np.array([((cells == c).sum(axis=1) >= least).sum() for c in cells])


def two_crowds_and_a_few(n, t=40):
    """Cells of a bag: two crowds, two instances in three and one in three, and eight that are alike."""
    rng = np.random.default_rng(0)
    centers = rng.integers(0, 9, (3, t))
    which = np.where(np.arange(n) < n - 8, np.arange(n) % 3 > 0, 2)
    cells = centers[which]
    noise = rng.random((n, t)) < 0.25
    cells[noise] = rng.integers(0, 9, noise.sum())
    return cells.astype(np.uint16)


@pytest.mark.parametrize("n", [2, 64, 65, 1100])
def test_weights_count_the_similar_ones(n):
    cells = np.vstack([two_crowds_and_a_few(max(n, 8))[:n], two_crowds_and_a_few(30)])
    offsets = np.array([0, n, n + 30])
    w = _weights(_similar_in_bags(cells, offsets, 21), offsets)
    for part in (slice(0, n), slice(n, n + 30)):
        expected = 1 / brute_similar(cells[part], 21)
        assert_allclose(w[part], expected / expected.sum(), rtol=1e-12)


def test_drawn_instances_stand_for_a_large_bag(monkeypatch):
    cells = two_crowds_and_a_few(3000)
    exact = brute_similar(cells, 21)
    monkeypatch.setattr("skmil._engines.isolation.DRAWN", 400)
    found = _similar(cells, 21)
    assert np.abs(found - exact).max() < 4 * 3000 / np.sqrt(4 * 400)  # standard errors
    assert_allclose(found, exact, rtol=4 / np.sqrt(16))
    assert_array_equal(found[-8:], exact[-8:])  # few others are like these: counted
    assert_array_equal(found, _similar(cells, 21))


def test_weights_of_a_large_bag_take_time_in_proportion(monkeypatch):
    compared = []
    count = engine._count
    monkeypatch.setattr(
        engine, "_count", lambda c, r, t, n: compared.append(len(r) * t.shape[1]) or count(c, r, t, n)
    )
    monkeypatch.setattr(engine, "DRAWN", 400)
    for n in (4000, 8000):
        _similar(two_crowds_and_a_few(n), 21)
    assert sum(compared) < 3 * 400 * 12000


@pytest.mark.parametrize("params", [{}, {"normalize": False}, {"weights": "presence"}, {"n_cells": 3}])
@pytest.mark.parametrize("more", [{}, {"partition": "forest"}, {"similarity_threshold": 0.3}])
def test_products_that_are_looked_up_are_those_of_the_features(params, more):
    rng = np.random.default_rng(0)
    X = Bags.from_list([rng.normal(size=(m, 3)) for m in rng.integers(1, 30, 60)])
    e = IsolationEmbedding(20, **{"n_cells": 8, **params, **more}, random_state=0).fit(X[:40])
    Q = e.transform(X[:7])
    expected = (e.transform(X) @ Q.T).toarray()
    assert_allclose(e.products(X, Q), expected, rtol=1e-13, atol=1e-15)
    assert_array_equal(np.vstack([e.products(X[[i]], Q) for i in range(60)]), e.products(X, Q))


def test_products_with_many_rows_are_not_looked_up(monkeypatch):
    rng = np.random.default_rng(0)
    X = Bags.from_list([rng.normal(size=(4, 3)) for _ in range(30)])
    e = IsolationEmbedding(20, 8, random_state=0).fit(X)
    looked_up = e.products(X, e.transform(X))
    monkeypatch.setattr(sparse_products, "MOST", 1)
    assert sparse_products.columns_of(e.transform(X)) is None
    assert_array_equal(e.products(X, e.transform(X)), inner(e.transform(X), e.transform(X)))
    assert_allclose(looked_up, e.products(X, e.transform(X)), rtol=1e-13)


def test_products_with_rows_of_other_features_are_refused():
    X = Bags.from_list([np.eye(3), np.ones((2, 3))])
    e = IsolationEmbedding(4, 2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="3 columns and the features 8"):
        e.products(X, sparse.csr_matrix(np.ones((1, 3))))


@pytest.mark.parametrize(
    "size, share, expected",
    [(10, 1.0, 64), (10, 0.05, 4), (200, 0.05, 12), (1600, 1.0, 100), (5000, 1.0, 256)],
)
def test_auto_has_few_cells_for_texts_and_more_for_large_bags(size, share, expected):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40 * size, 3)) * (rng.random((40 * size, 3)) < share)
    bags = Bags(X, np.arange(41) * size)
    for learner in (IsolationEmbedding(1, "auto"), IsolationKernel(1, "auto")):
        assert learner.set_params(random_state=0).fit(bags).n_cells_ == expected
