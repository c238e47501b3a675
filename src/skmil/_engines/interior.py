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

from skmil._threads import map_blocks, one_blas_thread, slices

STEPS, SHORT = 100, 0.995  # most steps, and the share of the way to the border that one takes
PANEL = 512  # columns of the matrix of a step that one task computes
REFINED = 2  # corrections of each solution
FLOOR = 0.2  # share of the gap asked for that the products of a step aim at, at least
LEAST = 0.1  # share of the mean that a product of slack and multiplier has at the start


def interior_point(S, y, c, gap=1e-8, start=None):
    """w, b, multipliers and objective of the 1-norm SVM whose margins are S w + y b, to a relative gap.

    It starts from such w, b and multipliers, or from w = 0 where they are not given or lead nowhere.
    """
    with one_blas_thread(), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = None if start is None else _Program(S, y, c, *start).solve(gap)
        if found is None or not _apart(found) <= gap * max(1.0, found[-1]):
            cold = _Program(S, y, c, np.zeros(S.shape[1]), 0.0, balanced(c, y) / 2).solve(gap)
            found = cold if found is None or not _apart(found) <= _apart(cold) else found
    return found


def _apart(found) -> float:
    """How far the objective is above the bound that the multipliers give."""
    return found[-1] - found[2].sum()


def balanced(alpha, y) -> np.ndarray:
    """Multipliers of the larger class made smaller, so that both classes have the same sum."""
    above, below = alpha[y > 0].sum(), alpha[y < 0].sum()
    return alpha * np.where(y > 0, min(1.0, below / above), min(1.0, above / below))


class _Program:
    """The iterate: primal v and the slacks t, xi, below = u - w, above = u + w; dual alpha, beta, p, q.

    At the start the slacks belong to v and the multipliers to ``alpha``; a few steps then mend what new
    columns have brought. Only the sums over columns are off.
    """

    def __init__(self, S, y, c, w, b, alpha):
        self.c, self.y, self.K = c, y, S.shape[1]
        self.A = np.empty((len(S), self.K + 1), order="F")
        self.A[:, :-1], self.A[:, -1] = S, y
        self.v = np.append(w, b)
        margins, alpha = self.A @ self.v, self._feasible(alpha)
        mu = max(self._objective(margins) - alpha.sum(), 1e-12) / (2 * (len(c) + self.K))
        self.alpha, self.beta, self.t, self.xi = _start(alpha, c, margins - 1, mu)
        pulls = (self.alpha @ self.A)[:-1]
        self.p, self.q, self.below, self.above = _start((1 + pulls) / 2, np.ones(self.K), -2 * w, mu)

    def _feasible(self, alpha):
        """Multipliers with equal sums of the classes and no pull above 1: their sum bounds the optimum."""
        alpha = balanced(alpha, self.y)
        return alpha / max(1.0, np.abs(alpha @ self.A)[:-1].max(initial=0.0))

    def _objective(self, margins) -> float:
        return np.abs(self.v[:-1]).sum() + self.c @ np.maximum(0, 1 - margins)

    def solve(self, gap):
        for _ in range(STEPS):
            margins, pulls = self.A @ self.v, self.alpha @ self.A
            objective, alpha = self._objective(margins), self._feasible(self.alpha)
            near = gap * max(1.0, objective)
            if objective - alpha.sum() <= near or not self._step(margins, pulls, FLOOR * near):
                break
        return self.v[:-1], float(self.v[-1]), alpha, objective

    def _step(self, margins, pulls, floor) -> bool:
        """One step of predictor and corrector; False where rounding has eaten the system.

        The products aim no lower than a sum of ``floor``: the smaller they are, the worse is the system.
        """
        pairs = 2 * len(self.c) + 2 * self.K
        slacks = self.t, self.xi, self.below, self.above
        duals = self.alpha, self.beta, self.p, self.q
        missing = margins - 1 + self.xi - self.t, np.append(self.p - self.q, 0.0) - pulls
        mean = sum(d @ s for d, s in zip(duals, slacks, strict=True)) / pairs
        try:
            system = _System(self.A, slacks, duals, missing)
            targets = [-d * s for d, s in zip(duals, slacks, strict=True)]
            _, ds, dd = system.direction(targets)
            after = sum(
                (d + _reach(duals, dd) * b) @ (s + _reach(slacks, ds) * a)
                for s, d, a, b in zip(slacks, duals, ds, dd, strict=True)
            )
            centre = max((after / pairs / mean) ** 3 * mean, floor / pairs)
            targets = [centre - d * s - a * b for s, d, a, b in zip(slacks, duals, ds, dd, strict=True)]
            dv, ds, dd = system.direction(targets)
        except (LinAlgError, ValueError):
            return False
        forward, back = SHORT * _reach(slacks, ds), SHORT * _reach(duals, dd)
        self.v = self.v + forward * dv
        self.t, self.xi, self.below, self.above = (s + forward * a for s, a in zip(slacks, ds, strict=True))
        self.alpha, self.beta, self.p, self.q = (d + back * b for d, b in zip(duals, dd, strict=True))
        return True


