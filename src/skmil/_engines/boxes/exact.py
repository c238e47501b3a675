r"""Counting boxes exactly: two independent routes for any bags, and a compiled one for a few points.

- *Sweep*: go through the 2d coordinates and keep a table {points still inside -> number of ways}. All kinds
  come from it, in exact integers. The table has at most 2^n entries, usually far fewer.
- *Hypervolume*: |B(P)| is the volume dominated by the points z(P) in 2d dimensions, which ``moocore``
  computes; :math:`k_\wedge = |B(P)| + |B(Q)| - |B(P \cup Q)|`.
- *Inclusion-exclusion* over subsets of both bags, cut where two halves of the sum cancel. No term is
  larger than the result, so rounding costs at most about :math:`\epsilon` of it for each term. Where whole
  bags are counted, the lists of ``corners`` are faster, since they are made once for all pairs; here the
  points are new each time. For :math:`k_{\min}` the sum is over all subsets S of P and T of Q,

  .. math::
      \min(a, b) = \sum_{S, T \ne \emptyset} (-1)^{|S| + |T|} \binom{|S| + |T| - 2}{|S| - 1}

  for a box that holds a points of P and b of Q, S and T among them: each of :math:`[a \ge k]` and
  :math:`[b \ge k]` is such a sum, and Vandermonde's identity adds their products over k.
"""

import math

import numpy as np

from skmil._engines.boxes.corners import Corners, log_and, log_own
from skmil._jit import njit

SWEEP_LIMIT = 2_000_000  # entries of the sweep's table: a few hundred MB of Python integers
HYPERVOLUME_LIMIT = 1e9  # elementary steps: some seconds
MOST_COLUMNS = 31  # that moocore takes
FEW_FACTORS = 2**17  # of products over pairs of subsets: some 20 microseconds; at most 14 points
LEAST = 2.0**-900  # sums of products below may have lost digits: floats end at 2^-1022


def sweep(z_p, z_q) -> dict[str, int]:
    """All counts of two bags from one table; exact where the lengths are integers.

    Parameters
    ----------
    z_p, z_q : arrays (points, 2d) of lengths (see ``space``); ints stay ints

    Returns
    -------
    dict with the keys "and", "or", "min"
    """
    z = list(z_p) + list(z_q)
    in_p = (1 << len(z_p)) - 1
    ways = {(1 << len(z)) - 1: 1}
    for column in zip(*z, strict=True):
        ways = _sweep_column(ways, column)
        if len(ways) > SWEEP_LIMIT:
            raise ValueError(
                f"exact counting of {len(z)} points needs a table of more than {SWEEP_LIMIT} subsets; "
                "use method='pairwise', which keeps a relative error of epsilon"
            )
    counts = [((m & in_p).bit_count(), (m >> len(z_p)).bit_count(), w) for m, w in ways.items()]
    return {
        "and": sum(w for a, b, w in counts if a and b),
        "or": sum(w for a, b, w in counts),
        "min": sum(w * min(a, b) for a, b, w in counts),
    }


def _sweep_column(ways, column):
    """Draw the threshold of one coordinate: between two neighbouring lengths nothing changes."""
    new: dict[int, int] = {}
    below = 0
    for value in sorted(set(column)):
        stay = sum(1 << i for i, v in enumerate(column) if v >= value)
        for inside, w in ways.items():
            if inside & stay:
                new[inside & stay] = new.get(inside & stay, 0) + w * (value - below)
        below = value
    return new


def exact_own(T, C: Corners, bags) -> np.ndarray:
    """Log |B(P)| of bags of a table: from lists of corners where there are any."""
    listed = np.diff(C.starts)[bags] > 0
    out = np.empty(len(bags))
    out[listed] = log_own(C, bags[listed])
    for e in np.flatnonzero(~listed):
        out[e] = hypervolume(_lengths(T, bags[e]))
    return out


def exact_log(T, C: Corners, first, second, kind: str) -> np.ndarray:
    """Log k_and or k_min of pairs of bags of a table: from lists of corners where there are any."""
    sizes, lists = np.diff(T.offsets), np.diff(C.starts)
    listed = np.minimum(lists[first], lists[second]) > 0
    # In a bag of one point no box holds two, so k_min is k_and.
    listed &= (kind == "and") | (np.minimum(sizes[first], sizes[second]) == 1)
    out = np.full(len(first), np.nan)
    out[listed] = log_and(C, first[listed], second[listed])
    if kind == "min":
        few = ~listed & is_few(sizes[first], sizes[second], T.z.shape[1])
        out[few] = log_min(T, first[few], second[few])
    for e in np.flatnonzero(np.isnan(out)):
        out[e] = _large(_lengths(T, first[e]), _lengths(T, second[e]), kind)
    return out


