"""Work on Dask workers has the bits of work done here; Gram matrices on disk go on where they stopped."""

import sys
import time

import distributed
import numpy as np
import pytest
import zarr
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.svm import LinearSVC

import skmil
from skmil._cluster import cluster as enter
from skmil._lazy import groups
from skmil.cli import main
from skmil.embeddings import FisherEmbedding, IsolationEmbedding, PosteriorEmbedding
from skmil.evaluation import cross_validate_bags
from skmil.kernels import BoxKernel, EmpiricalMap, IsolationKernel, Normalized, SetKernel
from skmil.kernels.tiles import tile_bytes
from skmil.learners import BagPipeline
from tests import faults
from tests.catalogue import KERNELS
from tests.test_store import make, same

module = sys.modules["skmil._cluster"]  # the name in the package is the function's


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    bags, y = make(n=43)
    bags, y = bags[:40], y[:40]
    path = tmp_path_factory.mktemp("store") / "x.zarr"
    skmil.write_bags(path, bags, y)
    return bags, skmil.open_bags(path), y


def test_blocks_folds_and_tiles_have_the_same_bits(data, tmp_path, monkeypatch):
    bags, store, y = data
    monkeypatch.setattr("skmil._lazy.BLOCK_BYTES", 20_000)
    model = BagPipeline([("map", IsolationEmbedding(20, 8, random_state=0)), ("linear", LinearSVC())])
    model.fit(bags, y)
    embeddings = [FisherEmbedding(2, random_state=0), PosteriorEmbedding(4, n_init=2, random_state=0)]
    here = [e.fit(bags, y).transform(bags) for e in embeddings]
    folds = cross_validate_bags("Simple-MI", bags, y, folds=3)
    K = skmil.gram(SetKernel(), bags, tile=11)
    monkeypatch.setattr(module, "BLOCK_BYTES", 1000)  # bags in memory are sent away, too
    with enter(1) as client:
        with enter(client):
            assert_array_equal(model.decision_function(store), model.decision_function(bags))
        for X in (store, bags):
            for e, expected in zip(embeddings, here, strict=True):
                assert same(e.fit(X, y).transform(X), expected)
        there = cross_validate_bags("Simple-MI", store, y, folds=3)
        assert [r.outputs for r in sorted(there, key=lambda r: r.fold)] == [r.outputs for r in folds]
        assert_array_equal(skmil.gram(SetKernel(), bags, tile=11), K)
        assert_array_equal(skmil.gram(SetKernel(), store, out=tmp_path / "k.zarr", tile=11)[:], K)
        with pytest.raises(ValueError, match="features"):
            list(module.run(_fails, 3, [1]))
    scores = model.score_instances(store[:3])
    for a, b in zip(scores, model.score_instances(bags[:3]), strict=True):
        assert_array_equal(a, b)


def _fails(plan, item):
    raise ValueError(f"{plan} features")


def test_a_worker_computes_while_it_writes(tmp_path):
    """The end of a task waits here until the next task has begun, and no two ends run at once."""
    with enter(1):
        ends = dict(module.run(_begins, tmp_path, range(4), end=_waits_for_the_next))
    assert ends == dict.fromkeys(range(4), "together") | {3: "last"}


def _begins(folder, k):
    (folder / str(k)).touch()
    return k


def _waits_for_the_next(folder, k, result):
    (folder / "ending").mkdir()
    for _ in range(2000):
        if k == 3 or (folder / str(k + 1)).exists():
            break
        time.sleep(0.01)
    else:
        return "alone"
    time.sleep(0.05)
    (folder / "ending").rmdir()
    return "last" if k == 3 else "together"


def test_workers_with_several_threads(data, tmp_path):
    """A client of one's own may have them; tiles are then computed side by side in one process."""
    _, store, _ = data
    expected = skmil.gram(SetKernel(), store)
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 4, "dashboard_address": ":0"}
    with distributed.Client(**options) as client, enter(client):
        for k in range(3):
            K = skmil.gram(SetKernel(), store, out=tmp_path / f"{k}.zarr", tile=3)
            assert_array_equal(K[:], expected)


