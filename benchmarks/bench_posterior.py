"""PPMM: what learning p costs beside the mixture, and the alignment against n x n matrices."""

import numpy as np
from common import best, data

from skmil.embeddings import PosteriorEmbedding
from skmil.embeddings.posterior import P_GRID, aggregate, best_power, ideal
from skmil.preprocessing import BagScaler


def ppmm(n_threads=1):
    musk2 = data("musk2")
    bags = BagScaler().fit_transform(musk2.data)
    embedding = PosteriorEmbedding(30, n_init=1, random_state=0).fit(bags, musk2.target)
    psi, Y = aggregate(embedding.mixture_, bags), ideal(musk2.target)
    T = Y @ Y.T

    def naive_grid():
        kernels = [psi**p @ (psi**p).T for p in P_GRID]
        return max(np.sum(K * T) / np.sqrt(np.sum(K * K) * np.sum(T * T)) for K in kernels)

    learning = best(lambda: best_power(psi, Y, None), 5, n_threads)
    mixture = best(lambda: embedding._fit_mixture(bags.instances, 0), 3, n_threads)
    return {
        "ratio": round(mixture / learning, 1),
        "reference": "one k-means fit (30 clusters, all of Musk2)",
        "threads": n_threads,
        "learning_p_adds_percent": round(100 * learning / mixture, 2),
        "against_full_matrices": round(best(naive_grid, 3, n_threads) / learning, 2),
        "seconds": round(learning, 4),
        "alignment_gained_over_grid": float(best_power(psi, Y, None)[1] - naive_grid()),
    }


BENCHMARKS = {"ppmm": ppmm}