def is_few(n, m, D: int):
    """Whether bags of n and m points have so few subsets that a sum over all is faster than samples."""
    return 2.0 ** (n + m) * D <= FEW_FACTORS


def _lengths(T, bag) -> np.ndarray:
    return T.z[T.offsets[bag] : T.offsets[bag + 1]]


def _large(P: np.ndarray, Q: np.ndarray, kind: str) -> float:
    """Log count of larger bags, by hypervolumes, or by a sweep where these do not answer."""
    if kind == "and":
        both = hypervolume(np.vstack([P, Q]))
        k = math.exp(hypervolume(P) - both) + math.exp(hypervolume(Q) - both) - 1.0
        if k > 1e-6:  # what is left of three volumes must be more than their rounding errors
            return both + math.log(k)
    return _log_sweep(P, Q, kind)


def _log_sweep(P: np.ndarray, Q: np.ndarray, kind: str) -> float:
    """Log count by a sweep over lengths made integers, since floats would leave their range."""
    columns, bits = zip(*(_as_integers(c.tolist()) for c in np.vstack([P, Q]).T), strict=True)
    rows = list(zip(*columns, strict=True))
    n = sweep(rows[: len(P)], rows[len(P) :])[kind]
    return math.log(n) - sum(bits) * math.log(2.0) if n else -math.inf


