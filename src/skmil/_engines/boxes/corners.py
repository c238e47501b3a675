r"""Counting boxes exactly: one list for each bag, one sum for each pair of bags.

That a box b contains a point of P is, by inclusion-exclusion, a signed sum over subsets S of P of the claim
that it contains all of S. This only depends on the bounding box of S, in the space of lengths the corner
:math:`\min_{p \in S} z(p)`. Equal corners merge and many cancel; what is left is

.. math::
    1[P_b \ne \emptyset] = \sum_r c_r\, 1[b \in B(r)], \qquad
    k_\wedge(P, Q) = \sum_{r, s} c_r d_s \prod_j \min(r_j, s_j)

with one list of corners r and weights c for each bag, whatever the other one. No product is larger than the
result, so that rounding costs at most about :math:`\epsilon \sum_r |c_r| \sum_s |d_s|` of it, with
:math:`\epsilon` the rounding error of one product.

Lengths are divided by powers of two. Where they differ so much that a product may still leave the range of
floats, coordinates are multiplied in blocks that cannot, and a power of two is put aside after each: the
digits are the same, however many blocks there are.
"""

import math
from collections import namedtuple

import numpy as np

from skmil._jit import njit
from skmil._random import mix
from skmil._threads import map_blocks, slices

FEW = 24  # coordinates up to which sums over corners beat samples, which need but a few of many coordinates
ROOM = 900  # bits that the product of a block of coordinates may lose; floats have 1022
WIDTH = 512  # corners that are worked on together: those of several bags, so that loops are long

Corners = namedtuple("Corners", ["values", "weights", "starts", "blocks", "rank", "exponent"])
Corners.__doc__ = """Corners of all bags.

values, weights : (C + 1, 2d) and (C + 1,) the corners, divided by powers of two, and their weights; the
    last one, (1, ..., 1), holds every box
starts : (n + 1,) where bags are cut; a bag with too long a list has none
blocks : where coordinates are cut so that no product leaves the range of floats
rank : (n,) the longest list first; which of two bags comes first only depends on the two
exponent : products are to be multiplied by two to this power
"""


def corner_lists(T, longest: int) -> Corners:
    """The corners of each bag of a table, where they are not more than ``longest``."""
    exponents = np.frexp(T.z.max(axis=0))[1]
    z = np.ldexp(T.z, -exponents)  # powers of two change no bits, so that other bags do not matter
    bits = 1 - np.frexp(z.min(axis=0))[1]
    # Two coordinates are multiplied at a time: beyond 10^135 in one of them no block would hold both.
    longest = longest if bits.max() <= ROOM // 2 else 0
    bags = slices(len(T.key), 64)
    parts = map_blocks(lambda s: _lists(z, T.offsets[s.start : s.stop + 1], longest), bags)
    values, weights, sizes = (np.concatenate(x) for x in zip(*parts, strict=True))
    rank = np.empty(len(sizes), np.int64)
    rank[np.lexsort((T.key, -sizes))] = np.arange(len(sizes))
    return Corners(
        np.vstack([values, np.ones(z.shape[1])]),
        np.append(weights, 1.0),
        np.concatenate([[0], np.cumsum(sizes)]),
        _blocks(bits),
        rank,
        int(exponents.sum()),
    )


def _blocks(bits) -> np.ndarray:
    """Cut coordinates, two at a time, where those since the last cut lose more than ROOM bits together."""
    cuts, lost = [0], 0
    for j in range(0, len(bits), 2):
        both = bits[j] + bits[j + 1]
        if lost + both > ROOM:
            cuts, lost = [*cuts, j], 0
        lost += both
    return np.array([*cuts, len(bits)])


def log_own(C: Corners, bags) -> np.ndarray:
    """Log |B(P)| of bags that have lists: what they share with the corner that holds every box."""
    starts = np.append(C.starts, len(C.weights))
    return _log_sums(C, starts, np.full(len(bags), len(C.rank)), bags)


def log_and(C: Corners, first, second) -> np.ndarray:
    """Log k_and of pairs of bags that have lists: those that share the longer one are summed together."""
    swap = C.rank[first] > C.rank[second]
    P, Q = np.where(swap, second, first), np.where(swap, first, second)
    order = np.argsort(P, kind="stable")
    out = np.empty(len(P))
    out[order] = _log_sums(C, C.starts, P[order], Q[order])
    return out


