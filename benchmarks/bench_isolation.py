"""Isolation features at the size of the Speaker set: against BLAS alone and against all pairs.

Both sides of a ratio see the same instances and partitions, a part of all (``instances`` and
``partitions`` of the result): 583,600 x 200 x 256 distances take a minute, the pairs take hours.
"""

import numpy as np
from common import best, data, forget_peak, peak_mib
from numba import njit
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import skmil
from skmil import threads
from skmil._engines.isolation import blocks
from skmil._engines.sparse_products import inner
from skmil._threads import map_blocks, slices
from skmil.datasets import make_speaker_like
from skmil.embeddings import IsolationEmbedding
from skmil.learners import WideLinearSVC
from skmil.preprocessing import BagScaler

N_CELLS = 256


def isolation_blas(n_threads=1):
    """Mapping against the float32 products that it needs, taken in the blocks that suit BLAS best."""
    bags = make_speaker_like(random_state=0).data
    e = IsolationEmbedding(40, N_CELLS, normalize=False, random_state=0).fit(bags)
    part = bags[: len(bags) // 10]
    X = part.instances.astype(np.float32)
    centers = e.map_.partitions.centers[e.map_.partitions.samples].astype(np.float32)
    ours = best(lambda: e.transform(part), 3, n_threads)
    alone = {rows: best(lambda r=rows: products(X, centers, r), 3, n_threads) for rows in (256, 512, 1024)}
    return {
        "ratio": round(min(alone.values()) / ours, 2),
        "times_blas": round(ours / min(alone.values()), 2),
        "reference": "float32 products by BLAS, blocks of the best of 256, 512 and 1024 rows",
        "threads": n_threads,
        "instances": len(X),
        "partitions": 40,
        "seconds": round(ours, 3),
    }


def products(X, centers, rows):
    """All products of instances and centres, and nothing else, in as many threads as ours."""

    def block(s):
        for C in centers:
            C @ X[s].T

    map_blocks(block, slices(len(X), rows))


def isolation_vs_pairwise(n_threads=1):
    """Gram matrix of all 430 bags by features against the mean over all pairs of instances.

    A tenth of the bags is measured: features scale with the number of bags, both matrices with its
    square; the pairs are measured for one row of the matrix.
    """
    bags = make_speaker_like(random_state=0).data
    e = IsolationEmbedding(200, N_CELLS, normalize=False, random_state=0).fit(bags)
    part = bags[: len(bags) // 10]
    n, scale = len(part), len(bags) / len(part)
    Z = e.transform(part)
    cells = np.vstack(map_blocks(lambda b: e.map_._cells(b)[0], blocks(part)))
    row = pairs(cells, part.offsets, 0)
    error = np.abs((Z[:1] @ Z.T).toarray().ravel() / 200 - row).max()
    features = best(lambda: e.transform(part), 1, n_threads) * scale
    product = best(lambda: inner(Z, Z), 2, n_threads) * scale**2
    share = part.sizes[0] / part.sizes.mean()  # of the row, as its bag is larger or smaller than others
    every = best(lambda: pairs(cells, part.offsets, 0), 1, n_threads) / share * n / 2 * scale**2
    return {
        "ratio": round((features + every) / (features + product), 1),
        "reference": "cells once, then a compiled loop over all pairs of instances",
        "threads": n_threads,
        "seconds_features": round(features, 1),
        "seconds_product": round(product, 1),
        "seconds_pairs": round(every, 1),
        "largest_difference": float(f"{error:.1e}"),
    }


@njit(nogil=True)
def pairs(cells, offsets, i):
    """Mean isolation kernel of bag i and each bag after it."""
    n, t = len(offsets) - 1, cells.shape[1]
    out = np.zeros(n)
    for j in range(i, n):
        total = 0
        for x in range(offsets[i], offsets[i + 1]):
            for y in range(offsets[j], offsets[j + 1]):
                for p in range(t):
                    total += cells[x, p] == cells[y, p]
        size = (offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j])
        out[j] = total / (t * size)
    return out


def isolation_speaker():
    """Fit and predict at full size; memory in MiB, the machine's seconds (no ratio: it must just work)."""
    import time

    forget_peak()
    with threadpool_limits(2), threads(2):
        bags, y = make_speaker_like(random_state=0, return_X_y=True)
        model = skmil.method("ISK", n_cells=N_CELLS)
        start = time.perf_counter()
        model.fit(bags[:300], y[:300])
        fitted = time.perf_counter()
        accuracy = model.score(bags[300:], y[300:])
        done = time.perf_counter()
    peak = peak_mib()
    return {
        "ratio": round(2048 / peak, 2),
        "reference": "2 GiB of memory",
        "peak_mib": peak,
        "fit_seconds": round(fitted - start, 1),
        "predict_seconds": round(done - fitted, 1),
        "accuracy": round(accuracy, 3),
    }


def isolation_gramsvc():
    """The machine of ISK on its features of Corel-1000, ten classes, against SVC: fit and predict."""
    corel = data("corel1000")
    features = IsolationEmbedding(200, N_CELLS, similarity_threshold=0.7, random_state=0)  # of its paper
    Z = make_pipeline(BagScaler("minmax"), features).fit_transform(corel.data)
    ours, theirs = (
        best(lambda m=machine: m.fit(Z, corel.target).predict(Z))
        for machine in (WideLinearSVC(C=100.0), SVC(kernel="linear", C=100.0))
    )
    return {
        "ratio": round(theirs / ours, 1),
        "reference": "sklearn.svm.SVC(kernel='linear') on the same sparse features",
        "threads": 1,
        "bags": Z.shape[0],
        "features": Z.shape[1],
        "seconds": round(ours, 3),
    }


BENCHMARKS = {
    "isolation-blas": isolation_blas,
    "isolation-blas-2threads": lambda: isolation_blas(2),
    "isolation-vs-pairwise": isolation_vs_pairwise,
    "isolation-speaker": isolation_speaker,
    "isolation-gramsvc": isolation_gramsvc,
}
