r"""Counting boxes exactly: one list for each bag, one sum for each pair of bags.

That a box b contains a point of P is, by inclusion-exclusion, a signed sum over subsets S of P of the claim
that it contains all of S. This only depends on the bounding box of S, in the space of lengths the corner
:math:`\min_{p \in S} z(p)`. Equal corners merge and many cancel; what is left is

.. math::
    1[P_b \ne \emptyset] = \sum_r c_r\, 1[b \in B(r)], \qquad
    k_\wedge(P, Q) = \sum_{r, s} c_r d_s \prod_j \min(r_j, s_j)

with one list of corners r and weights c for each bag, whatever the other one. A product is at most the
result, so that sums lose little to rounding.
"""

import math
from collections import namedtuple

import numpy as np

from skmil._jit import map_blocks, mix, njit, slices

FEW = 24  # coordinates up to which products of relative lengths cannot underflow
WIDTH = 512  # corners that are worked on together: those of several bags, so that loops are long

Corners = namedtuple("Corners", ["values", "weights", "starts", "volumes", "rank", "exponent"])
Corners.__doc__ = """Corners of all bags.

values, weights : (C, 2d) and (C,) the corners, divided by powers of two, and their weights
starts : (n + 1,) where bags are cut; a bag with too long a list has none
volumes : (n,) |B(P)| where there is a list
rank : (n,) the longest list first; which of two bags comes first only depends on the two
exponent : products are to be multiplied by two to this power
"""


def corner_lists(T, longest: int) -> Corners:
    """The corners of each bag of a table, where they are not more than ``longest``."""
    exponents = np.frexp(T.z.max(axis=0))[1]
    z = np.ldexp(T.z, -exponents)  # powers of two change no bits, so that other bags do not matter
    bags = slices(len(T.key), 64)
    parts = map_blocks(lambda s: _lists(z, T.offsets[s.start : s.stop + 1], longest), bags)
    values, weights, sizes, volumes = (np.concatenate(x) for x in zip(*parts, strict=True))
    rank = np.empty(len(sizes), np.int64)
    rank[np.lexsort((T.key, -sizes))] = np.arange(len(sizes))
    return Corners(
        values, weights, np.concatenate([[0], np.cumsum(sizes)]), volumes, rank, int(exponents.sum())
    )


def log_own(C: Corners, bags) -> np.ndarray:
    """Log |B(P)| of bags that have lists."""
    return _log(C.volumes[bags], C.exponent)


def log_and(C: Corners, first, second) -> np.ndarray:
    """Log k_and of pairs of bags that have lists: those that share the longer one are summed together."""
    swap = C.rank[first] > C.rank[second]
    P, Q = np.where(swap, second, first), np.where(swap, first, second)
    order = np.argsort(P, kind="stable")
    total = np.empty(len(P))
    total[order] = _pair_sums(C.values, C.weights, C.starts, P[order], Q[order])
    return _log(total, C.exponent)


def _log(total, exponent: int) -> np.ndarray:
    """Log of total 2^exponent: the same bits for any share of the exponent in the total."""
    m, e = np.frexp(total)
    return np.log(m) + (e + exponent) * math.log(2.0)


@njit
def _lists(z, offsets, longest):
    """Corners and weights of consecutive bags, how many each has, and its |B(P)|."""
    n = len(offsets) - 1
    values, weights, used = np.empty((8 * n, z.shape[1])), np.empty(8 * n), 0
    sizes, volumes = np.empty(n, np.int64), np.zeros(n)
    for i in range(n):
        corner, weight = _corners(z[offsets[i] : offsets[i + 1]], longest)
        sizes[i] = len(weight)
        while used + sizes[i] > len(weights):
            values, weights = np.concatenate((values, values)), np.concatenate((weights, weights))
        for r in range(sizes[i]):
            values[used + r], weights[used + r] = corner[r], weight[r]
            volumes[i] += weight[r] * np.prod(corner[r])
        used += sizes[i]
    return values[:used], weights[:used], sizes, volumes


@njit
def _corners(points, longest):
    """Corners of a bag and their weights; none where they are more than ``longest``."""
    corner, weight = np.empty((0, points.shape[1])), np.empty(0)
    for r in range(len(points)):
        corner, weight = _with_point(corner, weight, points[r])
        if len(weight) > longest:
            return corner[:0], weight[:0]
    return corner, weight


@njit
def _with_point(corner, weight, p):
    """The list of P and p: B(p) joins, and what it shares with every B(r), which is B(r ^ p), leaves."""
    m = len(weight)
    values, total, n = np.empty((2 * m + 1, len(p))), np.zeros(2 * m + 1), 0
    slots = np.full(2 ** int(math.log2(4 * m + 2) + 1), -1)
    for k in range(2 * m + 1):
        r, w = (corner[k % m], weight[k % m]) if k < 2 * m else (p, 1.0)
        for j in range(len(p)):
            values[n, j] = min(r[j], p[j]) if k >= m else r[j]
        at = _place(values, n, slots)
        total[at] += -w if m <= k < 2 * m else w
        n += at == n
    left = np.flatnonzero(total[:n])
    return values[left], total[left]


@njit
def _place(rows, n, slots):
    """Position of an earlier row that equals row n, or n itself, which is then remembered."""
    h = np.uint64(0)
    for j in range(rows.shape[1]):
        h = mix(np.float64(rows[n, j]).view(np.uint64), h)
    at = np.int64(h & np.uint64(len(slots) - 1))
    while slots[at] >= 0:
        if np.all(rows[slots[at]] == rows[n]):
            return slots[at]
        at = (at + 1) % len(slots)
    slots[at] = n
    return n


@njit
def _pair_sums(values, weights, starts, P, Q):
    """Sum over the corners r of P[e] and s of Q[e] of c_r d_s prod_j min(r_j, s_j)."""
    longest = np.diff(starts).max()
    S = np.empty((values.shape[1], WIDTH + longest))
    product, total = np.empty(S.shape[1]), np.empty(S.shape[1])
    out = np.zeros(len(P))
    e = 0
    while e < len(P):
        stop, m = e, 0
        while stop < len(P) and P[stop] == P[e] and m < WIDTH:
            rows = values[starts[Q[stop]] : starts[Q[stop] + 1]]
            S[:, m : m + len(rows)] = rows.T
            m, stop = m + len(rows), stop + 1
        p, q = starts[P[e]], starts[P[e] + 1]
        _sum_products(values[p:q], weights[p:q], S, product[:m], total[:m])
        m = 0
        while e < stop:
            for s in range(starts[Q[e]], starts[Q[e] + 1]):
                out[e] += weights[s] * total[m]
                m += 1
            e += 1
    return out


@njit
def _sum_products(R, c, S, product, total):
    """total[t] = sum_r c_r prod_j min(r_j, S[j, t]), two coordinates at a time; their number is even."""
    total[:] = 0.0
    for r in range(len(R)):
        product[:] = c[r]
        for j in range(0, len(S), 2):
            _multiply(product, R[r, j], R[r, j + 1], S[j], S[j + 1])
        for t in range(len(total)):
            total[t] += product[t]


@njit
def _multiply(product, u, v, x, y):
    """product[t] *= min(u, x[t]) min(v, y[t]), without branches: ``min`` would not vectorise."""
    for t in range(len(product)):
        a, b = x[t], y[t]
        product[t] *= (u if u < a else a) * (v if v < b else b)
