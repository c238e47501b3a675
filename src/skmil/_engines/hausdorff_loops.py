"""Compiled loops behind Hausdorff distances: pairs of instances that cannot matter are ruled out by boxes.

They take plain arrays: passing a tuple of them from function to function costs more than the arithmetic.
Letters: A, f, L, H, C, P, X, s are the fields of the first ``Table`` of ``hausdorff.py`` in order,
B, g, M, N, D, Q, Y, t those of the second.
"""

import numpy as np

from skmil._jit import njit

MINIMAL, MAXIMAL, AVERAGE = range(3)


@njit
def row_of_distances(
    A, f, L, H, C, P, X, s, i, B, g, M, N, D, Q, Y, t, skip, before, most, k, start, reach, kind, tiny
):
    """Distances from bag i of A to the bags of B, squared unless average.

    Infinite where larger than both the k-th smallest of the row (or ``start``) and the reach of the
    other bag. Only the ``most`` bags that look nearest are visited, and of these only those ``before``.
    """
    n = len(B) - 1
    row, nearest = np.full(n, np.inf), np.full(k, start)
    for j in np.argsort(_guess(A, C, i, B, D))[:most]:
        if j == skip or j >= before:
            continue
        bound, size = max(nearest[-1], reach[j]), f[A[i + 1]] - f[A[i]] + g[B[j + 1]] - g[B[j]]
        value = np.inf if kind == MINIMAL else -1.0
        if kind == AVERAGE:
            value, bound = 0.0, bound * size * (1.0 + 1e-9)
        value = _directed(kind, value, bound, P, X, s, A, f, L, H, i, Q, Y, t, B, g, M, N, j, tiny)
        if kind != MINIMAL:
            value = _directed(kind, value, bound, Q, Y, t, B, g, M, N, j, P, X, s, A, f, L, H, i, tiny)
        row[j] = value / size if kind == AVERAGE else value
        if row[j] < nearest[-1]:
            nearest[-1] = row[j]
            nearest.sort()
    return row


@njit
def _directed(kind, value, bound, P, X, s, A, f, L, H, i, Q, Y, t, B, g, M, N, j, tiny):
    """Go on from ``value`` with the minimum, maximum or sum over a in A of the distance to bag j of B.

    Infinite as soon as it is above ``bound``.
    """
    hint = B[j]
    for leaf in range(A[i], A[i + 1]):
        if kind == MINIMAL and _far(L, H, leaf, M, N, B[j], B[j + 1], _slack(min(value, bound), tiny)):
            continue
        for a in range(f[leaf], f[leaf + 1]):
            most, enough = min(value, bound), -1.0
            if kind == MAXIMAL:  # an instance that is near enough cannot raise the maximum
                most, enough = bound, value
            elif kind == AVERAGE:
                most = max(bound - value, 0.0) ** 2
            near, hint = _nearest(P, X, s, a, Q, Y, t, g, M, N, B[j], B[j + 1], hint, most, enough, tiny)
            if kind == MINIMAL:
                value = min(value, near)
            else:
                value = max(value, near) if kind == MAXIMAL else value + np.sqrt(near)
                if value > bound:
                    return np.inf
    return value


@njit
def _far(L, H, leaf, M, N, first, last, limit):
    """Whether the box of a leaf is further than ``limit`` (a square) from the boxes of some leaves."""
    for other in range(first, last):
        if _gap(L[leaf], H[leaf], M[other], N[other]) <= limit:
            return False
    return True


@njit
def _nearest(P, X, s, a, Q, Y, t, g, M, N, first, last, hint, bound, enough, tiny):
    """Smallest |a - b|^2 over some leaves, and its leaf; the search starts at the leaf ``hint``.

    Infinite if above ``bound``; any value not above ``enough`` will do.
    """
    best, where, limit = np.inf, hint, _slack(bound, tiny)
    for leaf in range(hint, hint + last - first):  # neighbours in A have neighbours in B: begin there
        leaf = leaf if leaf < last else leaf - (last - first)
        if _gap(P[a], P[a], M[leaf], N[leaf]) > limit:
            continue
        for b in range(g[leaf], g[leaf + 1]):
            if _rough(P[a], Q[b]) > limit or (len(s) == 0 and _rough(X[a], Y[b]) > limit):
                continue
            d2 = _square(X, a, Y, b, bound) if len(s) == 0 else _merge(X, s, a, Y, t, b, bound)
            if d2 < best:
                best, where, bound = d2, leaf, min(bound, d2)
                limit = _slack(bound, tiny)
                if best <= enough:
                    return best, where
    return best, where


