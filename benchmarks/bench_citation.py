"""Citation-kNN on Musk2 in ten folds against SciPy's ``cdist`` on every pair of bags."""

import numpy as np
from common import best, data
from scipy.spatial.distance import cdist

from skmil.learners import CitationKNN, hausdorff

R, C = 2, 4


def citation_musk2(n_threads=1):
    musk2 = data("musk2")
    bags, y = musk2.data, musk2.target
    folds = np.arange(len(y)) % 10

    def ours():
        parts = [(folds != f, folds == f) for f in range(10)]
        return [CitationKNN(R, C).fit(bags[a], y[a]).decision_function(bags[b]) for a, b in parts]

    expected: list = []

    def theirs():
        parts = [(folds != f, folds == f) for f in range(10)]
        expected[:] = [citation_by_cdist(bags[a], y[a], bags[b]) for a, b in parts]

    got = ours()  # compiles
    seconds, reference = best(ours, 2, n_threads), best(theirs, 2, n_threads)
    few = bags[::6]
    difference = np.abs(hausdorff(few) - np.array([[cdist(a, b).min() for b in few] for a in few])).max()
    return {
        "ratio": round(reference / seconds, 2),
        "reference": "scipy cdist on all pairs of bags",
        "threads": n_threads,
        "seconds": round(seconds, 3),
        "reference_seconds": round(reference, 1),
        "same_decisions": all(np.allclose(a, b) for a, b in zip(got, expected, strict=True)),
        "largest_difference_of_distances": float(difference),
    }


def citation_by_cdist(train, y, test):
    """Share of the votes for 1 less that for 0, from all distances."""
    D = np.array([[cdist(a, b).min() for b in train] for a in train])
    np.fill_diagonal(D, np.inf)
    E = np.array([[cdist(a, b).min() for b in train] for a in test])
    reach, near = np.sort(D, axis=1)[:, C - 1], np.sort(E, axis=1)[:, R - 1 : R]
    votes = (near >= E).astype(float) + (reach >= E)
    return votes @ np.where(np.asarray(y) == np.max(y), 1.0, -1.0) / votes.sum(axis=1)


BENCHMARKS = {"citation-musk2": citation_musk2}
