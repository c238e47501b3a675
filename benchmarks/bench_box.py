"""Whole Gram matrices of box counts against the paper's own algorithms, compiled the same way.

epsilon = 0.1 and delta = 0.01 on both sides. The reference is timed on a sample of pairs and scaled to
all pairs of bags; ``pairs`` says how many were timed.
"""

import time

import numpy as np
from common import best, data

from skmil import threads
from skmil._engines.boxes.coverage import count_coverage
from skmil._engines.boxes.pairwise import AND, MIN, OR
from skmil.kernels import BoxKernel
from skmil.preprocessing import BagGrid

TABLES = {"and": [AND], "min": [MIN], "and/or": [AND, OR]}


def bags_and_grid(name):
    if name == "corel":
        bags = data("corel1000").data[:900]
        return bags.with_instances(np.ascontiguousarray(bags.instances[:, :5])), BagGrid(factor=10.0)
    if name == "protein":
        return data("protein_trx").data, BagGrid(levels=100)
    return data(name).data, BagGrid(factor=1.0)


def box(name, kind="and", pairs=60, n_threads=1, repeats=3, largest=None):
    bags, grid = bags_and_grid(name)
    kernel = BoxKernel(kind, grid=grid, random_state=0).fit(bags)
    kernel.log_gram(bags[:25])
    ours = best(lambda: kernel.log_gram(bags), repeats, n_threads)
    theirs = reference(kernel, bags, TABLES[kind], pairs, repeats, largest)
    return {
        "ratio": round(theirs / ours, 1),
        "reference": "Tables 3, 4, 5 of Tao et al. 2008, compiled",
        "threads": n_threads,
        "seconds": round(ours, 3),
        "reference_seconds": round(theirs, 1),
        "pairs": pairs,
        "report": str(kernel.report_),
    }


def reference(kernel, bags, kinds, pairs, repeats, largest=None):
    """Seconds of the paper's algorithm for all pairs of bags, on one thread.

    With ``largest`` only pairs of bags up to that size are timed and the others taken to be as fast.
    """
    T = kernel._table(bags)
    first, second = np.triu_indices(len(bags), 1)
    fits = np.flatnonzero(np.maximum(bags.sizes[first], bags.sizes[second]) <= (largest or np.inf))
    sample = np.random.default_rng(0).choice(fits, min(pairs, len(fits)), replace=False)
    codes, seed = np.array(kinds), np.uint64(0)
    count_coverage(T, first[sample[:1]], second[sample[:1]], codes, 0.9, 0.9, seed)
    seconds = best(
        lambda: count_coverage(T, first[sample], second[sample], codes, 0.1, 0.01, seed), repeats
    )
    return seconds / len(sample) * len(first)


def two_threads(name):
    """Speed of two threads over one."""
    bags, grid = bags_and_grid(name)
    kernel = BoxKernel(grid=grid, random_state=0).fit(bags)
    kernel.log_gram(bags[:25])
    one, two = (best(lambda: kernel.log_gram(bags), 3, n) for n in (1, 2))
    return {"ratio": round(one / two, 2), "reference": "one thread", "threads": 2, "seconds": round(two, 3)}


def musk2_seconds():
    """All of Musk2 on two threads, for the record: the ratio is a minute over our time."""
    bags, grid = bags_and_grid("musk2")
    kernel = BoxKernel(grid=grid, random_state=0).fit(bags)
    kernel.log_gram(bags[:4])
    with threads(2):
        start = time.perf_counter()
        kernel.log_gram(bags)
        seconds = time.perf_counter() - start
    return {
        "ratio": round(60 / seconds, 2),
        "reference": "one minute",
        "threads": 2,
        "seconds": round(seconds, 1),
    }


BENCHMARKS = {
    "box-musk1": lambda: box("musk1", repeats=10),  # a tenth of a second a call
    "box-musk1-min": lambda: box("musk1", "min", pairs=20, largest=4),
    "box-musk1-and-or": lambda: box("musk1", "and/or"),
    "box-corel": lambda: box("corel", pairs=150),
    "box-corel-min": lambda: box("corel", "min", pairs=150, repeats=1, largest=6),
    "box-corel-and-or": lambda: box("corel", "and/or", pairs=150),
    "box-protein": lambda: box("protein", pairs=3, repeats=1),
    "box-protein-and-or": lambda: box("protein", "and/or", pairs=3, repeats=1),
    "box-musk1-2threads": lambda: two_threads("musk1"),
    "box-corel-2threads": lambda: two_threads("corel"),
    "box-musk2": musk2_seconds,
}