@njit
def _slack(bound, tiny):
    """A projected square above this belongs to an exact one above ``bound``, whatever the rounding."""
    return bound * (1.0 + 1e-9) + tiny


# These sums only rule out what is too far, and ``_slack`` allows for their rounding: they may be added in
# any order, which lets the loops vectorise. ``max`` would not.
@njit(fastmath={"reassoc", "contract", "nsz"})
def _gap(low, high, other_low, other_high):
    """Squared distance between two boxes of short copies; a point is a box too."""
    total = 0.0
    for k in range(len(low)):
        below, above = other_low[k] - high[k], low[k] - other_high[k]
        side = below if below > above else above
        side = side if side > 0.0 else 0.0
        total += side * side
    return total


@njit(fastmath={"reassoc", "contract", "nsz"})
def _rough(p, q):
    """Squared distance between two points, not to the last bit."""
    total = 0.0
    for k in range(len(p)):
        total += (p[k] - q[k]) * (p[k] - q[k])
    return total


@njit
def _square(X, a, Y, b, bound):
    """|a - b|^2 of two rows; infinite as soon as it is above ``bound``.

    Eight squares at a time, added in a fixed order: few checks, and the same bits anywhere.
    """
    total = 0.0
    for k in range(0, X.shape[1], 8):
        p, q = X[a, k] - Y[b, k], X[a, k + 4] - Y[b, k + 4]
        r, s = X[a, k + 1] - Y[b, k + 1], X[a, k + 5] - Y[b, k + 5]
        t, u = X[a, k + 2] - Y[b, k + 2], X[a, k + 6] - Y[b, k + 6]
        v, w = X[a, k + 3] - Y[b, k + 3], X[a, k + 7] - Y[b, k + 7]
        total += ((p * p + q * q) + (r * r + s * s)) + ((t * t + u * u) + (v * v + w * w))
        if total > bound:
            return np.inf
    return total


@njit
def least_squares(X, offsets, first, second):
    """Smallest |a - b|^2 between the instances of pairs of bags, by the sums of ``_square``."""
    out = np.full(len(first), np.inf)
    for e in range(len(first)):
        for a in range(offsets[first[e]], offsets[first[e] + 1]):
            for b in range(offsets[second[e]], offsets[second[e] + 1]):
                out[e] = min(out[e], _square(X, a, X, b, out[e]))
    return out


@njit
def _merge(X, s, a, Y, t, b, bound):
    """|a - b|^2 of two sparse rows with sorted features; infinite as soon as it is above ``bound``."""
    p, q, total = s[a], t[b], 0.0
    while (p < s[a + 1] or q < t[b + 1]) and total <= bound:
        if q == t[b + 1] or (p < s[a + 1] and X[p, 0] < Y[q, 0]):
            difference, p = X[p, 1], p + 1
        elif p == s[a + 1] or Y[q, 0] < X[p, 0]:
            difference, q = Y[q, 1], q + 1
        else:
            difference, p, q = X[p, 1] - Y[q, 1], p + 1, q + 1
        total += difference * difference
    return total if total <= bound else np.inf


@njit
def _guess(A, C, i, B, D):
    """Squared distance of the nearest centres of leaves: what looks near comes first and sets the bound."""
    result = np.full(len(B) - 1, np.inf)
    for j in range(len(result)):
        for a in range(A[i], A[i + 1]):
            for b in range(B[j], B[j + 1]):
                result[j] = min(result[j], _rough(C[a], D[b]))
    return result
