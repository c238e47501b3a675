r"""An interior-point method for the 1-norm SVM of a dense matrix (Mehrotra, SIAM J. Optimization 1992).

In the letters of the code, with :math:`A = (S, y)` and :math:`v = (w, b)`:

.. math::
    \min\ \textstyle\sum_k u_k + c^T \xi, \quad t = A v - 1 + \xi \ge 0,\ \xi \ge 0,\ u \ge w,\ u \ge -w

with the multipliers :math:`\alpha, \beta = c - \alpha, p, q = 1 - p`; optimal where
:math:`A^T \alpha = (p - q, 0)` and every product of a slack and its multiplier is zero. A step solves one
system with a matrix :math:`A^T D A + E` of as many rows as there are columns, whatever the number of bags.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from skmil._threads import one_blas_thread

STEPS, SHORT = 100, 0.995  # most steps, and the share of the way to the border that one takes


def interior_point(S, y, c, w, b, far, gap=1e-8):
    """w, b, multipliers and objective of the 1-norm SVM whose margins are S w + y b, to a relative gap.

    It starts from ``w`` and ``b``, whose objective is about ``far`` above the optimum.
    """
    with one_blas_thread(), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _Program(S, y, c, w, b, far).solve(gap)


def balanced(alpha, y) -> np.ndarray:
    """Multipliers of the larger class made smaller, so that both classes have the same sum."""
    above, below = alpha[y > 0].sum(), alpha[y < 0].sum()
    return alpha * np.where(y > 0, min(1.0, below / above), min(1.0, above / below))


class _Program:
    """The iterate: primal v, u, xi, t and dual alpha, beta, p, q; all slacks stay positive.

    At the start every product of a slack and its multiplier is the same, mu: a quadratic equation for each
    pair of slacks, since their multipliers add up to c or to 1. Only the sums over columns are off.
    """

    def __init__(self, S, y, c, w, b, far):
        self.c, self.y, self.K = c, y, S.shape[1]
        self.A = np.empty((len(S), self.K + 1), order="F")
        self.A[:, :-1], self.A[:, -1] = S, y
        self.v = np.append(w, b)
        mu = max(far, 1e-12) / (2 * (len(c) + self.K))
        rest = c * (self.A @ self.v - 1)
        self.xi, self.t = ((2 * mu + s * rest + np.hypot(rest, 2 * mu)) / (2 * c) for s in (-1, 1))
        self.u = mu + np.hypot(w, mu)
        self.alpha, self.beta = mu / self.t, mu / self.xi
        self.p, self.q = mu / (self.u - w), mu / (self.u + w)

    def solve(self, gap):
        for _ in range(STEPS):
            margins, pulls = self.A @ self.v, self.alpha @ self.A
            objective = np.abs(self.v[:-1]).sum() + self.c @ np.maximum(0, 1 - margins)
            alpha = balanced(self.alpha, self.y)
            alpha /= max(1.0, np.abs(alpha @ self.A)[:-1].max())  # feasible: a bound from below
            if objective - alpha.sum() <= gap * max(1.0, objective) or not self._step(margins, pulls):
                break
        return self.v[:-1], float(self.v[-1]), alpha, objective

    def _slacks(self):
        w = self.v[:-1]
        return self.t, self.xi, self.u - w, self.u + w

    def _step(self, margins, pulls) -> bool:
        """One step of predictor and corrector; False where rounding has eaten the system."""
        slacks, duals = self._slacks(), (self.alpha, self.beta, self.p, self.q)
        missing = margins - 1 + self.xi - self.t, np.append(self.p - self.q, 0.0) - pulls
        mean = sum(d @ s for d, s in zip(duals, slacks, strict=True)) / (2 * len(self.c) + 2 * self.K)
        try:
            system = _System(self.A, slacks, duals, missing)
            targets = [-d * s for d, s in zip(duals, slacks, strict=True)]
            _, _, ds, dd = system.direction(targets)
            after = sum(
                (d + _reach(duals, dd) * b) @ (s + _reach(slacks, ds) * a)
                for s, d, a, b in zip(slacks, duals, ds, dd, strict=True)
            )
            centre = (after / (2 * len(self.c) + 2 * self.K) / mean) ** 3 * mean
            targets = [centre - d * s - a * b for s, d, a, b in zip(slacks, duals, ds, dd, strict=True)]
            dv, du, ds, dd = system.direction(targets)
        except (LinAlgError, ValueError):
            return False
        forward, back = SHORT * _reach(slacks, ds), SHORT * _reach(duals, dd)
        self.v, self.u = self.v + forward * dv, self.u + forward * du
        self.t, self.xi = self.t + forward * ds[0], self.xi + forward * ds[1]
        self.alpha, self.beta, self.p, self.q = (d + back * b for d, b in zip(duals, dd, strict=True))
        return True


class _System:
    """The linear system of a step, factorised once for predictor and corrector."""

    def __init__(self, A, slacks, duals, missing):
        self.A, self.slacks, self.duals, self.missing = A, slacks, duals, missing
        self.theta, self.phi, self.P, self.Q = (d / s for d, s in zip(duals, slacks, strict=True))
        self.D = self.theta * self.phi / (self.theta + self.phi)
        self.E = 4 * self.P * self.Q / (self.P + self.Q)
        root = A * np.sqrt(self.D)[:, None]
        M = root.T @ root
        M.flat[:: len(M) + 1] += np.append(self.E, 0.0) + 1e-14 * np.trace(M) / len(M)
        self.factor = cho_factor(M, overwrite_a=True)

    def direction(self, targets):
        """Changes of v, u, of the slacks and of the multipliers that move the products by ``targets``."""
        (t, xi, below, above), (_, beta, _, _) = self.slacks, self.duals
        primal, dual = self.missing
        rest = (targets[0] / t - self.theta * (primal + targets[1] / beta)) / (1 + self.theta / self.phi)
        mid = (targets[2] / below + targets[3] / above) / (self.P + self.Q)
        free = targets[2] / below - self.P * mid
        right = self.A.T @ rest - dual
        right[:-1] -= 2 * free
        dv = cho_solve(self.factor, right)
        dw, move = dv[:-1], self.A @ dv
        d_alpha = rest - self.D * move
        d_xi = (targets[1] + xi * d_alpha) / beta
        d_p = free + self.E / 2 * dw
        du = mid + (self.P - self.Q) / (self.P + self.Q) * dw
        return dv, du, (move + d_xi + primal, d_xi, du - dw, du + dw), (d_alpha, -d_alpha, d_p, -d_p)


def _reach(values, changes) -> float:
    """Largest step up to 1 that keeps all values non-negative."""
    reach = 1.0
    for x, dx in zip(values, changes, strict=True):
        falls = dx < 0
        if falls.any():
            reach = min(reach, float(np.min(-x[falls] / dx[falls])))
    return reach
