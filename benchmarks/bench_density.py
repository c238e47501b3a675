"""Diverse Density on Musk1, against NumPy and scipy's L-BFGS from every instance of the positive bags.

The learner gives up starts that stay behind and finds as good a maximum; ``ratio_of_all_starts``
follows all.
"""

import time

import numpy as np
from common import best, data
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from skmil._engines.density import Search
from skmil._engines.descent import MEMORY
from skmil._engines.widths import resolve_gamma
from skmil.preprocessing import BagScaler

SAMPLE = 12  # starts that the references are timed on; their time is scaled to all


def numpy_cost(bags, y, tuned):
    """-log DD and its gradient in NumPy, vectorised over all instances, in the log domain.

    Sums over features and instances as they are written, or (``tuned``) as products with BLAS.
    """
    X, first, sizes = np.array(bags.instances), bags.offsets[:-1], bags.sizes
    d, positive = X.shape[1], y == 1
    of_positive = np.repeat(positive, sizes)

    def sums(r2, r, s):
        return r2 @ (s * s) if tuned else (s**2 * r**2).sum(axis=1)

    def gradient(c, r2, r, s):
        if tuned:
            return -2 * s * s * (c @ r), 2 * s * (c @ r2)
        return (-2 * s**2 * c[:, None] * r).sum(axis=0), (2 * s * c[:, None] * r**2).sum(axis=0)

    def cost(theta):
        h, s = theta[:d], theta[d:]
        r = X - h
        r2 = r * r if tuned else None
        distance = np.maximum(sums(r2, r, s), 1e-8)
        miss = -np.expm1(-distance)
        log_q = np.add.reduceat(np.log(miss), first)
        near = np.minimum.reduceat(distance, first)
        share = np.exp(np.repeat(near, sizes) - distance) / miss
        total = np.add.reduceat(share, first)
        far = near > 36
        log_p = np.where(far, np.log(total) - near, np.log(-np.expm1(np.minimum(log_q, -1e-300))))
        rising = np.where(far, 1 / total, np.exp(log_q - log_p - near))
        c = np.where(of_positive, np.repeat(rising, sizes), -np.exp(-np.repeat(near, sizes))) * share
        value = -log_p[positive].sum() - log_q[~positive].sum()
        return value, np.concatenate(gradient(c, r2, r, s))

    return cost


def dd_musk1(n_threads=1):
    bunch = data("musk1")
    bags, y = BagScaler().fit_transform(bunch.data), np.asarray(bunch.target)
    search = Search(gamma=resolve_gamma("median", bags), max_starts="auto", race=True)
    problem, rows = search.problem(bags, y, np.ones(len(y))), search.starts(bags, y)
    found = search.from_starts(problem, rows)  # compiles
    sample = np.linspace(0, len(rows) - 1, SAMPLE).astype(int)
    plain, costs = reference(search, bags, rows[sample], numpy_cost(bags, y, tuned=False), n_threads)
    tuned, _ = reference(search, bags, rows[sample], numpy_cost(bags, y, tuned=True), n_threads)
    winner = search.followed(problem, rows).cost.min()
    every = best(lambda: search.from_starts(problem, rows), 3, n_threads)
    ours = best(lambda: search.followed(problem, rows), 5, n_threads)
    scale = len(rows) / SAMPLE
    return {
        "ratio": round(plain * scale / ours, 2),
        "ratio_of_all_starts": round(plain * scale / every, 2),
        "ratio_to_blas_sums": round(tuned * scale / ours, 2),
        "reference": f"NumPy cost, scipy L-BFGS-B, {SAMPLE} of {len(rows)} starts scaled up",
        "threads": n_threads,
        "seconds": round(ours, 3),
        "median_cost_difference": float(f"{np.median(found.cost[sample] - costs):.1e}"),
        "best_cost_difference": float(f"{winner - found.cost.min():.1e}"),
    }


def reference(search, bags, rows, cost, n_threads):
    """Seconds and costs of scipy's L-BFGS, start by start; the better time of two runs of each start."""
    s = np.full(bags.n_features, np.sqrt(search.gamma))
    options = {"maxiter": search.max_iter, "ftol": search.tol, "gtol": 0, "maxcor": MEMORY}
    total, costs = 0.0, []
    with threadpool_limits(n_threads):
        for row in rows:
            start, seconds = np.concatenate([bags.instances[row], s]), []
            for _ in range(2):
                begin = time.perf_counter()
                found = minimize(cost, start, jac=True, method="L-BFGS-B", options=options)
                seconds.append(time.perf_counter() - begin)
            total += min(seconds)
            costs.append(found.fun)
    return total, np.array(costs)


BENCHMARKS = {"dd-musk1": dd_musk1}
