"""Precision at 20 after three rounds of five marks: ``python benchmarks/search_precision.py OUT.md``.

A simulated person begins with one wanted thing. In each round they mark five things: the three best that
are not marked yet, and the two that the page offers as most informative. After three rounds, the twenty
best among the things that were never marked are looked at. The photographs are the bags of
``corel1000.npz`` in the folder ``SKMIL_DATA``: ten categories, one start in each; left out where they are
not there.
"""

import os
import sys
from pathlib import Path

import numpy as np

from skmil import Bags
from skmil.datasets import load_bags, make_pictures
from skmil.search import Collection, Ranker
from skmil.search.session import NOT_WANTED, WANTED
from skmil.sources import ImageBags, Thing

LEARNERS = ("auto", "MI-Kernel", "k_and emp", "MILES", "DD")
PAINTED = ("sunset", "sunset 2", "conjunctive")
N, SHARE, STARTS, ROUNDS, TOP = 300, 0.2, 5, 3, 20


def painted(task):
    """Bags and labels of painted pictures, and the mean colour of each."""
    made = make_pictures(task, N, shape=(96, 144), positive=SHARE, random_state=0)
    colours = np.array([p.mean(axis=(0, 1)) for p in made.data])
    starts = np.random.default_rng(0).choice(np.flatnonzero(made.target == 1), STARTS, replace=False)
    return ImageBags().fit_transform(made.data), made.target, colours, starts.tolist()


def photographs():
    """The same of photographs, whose colours are known by their regions only."""
    path = Path(os.environ.get("SKMIL_DATA", "")) / "corel1000.npz"
    if not path.exists():
        return None
    bunch = load_bags(path)
    starts = [100 * k + 50 for k in range(10)]
    return bunch.data, np.asarray(bunch.target), np.array([b.mean(axis=0) for b in bunch.data]), starts


def by_learner(bags: Bags, wanted, start: int, learner: str) -> float:
    things = [Thing(None, str(i)) for i in range(len(bags))]
    collection = Collection("bags", Path(), None, things, bags, [""] * len(bags))
    ranker = Ranker(collection)
    marked = {start: True}
    for _ in range(ROUNDS + 1):
        marks = {collection.ids[i]: WANTED if y else NOT_WANTED for i, y in marked.items()}
        job = ranker.start("s", marks, learner)
        job.done.wait()
        if job.error:
            raise RuntimeError(job.error)
        best = [i for i in ranker.order(job).tolist() if i not in marked]
        unclear = [i for i in ranker.order(job, "informative").tolist() if i not in best[:3]]
        last, marked = best, marked | {i: bool(wanted[i]) for i in best[:3] + unclear[:2]}
    return float(wanted[last[:TOP]].mean())


def by_mean(means, wanted, start: int) -> float:
    """The plain ranking: distance to the mean of the means of wanted things; five best marked a round."""
    means = (means - means.mean(axis=0)) / (means.std(axis=0) + 1e-12)
    marked = {start: True}
    for _ in range(ROUNDS + 1):
        middle = means[[i for i, y in marked.items() if y]].mean(axis=0)
        order = np.argsort(((means - middle) ** 2).sum(axis=1), kind="stable")
        last = [i for i in order.tolist() if i not in marked]
        marked |= {i: bool(wanted[i]) for i in last[:5]}
    return float(wanted[last[:TOP]].mean())


def main(out: str) -> None:
    """Write the table."""
    found = {f"painted: {t}": painted(t) for t in PAINTED} | {"1,000 photographs (Corel)": photographs()}
    rows = []
    for name, data in found.items():
        if data is None:
            print(f"{name}: not in SKMIL_DATA, left out", file=sys.stderr)
            continue
        bags, target, means, starts = data
        wanted = [target == target[s] for s in starts]
        pairs = list(zip(starts, wanted, strict=True))
        cells = [np.mean([by_learner(bags, w, s, m) for s, w in pairs]) for m in LEARNERS]
        cells.append(np.mean([by_mean(means, w, s) for s, w in pairs]))
        rows.append([name, f"{np.mean(wanted):.2f}", *(f"{c:.2f}" for c in cells)])
        print(rows[-1], file=sys.stderr, flush=True)
    head = ["collection", "share wanted", *LEARNERS, "mean colour"]
    lines = [head, ["---"] * len(head), *rows]
    Path(out).write_text("".join(f"| {' | '.join(r)} |\n" for r in lines), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
