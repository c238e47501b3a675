"""Box counts of bags that are aligned pair by pair (Tao et al. 2008, end of section 8.3).

Every pair of bags has coordinates of its own, so it has a grid of its own too: one over the aligned
points of both bags. What is compared with each other must be counted in one grid, so the cosine of a pair
takes the counts of either bag alone from the coordinates of that pair.
"""

import numpy as np

from skmil._engines.boxes.counter import Counter, Plan, Report
from skmil._engines.boxes.space import Space
from skmil.bags import Bags

BOTH = np.array([0, 1])


def aligned_logs(align, A: Bags, B: Bags, kinds, grid, plan: Plan, cosine: bool = False):
    """Log counts of each kind for all pairs, and a report; with ``cosine`` those of the cosines."""
    out = {k: np.empty((len(A), len(B))) for k in kinds}
    report = Report()
    for i in range(len(A)):
        for j in range(i if A is B else 0, len(B)):
            values, part = pair_logs(align, A[i], B[j], kinds, grid, plan, cosine)
            report.merge(part)
            for k in kinds:
                out[k][i, j] = values[k]
                if A is B:
                    out[k][j, i] = values[k]
    return out, report


def aligned_diagonal(align, A: Bags, kind: str, grid, plan: Plan, cosine: bool = False) -> np.ndarray:
    """Log k(P, P) of each bag, aligned with itself; with ``cosine`` that of its cosine."""
    pairs = (pair_logs(align, A[i], A[i], (kind,), grid, plan, cosine) for i in range(len(A)))
    return np.array([values[kind] for values, _ in pairs])


def pair_logs(align, P, Q, kinds, grid, plan: Plan, cosine: bool):
    """Log counts of one pair, and a report."""
    T = _pair_table(align, P, Q, grid)
    counter, report = Counter(T, plan), Report()
    values, part = counter.counts(BOTH[:1], BOTH[1:], kinds)
    report.merge(part)
    if cosine:
        own, part = counter.counts(BOTH, BOTH, kinds)
        report.merge(part)
        values = {k: v - own[k].mean() for k, v in values.items()}
    report.merge(counter.report)
    return {k: float(v[0]) for k, v in values.items()}, report


def _pair_table(align, P, Q, grid):
    # In one order of the two, so that the matrix is symmetric whatever the aligner prefers.
    first, second = (P, Q) if P.tobytes() <= Q.tobytes() else (Q, P)
    pair = [np.atleast_2d(np.asarray(x, dtype=float)) for x in align(first, second)]
    if len(pair) != 2 or pair[0].shape[1] != pair[1].shape[1] or not all(len(x) for x in pair):
        raise ValueError(
            f"align gave arrays of shapes {[x.shape for x in pair]}; it must give two, one for each bag, "
            "with at least one point each and the same number of coordinates"
        )
    bags = Bags.from_list(pair)
    space = Space.over(bags, grid)
    return space.ordered(space.table(bags)).table(bags)
