r"""The w-step on a Gram matrix: an SVM with two costs per point, in the dual (Fan, Chen & Lin 2005).

Each point k has a cost a_k for f_k < 1 and a cost c_k for f_k > -1; a pair of dual variables goes with it:

.. math::
    \min_\alpha \tfrac12 \beta^T K \beta + \tfrac12 \sum_v r_v \alpha_v^2 - \sum_v \alpha_v, \qquad
    \beta_k = \alpha_k^+ - \alpha_k^-, \quad \sum_k \beta_k = 0, \quad 0 \le \alpha_v \le \mathrm{top}_v

with r = 0, top = cost for the hinge and r = 1 / (2 cost), no top for the squared hinge. Two variables at
a time are set to their best values, the pair that promises most first. The last solution, cut to the new
costs, is where the next call starts.
"""

import numpy as np

from skmil._jit import njit
from skmil.learners.annealing.losses import losses

NEGLIGIBLE = 1e-8  # points of a smaller share of the largest cost on their side are left out


class DualMachine:
    """The solver on a Gram matrix K of instances; memory is that of K.

    Parameters
    ----------
    K : array (N, N)
    loss : "squared_hinge" or "hinge"
    tol : float
        Largest violation of the optimality conditions, as in ``sklearn.svm.SVC``.
    max_iter : int
        Pairs of one call.
    """

    def __init__(self, K, loss, tol, max_iter):
        self.K, self.loss, self.tol, self.max_iter = K, loss, tol, max_iter
        self.alpha = np.zeros(0)
        self.converged, self.n_iter = True, 0

    def fit(self, costs: np.ndarray, mixing=None) -> float:
        """Minimise for the costs (2 x n: a and c); return the minimum and keep f in ``values``.

        ``mixing`` (n x N) makes the points from the instances; they are the same where it is None.
        """
        K = self.K if mixing is None else _mixed(self.K, mixing.indptr, mixing.indices, mixing.data)
        n = len(K)
        live = np.flatnonzero(costs > NEGLIGIBLE * costs.max(axis=1, keepdims=True))
        cost, point = costs.ravel()[live], live % n
        sign = np.where(live < n, 1.0, -1.0)
        ridge, top = self._shape(cost)
        alpha = _balanced(self._before(2 * n)[live], sign, top)
        product = _combine(K, np.bincount(point, sign * alpha, n))
        done, up, low = _smo(K, product, alpha, point, sign, ridge, top, self.tol, self.max_iter)
        self.n_iter += done
        self.converged = done < self.max_iter
        self.alpha = np.zeros(2 * n)
        self.alpha[live] = alpha
        return self._finish(costs, product, 0.5 * (up + low), mixing)

    def _shape(self, cost):
        if self.loss == "hinge":
            return np.zeros(len(cost)), cost
        return 0.5 / cost, np.full(len(cost), np.inf)

    def _before(self, n):
        return self.alpha if len(self.alpha) == n else np.zeros(n)

    def _finish(self, costs, product, intercept, mixing):
        n = len(product)
        beta = self.alpha[:n] - self.alpha[n:]
        self.intercept, f = intercept, product + intercept
        self.coef = beta if mixing is None else mixing.T @ beta
        self.values = f if mixing is None else _combine(self.K, self.coef) + intercept
        return float(0.5 * max(beta @ product, 0.0) + (costs * losses(f, self.loss)).sum())


def _balanced(alpha, sign, top):
    """Cut a start to its box, then to the same sum on both sides, by the variables inside it first."""
    alpha = np.minimum(alpha, top)
    excess = sign @ alpha
    heavy = (sign == np.sign(excess)) & (alpha > 0)
    for part in (heavy & (alpha < top), heavy):
        total = alpha[part].sum()
        if total > 0 and excess != 0:
            taken = min(abs(excess), total)
            alpha[part] *= 1.0 - taken / total
            excess = 0.0 if taken < total else sign @ alpha
    return alpha


