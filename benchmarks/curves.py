"""How cost grows: ``python benchmarks/curves.py`` measures, ``... plot`` draws docs/images/scale.png.

Each point is a record (a line of docs/images/scale.jsonl): what grows, to which value, which work, how many
seconds of the processor on one thread, and of the clock for workers. So a machine with other work to do
spoils the last panel only. A curve ends where a point takes longer than ``PATIENCE``.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import skmil
from skmil import threads
from skmil.embeddings import FisherEmbedding, IsolationEmbedding, MeanEmbedding, NystroemEmbedding
from skmil.kernels import SetKernel
from skmil.learners import BagPipeline
from skmil.preprocessing import BagScaler

HERE = Path(__file__).resolve().parents[1] / "docs" / "images"
RECORDS, PICTURE = HERE / "scale.jsonl", HERE / "scale.png"
PATIENCE = 4.0
BASE = {"bags": 200, "instances": 100, "features": 32}
VALUES = {
    "bags": [50, 100, 200, 400, 800, 1600, 3200],
    "instances": [25, 50, 100, 200, 400, 800, 1600],
    "features": [8, 16, 32, 64, 128, 256, 512],
}


def models() -> dict:
    """A linear machine on four embeddings, each after scaling; and the Gram matrix by tiles."""
    maps = {
        "mean": MeanEmbedding(),
        "Fisher vector, K = 2": FisherEmbedding(2, max_instances=2**13, random_state=0),
        "isolation, 50 x 32": IsolationEmbedding(50, 32, random_state=0),
        "Nyström of the set kernel, m = 50": NystroemEmbedding(SetKernel(), 50, random_state=0),
    }
    head = LogisticRegression(max_iter=200)
    return {k: BagPipeline([("scale", BagScaler()), ("map", m), ("linear", head)]) for k, m in maps.items()}


def measure() -> None:
    """All curves, into the file of records."""
    found = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1), threads(1):
        for vary, values in VALUES.items():
            tired: set[str] = set()
            for value in values:
                store = make(Path(folder) / f"{vary}-{value}.zarr", BASE | {vary: value})
                for work, seconds in times(store, tired):
                    found.append({"vary": vary, "value": value, "work": work, "seconds": round(seconds, 4)})
                    print(json.dumps(found[-1]), flush=True)
        found += workers(Path(folder))
    RECORDS.write_text("".join(json.dumps(r) + "\n" for r in found), encoding="utf-8")


def make(path: Path, shape: dict):
    random = np.random.default_rng(0)
    with skmil.store.writer(path) as out:
        for i in range(shape["bags"]):
            bag = random.standard_normal((shape["instances"], shape["features"]), dtype=np.float32)
            out.add(i, bag + (i % 2), i % 2)
    return skmil.open_bags(path)


def times(store, tired: set[str]):
    """Seconds of each work that has not become too slow: fit and predict, or the matrix."""
    jobs = {k: lambda m=m: clone(m).fit(store, store.target).predict(store) for k, m in models().items()}
    jobs["Gram matrix of the set kernel"] = lambda: skmil.gram(SetKernel(), store)
    for work, job in jobs.items():
        if work not in tired:
            seconds = min(clock(job, time.process_time) for _ in range(2))
            yield work, seconds
            if seconds > PATIENCE:
                tired.add(work)


def workers(folder: Path):
    """The Gram matrix by one and two workers, and here."""
    store = make(folder / "workers.zarr", BASE | {"bags": 300})
    kernel = SetKernel().fit(store)
    for n in (1, 2):
        with skmil.cluster(n):
            skmil.gram(kernel, store[:20], tile=5)
            runs = [clock(lambda r=r, n=n: skmil.gram(kernel, store, out=folder / f"{n}-{r}.zarr", tile=30))
                    for r in range(9)]  # fmt: skip
        yield {
            "vary": "workers",
            "value": n,
            "work": "Gram matrix of the set kernel",
            "seconds": round(min(runs), 4),
        }


def clock(job, now=time.perf_counter) -> float:
    start = now()
    job()
    return now() - start


def plot() -> None:
    """Log-log curves from the records, with the slope of the last doublings in the legend."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    records = [json.loads(line) for line in RECORDS.read_text("utf-8").splitlines()]
    figure, axes = plt.subplots(1, 4, figsize=(15, 4.2), sharey=True, width_ratios=[1, 1, 1, 0.6])
    names = list(dict.fromkeys(r["work"] for r in records))
    for ax, vary in zip(axes, [*VALUES, "workers"], strict=True):
        for k, work in enumerate(names):
            points = [(r["value"], r["seconds"]) for r in records if (r["vary"], r["work"]) == (vary, work)]
            if points:
                x, y = np.array(points).T
                few = len(x) < 2  # no slope to tell
                slope = "" if few else f"{np.polyfit(np.log(x[-4:]), np.log(y[-4:]), 1)[0]:.1f}"
                ax.loglog(x, y, "o-", color=f"C{k}", label=slope or None, markersize=4)
        if vary == "workers":
            ax.set_xticks([1, 2], ["1", "2"], minor=False)
            ax.xaxis.set_minor_locator(plt.NullLocator())
        ax.set_xlabel({"instances": "instances in a bag"}.get(vary, vary))
        ax.grid(True, which="both", linewidth=0.3)
        ax.legend(title="slope", fontsize=8)
    axes[0].set_ylabel("seconds on one thread")
    handles = [plt.Line2D([], [], color=f"C{k}", marker="o", markersize=4) for k in range(len(names))]
    figure.legend(handles, names, loc="upper center", ncol=len(names), frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(PICTURE, dpi=80)


if __name__ == "__main__":
    plot() if sys.argv[1:] == ["plot"] else measure()
