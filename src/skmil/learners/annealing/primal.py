r"""The w-step on explicit features: an SVM with two costs per point, in the primal (Chapelle 2007).

Each point k has a cost a_k for f_k < 1 and a cost c_k for f_k > -1:

.. math::
    F(w, b) = \tfrac12 |w|^2 + \sum_k a_k\, l(f_k) + c_k\, l(-f_k), \qquad f_k = \langle w, z_k \rangle + b

Both losses are written through their dual variable, with t = 1 - f on the first side and 1 + f on the
second: :math:`\alpha = \min(\max(\alpha_0 + s t, 0), \mathrm{top})`, where

* squared hinge: :math:`\alpha_0 = 0`, s is twice the cost, and there is no top;
* hinge: the top is the cost, s is any number, and :math:`\alpha_0` is the last :math:`\alpha`: the method
  of multipliers, which ends at the hinge itself and not at a smoothed one.

With :math:`\alpha_0` fixed the objective is smooth and piecewise quadratic. Newton steps with an exact
line search reach its minimum after a few of them, fewer still from the solution of the last call.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skmil._jit import njit
from skmil.learners.annealing.losses import losses

# s of the hinge in units of the largest cost, for features of length one or more; only the speed depends on
# it. Multipliers creep where s times the square of that length is small.
STEEPNESS, LENGTH = 10.0, 1e-6


class PrimalMachine:
    """The solver on a table of features Z (N x r); O(N r^2) time a step, memory that of two tables.

    Parameters
    ----------
    Z : array (N, r)
    loss : "squared_hinge" or "hinge"
    tol : float
        The objective may exceed its minimum by this share of it, in thousandths.
    max_iter : int
        Newton steps of one call.
    """

    def __init__(self, Z, loss, tol, max_iter):
        # The intercept is one more feature that the norm of w does not count.
        self.Z = np.column_stack([Z, np.ones(len(Z))])
        self.loss, self.tol, self.max_iter = loss, tol, max_iter
        self.steepness = STEEPNESS / np.clip(np.vdot(Z, Z) / max(1, len(Z)), LENGTH, 1.0)
        self.w, self.alpha = np.zeros(self.Z.shape[1]), np.zeros((2, 0))
        self.converged, self.n_iter = True, 0

    def fit(self, costs: np.ndarray, mixing=None) -> float:
        """Minimise for the costs (2 x n: a and c); return the minimum and keep f in ``values``.

        ``mixing`` (n x N) makes the points from the instances; they are the same where it is None.
        """
        Z = self.Z if mixing is None else mixing @ self.Z
        if self.alpha.shape != costs.shape:
            self.alpha = np.zeros_like(costs)
        last = self.n_iter + self.max_iter
        while True:
            self._newton(Z, self._sides(costs), last)
            objective = 0.5 * self.square + float((costs * losses(Z @ self.w, self.loss)).sum())
            self.converged = self.n_iter < last
            gap = objective - (self.alpha.sum() - 0.5 * self.square)
            if self.loss != "hinge" or not self.converged or gap <= 1e-3 * self.tol * objective:
                break
        self.values = self.Z @ self.w
        return objective

    @property
    def coef(self) -> np.ndarray:
        """Weights of the features."""
        return self.w[:-1]

    @property
    def intercept(self) -> float:
        """The number added to <w, z>."""
        return float(self.w[-1])

    @property
    def square(self) -> float:
        """|w|^2 without the intercept."""
        return float(self.coef @ self.coef)

    def _sides(self, costs):
        """alpha_0, s and top."""
        if self.loss == "squared_hinge":
            return np.zeros_like(costs), 2.0 * costs, np.full(costs.shape, np.inf)
        slope = np.where(costs > 0, self.steepness * costs.max(), 0.0)
        return np.minimum(self.alpha, costs), slope, costs

    def _newton(self, Z, sides, last) -> None:
        """Step until the gradient says that next to nothing is left to gain, or out of steps.

        Where multipliers are still moving, one step is taken in any case: they would creep without it.
        """
        least = self.n_iter + (self.loss == "hinge")
        while True:
            f = Z @ self.w
            self.alpha, beta, h = _dual(f, *sides)
            gradient = np.append(self.coef, 0.0) - beta @ Z
            H = _curvature(Z, h)
            d = -cho_solve(cho_factor(H, check_finite=False), gradient)
            gain = -0.5 * (d @ gradient)
            little = gain <= 1e-4 * self.tol * (self.square + self.alpha.sum())
            if (little and self.n_iter >= least) or self.n_iter >= last:
                return
            self.n_iter += 1
            slopes = self.coef @ d[:-1], d[:-1] @ d[:-1]
            self.w = self.w + _line_search(f, Z @ d, *sides, *slopes) * d


def _curvature(Z, h):
    """Second derivative of the objective; where no loss bends, a little holds the intercept."""
    bent = np.flatnonzero(h)
    S = Z[bent] * np.sqrt(h[bent])[:, None]
    H = S.T @ S
    H.flat[:: len(H) + 1] += 1.0
    H[-1, -1] -= 1.0 if len(bent) else 0.0
    return H


@njit
def _dual(f, centre, slope, top):
    """The alpha of both sides, beta = their difference, h = second derivative of the loss."""
    n = len(f)
    alpha, beta, h = np.empty((2, n)), np.empty(n), np.zeros(n)
    for k in range(n):
        for side in range(2):
            t = 1.0 - f[k] if side == 0 else 1.0 + f[k]
            a = centre[side, k] + slope[side, k] * t
            if 0.0 < a < top[side, k]:
                h[k] += slope[side, k]
            alpha[side, k] = min(max(a, 0.0), top[side, k])
        beta[k] = alpha[0, k] - alpha[1, k]
    return alpha, beta, h


@njit
def _derivative(t, f, change, centre, slope, top, along, curvature):
    """Derivative of the smooth objective t steps along the direction."""
    total = along + t * curvature
    for k in range(len(f)):
        v = f[k] + t * change[k]
        a = min(max(centre[0, k] + slope[0, k] * (1.0 - v), 0.0), top[0, k])
        c = min(max(centre[1, k] + slope[1, k] * (1.0 + v), 0.0), top[1, k])
        total -= (a - c) * change[k]
    return total


@njit
def _line_search(f, change, centre, slope, top, along, curvature):
    """The step where the derivative, which never falls, is zero: a whole one where that is exact."""
    whole = _derivative(1.0, f, change, centre, slope, top, along, curvature)
    start = _derivative(0.0, f, change, centre, slope, top, along, curvature)
    if abs(whole) <= 1e-10 * abs(start):
        return 1.0
    low, high = 0.0, 1.0
    while whole < 0.0 and high < 1e12:
        low, high = high, 2.0 * high
        whole = _derivative(high, f, change, centre, slope, top, along, curvature)
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        if _derivative(middle, f, change, centre, slope, top, along, curvature) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