def _log_sums(C: Corners, starts, P, Q) -> np.ndarray:
    """Log of the sums of pairs: the same bits for any share of the exponent in the total."""
    # Arrays to fill: Ctrl-C while compiled code hands over new ones would surface as a SystemError.
    total, power = np.zeros(len(P)), np.zeros(len(P), np.int64)
    _pair_sums(C.values, C.weights, starts, C.blocks, P, Q, total, power)
    m, e = np.frexp(total)
    return np.log(m) + (e + power + C.exponent) * math.log(2.0)


@njit
def _lists(z, offsets, longest):
    """Corners and weights of consecutive bags, and how many each has."""
    n = len(offsets) - 1
    values, weights, used = np.empty((8 * n, z.shape[1])), np.empty(8 * n), 0
    sizes = np.empty(n, np.int64)
    for i in range(n):
        corner, weight = _corners(z[offsets[i] : offsets[i + 1]], longest)
        sizes[i] = len(weight)
        while used + sizes[i] > len(weights):
            values, weights = np.concatenate((values, values)), np.concatenate((weights, weights))
        for r in range(sizes[i]):
            values[used + r], weights[used + r] = corner[r], weight[r]
        used += sizes[i]
    return values[:used], weights[:used], sizes


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
def _pair_sums(values, weights, starts, blocks, P, Q, out, exponent):
    """out[e] 2^exponent[e] = sum over corners r of P[e] and s of Q[e] of c_r d_s prod_j min(r_j, s_j)."""
    width = WIDTH + np.diff(starts).max()
    S = np.empty((values.shape[1], width))
    product, total = np.empty(width), np.empty(width)
    power, powers = np.empty(width, np.int64), np.empty(width, np.int64)
    e = 0
    while e < len(P):
        stop, m = e, 0
        while stop < len(P) and P[stop] == P[e] and m < WIDTH:
            rows = values[starts[Q[stop]] : starts[Q[stop] + 1]]
            S[:, m : m + len(rows)] = rows.T
            m, stop = m + len(rows), stop + 1
        R = slice(starts[P[e]], starts[P[e] + 1])
        _sum_products(values[R], weights[R], S, blocks, product[:m], power[:m], total[:m], powers[:m])
        m = 0
        while e < stop:
            for s in range(starts[Q[e]], starts[Q[e] + 1]):
                out[e], exponent[e] = _add(out[e], exponent[e], weights[s] * total[m], powers[m])
                m += 1
            e += 1


@njit
def _sum_products(R, c, S, blocks, product, power, total, powers):
    """total[t] 2^powers[t] = sum_r c_r prod_j min(r_j, S[j, t]), two coordinates at a time."""
    total[:] = 0.0
    powers[:] = 0
    for r in range(len(R)):
        product[:] = c[r]
        power[:] = 0
        for b in range(len(blocks) - 1):
            for j in range(blocks[b], blocks[b + 1], 2):
                _multiply(product, R[r, j], R[r, j + 1], S[j], S[j + 1])
            if len(blocks) > 2:
                _put_aside(product, power)
        if len(blocks) > 2:
            for t in range(len(total)):
                total[t], powers[t] = _add(total[t], powers[t], product[t], power[t])
        else:
            for t in range(len(total)):
                total[t] += product[t]


@njit
def _put_aside(product, power):
    """Keep a number between 1/2 and 1, and count the powers of two that it was divided by."""
    for t in range(len(product)):
        product[t], e = math.frexp(product[t])
        power[t] += e


@njit
def _add(a, i, b, j):
    """Sum of a 2^i and b 2^j as a number and a power of two."""
    if i == j:
        return a + b, i
    if a == 0.0 or (b != 0.0 and j > i):
        a, i, b, j = b, j, a, i
    return a + math.ldexp(b, int(max(j - i, -2000))), i


@njit
def _multiply(product, u, v, x, y):
    """product[t] *= min(u, x[t]) min(v, y[t]), without branches: ``min`` would not vectorise."""
    for t in range(len(product)):
        a, b = x[t], y[t]
        product[t] *= (u if u < a else a) * (v if v < b else b)
