"""Isolation features at the size of the Speaker set: against BLAS alone and against all pairs.

Both sides of a ratio see the same instances and partitions, a part of all (``instances`` and
``partitions`` of the result): 583,600 x 200 x 256 distances take a minute, the pairs take hours.
"""

import numpy as np
from common import best
from numba import njit
from threadpoolctl import threadpool_limits

from skmil import threads
from skmil._jit import map_blocks, slices
from skmil.datasets import make_speaker_like
from skmil.embeddings import IsolationEmbedding
from skmil.kernels.isolation import blocks

N_CELLS = 256


def isolation_blas(n_threads=1):
    """Mapping against the float32 products that it needs, taken in the blocks that suit BLAS best."""
    bags, _ = make_speaker_like(random_state=0)
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
    """Features and their Gram matrix against the mean over all pairs of instances of all bags."""
    bags, _ = make_speaker_like(40, 40 * 1357, random_state=0, positive=18)
    e = IsolationEmbedding(200, N_CELLS, normalize=False, random_state=0).fit(bags)

    def ours():
        Z = e.transform(bags)
        return (Z @ Z.T).toarray() / 200

    def pairwise():
        cells = np.vstack(map_blocks(lambda b: e.map_._cells(b)[0], blocks(bags)))
        rows = map_blocks(lambda i: pairs(cells, bags.offsets, i), range(len(bags)))
        K = np.array(rows)
        return np.triu(K) + np.triu(K, 1).T

    error = np.abs(ours() - pairwise()).max()
    a, b = best(ours, 2, n_threads), best(pairwise, 1, n_threads)
    return {
        "ratio": round(b / a, 1),
        "reference": "compiled loop over all pairs of instances, cells computed once",
        "threads": n_threads,
        "bags": len(bags),
        "instances": int(bags.offsets[-1]),
        "seconds": round(a, 2),
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
    import resource
    import time

    import skmil

    with threadpool_limits(2), threads(2):
        bags, y = make_speaker_like(random_state=0)
        model = skmil.method("ISK", n_cells=N_CELLS)
        start = time.perf_counter()
        model.fit(bags[:300], y[:300])
        fitted = time.perf_counter()
        accuracy = model.score(bags[300:], y[300:])
        done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "ratio": round(2048 / peak, 2),
        "reference": "2 GiB of memory",
        "peak_mib": round(peak),
        "fit_seconds": round(fitted - start, 1),
        "predict_seconds": round(done - fitted, 1),
        "accuracy": round(accuracy, 3),
    }


BENCHMARKS = {
    "isolation-blas": isolation_blas,
    "isolation-blas-2threads": lambda: isolation_blas(2),
    "isolation-vs-pairwise": isolation_vs_pairwise,
    "isolation-speaker": isolation_speaker,
}