def _as_integers(column) -> tuple[list[int], int]:
    """Floats times a power of two that makes all of them integers, and that power."""
    ratios = [float(x).as_integer_ratio() for x in column]
    largest = max(d for _, d in ratios)
    return [n * (largest // d) for n, d in ratios], largest.bit_length() - 1


def hypervolume(z: np.ndarray) -> float:
    """Log |B(P)| as a dominated volume, by ``moocore``."""
    z = nondominated(np.asarray(z, float))
    if len(z) == 1:
        return float(np.log(z).sum())
    steps = hypervolume_steps(z)
    if z.shape[1] > MOST_COLUMNS:
        raise _refusal(z, f"is beyond moocore, which takes {MOST_COLUMNS} dimensions")
    if steps > HYPERVOLUME_LIMIT:
        raise _refusal(z, f"takes about {steps:.0e} steps")
    try:
        import moocore
    except ImportError:
        raise ImportError("exact counts of larger bags need moocore: pip install skmil[exact]") from None
    top = z.max(axis=0)
    volume = moocore.hypervolume(z / top, ref=np.zeros(z.shape[1]), maximise=True)
    if volume < LEAST:
        raise _refusal(z, "is below the range of floats, so much do their lengths differ")
    return math.log(volume) + np.log(top).sum()


def _refusal(z: np.ndarray, reason: str) -> ValueError:
    return ValueError(
        f"the exact hypervolume of {len(z)} points in {z.shape[1]} dimensions (two per feature) {reason}; "
        "use method='pairwise' or 'auto', which keep a relative error of epsilon"
    )


def hypervolume_steps(z: np.ndarray) -> float:
    """Rough cost of a hypervolume: n^(D/2) as in the best bounds known, at most 2^n."""
    n, D = z.shape
    return D * min(2.0**n, float(n) ** (D / 2))


def nondominated(z: np.ndarray) -> np.ndarray:
    """The points that no other point covers: the rest adds no box."""
    z = np.unique(z, axis=0)
    covered = [np.any((z >= p).all(axis=1) & (z > p).any(axis=1)) for p in z]
    return z[~np.array(covered)]


@njit
def count_exactly(z, p, q, union):
    """Log k_and or k_or of rows p and q by inclusion-exclusion, relative to the largest lengths.

    -inf where that leaves the range of floats.
    """
    n, D = len(p) + len(q), z.shape[1]
    points = np.empty((n, D))
    volume = np.ones(n)
    scale = 0.0
    for j in range(D):
        top = 0.0
        for r in range(n):
            points[r, j] = z[p[r], j] if r < len(p) else z[q[r - len(p)], j]
            top = max(top, points[r, j])
        scale += math.log(top)
        for r in range(n):
            points[r, j] /= top
            volume[r] *= points[r, j]
    # The largest last: they cover most corners, so most of the sum is cut off early.
    order = np.argsort(volume)
    total = _alternate(points[order], order < len(p), union)
    return scale + math.log(total) if total >= LEAST else -np.inf


@njit
def _alternate(z, in_p, union):
    """Sum of (-1)^|S u T| V(S u T) over nonempty S of P and T of Q; over all nonempty sets if ``union``."""
    n, D = z.shape
    corner = np.ones((n + 1, D))
    chosen = np.full(n + 1, -1)
    from_p, from_q = np.zeros(n + 1, np.bool_), np.zeros(n + 1, np.bool_)
    total, depth = 0.0, 0
    while depth >= 0:
        chosen[depth] += 1
        r = chosen[depth]
        if r == n:
            depth -= 1
            continue
        volume = 1.0
        for j in range(D):
            corner[depth + 1, j] = min(corner[depth, j], z[r, j])
            volume *= corner[depth + 1, j]
        from_p[depth + 1] = from_p[depth] or in_p[r] or union
        from_q[depth + 1] = from_q[depth] or not in_p[r] or union
        if not _cancels(z, r + 1, in_p, corner[depth + 1], from_p[depth + 1], from_q[depth + 1]):
            if from_p[depth + 1] and from_q[depth + 1]:
                total += volume if (depth % 2 == 0) == union else -volume
            depth += 1
            chosen[depth] = r
    return total


@njit
def _cancels(z, start, in_p, corner, from_p, from_q):
    """Whether a later point covers the corner: sets with and without it then add up to nothing."""
    for r in range(len(z) - 1, start - 1, -1):
        if from_p if in_p[r] else from_q:
            covers = True
            for j in range(z.shape[1]):
                if z[r, j] < corner[j]:
                    covers = False
                    break
            if covers:
                return True
    return False


@njit
def log_min(T, first, second):
    """Log k_min of pairs of small bags, relative to the largest lengths; NaN beyond the range of floats.

    The terms add up to at most 3^(n + m) / 4 times the largest, which is no larger than the result: of
    its sixteen digits nine are right.
    """
    out = np.empty(len(first))
    for e in range(len(first)):
        i, j = first[e], second[e]
        if T.key[j] < T.key[i]:
            i, j = j, i
        P, Q = T.z[T.offsets[i] : T.offsets[i + 1]], T.z[T.offsets[j] : T.offsets[j + 1]]
        top = np.empty(T.z.shape[1])
        for c in range(len(top)):
            top[c] = max(P[:, c].max(), Q[:, c].max())
        total = _over_subsets(_subset_corners(P, top), _subset_corners(Q, top))
        out[e] = np.log(top).sum() + math.log(total) if total >= LEAST else np.nan
    return out


@njit
def _subset_corners(P, top):
    """Smallest lengths of every subset of points by coordinates, over ``top``; subsets by their bits."""
    n, D = P.shape
    out = np.ones((D, 2**n))
    for r in range(n):
        for c in range(D):
            z = P[r, c] / top[c]
            for s in range(2**r):
                out[c, 2**r + s] = min(z, out[c, s])
    return out


@njit
def _over_subsets(A, B):
    """The sum over subsets, the products of one subset of P with all of Q at a time."""
    D, n = B.shape
    sizes = _bits(max(A.shape[1], n))
    weights = _signed_binomials(sizes.max() + 1)
    product, total = np.empty(n), np.zeros(n)
    for s in range(1, A.shape[1]):
        product[:] = 1.0
        for c in range(D):
            a = A[c, s]
            for t in range(n):
                product[t] *= min(a, B[c, t])
        for t in range(1, n):
            total[t] += weights[sizes[s], sizes[t]] * product[t]
    return total.sum()


@njit
def _bits(n):
    """Number of bits of 0, ..., n - 1."""
    out = np.zeros(n, np.int64)
    for i in range(1, n):
        out[i] = out[i // 2] + i % 2
    return out


@njit
def _signed_binomials(n):
    """(-1)^(s + t) binom(s + t - 2, s - 1) for s, t = 1, ..., n - 1."""
    out = np.zeros((n, n))
    for s in range(1, n):
        for t in range(1, n):
            out[s, t] = 1.0 if s == 1 or t == 1 else abs(out[s - 1, t]) + abs(out[s, t - 1])
            out[s, t] = -out[s, t] if (s + t) % 2 else out[s, t]
    return out
