"""MILES on Musk2 against what a user writes in a few lines of NumPy and scikit-learn."""

import warnings

import numpy as np
from bench_set import peak
from common import best, data
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from skmil.embeddings import MilesEmbedding
from skmil.learners import MILES
from skmil.preprocessing import BagScaler

GAMMA = 1 / 300


def miles_map(n_threads=1):
    """The map of all training bags: ``rbf_kernel`` and ``maximum.reduceat`` are the reference."""
    bags, _ = _musk2()
    embedding = MilesEmbedding(GAMMA)

    def reference():
        return _map(bags)

    error = np.abs(embedding.fit_transform(bags) - reference()).max()
    ours = best(lambda: embedding.fit_transform(bags), 5, n_threads)
    theirs = best(reference, 5, n_threads)
    return {
        "ratio": round(theirs / ours, 2),
        "reference": "sklearn rbf_kernel + maximum.reduceat",
        "threads": n_threads,
        "seconds": round(ours, 3),
        "memory_ratio": round(peak(lambda: embedding.fit_transform(bags)) / peak(reference), 4),
        "largest_difference": float(f"{error:.1e}"),
    }


def miles_fit():
    """Fit and predict: the reference puts liblinear's 1-norm SVM on the map of the reference."""
    bags, y = _musk2()

    def reference():
        svm = LinearSVC(penalty="l1", dual=False, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it stops at its 1000 iterations
            return svm.fit(_map(bags), y).predict(_map(bags))

    def ours():
        return MILES(GAMMA).fit(bags, y).predict(bags)

    agree = np.mean(ours() == reference())
    seconds, theirs = best(ours, 3), best(reference, 3)
    return {
        "ratio": round(theirs / seconds, 2),
        "reference": "the map above + LinearSVC(penalty='l1')",
        "threads": 1,
        "seconds": round(seconds, 3),
        "same_labels": round(float(agree), 3),
    }


def _musk2():
    musk = data("musk2")
    return BagScaler().fit_transform(musk.data), musk.target


def _map(bags):
    return np.maximum.reduceat(rbf_kernel(bags.instances, gamma=GAMMA), bags.offsets[:-1])


BENCHMARKS = {
    "miles-map-musk2": miles_map,
    "miles-map-musk2-2threads": lambda: miles_map(2),
    "miles-fit-musk2": miles_fit,
}
