"""Bags on disk: the same bags, the same bits, whole bags only."""

import json
import pickle

import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

import skmil
from skmil import Bags
from skmil._lazy import cut, groups
from skmil.embeddings import (
    BoxEmbedding,
    FisherEmbedding,
    IsolationEmbedding,
    MeanEmbedding,
    MeanStdEmbedding,
    MilesEmbedding,
    MinMaxEmbedding,
    NystroemEmbedding,
    PosteriorEmbedding,
)
from skmil.kernels import GraphKernel, IsolationKernel, MinimaxKernel, Normalized, SetKernel
from skmil.learners import BagPipeline, BagSVC
from skmil.preprocessing import BagGrid, BagScaler
from skmil.store import arrays


def make(n=60, d=7, dtype=np.float64, kind="dense", seed=0):
    """Bags of very unequal sizes, several groups of them, and labels that depend on them."""
    random = np.random.default_rng(seed)
    sizes = np.concatenate([random.integers(1, 40, n - 3), [900, 5000, 1]])
    X = random.standard_normal((sizes.sum(), d)) * np.arange(1, d + 1) + 3.0
    y = random.integers(0, 2, n)
    X[:, 0] += 2.0 * np.repeat(y, sizes)
    X = np.where(random.random(X.shape) < 0.8, 0.0, X) if kind == "csr" else X
    X = X.astype(dtype)
    table = sparse.csr_matrix(X) if kind == "csr" else X
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Bags(table, offsets, [f"bag {i}" for i in range(n)], [f"f{k}" for k in range(d)]), y


@pytest.fixture(params=[("dense", "float64"), ("dense", "float32"), ("csr", "float64"), ("csr", "float32")])
def pair(request, tmp_path, monkeypatch):
    """The same bags in memory and in a store of many small chunks."""
    monkeypatch.setattr(arrays, "CHUNK_BYTES", 5000)
    kind, dtype = request.param
    bags, y = make(kind=kind, dtype=dtype)
    skmil.write_bags(tmp_path / "x.zarr", bags, y)
    return bags, skmil.open_bags(tmp_path / "x.zarr"), y


def test_a_store_is_its_bags(pair):
    bags, store, y = pair
    assert len(store) == len(bags) and store.shape == bags.shape and store.dtype == bags.dtype
    assert_array_equal(store.sizes, bags.sizes)
    assert_array_equal(store.ids, bags.ids)
    assert_array_equal(store.target, y)
    assert_array_equal(store.feature_names, bags.feature_names)
    assert store.is_sparse == bags.is_sparse and store.load() == bags
    for key in (slice(3, 9), [7, 3, 50, 51, 7], np.arange(60) % 3 == 0, slice(None, None, -1)):
        assert store[key].load() == bags[key]
        assert_array_equal(store[key].target, y[key])
    assert store[[7, 3, 50]][[2, 0]].load() == bags[[50, 7]]
    one = store[-2]
    assert (one != bags[-2]).nnz == 0 if bags.is_sparse else np.array_equal(one, bags[-2])


@pytest.mark.parametrize("max_bytes", [1, 20_000, 10**6, 10**9])
def test_blocks_are_all_bags_in_order(pair, max_bytes):
    bags, store, _ = pair
    parts = list(store.blocks(max_bytes))
    assert Bags.concat(parts) == bags
    edges = {s.start for s in groups(bags.sizes)}
    assert {s.start for s in cut(bags.sizes, 56, max_bytes)} <= edges


def test_rows_are_instances(pair):
    bags, store, _ = pair
    chosen = [9, 57, 3, 58, 4]
    for a, b in ((bags, store), (bags[chosen], store[chosen])):
        rows = np.random.default_rng(0).choice(int(b.sizes.sum()), 200, replace=False)
        for index in (rows, np.sort(rows)):
            found, expected = b.rows(index), a.rows(index)
            assert (found != expected).nnz == 0 if a.is_sparse else np.array_equal(found, expected)


def test_nothing_is_read_before_it_is_asked_for(pair, monkeypatch):
    _, store, _ = pair
    monkeypatch.setattr(arrays, "read_chunk", lambda *a: pytest.fail("a chunk was read"))
    part = store[10:20][[1, 2]]
    assert len(part) == 2 and part.sizes.shape == (2,) and repr(part) and part.fingerprint
    assert len(pickle.dumps(part)) < 2000


