r"""The 1-norm SVM with more columns than anybody wants to hold.

.. math:: \min_{w, b}\ \lVert w \rVert_1 + \sum_i c_i \max(0, 1 - y_i (\langle w, z_i \rangle + b))

Its dual is :math:`\max_\alpha \sum_i \alpha_i` with :math:`0 \le \alpha \le c`, :math:`y^T \alpha = 0` and,
for each column k, a pull :math:`|\sum_i \alpha_i y_i z_{ik}| \le 1`. A column of weight zero is optimal as
long as its pull is at most 1, so a program with few columns is solved, the pulls of all others are computed
block by block, and those above 1 come in. Divided by the largest pull, :math:`\alpha` is feasible: its
sum is a lower bound of the optimum, and the search ends where the objective is near it.
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from skmil._engines.interior import balanced, interior_point
from skmil._threads import slices

TOLERANCE = 1e-7  # how far above 1 a pull may be where a vertex is looked for
GAP = 5e-7  # relative distance of objective and bound elsewhere
FIRST = 0.03  # relative gap to which the first programs are solved
WARM = 5.0  # largest pull up to which the last solution is a good start
FEW = 256  # rows up to which the simplex method is the faster one, and finds a vertex
BLOCK = 2**22  # entries of the columns that are computed together


class Columns:
    """A matrix with values from 0 to 1 whose columns are computed when they are asked for.

    Parameters
    ----------
    compute : function (rows, columns) -> array
    shape : (rows, columns)
    """

    def __init__(self, compute: Callable, shape: tuple[int, int]):
        self.compute, self.shape = compute, shape

    def __call__(self, columns) -> np.ndarray:
        """The columns with these numbers."""
        return self.compute(slice(None), columns)

    def pulls(self, a: np.ndarray) -> np.ndarray:
        """|sum_i a_i z_ik| for every column k; rows that together carry less than 1e-9 are left out."""
        order = np.argsort(np.abs(a), kind="stable")
        rows = np.sort(order[np.cumsum(np.abs(a[order])) > 1e-9])
        found = np.zeros(self.shape[1])
        for s in slices(self.shape[1], max(1, BLOCK // max(1, len(rows)))):
            found[s] = np.abs(a[rows] @ self.compute(rows, s))
        return found


def one_norm_svm(Z, y, c, batch: int = 50) -> tuple[np.ndarray, float, float]:
    """Weights, intercept and objective of the 1-norm SVM.

    Parameters
    ----------
    Z : array (n, K), or ``Columns`` with such a shape
    y : array (n,) of -1 and +1
    c : array (n,), the price of a unit of slack
    batch : fewest columns taken in at a time
    """
    columns = Z if isinstance(Z, Columns) else Columns(lambda rows, k: Z[rows][:, k], Z.shape)
    chosen, part, b, objective = (_by_vertices if len(y) <= FEW else _by_centres)(columns, y, c, batch)
    w = np.zeros(columns.shape[1])
    w[chosen] = np.where(np.abs(part) > 1e-9 * np.abs(part).max(initial=1.0), part, 0.0)
    return w, b, objective


def _by_vertices(columns, y, c, batch):
    """Numbers and weights of columns, b, objective: a vertex in each round, all columns stay."""
    chosen, alpha = np.empty(0, dtype=int), balanced(c, y)
    S = np.empty((len(y), 0))
    found: list = []
    while True:
        pull = columns.pulls(alpha * y)
        pull[chosen] = 0.0
        worst = np.argsort(-pull, kind="stable")[:batch]
        new = worst[pull[worst] > 1 + TOLERANCE]
        if len(new) == 0 and len(chosen):
            return chosen, *found
        new = new if len(new) else worst[:1]
        chosen, S = np.append(chosen, new), np.hstack([S, y[:, None] * columns(new)])
        *found, alpha = _vertex(S, y, c)


def _by_centres(columns, y, c, batch):
    """The same by interior points, no nearer to the optimum than the columns not yet known allow.

    Multipliers from the middle of the optimal face say more about other columns than those of a vertex.
    """
    chosen, alpha = np.empty(0, dtype=int), balanced(c, y)
    S, part, b = np.empty((len(y), 0)), np.empty(0), float(np.sign(c @ y) or 1.0)
    objective, near = 2 * min(c[y > 0].sum(), c[y < 0].sum()), FIRST
    best, exact = objective, False
    while True:
        pull = columns.pulls(alpha * y)
        worst = max(1.0, pull.max())
        bound = alpha.sum() / worst
        far = objective - bound
        pull[chosen] = 0.0
        order = np.argsort(-pull, kind="stable")[: max(batch, len(y) // 10)]
        new = order[pull[order] > 1]
        still = len(new) == 0 and near < FIRST and far > 2 * near * objective
        if still and not exact and S.size <= BLOCK:  # rounding has stopped the interior points
            (part, b, objective, alpha), exact = _vertex(S, y, c), True
            continue
        if still or far <= GAP * objective:
            _warn(far / objective)
            return _thinned(S, y, c, alpha, bound, (chosen, part, b, objective))
        exact = False
        near = max(GAP / 5, min(near, far / objective / 10))
        useful = _useful(S, y, c, alpha, part, b, objective, best)
        best = min(best, objective)
        chosen, S = np.append(chosen[useful], new), np.hstack([S[:, useful], y[:, None] * columns(new)])
        start = (np.append(part[useful], np.zeros(len(new))), b, alpha) if worst < WARM else None
        part, b, alpha, objective = interior_point(S, y, c, near, start)


def _warn(apart: float) -> None:
    if apart > 2 * GAP:
        text = f"the 1-norm SVM is within {apart:.1g} of its optimum; rounding allows no more"
        warnings.warn(text, ConvergenceWarning, stacklevel=2)


def _useful(S, y, c, alpha, w, b, objective, best):
    """The columns near the border; all of them where the others matter, or where little was gained.

    So none comes and goes for ever.
    """
    useful = np.flatnonzero(np.abs(alpha @ S) > 0.9)
    margins = S[:, useful] @ w[useful] + y * b
    without = np.abs(w[useful]).sum() + c @ np.maximum(0, 1 - margins)
    return useful if without <= 2 * objective and objective < 0.99 * best else np.arange(len(w))


def _thinned(S, y, c, alpha, bound, found):
    """The optimum without the columns whose pull stays below 1, where that changes nothing."""
    chosen, part, b, objective = found
    large = np.flatnonzero(np.abs(part) > 1e-4 * np.abs(part).max(initial=0.0))
    if len(large) == 0:
        return found
    part, b, _, objective = interior_point(S[:, large], y, c, GAP / 5, (part[large], b, alpha))
    thin = objective - bound <= 2 * GAP * objective
    return (chosen[large], part, b, objective) if thin else found


def _vertex(S, y, c):
    """A vertex of the program for given columns (already times y): w, b, objective, multipliers."""
    n, K = S.shape
    price = np.concatenate([np.ones(2 * K), [0.0], c])
    margins = -sparse.hstack([S, -S, y[:, None], sparse.eye_array(n)], format="csc")
    bounds = [(0, None)] * (2 * K) + [(None, None)] + [(0, None)] * n
    found = linprog(price, A_ub=margins, b_ub=-np.ones(n), bounds=bounds, method="highs-ds")
    if found.status != 0:
        raise RuntimeError(f"the linear program of the 1-norm SVM was not solved: {found.message}")
    w = found.x[:K] - found.x[K : 2 * K]
    return w, float(found.x[2 * K]), float(found.fun), -found.ineqlin.marginals