class _System:
    """The linear system of a step, factorised once for predictor and corrector."""

    def __init__(self, A, slacks, duals, missing):
        self.A, self.slacks, self.duals, self.missing = A, slacks, duals, missing
        self.theta, self.phi, self.P, self.Q = (d / s for d, s in zip(duals, slacks, strict=True))
        self.D = self.theta * self.phi / (self.theta + self.phi)
        self.E = 4 * self.P * self.Q / (self.P + self.Q)
        M = _lower(A * np.sqrt(self.D)[:, None])
        M.flat[:: len(M) + 1] += np.append(self.E, 0.0) + 1e-14 * np.trace(M) / len(M)
        self.factor = cho_factor(M, lower=True, overwrite_a=True)

    def _solve(self, right):
        """The system solved, and what rounding left of the right side solved again."""
        dv = cho_solve(self.factor, right)
        for _ in range(REFINED):
            rest = right - self.A.T @ (self.D * (self.A @ dv))
            rest[:-1] -= self.E * dv[:-1]
            dv += cho_solve(self.factor, rest)
        return dv

    def direction(self, targets):
        """Changes of v, of the slacks and of the multipliers that move the products by ``targets``."""
        (t, xi, below, above), (_, beta, _, _) = self.slacks, self.duals
        primal, dual = self.missing
        rest = (targets[0] / t - self.theta * (primal + targets[1] / beta)) / (1 + self.theta / self.phi)
        mid = (targets[2] / below + targets[3] / above) / (self.P + self.Q)
        free = targets[2] / below - self.P * mid
        right = self.A.T @ rest - dual
        right[:-1] -= 2 * free
        dv = self._solve(right)
        dw, move = dv[:-1], self.A @ dv
        d_alpha = rest - self.D * move
        d_xi = (targets[1] + xi * d_alpha) / beta
        d_p = free + self.E / 2 * dw
        du = mid + (self.P - self.Q) / (self.P + self.Q) * dw
        return dv, (move + d_xi + primal, d_xi, du - dw, du + dw), (d_alpha, -d_alpha, d_p, -d_p)


def _lower(root):
    """The lower half of root.T @ root, panel by panel; what stands above it does not count."""
    M = np.zeros((root.shape[1], root.shape[1]), order="F")

    def fill(columns):
        M[columns.start :, columns] = root[:, columns.start :].T @ root[:, columns]

    map_blocks(fill, slices(len(M), PANEL))
    return M


def _start(wanted, whole, difference, mu):
    """Two multipliers that add up to ``whole``, and two slacks of this difference.

    Slacks are those with products mu, and the first multiplier is as wanted, but where a product
    would be tiny: there both are raised, and the difference of the slacks stays.
    """
    size, root = np.abs(difference), np.hypot(difference, 2 * mu / whole)
    large = mu / whole + (root + size) / 2
    small = mu / whole * (1 + 2 * mu / whole / (root + size))  # large - size, but no digits cancel
    one, other = np.where(difference > 0, (large, small), (small, large))
    least = LEAST * mu
    room = np.sqrt(least * whole)
    first = np.clip(wanted, np.minimum(least / one, room), whole - np.minimum(least / other, room))
    second = whole - first
    lift = np.maximum(0.0, np.maximum(least / first - one, least / second - other))
    return first, second, one + lift, other + lift


def _reach(values, changes) -> float:
    """Largest step up to 1 that keeps all values non-negative."""
    reach = 1.0
    for x, dx in zip(values, changes, strict=True):
        falls = dx < 0
        if falls.any():
            reach = min(reach, float(np.min(-x[falls] / dx[falls])))
    return reach