def test_other_readers_of_zarr_see_plain_arrays(pair):
    bags, store, y = pair
    group = zarr.open_group(store.path, mode="r")
    assert_array_equal(group["offsets"][:], bags.offsets)
    assert_array_equal(group["target"][:], y)
    if bags.is_sparse:
        assert_array_equal(group["indptr"][:], bags.instances.indptr)
        assert_array_equal(group["data"][:], bags.instances.data)
    else:
        assert_array_equal(group["instances"][:], bags.instances)


def test_a_store_that_others_have_compressed(tmp_path):
    bags, y = make(n=8)
    skmil.write_bags(tmp_path / "x.zarr", bags, y)
    group = zarr.open_group(tmp_path / "x.zarr")
    del group["instances"]
    group.create_array("instances", data=np.asarray(bags.instances), chunks=(100, 7))
    store = skmil.open_bags(tmp_path / "x.zarr")
    assert store.load() == bags
    assert_array_equal(store.rows(np.arange(0, 900, 7)), bags.rows(np.arange(0, 900, 7)))


SCALERS = [BagScaler(m) for m in ("standard", "minmax", "robust", "unit", "none")]
SCALERS += [BagScaler(equal_bags=True), *(BagScaler("minmax", skip_sparse=s) for s in (True, "zeros"))]


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_scalers_have_the_same_bits(pair, scaler):
    bags, store, _ = pair
    if bags.is_sparse and scaler.method == "robust":
        pytest.skip("sparse features are divided by their range")
    here, there = clone(scaler).fit(bags), clone(scaler).fit(store)
    assert_array_equal(here.center_, there.center_)
    assert_array_equal(here.scale_, there.scale_)
    scaled = there.transform(store)
    assert scaled.dtype == bags.dtype and scaled.load() == here.transform(bags)
    assert scaled[5:8].load() == here.transform(bags[5:8])


def test_a_grid_of_a_store(tmp_path):
    bags, _ = make()
    skmil.write_bags(tmp_path / "x.zarr", bags)
    store = skmil.open_bags(tmp_path / "x.zarr")
    grid = BagGrid(levels=20).fit(store)
    assert grid.transform(store).load() == BagGrid(levels=20).fit_transform(bags)


EMBEDDINGS = [
    MeanEmbedding(),
    MinMaxEmbedding(),
    MeanStdEmbedding(),
    IsolationEmbedding(20, 16, random_state=0),
    IsolationEmbedding(10, 8, similarity_threshold=0.6, metric="auto", random_state=0),
    IsolationEmbedding(5, 8, partition="forest", random_state=0),
    FisherEmbedding(3, random_state=0),
    FisherEmbedding(2, max_instances=500, random_state=0),
    PosteriorEmbedding(5, n_init=2, max_instances=700, random_state=0),
    PosteriorEmbedding(3, mixture="diag", n_init=2, random_state=0),
    MilesEmbedding(n_prototypes=50, random_state=0),
    MilesEmbedding(gamma=0.1),
    BoxEmbedding(n_boxes=60, random_state=0),
    BoxEmbedding("min", n_boxes=30, max_instances=300, random_state=0),
    NystroemEmbedding(n_components=10, random_state=0),
    NystroemEmbedding(GraphKernel(gamma="scale"), n_components=8, random_state=0),
    NystroemEmbedding(IsolationKernel(10, 8, random_state=0), n_components=12, random_state=0),
]


def same(a, b) -> bool:
    if sparse.issparse(a):
        return a.shape == b.shape and (a != b).nnz == 0
    return a.dtype == b.dtype and np.array_equal(a, b)


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=repr)
def test_embeddings_have_the_same_bits(pair, embedding, monkeypatch):
    bags, store, y = pair
    if bags.is_sparse and not embedding.__sklearn_tags__().input_tags.sparse:
        with pytest.raises(TypeError, match="sparse"):
            clone(embedding).fit(store)
        return
    small = slice(0, 57)  # no large bag: some of these are slow
    bags, store, y = bags[small], store[small], y[small]
    monkeypatch.setattr("skmil._lazy.GROUP", 300)
    here = clone(embedding).fit(bags, y)
    expected = here.transform(bags)
    for max_bytes in (1, 10_000, 10**8):
        monkeypatch.setattr("skmil._lazy.BLOCK_BYTES", max_bytes)
        there = clone(embedding).fit(store, y)
        assert same(there.transform(store), expected)
        assert same(here.transform(store[40:]), here.transform(bags[40:]))