def test_nobody_answers(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_TO_CONNECT", 0.5)
    _, store, _ = data
    arguments = ["gram", str(store.path), str(tmp_path / "k.zarr"), "--cluster", "tcp://127.0.0.1:9"]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "tcp://127.0.0.1:9: no Dask scheduler answers" in error and error.count("\n") == 1
    for where in (0, "0", "nonsense"):
        with pytest.raises((ValueError, OSError)), enter(where):
            pass


SIZES = [3, 40, 1, 300, 7, 260, 90, 5, 520, 2, 33, 64, 128, 1, 17]  # blocks of 256 rows and 512 columns
KERNELS = [
    *KERNELS,
    SetKernel(),
    SetKernel("linear"),
    Normalized(EmpiricalMap(SetKernel(gamma=0.3))),
    Normalized(IsolationKernel(10, 4, normalize=False, random_state=0)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_tiles_have_the_bits_of_the_matrix(tmp_path, kernel):
    """Of any size, in memory and from disk; far from zero, where a change of origin would show."""
    rng, y = np.random.default_rng(0), np.arange(15) % 2
    boxes = "Box" in repr(kernel)
    bags = skmil.Bags.from_list(
        [rng.random((1 + n % 4, 3)) if boxes else rng.normal(3, 1, (n, 6)).astype("f4") for n in SIZES]
    )
    skmil.write_bags(tmp_path / "x.zarr", bags)
    store, kernel = skmil.open_bags(tmp_path / "x.zarr"), clone(kernel).fit(bags, y)
    few = skmil.Bags.from_list(list(bags[:9]))
    symmetric, other = kernel(bags), kernel(bags, few)
    assert_array_equal(symmetric, symmetric.T)
    for tile in (1, 4, 7, 15):
        assert_array_equal(skmil.gram(kernel, bags, tile=tile), symmetric)
        assert_array_equal(skmil.gram(kernel, bags, few, tile=tile), other)
    assert_array_equal(skmil.gram(kernel, store, out=tmp_path / "k.zarr", tile=4)[:], symmetric)
    known = kernel.transform(skmil.Bags.from_list(list(bags)))
    for part in (slice(0, 4), slice(4, 9), slice(9, 10), slice(10, 15)):  # asked for in parts
        assert_array_equal(kernel(bags[part], few), other[part])
        assert_array_equal(kernel.transform(bags[part]), known[part])


def test_single_precision_on_request(data, tmp_path):
    bags, _, _ = data
    K = SetKernel(gamma=0.5)(bags)
    small = skmil.gram(SetKernel(gamma=0.5), bags, tile=7, dtype="float32")
    assert small.dtype == np.float32
    assert_allclose(small, K, rtol=6e-8, atol=1e-38)
    stored = skmil.gram(SetKernel(gamma=0.5), bags, out=tmp_path / "k.zarr", tile=7, dtype="float32")
    assert stored.dtype == np.float32
    assert_array_equal(stored[:], small)
    with pytest.raises(ValueError, match="dtype is 'int8'; use one of float64, float32"):
        skmil.gram(SetKernel(gamma=0.5), bags, dtype="int8")


def test_counts_of_boxes_do_not_depend_on_tiles(data):
    bags = skmil.Bags.from_list([b[:4, :2] for b in data[0][:9]])
    kernel = BoxKernel("and", method="pairwise", random_state=0).fit(bags)
    assert_array_equal(skmil.gram(kernel, bags, tile=4), kernel(bags))


def test_a_matrix_goes_on_where_it_stopped(data, tmp_path):
    _, store, _ = data
    log, out = str(tmp_path / "log"), tmp_path / "k.zarr"
    kernel = faults.SlowKernel(log, seconds=0.0).fit(store[:2])
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        skmil.gram(kernel, store, out=out, tile=10, progress=stop)
    assert not out.exists() and len(faults.calls(log)) == 4
    half = zarr.open_array(f"{out}.part", mode="r")[:]
    assert np.isnan(half).any() and np.isfinite(half).any()
    with pytest.raises(ValueError, match="begun with another kernel, other bags or tiles"):
        skmil.gram(kernel, store, out=out, tile=9)
    with pytest.raises(ValueError, match="begun with another"):
        skmil.gram(kernel, store[:39], out=out, tile=10)
    K = skmil.gram(kernel, store, out=out, tile=10, progress=lambda *a: seen.append(a))
    assert len(faults.calls(log)) == 10 == len(set(faults.calls(log)))  # half of 4 x 4 tiles
    assert seen[-1] == (10, 10) and np.isfinite(K[:]).all()
    with pytest.raises(FileExistsError, match="remove it first"):
        skmil.gram(kernel, store, out=out, tile=10)


def test_the_command_line_writes_tiles(data, tmp_path, capsys):
    _, store, _ = data
    assert main(["gram", str(store.path), str(tmp_path / "k.zarr"), "--tile", "9"]) == 0
    assert "40 x 40 in tiles of 9" in capsys.readouterr().out
    assert main(["gram", str(store.path), str(tmp_path / "k.npy")]) == 0
    assert_allclose(np.load(tmp_path / "k.npy"), zarr.open_array(tmp_path / "k.zarr")[:], atol=1e-12)
    assert main(["gram", str(store.path), str(tmp_path / "i.zarr"), "--method", "Simple-MI"]) == 2
    assert "no kernel on bags" in capsys.readouterr().err


def test_a_tile_needs_no_more_than_it_says(tmp_path):
    """Measured by the allocator of Python and NumPy."""
    import tracemalloc

    bags = skmil.Bags(
        np.random.default_rng(0).random((60_000, 20)).astype(np.float32), np.arange(0, 60_001, 1500)
    )
    skmil.write_bags(tmp_path / "x.zarr", bags)
    store = skmil.open_bags(tmp_path / "x.zarr")
    kernel = SetKernel("linear").fit(store[:2])
    skmil.gram(kernel, store[:2], tile=1)
    tracemalloc.start()
    skmil.gram(kernel, store, out=tmp_path / "k.zarr", tile=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < tile_bytes(store, store, 10) + 2**20


def test_groups_hold_whole_bags():
    sizes = np.array([1, 4000, 100, 5000, 1, 1])
    assert [(s.start, s.stop) for s in groups(sizes)] == [(0, 2), (2, 3), (3, 4), (4, 6)]
