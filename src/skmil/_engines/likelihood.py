r"""Likelihood of bags under a hypothesis of Diverse Density, from distances, for many hypotheses at once.

The cost of a bag is :math:`-w \log(1 - |y - P|)`, where P is the noisy-or or the largest of the
probabilities :math:`e^{-d}` of its instances. Everything stays in the log domain, so that distances of
thousands, where :math:`e^{-d}` is zero, still have a gradient.
"""

import numpy as np

from skmil._jit import exp, njit

NEAREST = 1e-8  # smaller distances count as this: log(1 - e^-d) stays finite on top of an instance


@njit
def bag_costs(problem, d, costs):
    """Add up the costs of the bags; the derivative by each distance replaces the distance.

    One column of ``d`` and one cost per theta.
    """
    log_p, log_q, factor = np.empty(len(costs)), np.empty(len(costs)), np.empty(len(costs))
    for i in range(len(problem.y)):
        of_bag = d[problem.offsets[i] : problem.offsets[i + 1]]
        if problem.noisy:
            _noisy_or(of_bag, problem.y[i], log_p, log_q)
        else:
            _nearest(of_bag, problem.y[i], log_p, log_q)
        _likelihood(problem.y[i], log_p, log_q, problem.w[i], costs, factor)
        for j in range(len(of_bag)):
            _multiply(of_bag[j], factor)


@njit
def _likelihood(y, log_p, log_q, w, costs, factor):
    """Costs -= w log(1 - |y - P|); factor = w dlog(1 - |y - P|) / dlog P, or / dlog(1 - P) where P > y."""
    for i in range(len(costs)):
        if _is_below(log_p[i], y):
            own, likelihood = log_p[i], log_p[i] if y == 1 else np.log(1 - y + np.exp(log_p[i]))
        else:
            own, likelihood = log_q[i], log_q[i] if y == 0 else np.log(y + np.exp(log_q[i]))
        costs[i] -= w * likelihood
        factor[i] = w if own == likelihood else w * np.exp(own - likelihood)


@njit
def _is_below(log_p, y):
    """Whether P <= y, which decides the sign of y - P."""
    return y > 0 and (y == 1 or log_p <= np.log(y))


@njit
def _noisy_or(d, y, log_p, log_q):
    """Log P, log(1 - P), and in place of d minus the derivative of the one that y asks for.

    P is kept as p = P e^near, near the smallest distance, which never underflows. y = 0 and y = 1 need
    only one of the two logarithms. Short loops over thetas, each with few arrays: so they vectorise.
    """
    n = len(log_p)
    near, p, left, q = np.full(n, np.inf), np.zeros(n), np.ones(n), np.ones(n)
    miss = np.empty_like(d)  # 1 - e^-d
    log_p[:], log_q[:] = 0.0, 0.0
    for j in range(len(d)):
        _clip(d[j], near)
    base = _exp_minus(near)
    for j in range(len(d)):
        _split(d[j], near, base, miss[j])
        _hit(p, left, d[j], miss[j])
        _multiply(q, miss[j])
        if y < 1 and (j % 16 == 15 or j + 1 == len(d)):  # before 16 factors of at least 1e-8 underflow
            for i in range(n):
                log_q[i] += np.log(q[i])
                q[i] = 1.0
    for i in range(n):
        if y > 0:
            log_p[i] = np.log(p[i]) - near[i]
        near[i] = left[i] / p[i] if _is_below(log_p[i], y) else -base[i]
    for j in range(len(d)):
        for i in range(n):
            d[j, i] *= near[i] / miss[j, i]


@njit
def _clip(d, near):
    for i in range(len(d)):
        d[i] = max(d[i], NEAREST)
        near[i] = min(near[i], d[i])


@njit
def _exp_minus(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = exp(-x[i])
    return out


@njit
def _split(d, near, base, miss):
    """Miss = 1 - e^-d and, in place, d = e^(near - d)."""
    for i in range(len(d)):
        x = d[i]
        own = exp(near[i] - x)
        taylor = x * (1 - x * 0.5 * (1 - x * (1.0 / 3.0) * (1 - x * 0.25)))
        miss[i] = 1 - own * base[i] if x > 1e-3 else taylor
        d[i] = own


@njit
def _hit(p, left, own, miss):
    for i in range(len(p)):
        p[i] += own[i] * left[i]
        left[i] *= miss[i]


@njit
def _multiply(a, b):
    for i in range(len(a)):
        a[i] *= b[i]


@njit
def _nearest(d, y, log_p, log_q):
    """The same as ``_noisy_or`` for P = e^-min d: only the nearest instance counts."""
    for i in range(len(log_p)):
        j = np.argmin(d[:, i])
        near = max(d[j, i], NEAREST)
        log_p[i], log_q[i] = -near, np.log(-np.expm1(-near))
        d[:, i] = 0.0
        d[j, i] = 1.0 if _is_below(-near, y) else -1.0 / np.expm1(min(near, 700.0))