def models():
    scale = ("scale", BagScaler())
    linear = LinearSVC(C=0.1, random_state=0)
    return [
        BagPipeline([scale, ("mean", MeanEmbedding()), ("linear", LogisticRegression())]),
        BagPipeline([scale, ("map", IsolationEmbedding(20, 8, random_state=0)), ("linear", linear)]),
        BagPipeline(
            [scale, ("map", NystroemEmbedding(n_components=15, random_state=0)), ("linear", linear)]
        ),
        skmil.method("Simple-MI"),
        skmil.method("ISK", n_cells=8, n_partitions=20),
        skmil.method("miFV"),
        skmil.method("PPMM", n_components=4, n_init=2),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m[-1]).__name__ + type(m[1]).__name__)
def test_models_have_the_same_bits(tmp_path, model, monkeypatch):
    bags, y = make(n=43, dtype=np.float32)
    bags, y = bags[:40], y[:40]
    skmil.write_bags(tmp_path / "x.zarr", bags, y)
    store = skmil.open_bags(tmp_path / "x.zarr")
    monkeypatch.setattr("skmil._lazy.GROUP", 100)
    monkeypatch.setattr("skmil._lazy.BLOCK_BYTES", 5000)
    here, there = clone(model).fit(bags, y), clone(model).fit(store, store.target)
    assert_array_equal(here.predict(bags), there.predict(store))
    assert_array_equal(here.decision_function(bags), there.decision_function(store))
    few = slice(0, 6)
    for a, b in zip(here.score_instances(bags[few]), there.score_instances(store[few]), strict=True):
        assert_array_equal(a, b)


ANSWERS = ("MI-Kernel", "miGraph", "Minimax", "MILES", "Boost", "SIL", "mi-SVM", "ALP-SVM", "MissSVM")


@pytest.mark.parametrize("name", [*ANSWERS, "Winnow", "Citation-kNN", "MILBoost", "EM-DD"])
def test_answers_have_the_same_bits(tmp_path, name, monkeypatch):
    """Of learners that hold all training instances, about bags on disk."""
    bags, y = make(n=43)
    bags, y = bags[:40], y[:40]
    skmil.write_bags(tmp_path / "x.zarr", bags, y)
    store, model = skmil.open_bags(tmp_path / "x.zarr"), skmil.method(name).fit(bags[:12], y[:12])
    monkeypatch.setattr("skmil._lazy.GROUP", 100)
    expected, shares = model.decision_function(bags), model.score_instances(bags)
    for n_bytes in (5000, 40_000):
        monkeypatch.setattr("skmil._lazy.BLOCK_BYTES", n_bytes)
        assert_array_equal(model.decision_function(store), expected)
        assert_array_equal(np.concatenate(model.score_instances(store)), np.concatenate(shares))


def test_what_holds_all_instances_loads_the_store(tmp_path, monkeypatch):
    bags, y = make(n=30)
    bags, y = bags[:27], y[:27]
    skmil.write_bags(tmp_path / "x.zarr", bags, y)
    store = skmil.open_bags(tmp_path / "x.zarr")
    for model in (BagSVC(SetKernel(gamma=0.1)), skmil.method("MI-Kernel"), skmil.method("SIL")):
        here, there = clone(model).fit(bags, y), clone(model).fit(store, y)
        assert_array_equal(here.predict(bags), there.predict(store))
        assert_array_equal(here.decision_function(bags), there.decision_function(store))
    scores = cross_val_score(BagSVC(SetKernel(gamma=0.1)), store, store.target, cv=3)
    assert_array_equal(scores, cross_val_score(BagSVC(SetKernel(gamma=0.1)), bags, y, cv=3))
    monkeypatch.setattr("skmil.store.reading._free_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"x.zarr: 0 MiB .* NystroemEmbedding .* store\[:100\]"):
        skmil.method("MI-Kernel").fit(store, y)
    skmil.method("Simple-MI").fit(store, y).predict(store)


@pytest.mark.parametrize(
    "kernel", [SetKernel(), SetKernel(gamma="scale"), IsolationKernel(20, 8, random_state=0)]
)
def test_kernels_learn_from_a_store(pair, kernel):
    bags, store, _ = pair
    bags, store = bags[:20], store[:20]
    assert_array_equal(clone(kernel).fit_transform(store), clone(kernel).fit_transform(bags))
    assert_array_equal(clone(kernel).fit(store)(store[:5]), clone(kernel).fit(bags)(bags[:5]))


def test_nystroem_is_exact_between_landmarks():
    bags, _ = make(n=23)
    bags = bags[:20]
    for kernel in (SetKernel(gamma=0.02), Normalized(SetKernel(gamma=0.1, normalization="sum"))):
        Z = NystroemEmbedding(kernel, n_components=99).fit_transform(bags)
        np.testing.assert_allclose(Z @ Z.T, kernel(bags), atol=1e-10)
    few = NystroemEmbedding(SetKernel(gamma=0.02), n_components=5, random_state=1).fit(bags)
    Z, K = few.transform(bags), SetKernel(gamma=0.02)
    M = few.landmarks_
    expected = K(bags, M) @ np.linalg.pinv(K(M), rcond=1e-12, hermitian=True) @ K(M, bags)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-9)
    w = np.arange(5.0)
    shares = few.contributions(bags, w)
    np.testing.assert_allclose([s.sum() for s in shares], Z @ w, atol=1e-9)
    assert not hasattr(NystroemEmbedding(MinimaxKernel()), "contributions")


