"""Set and minimax kernels against their definitions; the algebra of kernels."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import skmil
from skmil import Bags
from skmil._engines import pairs as engine
from skmil.embeddings import MinMaxEmbedding
from skmil.evaluation import cross_validate_bags
from skmil.kernels import EmpiricalMap, MinimaxKernel, Normalized, Power, Repaired, SetKernel
from tests import naive

INSTANCE = {
    "rbf": lambda x, y: naive.rbf(x, y, 0.3),
    "linear": np.dot,
    "poly": lambda x, y: naive.poly(x, y, 0.3, 1.0, 2),
}


@pytest.fixture(params=[(256, 512), (3, 2)], ids=["large blocks", "tiny blocks"])
def block_size(request, monkeypatch):
    """Bags must not notice where the blocks of the instance Gram are cut."""
    monkeypatch.setattr(engine, "ROWS", request.param[0])
    monkeypatch.setattr(engine, "COLUMNS", request.param[1])


@pytest.mark.parametrize("kind", INSTANCE)
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_sum_over_all_pairs(kind, power, bags, block_size):
    k = SetKernel(kind, gamma=0.3, normalization="sum", power=power)
    expected = naive.gram(bags, bags, lambda A, B: naive.set_kernel(A, B, INSTANCE[kind], power))
    assert_allclose(k(bags), expected, rtol=1e-10, atol=1e-12)
    assert_allclose(k(bags[:3], bags[2:]), expected[:3, 2:], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", INSTANCE)
def test_normalizations(kind, bags):
    S = naive.gram(bags, bags, lambda A, B: naive.set_kernel(A, B, INSTANCE[kind]))
    mean, cosine = (SetKernel(kind, gamma=0.3, normalization=n) for n in ("mean", "cosine"))
    assert_allclose(mean(bags), S / np.outer(bags.sizes, bags.sizes), rtol=1e-10)
    d = np.sqrt(S.diagonal())
    assert_allclose(cosine(bags), S / np.outer(d, d), rtol=1e-10)
    assert_allclose(cosine(bags[:2], bags), (S / np.outer(d, d))[:2], rtol=1e-10)


@pytest.mark.skipif(sys.platform != "linux", reason="counts page faults with an allocator of Linux")
def test_room_for_blocks_is_asked_for_once():
    """Where memory goes back to the system at once, as in workers of Dask, each request costs its pages."""
    code = (
        "import resource, numpy as np, skmil\n"
        "k = skmil.kernels.SetKernel(gamma=0.1)\n"
        "X = np.random.default_rng(0).random((100, 200, 10))\n"
        "faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "with skmil.threads(1):\n"
        "    k(X[:2])\n"
        "    before = faults()\n"
        "    k(X)\n"
        "print(faults() - before)\n"
    )
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert int(found.stdout) < 10_000, found.stderr


def test_duplicates_do_not_change_the_mean(bags):
    twice = Bags.from_list([np.vstack([b, b]) for b in bags])
    k = SetKernel(gamma=0.3)
    assert_allclose(k(twice), k(bags), rtol=1e-12)


def test_weights_of_instances(bags, block_size):
    rng = np.random.default_rng(0)
    u = rng.random((bags.offsets[-1], 2))
    K = engine.pair_sums(bags, bags, engine.InstanceKernel(gamma=0.3), u)
    G = rbf_kernel(bags.instances, gamma=0.3) * (u @ u.T)
    starts = bags.offsets[:-1]
    assert_allclose(K, np.add.reduceat(np.add.reduceat(G, starts, 0), starts, 1), rtol=1e-12)
    assert_allclose(
        engine.pair_sums(bags, bags[:4], engine.InstanceKernel(gamma=0.3), u, u[: bags.offsets[4]]),
        K[:, :4],
    )
    assert_allclose(engine.self_sums(bags, engine.InstanceKernel(gamma=0.3), u), K.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("kind", INSTANCE)
def test_no_cut_shows_in_the_bits(kind, monkeypatch):
    rng = np.random.default_rng(0)
    sizes = [3, 300, 1, 2, 700, *rng.integers(1, 60, 30), 257, 5]
    bags = Bags.from_list([rng.normal(size=(m, 5)) + 3.0 for m in sizes])
    kernel, u = engine.InstanceKernel(kind, gamma=0.1), rng.random((bags.offsets[-1], 2))

    def sums(n_threads=1):
        with skmil.threads(n_threads):
            cross = engine.pair_sums(bags[:9], bags, kernel, u[: bags.offsets[9]], u)
            return engine.pair_sums(bags, bags, kernel, u), engine.self_sums(bags, kernel, u), cross

    whole = sums()
    assert_array_equal(whole[0].diagonal(), whole[1])
    for name, value in [("AT_ONCE", 0), ("DIAGONAL", 17), ("COLUMNS", 100), ("BRIEF", 0), (None, 2)]:
        with monkeypatch.context() as changed:
            if name is not None:
                changed.setattr(engine, name, value)
            for a, b in zip(sums(2 if name is None else 1), whole, strict=True):
                assert_array_equal(a, b)


@pytest.mark.parametrize("normalization", ["sum", "mean", "cosine"])
def test_shares_of_instances_add_up(normalization, bags):
    k = SetKernel(gamma=0.3, normalization=normalization)
    shares = k.instance_gram(bags, bags[:5])
    assert_allclose(np.add.reduceat(shares, bags.offsets[:-1]), k(bags, bags[:5]), rtol=1e-10)


def test_sparse_equals_dense(bags):
    X = [np.where(np.abs(b) > 0.7, b, 0) for b in bags]
    for kind in INSTANCE:
        k = SetKernel(kind, gamma=0.3)
        assert_allclose(k([sparse.csr_matrix(b) for b in X]), k(X), rtol=1e-10, atol=1e-14)


def test_far_from_the_origin_no_digit_is_lost(bags):
    k = SetKernel(gamma=0.3)
    moved = bags.with_instances(np.round(bags.instances, 6) + 2.0**20)
    assert_allclose(k(moved), k(bags.with_instances(np.round(bags.instances, 6))), rtol=1e-8)


def test_any_function_is_an_instance_kernel(bags):
    k = SetKernel(lambda X, Y: rbf_kernel(X, Y, gamma=0.3))
    assert_allclose(k(bags), SetKernel(gamma=0.3)(bags), rtol=1e-12)


def test_width_from_the_data(bags):
    X = bags.instances
    D = ((X[:, None] - X[None]) ** 2).sum(-1)[np.triu_indices(len(X), 1)]
    assert SetKernel(gamma="median").fit(bags).gamma_ == pytest.approx(1 / np.median(D))
    assert SetKernel(gamma="scale").fit(bags).gamma_ == pytest.approx(1 / (4 * X.var()))
    constant = [np.ones((2, 3)), np.ones((1, 3))]
    assert SetKernel(gamma="median").fit(constant).gamma_ == 1.0
    assert SetKernel(gamma="scale").fit(constant).gamma_ == 1.0
    assert SetKernel(gamma="median").fit([np.ones((1, 3))]).gamma_ == 1.0


def test_what_is_wrong_is_said(bags):
    with pytest.raises(NotFittedError, match="call fit first, or give a number"):
        SetKernel(gamma="median")(bags)
    with pytest.raises(ValueError, match="X has 4 features and Y has 2"):
        SetKernel(gamma=1.0)(bags, [np.ones((1, 2))])
    with pytest.raises(ValueError, match="anchors: X has 2 features"):
        EmpiricalMap(SetKernel(), anchors=[np.ones((1, 2))]).fit(bags)


def test_minimax(bags):
    k = MinimaxKernel(degree=3, gamma=0.2, coef0=0.5)
    expected = naive.gram(bags, bags, lambda A, B: naive.minimax(A, B, 0.2, 0.5, 3))
    assert_allclose(k(bags), expected, rtol=1e-10)
    assert_allclose(k.diag(bags), expected.diagonal(), rtol=1e-10)


def test_minimax_of_texts_is_that_of_plain_arrays_and_learns_their_length():
    rng = np.random.default_rng(0)
    X = [np.where(rng.random((m, 6)) < 0.3, rng.normal(size=(m, 6)), 0.0) for m in (1, 4, 2, 3)]
    X[3][:, 0], X[3][:, 1], X[0][:] = 2.0, -1.0, 0.0  # never zero, and a bag without any term
    rare = [sparse.csr_matrix(b) for b in X]
    found = MinMaxEmbedding().fit_transform(rare)
    assert sparse.issparse(found)
    assert_array_equal(found.toarray(), MinMaxEmbedding().fit_transform(X))
    k = MinimaxKernel(degree=1, gamma="length").fit(X)
    ends = [np.concatenate([b.min(axis=0), b.max(axis=0)]) for b in X]
    assert k.gamma_ == pytest.approx(1 / np.mean([s @ s for s in ends]))
    assert_allclose(k(X), naive.gram(X, X, lambda A, B: naive.minimax(A, B, k.gamma_, 1.0, 1)), rtol=1e-10)
    again = MinimaxKernel(degree=1, gamma="length").fit(rare)
    assert_allclose(again(rare), k(X), rtol=1e-10)
    assert_allclose(again.diag(rare), k.diag(X), rtol=1e-10)
    with pytest.raises(NotFittedError, match="call fit first"):
        MinimaxKernel(gamma="length")(X)


def test_algebra(bags):
    a, b = SetKernel(gamma=0.3, normalization="sum"), MinimaxKernel()
    assert_allclose((a + b)(bags), a(bags) + b(bags))
    assert_allclose((a * b)(bags), a(bags) * b(bags))
    assert_allclose(Power(SetKernel("linear"), 0.5)(bags) ** 2, np.abs(SetKernel("linear")(bags)))
    assert_array_equal(np.sign(Power(SetKernel("linear"), 0.5)(bags)), np.sign(SetKernel("linear")(bags)))
    assert_allclose(Normalized(a)(bags), SetKernel(gamma=0.3, normalization="cosine")(bags), rtol=1e-12)
    zero = Normalized(SetKernel("linear"))([np.zeros((2, 2)), np.ones((1, 2))])
    assert_allclose(zero, [[0, 0], [0, 1]])


def test_empirical_map_with_a_number_of_anchors(bags, monkeypatch):
    k = EmpiricalMap(SetKernel(gamma=0.5), anchors=3).fit(bags)
    assert len(k.anchors_) == 3 and k.features_.shape == (len(bags), 3)
    assert_allclose(k.features(bags), SetKernel(gamma=0.5)(bags, k.anchors_))
    assert_allclose(k.transform(bags), k.features_ @ k.features_.T)
    every = EmpiricalMap(SetKernel(gamma=0.5), anchors="train").fit(bags)
    assert_allclose(EmpiricalMap(SetKernel(gamma=0.5)).fit(bags).features_, every.features_)
    monkeypatch.setattr("skmil.kernels.base.MANY", 4)
    monkeypatch.setattr("skmil.kernels.base.DRAWN", 2)
    assert len(EmpiricalMap(SetKernel(gamma=0.5)).fit(bags).anchors_) == 2


def test_empirical_map_with_given_anchors(bags):
    k = SetKernel(gamma=0.3)
    transductive = EmpiricalMap(k, anchors=bags).fit(bags[:4])
    assert_allclose(transductive.features(bags[:4]), k(bags[:4], bags))
    assert_allclose(transductive(bags[:4]), k(bags[:4], bags) @ k(bags, bags[:4]))
    with pytest.raises(NotFittedError):
        EmpiricalMap(k)(bags)


def test_works_as_scikit_learn_expects(toy):
    X, y = toy
    assert SVC(kernel=SetKernel(gamma=0.3), C=10).fit(list(X), y).score(list(X), y) > 0.8
    search = GridSearchCV(
        SVC(kernel=SetKernel(gamma=1.0)), {"C": [1, 10], "kernel__gamma": [0.1, 1.0]}, cv=2
    )
    assert search.fit(X, y).best_score_ > 0.6
    pipeline = make_pipeline(SetKernel(), SVC(kernel="precomputed", C=10))
    assert pipeline.fit(X, y).score(X, y) > 0.8


def minus_distance(X, Y):
    return -np.abs(X - Y.T)


@pytest.mark.parametrize("repair", ["clip", "flip", "shift"])
def test_repaired_matrices_and_rows(repair):
    rng = np.random.default_rng(0)
    X = Bags.from_list([rng.normal(size=(m, 1)) for m in (1, 2, 3, 2, 4)])
    k = SetKernel(minus_distance, normalization="sum")
    r = Repaired(k, repair).fit(X)
    assert_allclose(r(X), naive.repaired(k(X), repair), atol=1e-8)
    assert_allclose(Repaired(k, repair).fit_transform(X), r(X), atol=1e-8)
    assert_allclose(r.transform(X), r(X), atol=1e-8)
    assert_allclose(r.diag(X), r(X).diagonal(), atol=1e-8)
    assert r.negative_share_ >= 0.2
    new = Bags.from_list([rng.normal(size=(2, 1)), rng.normal(size=(3, 1))])
    both = Bags.concat([X, new])
    assert repair == "shift" or np.linalg.eigvalsh(r(both)).min() > -1e-8
    rows = r.transform(new)
    r.restrict([0, 3])
    assert_allclose(r.transform(new), rows[:, [0, 3]], atol=1e-8)


def test_transduction_sees_the_bags_to_be_predicted(bags):
    y = np.arange(len(bags)) % 2
    train, test = bags[:6], bags[6:]
    k = EmpiricalMap(SetKernel(gamma=0.5), unlabeled=test).fit(train)
    assert len(k.anchors_) == len(bags)
    assert_allclose(k.features(test), SetKernel(gamma=0.5)(test, bags))
    model = skmil.method("k_and emp (transduction)", unlabeled=test).fit(train, y[:6])
    assert model.kernel_.kernel_.grid_.s_.shape == (4,) and len(model.kernel_.anchors_) == len(bags)
    assert len(skmil.method("k_and emp (transduction)").fit(train, y[:6]).kernel_.anchors_) == 6


def test_cross_validation_shows_transductive_methods_the_test_bags(bags, monkeypatch):
    seen = []
    fit = EmpiricalMap._fit

    def spy(self, X, y):
        fit(self, X, y)
        seen.append((len(X), len(self.anchors_)))

    monkeypatch.setattr(EmpiricalMap, "_fit", spy)
    y = np.arange(9) % 2
    cross_validate_bags("k_and emp (transduction)", bags, y, folds=2)
    assert {(4, 9), (5, 9)} <= set(seen)
