"""The paper's own algorithms, Tables 3, 4 and 5 (Tao, Scott, Vinodchandran, Osugi & Mueller, PAMI 2008).

Word for word, compiled: the reference that the fast engine is measured against. Every entry, the diagonal
too, is counted by them. A box is drawn in all its dimensions, a membership test stops at the first
dimension that fails. Beside them the coverage algorithm of Theorem 5, which Table 3 is to be faster than.
"""

import math

import numpy as np

from skmil._engines.boxes.pairwise import AND, MIN, OR, _cumulative, _find, _pair_volumes, log_sum
from skmil._jit import njit
from skmil._random import mix, uniform


def trials(n_p: int, n_q: int, kind: int, epsilon: float, delta: float) -> int:
    """Sample sizes of Theorems 7 and 12 (the latter for each pair of points)."""
    if kind == MIN:
        n = max(n_p, n_q)
        return max(1, math.ceil((n - 1) ** 2 * math.log(2 * n**2 / delta) / (2 * epsilon**2)))
    m = n_p * n_q if kind == AND else n_p + n_q
    return math.ceil(8 * (1 + epsilon) * m * math.log(2 / delta) / epsilon**2)


def plain_trials(n_p: int, n_q: int, epsilon: float, delta: float) -> int:
    """Sample size of Theorem 5; its n^2 is the number of sets B(p ^ q), or B(p) where ``n_q`` is 0."""
    return math.ceil(4 * n_p * max(n_q, 1) * math.log(2 / delta) / epsilon**2)


def count_coverage(T, first, second, kinds, epsilon: float, delta: float, seed, plain=False) -> np.ndarray:
    """Log counts of pairs of bags by the paper's tables, one column per kind (AND, MIN or OR).

    ``plain`` takes Theorem 5 for AND and OR.
    """
    count = _plain_count if plain else _count
    out = np.empty((len(first), len(kinds)))
    for e, (i, j) in enumerate(zip(first, second, strict=True)):
        for k, kind in enumerate(kinds):
            out[e, k] = count(T, i, j, kind, epsilon, delta, seed)
    return out


def _plain_count(T, i, j, kind, epsilon, delta, seed) -> float:
    if kind == MIN:
        raise ValueError("Theorem 5 counts k_and and k_or; for k_min use method='coverage'")
    if T.key[j] < T.key[i]:
        i, j = j, i
    p, q = (np.arange(T.offsets[b], T.offsets[b + 1]) for b in (i, j))
    key = np.uint64(mix(np.uint64(mix(seed, T.key[i])), T.key[j]))
    if kind == OR:
        p, q = p if T.key[i] == T.key[j] else np.concatenate([p, q]), p[:0]
    return theorem_5(T.z, T.logz, p, q, plain_trials(len(p), len(q), epsilon, delta), key)


def _count(T, i, j, kind, epsilon, delta, seed) -> float:
    if T.key[j] < T.key[i]:
        i, j = j, i
    p, q = (np.arange(T.offsets[b], T.offsets[b + 1]) for b in (i, j))
    key = np.uint64(mix(np.uint64(mix(seed, T.key[i])), T.key[j]))
    if kind == OR:
        p = p if T.key[i] == T.key[j] else np.concatenate([p, q])
        return table_4(T.z, T.logz, p, trials(len(p), 0, kind, epsilon, delta), key)
    S = trials(len(p), len(q), kind, epsilon, delta)
    return (table_5 if kind == MIN else table_3)(T.z, T.logz, p, q, S, key)


@njit
def table_3(z, logz, p, q, S, key):
    """Self-adjusting coverage for #BoxAnd."""
    volumes = _pair_volumes(logz, p, q)
    cumulative = _cumulative(volumes)
    box = np.empty(z.shape[1])
    gtime, n_s, c = 0, 0, np.uint64(0)
    while True:
        u = _find(cumulative, uniform(key, c) * cumulative[-1])
        _draw_box(z, p[u // len(q)], q[u % len(q)], mix(key, c + np.uint64(1)), box)
        c += np.uint64(2)
        while True:
            gtime += 1
            if gtime > S:
                return math.log(S / (len(p) * len(q) * max(n_s, 1))) + log_sum(volumes)
            r = p[int(uniform(key, c) * len(p))]
            s = q[int(uniform(key, c + np.uint64(1)) * len(q))]
            c += np.uint64(2)
            if _contains(z, box, r) and _contains(z, box, s):
                break
        n_s += 1


@njit
def table_4(z, logz, p, S, key):
    """Self-adjusting coverage for #Box: boxes that contain a point of p."""
    volumes = np.empty(len(p))
    for i in range(len(p)):
        volumes[i] = logz[p[i]].sum()
    cumulative = _cumulative(volumes)
    box = np.empty(z.shape[1])
    gtime, n_s, c = 0, 0, np.uint64(0)
    while True:
        u = _find(cumulative, uniform(key, c) * cumulative[-1])
        _draw_box(z, p[u], p[u], mix(key, c + np.uint64(1)), box)
        c += np.uint64(2)
        while True:
            gtime += 1
            if gtime > S:
                return math.log(S / (len(p) * max(n_s, 1))) + log_sum(volumes)
            r = p[int(uniform(key, c) * len(p))]
            c += np.uint64(1)
            if _contains(z, box, r):
                break
        n_s += 1


@njit
def theorem_5(z, logz, p, q, S, key):
    """Share of the draws whose pair is the first one inside its box, times |U|; points where q is empty."""
    m = max(len(q), 1)
    volumes = _pair_volumes(logz, p, q) if len(q) else _pair_volumes(logz, p, p)[:: len(p) + 1].copy()
    cumulative = _cumulative(volumes)
    box = np.empty(z.shape[1])
    found = 0
    for i in range(S):
        stream = mix(key, np.uint64(i))
        u = _find(cumulative, uniform(stream, z.shape[1]) * cumulative[-1])
        a, b = p[u // m], q[u % m] if len(q) else p[u]
        _draw_box(z, a, b, stream, box)
        first = True
        for k in range(u // m):
            first = first and not _contains(z, box, p[k])
        for k in range(u % m):
            first = first and not _contains(z, box, q[k])
        found += first
    return math.log(max(found, 1) / S) + log_sum(volumes)


@njit
def table_5(z, logz, p, q, S, key):
    """Approximation algorithm for #BoxMin: S boxes for each pair of points."""
    volumes = _pair_volumes(logz, p, q)
    largest = volumes.max()
    box = np.empty(z.shape[1])
    y, c = 0.0, np.uint64(0)
    for i in range(len(p)):
        for j in range(len(q)):
            total = 0.0
            for _ in range(S):
                _draw_box(z, p[i], q[j], mix(key, c), box)
                c += np.uint64(1)
                a, b = 0, 0
                for r in p:
                    a += _contains(z, box, r)
                for r in q:
                    b += _contains(z, box, r)
                total += 1.0 / max(a, b)
            y += math.exp(volumes[i * len(q) + j] - largest) * total / S
    return largest + math.log(y)


@njit
def _draw_box(z, r, s, stream, box):
    for j in range(z.shape[1]):
        box[j] = min(z[r, j], z[s, j]) * (1.0 - uniform(stream, j))


@njit
def _contains(z, box, r):
    for j in range(z.shape[1]):
        if z[r, j] < box[j]:
            return False
    return True