@pytest.mark.parametrize("embedding", EMBEDDINGS[:4] + [EMBEDDINGS[-3]], ids=repr)
def test_float32_is_as_good_as_its_values(embedding):
    bags, y = make(n=30, dtype=np.float32)
    bags, y = bags[:27], y[:27]
    double = bags.astype(np.float64)
    a, b = clone(embedding).fit(bags, y).transform(bags), clone(embedding).fit(double, y).transform(double)
    a, b = (Z.toarray() if sparse.issparse(Z) else Z for Z in (a, b))
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_float32_adds_up_in_float64():
    X = np.full((100_000, 1), 0.1, np.float32)
    bags = Bags(X, [0, 50_000, 100_000])
    assert bags.dtype == np.float32
    exact = float(X[0, 0])
    assert_array_equal(MeanEmbedding().fit_transform(bags), np.full((2, 1), X[0, 0]))
    assert (
        abs(BagScaler("standard").fit(Bags(np.vstack([X, X + 1]), [0, 200_000])).center_[0] - exact - 0.5)
        < 1e-7
    )
    assert SetKernel("linear").fit(bags)(bags)[0, 1] == pytest.approx(exact**2, rel=1e-8)  # 2.5e9 terms


def test_random_kernels_of_a_store_are_cut_alike(tmp_path):
    """A selection of a store groups bags as the same selection of bags in memory."""
    bags, y = make()
    skmil.write_bags(tmp_path / "x.zarr", bags, y)
    store = skmil.open_bags(tmp_path / "x.zarr")
    chosen = np.random.default_rng(3).permutation(60)[:30]
    e = FisherEmbedding(2, random_state=0).fit(bags)
    assert_array_equal(e.transform(store[chosen]), e.transform(bags[chosen]))


# Writing


def test_the_writer_writes_bag_by_bag(tmp_path):
    with skmil.store.writer(tmp_path / "x.zarr", dtype="float64") as out:
        out.add(3, [[1.0, 2.0]], "a")
        out.add(9, [[3.0, 4.0], [5.0, 6.0]], "b")
        assert not (tmp_path / "x.zarr").exists()
    store = skmil.open_bags(tmp_path / "x.zarr")
    assert store.ids.tolist() == [3, 9] and store.target.tolist() == ["a", "b"]
    assert_array_equal(store[1], [[3.0, 4.0], [5.0, 6.0]])
    assert [p.name for p in tmp_path.iterdir()] == ["x.zarr"]


def test_extras_are_kept(tmp_path):
    bags, y = make(n=8)
    folds = np.arange(16).reshape(2, 8) % 3
    skmil.write_bags(tmp_path / "x.zarr", bags, y, folds=folds, split=np.array(["train"] * 8))
    extras = skmil.open_bags(tmp_path / "x.zarr").extras
    assert_array_equal(extras["folds"], folds)
    assert extras["split"].tolist() == ["train"] * 8


