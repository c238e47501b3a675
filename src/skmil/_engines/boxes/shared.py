r"""Boxes drawn once for a whole data set: explicit random features of the box kernels.

Let D be the instances of all bags of a data set, drawn by volume, and b a box uniform among those that
contain the instance drawn. A box that contains N_D(b) instances comes with probability N_D(b) / |U_D|, so

.. math::
    k_\wedge(P, Q) = |U_D|\, E\left[\frac{1[P_b \ne \emptyset]\, 1[Q_b \ne \emptyset]}{N_D(b)}\right]
    \approx \frac{|U_D|}{S} \sum_{j=1}^S \frac{h_j(P)\, h_j(Q)}{N_D(b_j)}

as soon as P or Q belongs to D. The Gram matrix is W W^T with W = h / sqrt(N_D): positive semidefinite
whatever boxes were drawn. :math:`k_{\min}` has min(|P_b|, |Q_b|) in place of the product of hits, which is
the inner product of thermometer codes and so positive semidefinite too.

*Boxes from a subset* (the remedy of section 8.3 of the paper): an instance is drawn uniformly from D, then
some of the features, then in each of these an interval around the instance, uniform among those that are
not longer than a bound; the other features are free. With F the boxes that can come and |F(p)| those
around p, the same sums estimate

.. math::
    \sum_{b \in F} \nu(b)\, 1[P_b \ne \emptyset]\, 1[Q_b \ne \emptyset], \qquad
    \nu(b) = \frac{1}{N_D(b)} \sum_{p \in D_b} \frac{1}{|F(p)|} :

where intervals are short all |F(p)| are alike, and every box of F counts the same.

Points are bits. For each coordinate and each of at most 255 steps a mask says which points reach it; a box
is the AND of 2d masks, corrected where a threshold falls between two steps.
"""

from collections import namedtuple

import numpy as np

from skmil._jit import njit
from skmil._random import mix, uniform
from skmil._threads import map_blocks, slices

Masks = namedtuple("Masks", ["edges", "starts", "order", "bits", "offsets"])
Masks.__doc__ = """Which points reach which length, as bits: that of point r is r % 64 of word r // 64.

edges : (D, E) steps of each coordinate, padded with infinity
starts : (D, E + 1) where the points of a step begin in ``order``
order : (D, N) points by length
bits : (D, E + 1, W) points with length >= edge; the last is empty
offsets : (n + 1,) first point of each bag

Memory: 256 bits for each number of ``z`` at most, or four times as much as the numbers themselves.
"""
Family = namedtuple("Family", ["below", "above", "side", "n_features"])
Family.__doc__ = """Which boxes may be drawn.

below, above : (d,) coordinates of the lengths below and above a point, for each feature
side : (d,) longest interval of each feature
n_features : how many features a box bounds
"""
BLOCK = 2048
STEPS = 255
FEW = 256  # points up to which masks cost more than they save


def draw_boxes(T, n: int, seed, start: int = 0) -> np.ndarray:
    """Thresholds of boxes ``start`` to ``start + n`` of the stream: (n, 2d), any block at any time."""
    largest = T.volume.max()
    cumulative = np.cumsum(np.exp(T.volume - largest))
    return np.concatenate(
        map_blocks(
            lambda s: _draw(T.z, cumulative, np.uint64(seed), start + s.start, start + s.stop),
            slices(n, BLOCK),
        )
    )


def family(space, max_side: float | None, max_features: int | None) -> Family:
    """Boxes with sides of at most ``max_side`` of each range that bound ``max_features`` features."""
    d = len(space.low)
    place = np.empty(2 * d, np.int64)
    place[space.order] = np.arange(2 * d)
    side = (space.high - space.low) * (1.0 if max_side is None else max_side)
    return Family(place[:d], place[d:], side, min(d, max_features or d))


def draw_local(T, F: Family, n: int, seed) -> np.ndarray:
    """Thresholds of n boxes around instances that all come alike; 0 where a box is free."""
    blocks = slices(n, BLOCK)
    parts = map_blocks(lambda s: _draw_local(T.z, F, np.uint64(seed), s.start, s.stop), blocks)
    return np.concatenate(parts)


def log_volume(T) -> float:
    """Log |U_D|: the sum of |B(p)| over all instances."""
    largest = T.volume.max()
    return float(largest + np.log(np.exp(T.volume - largest).sum()))


