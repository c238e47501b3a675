"""Bags on disk and workers: time against the same work in memory, and resident memory.

What is measured for memory runs in a process of its own: ``python benchmarks/bench_scale.py CHILD ...``.
Sizes are those of slides and speakers; ``SKMIL_SCRATCH`` names a folder with ten gigabytes to spare.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from common import peak_mib
from sklearn.svm import LinearSVC

import skmil
from skmil import threads
from skmil._lazy import BLOCK_BYTES
from skmil.datasets import make_speaker_like
from skmil.embeddings import IsolationEmbedding, NystroemEmbedding
from skmil.kernels import SetKernel
from skmil.learners import BagPipeline
from skmil.preprocessing import BagScaler

SLIDES = {"bags": 1000, "instances": 2000, "features": 512}


@contextmanager
def scratch():
    folder = Path(tempfile.mkdtemp(prefix="skmil-bench-", dir=os.environ.get("SKMIL_SCRATCH")))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def child(*arguments) -> dict:
    """Run a function of this file in a process of its own; its result and its peak of resident memory."""
    command = [sys.executable, __file__, *map(str, arguments)]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def store_isolation():
    """Decision values of a linear machine on isolation features: from disk, and from memory."""
    with scratch() as folder:
        speakers = make_speaker_like(random_state=0)
        skmil.write_bags(folder / "one.zarr", speakers.data, speakers.target)
        _ten_times(folder / "ten.zarr", speakers)
        runs = [child("isolation", folder / "one.zarr", where) for where in ("memory", "disk") * 2]
        memory = min(r["seconds"] for r in runs[::2])
        disk = min(r["seconds"] for r in runs[1::2])
        ten = child("isolation", folder / "ten.zarr", "disk")
    return {
        "ratio": round(memory / disk, 2),
        "times_memory": round(disk / memory, 2),
        "times_memory_at_ten": round(ten["seconds"] / (10 * memory), 2),
        "reference": "the same map and machine on the same bags in memory, 583,600 x 20",
        "threads": 1,
        "peak_mib": runs[1]["peak_mib"],
        "peak_mib_at_ten": ten["peak_mib"],
        "seconds": round(disk, 1),
        "seconds_at_ten": round(ten["seconds"], 1),
        "same_values": runs[0]["sum"] == runs[1]["sum"],
    }


def _ten_times(path, speakers) -> None:
    """Ten copies of all bags, each a little different."""
    random = np.random.default_rng(0)
    with skmil.store.writer(path, dtype="float64") as out:
        for k in range(10):
            for name, bag, label in zip(speakers.data.ids, speakers.data, speakers.target, strict=True):
                out.add(f"{k} {name}", bag + 1e-3 * random.standard_normal(bag.shape), label)


def isolation(path, where) -> dict:
    store = skmil.open_bags(path)
    few = np.arange(0, len(store), len(store) // 40)
    e = IsolationEmbedding(40, 256, random_state=0)
    model = BagPipeline([("map", e), ("linear", LinearSVC(random_state=0))])
    model.fit(store[few], store.target[few])
    bags = store.load() if where == "memory" else store
    with threads(1):
        start = time.perf_counter()
        values = model.decision_function(bags)
    return {"seconds": time.perf_counter() - start, "sum": float(values.sum())}


def slides():
    """A thousand slides of two thousand tiles: reading, and three methods, fitted and asked, from disk."""
    with scratch() as folder:
        _write_slides(folder)
        read = child("reading", folder)
        found = {
            name: child("method", folder / "slides.zarr", name) for name in ("Simple-MI", "ISK", "miFV")
        }
    peak = max(r["peak_mib"] for r in found.values())
    return {
        "ratio": round(2048 / peak, 2),
        "reference": "2 GiB of resident memory; fit on 800 bags, predict 200",
        "reading_times_memmap": round(read["store"] / read["memmap"], 2),
        "reading_seconds": round(read["store"], 2),
        "peak_mib": peak,
        **{
            name: {k: r[k] for k in ("peak_mib", "fit", "predict", "accuracy")} for name, r in found.items()
        },
        **SLIDES,
        "threads": 2,
    }


def _write_slides(folder: Path) -> None:
    """Random features, moved in a tenth of the tiles of every other slide; the same bytes in one file."""
    random = np.random.default_rng(0)
    shape = SLIDES["instances"], SLIDES["features"]
    with skmil.store.writer(folder / "slides.zarr") as out, open(folder / "flat.bin", "wb") as flat:
        for i in range(SLIDES["bags"]):
            bag = random.standard_normal(shape, dtype=np.float32)
            bag[: shape[0] // 10, :32] += 1.5 * (i % 2)
            out.add(f"slide {i}", bag, ("normal", "tumour")[i % 2])
            flat.write(bag.data)


def reading(folder) -> dict:
    """Seconds to have every byte in memory once, block after block, from the page cache where it can."""
    folder = Path(folder)
    store = skmil.open_bags(folder / "slides.zarr")
    ways = {
        "store": lambda: sum(len(block.instances) for block in store.blocks()),
        "memmap": lambda: _copied(folder / "flat.bin", (int(store.sizes.sum()), store.n_features)),
    }
    return {name: min(_seconds(way) for _ in range(5)) for name, way in ways.items()}


def _copied(path, shape) -> int:
    """Blocks of the same size from one file; mapped anew, as the chunks of the store are."""
    flat, size = np.memmap(path, np.float32, "r", shape=shape), BLOCK_BYTES // (4 * shape[1])
    return sum(len(np.array(flat[i : i + size])) for i in range(0, len(flat), size))


# Of ISK fewer and smaller partitions than by default, whose 10^14 operations take half an hour.
SETTINGS = {"ISK": {"n_partitions": 50, "n_cells": 64}, "Simple-MI": {}, "miFV": {}}


def method(path, name) -> dict:
    return _fitted(skmil.method(name, **SETTINGS[name]), skmil.open_bags(path))


def _fitted(model, store) -> dict:
    """Seconds to fit on four fifths of the bags and to predict the others."""
    train, test = np.arange(len(store)) % 5 > 0, np.arange(len(store)) % 5 == 0
    with threads(2):
        start = time.perf_counter()
        model.fit(store[train], store.target[train])
        fitted = time.perf_counter()
        right = model.predict(store[test]) == store.target[test]
    done = time.perf_counter()
    return {
        "fit": round(fitted - start, 1),
        "predict": round(done - fitted, 1),
        "accuracy": float(right.mean()),
    }


def many_bags(n=50_000):
    """Nyström features and a linear machine for more bags than a Gram matrix can hold."""
    with scratch() as folder:
        random = np.random.default_rng(0)
        with skmil.store.writer(folder / "many.zarr") as out:
            for i in range(n):
                bag = random.standard_normal((random.integers(5, 36), 20), dtype=np.float32)
                bag[:2] += 1.2 * (i % 2)
                out.add(i, bag, i % 2)
        found = {m: child("nystroem", folder / "many.zarr", m) for m in (100, 500)}
    return {
        "ratio": round(8 * (0.8 * n) ** 2 / 2**20 / found[500]["peak_mib"], 1),
        "reference": "memory for the Gram matrix of the 40,000 training bags",
        "bags": n,
        "instances": "5 to 35 of 20 features",
        **{f"m = {m}": r for m, r in found.items()},
        "threads": 2,
    }


def nystroem(path, m) -> dict:
    embedding = NystroemEmbedding(SetKernel(), int(m), random_state=0)
    steps = [("scale", BagScaler()), ("map", embedding), ("linear", LinearSVC(random_state=0))]
    return _fitted(BagPipeline(steps), skmil.open_bags(path))


def cluster_gram(n=240, size=200, d=50, tile=30):
    """Gram matrix of a set kernel on disk by one and two workers, against the plain call on one thread."""
    X = np.random.default_rng(0).standard_normal((n, size, d))
    kernel = SetKernel(gamma=0.01).fit(X[:2])
    with threads(1):
        plain = min(_seconds(lambda: kernel(X)) for _ in range(3))
    seconds = {}
    with scratch() as folder:
        skmil.write_bags(folder / "x.zarr", X)
        store = skmil.open_bags(folder / "x.zarr")
        for workers in (1, 2):
            with skmil.cluster(workers):
                skmil.gram(kernel, store[:40], tile=10)  # compiled code is loaded
                runs = [
                    _seconds(
                        lambda k=f"{workers}-{r}.zarr": skmil.gram(kernel, store, out=folder / k, tile=tile)
                    )
                    for r in range(3)
                ]
            seconds[workers] = min(runs)
    return {
        "ratio": round(seconds[1] / seconds[2], 2),
        "reference": "one worker; two cores",
        "times_plain_call": round(seconds[1] / plain, 3),
        "seconds_plain": round(plain, 2),
        "seconds_one_worker": round(seconds[1], 2),
        "seconds_two_workers": round(seconds[2], 2),
        "bags": n,
        "tiles": (n // tile) * (n // tile + 1) // 2,
    }


def _seconds(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


BENCHMARKS = {
    "store-isolation": store_isolation,
    "slides": slides,
    "many-bags": many_bags,
    "cluster-gram": cluster_gram,
}

if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    children = {f.__name__: f for f in (isolation, reading, method, nystroem)}
    answer = children[what](*arguments)
    print(json.dumps({**answer, "peak_mib": peak_mib()}))