@njit
def _mixed(K, starts, instances, shares):
    """Gram matrix of combinations: those of point a are shares[starts[a] : starts[a + 1]]."""
    n = len(starts) - 1
    out = np.empty((n, n))
    for a in range(n):
        row = np.zeros(K.shape[1])
        for v in range(starts[a], starts[a + 1]):
            row += shares[v] * K[instances[v]]
        for b in range(n):
            out[a, b] = 0.0
            for v in range(starts[b], starts[b + 1]):
                out[a, b] += shares[v] * row[instances[v]]
    return out


@njit
def _combine(K, weights):
    """Weighted sum of the rows of K, without those of weight 0."""
    out = np.zeros(K.shape[1])
    for k in range(len(weights)):
        w = weights[k]
        if w != 0.0:
            row = K[k]
            for j in range(len(out)):
                out[j] += w * row[j]
    return out


@njit
def _smo(K, product, alpha, point, sign, ridge, top, tol, max_iter):
    """Improve alpha and product = K beta, in place, by pairs; f = product + intercept within up, low."""
    n = len(alpha)
    pull = sign * (1.0 - ridge * alpha)  # less product: the intercept at which f would be right
    # Barred variables get an infinite pull, which costs no branch in the loops below.
    diagonal, rise, fall = np.empty(n), np.empty(n), np.empty(n)
    for v in range(n):
        diagonal[v] = K[point[v], point[v]] + ridge[v]
        rise[v], fall[v] = _bars(alpha[v], sign[v], top[v])
    fit, gain = np.empty(n), np.empty(n)
    up = low = 0.0
    for done in range(max_iter):
        i, up, low = 0, -np.inf, np.inf
        for v in range(n):
            g = pull[v] - product[point[v]]
            if g + rise[v] > up:
                up, i = g + rise[v], v
            fit[v] = g + fall[v]
            low = min(low, fit[v])
        if up - low <= tol:
            return done, up, low
        row = K[point[i]]
        # The loop fills an array, without a branch, so that it runs on several numbers at a time.
        for v in range(n):
            gap = max(up - fit[v], 0.0)
            gain[v] = gap * gap / max(diagonal[i] + diagonal[v] - 2.0 * row[point[v]], 1e-12)
        j = _largest(gain)
        k = point[j]
        curve = max(diagonal[i] + diagonal[j] - 2.0 * row[k], 1e-12)
        t = (up - (pull[j] - product[k])) / curve
        t = min(t, top[i] - alpha[i] if sign[i] > 0 else alpha[i])
        t = min(t, alpha[j] if sign[j] > 0 else top[j] - alpha[j])
        for v, s in ((i, t), (j, -t)):
            alpha[v] = min(max(alpha[v] + sign[v] * s, 0.0), top[v])
            pull[v] = sign[v] * (1.0 - ridge[v] * alpha[v])
            rise[v], fall[v] = _bars(alpha[v], sign[v], top[v])
        other = K[k]
        for m in range(len(product)):
            product[m] += t * (row[m] - other[m])
    return max_iter, up, low


@njit
def _largest(x):
    """Index of the first largest number; four maxima at a time do not wait for each other."""
    a = b = c = d = -np.inf
    whole = len(x) - len(x) % 4
    for k in range(0, whole, 4):
        a = x[k] if x[k] > a else a
        b = x[k + 1] if x[k + 1] > b else b
        c = x[k + 2] if x[k + 2] > c else c
        d = x[k + 3] if x[k + 3] > d else d
    for k in range(whole, len(x)):
        a = max(a, x[k])
    top = max(max(a, b), max(c, d))
    for k in range(len(x)):
        if x[k] == top:
            return k
    return 0


@njit
def _bars(alpha, sign, top):
    """0 where beta may still rise (fall) through this variable, else -inf (+inf)."""
    grows, shrinks = alpha < top, alpha > 0.0
    rise = 0.0 if (grows if sign > 0 else shrinks) else -np.inf
    fall = 0.0 if (shrinks if sign > 0 else grows) else np.inf
    return rise, fall