def masks(T) -> Masks:
    """Prepare the bits of all points."""
    N, D = T.z.shape
    columns = [_steps(T.z[:, j]) for j in range(D)]
    E = max(len(c) for c in columns)
    edges = np.full((D, E), np.inf)
    for j, c in enumerate(columns):
        edges[j, : len(c)] = c
    order = np.argsort(T.z, axis=0, kind="stable").T.copy()
    starts = np.full((D, E + 1), N)
    for j in range(D):
        starts[j, :E] = np.searchsorted(T.z[order[j], j], edges[j])
    return Masks(edges, starts, order, _bits(starts, order, -(-N // 64)), np.ascontiguousarray(T.offsets))


def held(T, boxes: np.ndarray) -> np.ndarray:
    """``inside`` without masks made before: few points are asked one by one."""
    if len(T.z) > FEW or len(boxes) == 0 or boxes.shape[1:] != T.z.shape[1:]:
        return inside(T, masks(T), boxes)
    z, offsets = np.ascontiguousarray(T.z.T), np.ascontiguousarray(T.offsets)
    return np.concatenate(map_blocks(lambda s: _held(z, offsets, boxes[s]), slices(len(boxes), BLOCK)))


def inside(T, M: Masks, boxes: np.ndarray) -> np.ndarray:
    """Number of points of each bag in each box: (boxes, bags)."""
    if boxes.ndim != 2 or boxes.shape[1] != T.z.shape[1]:
        raise ValueError(f"the boxes have shape {boxes.shape}; expected {T.z.shape[1]} thresholds each")
    parts = map_blocks(lambda s: _inside(T.z, M, boxes[s]), slices(len(boxes), BLOCK))
    return np.concatenate(parts)


def and_sums(counts: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum over boxes of h h^T w and of h h^T w^2."""
    hits = (counts > 0).astype(np.float32)
    w = weights.astype(np.float32)[:, None]
    return (hits * w).T @ hits, (hits * w**2).T @ hits


def min_sums(counts: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum over boxes of min(|P_b|, |Q_b|) w, and of its square."""
    columns = np.ascontiguousarray(counts.T.astype(np.float32))
    return _min_sums(columns, weights.astype(np.float32))


def certified(S: int, first: np.ndarray, second: np.ndarray, most: float, epsilon: float, delta: float):
    r"""Entries whose mean of S samples in [0, ``most``] is known to a relative error of epsilon.

    ``first`` and ``second`` are the sums of the samples and of their squares. The capitals of
    ``confidence`` with constant stakes, averaged over a grid of stakes, bounded from below by
    :math:`\log(1 + x) \ge x - x^2 / 2` and :math:`\log(1 - x) \ge -x - a x^2` on [0, phi].
    """
    mean = np.maximum(first / S, 1e-300)
    low, high = mean / (1 + epsilon), mean / (1 - epsilon)
    grid = 0.9 * 0.5 ** np.arange(12)
    goal = np.log(2 * len(grid) / delta)
    up = np.full(mean.shape, -np.inf)
    down = np.full(mean.shape, -np.inf)
    for c in grid:
        theta = c / (low * (1 - c))
        up = np.maximum(up, S * np.log1p(-c) + theta * first - theta**2 * second / 2)
        theta = c / most
        a = (-np.log1p(-c) - c) / c**2
        # theta = stake / (1 + stake * high), so 1 + stake * high = 1 / (1 - theta * high)
        room = np.maximum(1 - theta * high, 1e-300)
        down = np.maximum(down, -S * np.log(room) - theta * first - a * theta**2 * second)
    return (up >= goal) & ((down >= goal) | (high >= most)) & (first > 0)


def _steps(column: np.ndarray) -> np.ndarray:
    """All values of a coordinate, or quantiles of them where they are many."""
    values = np.unique(column)
    if len(values) <= STEPS:
        return values
    return np.unique(np.quantile(column, np.linspace(0, 1, STEPS), method="inverted_cdf"))


@njit
def _draw(z, cumulative, seed, start, stop):
    out = np.empty((stop - start, z.shape[1]))
    for i in range(start, stop):
        stream = mix(seed, i)
        r = np.searchsorted(cumulative, uniform(stream, z.shape[1]) * cumulative[-1], side="right")
        r = min(r, len(cumulative) - 1)
        for j in range(z.shape[1]):
            out[i - start, j] = z[r, j] * (1.0 - uniform(stream, j))
    return out


@njit
def _draw_local(z, F, seed, start, stop):
    d = len(F.below)
    out = np.zeros((stop - start, z.shape[1]))
    chosen = np.arange(d)
    for i in range(start, stop):
        stream = mix(seed, i)
        r = int(uniform(stream, 0) * len(z))
        c = 1
        for m in range(F.n_features):
            other = m + int(uniform(stream, c) * (d - m))
            chosen[m], chosen[other] = chosen[other], chosen[m]
            k = chosen[m]
            low, high = z[r, F.below[k]], z[r, F.above[k]]
            a, b, c = _interval(min(low, F.side[k]), min(high, F.side[k]), F.side[k], stream, c + 1)
            out[i - start, F.below[k]], out[i - start, F.above[k]] = low - a, high - b
        chosen[:] = np.arange(d)  # a box must not depend on those of its block
    return out


@njit
def _interval(below, above, side, stream, c):
    """How far an interval reaches below and above its point: uniform among those not longer than ``side``.

    At least every second try is short enough.
    """
    while True:
        a, b = below * uniform(stream, c), above * uniform(stream, c + 1)
        c += 2
        if a + b <= side:
            return a, b, c


@njit
def _bits(starts, order, n_words):
    D, E = starts.shape
    bits = np.zeros((D, E, n_words), np.uint64)
    for j in range(D):
        for e in range(E - 2, -1, -1):
            bits[j, e] = bits[j, e + 1]
            for k in range(starts[j, e], starts[j, e + 1]):
                b = order[j, k]
                bits[j, e, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    return bits


@njit
def _inside(z, M, boxes):
    n = len(M.offsets) - 1
    out = np.empty((len(boxes), n), np.int32)
    alive = np.empty(M.bits.shape[2], np.uint64)
    for i in range(len(boxes)):
        alive[:] = ~np.uint64(0)
        for j in range(z.shape[1]):
            t = boxes[i, j]
            if t <= 0.0:
                continue  # free: every point reaches it
            e = np.searchsorted(M.edges[j], t)  # edges[e - 1] < t <= edges[e]
            extra = 0 < e and M.starts[j, e] - M.starts[j, e - 1] > 0
            if extra and z[M.order[j, M.starts[j, e] - 1], j] >= t:
                # The step below t holds points on both sides: keep it, then drop those that miss t.
                _keep(alive, M.bits[j, e - 1])
                for k in range(M.starts[j, e - 1], M.starts[j, e]):
                    r = M.order[j, k]
                    if z[r, j] < t:
                        alive[r >> 6] &= ~(np.uint64(1) << np.uint64(r & 63))
            else:
                _keep(alive, M.bits[j, e])
        for k in range(n):
            out[i, k] = _count(alive, M.offsets[k], M.offsets[k + 1])
    return out


@njit
def _held(z, offsets, boxes):
    """``_inside`` of few points; ``z`` has a row for each coordinate."""
    out = np.zeros((len(boxes), len(offsets) - 1), np.int32)
    alive = np.empty(z.shape[1], np.uint8)
    for i in range(len(boxes)):
        alive[:] = 1
        for j in range(len(z)):
            t = boxes[i, j]
            if t > 0.0:
                for r in range(len(alive)):
                    alive[r] &= z[j, r] >= t
        for k in range(out.shape[1]):
            for r in range(offsets[k], offsets[k + 1]):
                out[i, k] += alive[r]
    return out


@njit
def _count(alive, start, stop):
    """Number of bits from ``start`` up to ``stop``, which lie in one word or more."""
    first, last = start >> 6, (stop - 1) >> 6
    everything = ~np.uint64(0)
    head = everything << np.uint64(start & 63)
    tail = everything >> np.uint64(63 - ((stop - 1) & 63))
    if first == last:
        return _popcount(alive[first] & head & tail)
    total = _popcount(alive[first] & head) + _popcount(alive[last] & tail)
    for w in range(first + 1, last):
        total += _popcount(alive[w])
    return total


@njit
def _keep(alive, bits):
    for w in range(len(alive)):
        alive[w] &= bits[w]


@njit
def _popcount(x):
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(fastmath={"reassoc", "contract", "nsz"})  # lets the sums over boxes vectorise
def _min_sums(counts, weights):
    n = len(counts)
    first, second = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            u, v = counts[i], counts[j]
            one, two = np.float32(0), np.float32(0)
            for k in range(len(weights)):
                x = min(u[k], v[k]) * weights[k]
                one += x
                two += x * x
            first[i, j] = first[j, i] = one
            second[i, j] = second[j, i] = two
    return first, second


@njit
def smaller_sums(a, b, weights):
    """Sum over the boxes k of weights[k] min(a[k, i], b[k, j]), for all pairs of bags i, j."""
    out = np.zeros((b.shape[1], a.shape[1]))
    for j in range(len(out)):
        for k in range(len(weights)):
            for i in range(a.shape[1]):
                out[j, i] += weights[k] * min(a[k, i], b[k, j])
    return out.T