@pytest.mark.parametrize(
    ("bag", "label", "message"),
    [
        ([[1.0, 2.0, 3.0]], "a", "3 features; those before it have 2"),
        ([[1.0, np.nan]], "a", "contains NaN"),
        ([[1.0, 1e300]], "a", "too large for float32"),
        ([[1.0, 2.0]], None, "no label, unlike"),
        (sparse.csr_matrix([[1.0, 2.0]]), "a", "is sparse, unlike"),
        (np.empty((0, 2)), "a", "0 instances"),
        ([["x", "y"]], "a", "text"),
        ([[1.0, 2.0]], {"a": 1}, "neither a number nor text"),
    ],
)
def test_bad_bags_are_refused_and_the_store_goes_on(tmp_path, bag, label, message):
    with skmil.store.writer(tmp_path / "x.zarr") as out:
        out.add("one", [[1.0, 2.0]], "a")
        with pytest.raises((ValueError, TypeError), match=message):
            out.add("two", bag, label)
        with pytest.raises(ValueError, match="already"):
            out.add("one", [[1.0, 2.0]], "a")
        out.add("three", [[5.0, 6.0]], "b")
    store = skmil.open_bags(tmp_path / "x.zarr")
    assert store.ids.tolist() == ["one", "three"] and len(store.load().instances) == 2


def test_a_writer_that_fails_leaves_whole_bags_to_go_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "CHUNK_BYTES", 100)
    with pytest.raises(RuntimeError), skmil.store.writer(tmp_path / "x.zarr") as out:
        out.add("one", np.ones((30, 2)), 1)
        out.commit()
        out.add("two", np.ones((30, 2)), 1)
        raise RuntimeError
    with pytest.raises(FileNotFoundError, match=r"not finished.*same command goes on"):
        skmil.open_bags(tmp_path / "x.zarr")
    with pytest.raises(FileExistsError, match="resume=True"), skmil.store.writer(tmp_path / "x.zarr"):
        pass
    with skmil.store.writer(tmp_path / "x.zarr", resume=True) as out:
        assert list(out.ids) == ["one"]
        out.add("two", np.full((30, 2), 2.0), 1)
    store = skmil.open_bags(tmp_path / "x.zarr")
    assert_array_equal(store[0], np.ones((30, 2)))
    assert_array_equal(store[1], np.full((30, 2), 2.0))
    with pytest.raises(FileExistsError, match="remove it first"):
        skmil.write_bags(tmp_path / "x.zarr", [[[1.0]]])


def test_the_same_content_has_the_same_fingerprint(tmp_path):
    bags, y = make(n=8)
    for name in "ab":
        skmil.write_bags(tmp_path / f"{name}.zarr", bags, y)
    skmil.write_bags(tmp_path / "c.zarr", bags.with_instances(bags.instances + 1e-9), y)
    a, b, c = (skmil.open_bags(tmp_path / f"{n}.zarr") for n in "abc")
    assert a.fingerprint == b.fingerprint != c.fingerprint
    assert a[:3].fingerprint == b[:3].fingerprint != a.fingerprint


# Damage


def test_a_truncated_chunk_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "CHUNK_BYTES", 3000)
    bags, y = make(n=20)
    skmil.write_bags(tmp_path / "x.zarr", bags, y)
    store = skmil.open_bags(tmp_path / "x.zarr")
    chunk = store.path / "instances" / "c" / "2" / "0"
    chunk.write_bytes(chunk.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"c/2/0: this chunk .* has 100 bytes instead of 2968"):
        MeanEmbedding().fit_transform(store)
    assert store[0].shape == bags[0].shape
    chunk.unlink()
    with pytest.raises(ValueError, match=r"c/2/0: this chunk of the store is missing"):
        store.load()


def test_stores_of_other_versions_and_damaged_ones(tmp_path):
    bags, y = make(n=8)
    path = tmp_path / "x.zarr"
    skmil.write_bags(path, bags, y)
    whole = (path / "zarr.json").read_text()
    root = json.loads(whole)
    root["attributes"]["skmil"]["format"] = 7
    (path / "zarr.json").write_text(json.dumps(root))
    with pytest.raises(ValueError, match=r"a store of version 7 .* reads version 1"):
        skmil.open_bags(path)
    del root["attributes"]["skmil"]
    (path / "zarr.json").write_text(json.dumps(root))
    with pytest.raises(ValueError, match="no finished store"):
        skmil.open_bags(path)
    (path / "zarr.json").write_text(whole)
    (path / "offsets" / "zarr.json").unlink()
    with pytest.raises(ValueError, match="damaged"):
        skmil.open_bags(path)
    with pytest.raises(FileNotFoundError, match="no such store"):
        skmil.open_bags(tmp_path / "y.zarr")
    with pytest.raises(ValueError, match="not a store of bags"):
        skmil.open_bags(tmp_path)
