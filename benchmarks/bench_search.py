"""How long the search page takes to answer after fifteen marks, for 1,000 and 10,000 pictures."""

import time
from pathlib import Path

import numpy as np

from skmil import Bags
from skmil.datasets.pictures import paint
from skmil.search import Collection, Ranker
from skmil.search.session import NOT_WANTED, WANTED
from skmil.sources import ImageBags, Thing

LEARNERS = ("auto", "MI-Kernel", "k_and emp", "MILES", "DD")
PATIENCE = 0.7  # of the server


def collection(n, painted=40):
    """Bags as of n pictures: painted ones, and copies whose features are a little different."""
    kinds = ("sunset", "field", "mountain", "flower")
    one = ImageBags().fit_transform([paint(kinds[k % 4], (96, 144), k) for k in range(painted)])
    rng = np.random.default_rng(0)
    copies = [
        one.with_instances(one.instances + rng.normal(0, 3, one.instances.shape))
        for _ in range(n // painted)
    ]
    things = [Thing(None, str(i)) for i in range(n)]
    bags = Bags.concat(copies)
    return Collection("bags", Path(), None, things, Bags(bags.instances, bags.offsets), [""] * n)


def answers(c, learner, n_threads, limit=None):
    """Seconds to the first answer, share that the learner has scored by then, seconds to the last.

    The last are ``None`` where it takes longer than ``limit``.
    """
    ranker = Ranker(c, n_threads=n_threads)
    marks = {c.ids[i]: WANTED if i % 4 == 0 else NOT_WANTED for i in range(14)}
    for k in marks:
        ranker.similarity.column(k, c.bags[[c.row[k]]])  # earlier rounds left these
    marks[c.ids[16]] = WANTED
    start = time.perf_counter()
    job = ranker.start("s", marks, learner)
    job.done.wait(PATIENCE)
    ranker.order(job)
    first, share = time.perf_counter() - start, job.scored / len(c)
    finished = job.done.wait(limit)
    last = time.perf_counter() - start
    job.end()
    if job.error:
        raise RuntimeError(job.error)
    return first, share, last if finished else None


def search(n_threads=2):
    found = {}
    for n in (1000, 10_000):
        c = collection(n)
        for learner in LEARNERS:
            answers(collection(200), learner, n_threads)  # compiled
            first, share, last = answers(c, learner, n_threads)
            found[f"{learner} {n}"] = [round(first, 2), round(share, 2), round(last, 2)]
    slowest = max(found, key=lambda k: found[k][0])
    return {
        "ratio": round(found["auto 10000"][2] / found["auto 10000"][0], 2),
        "reference": "auto scoring all of 10,000 pictures before it answers",
        "threads": n_threads,
        "slowest_first_answer": [slowest, found[slowest][0]],
        "first_seconds_share_scored_last_seconds": found,
    }


BENCHMARKS = {"search": search}
