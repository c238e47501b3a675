"""Diverse Density on Musk1 from every instance of the positive bags, against NumPy and scipy's L-BFGS."""

import time

import numpy as np
from common import best, data
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from skmil._density import Search
from skmil.kernels.instance import resolve_gamma
from skmil.preprocessing import BagScaler

SAMPLE = 12  # starts that the reference is timed on; its time is scaled to all


def numpy_cost(bags, y):
    """-log DD and its gradient in NumPy, vectorised over all instances, in the log domain."""
    X, first, sizes = np.array(bags.instances), bags.offsets[:-1], bags.sizes
    d, positive = X.shape[1], y == 1
    of_positive = np.repeat(positive, sizes)

    def cost(theta):
        h, s = theta[:d], theta[d:]
        r = X - h
        r2 = r * r
        distance = np.maximum(r2 @ (s * s), 1e-8)
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
        return value, np.concatenate([-2 * s * s * (c @ r), 2 * s * (c @ r2)])

    return cost


def dd_musk1(n_threads=1):
    bunch = data("musk1")
    bags, y = BagScaler().fit_transform(bunch.data), np.asarray(bunch.target)
    search = Search(gamma=resolve_gamma("median", bags))
    problem, rows = search.problem(bags, y, np.ones(len(y))), search.starts(bags, y)
    found = search.from_starts(problem, rows)  # compiles
    ours = best(lambda: search.from_starts(problem, rows), 5, n_threads)

    sample = np.linspace(0, len(rows) - 1, SAMPLE).astype(int)
    cost, s = numpy_cost(bags, y), np.full(bags.n_features, np.sqrt(search.gamma))
    options = {"maxiter": search.max_iter, "ftol": search.tol, "gtol": 0, "maxcor": 10}

    def reference(row):
        start = np.concatenate([bags.instances[row], s])
        return minimize(cost, start, jac=True, method="L-BFGS-B", options=options).fun

    with threadpool_limits(n_threads):
        begin = time.perf_counter()
        theirs = np.array([reference(rows[i]) for i in sample])
        seconds = (time.perf_counter() - begin) * len(rows) / SAMPLE
    return {
        "ratio": round(seconds / ours, 2),
        "reference": f"NumPy cost, scipy L-BFGS-B, {SAMPLE} of {len(rows)} starts scaled up",
        "threads": n_threads,
        "seconds": round(ours, 3),
        "median_cost_difference": float(f"{np.median(found.cost[sample] - theirs):.1e}"),
    }


BENCHMARKS = {"dd-musk1": dd_musk1}
