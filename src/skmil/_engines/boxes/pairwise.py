r"""Counting boxes for one pair of bags, by sampling until sure.

Karp and Luby's coverage idea [1]_ with four improvements. Let U be the disjoint union of the sets
B(p ^ q), so that a box b lies in it :math:`|P_b| |Q_b|` times. With a pair (p, q) drawn by its share of
|U| and a box b uniform in B(p ^ q),

.. math::
    k_\wedge = |U|\, E\left[\frac{1}{|P_b|\,|Q_b|}\right], \qquad
    k_{\min} = |U|\, E\left[\frac{1}{\max(|P_b|, |Q_b|)}\right],

which are the conditional expectations of the paper's 0/1 trials (Rao-Blackwell). Second, sampling stops
when a confidence sequence says so. Third, the boxes of a core, the largest of the sets or (in few
dimensions) all sets of the five heaviest points of each bag, are counted exactly and only boxes outside are
sampled. Fourth, the thresholds of a box
are drawn one by one, only as far as some point needs them to be told inside or outside.

Where bags are large and overlap, a box drawn from the points of one bag, U_P, is the better proposal:

.. math::
    k_\wedge = |U_P|\, E\left[\frac{1[Q_b \ne \emptyset]}{|P_b|}\right], \qquad
    k_{\min} = |U_P|\, E\left[\frac{\min(|P_b|, |Q_b|)}{|P_b|}\right],

and the smallest of |U|, |U_P|, |U_Q| is used, with a bonus for |U| because only there the core helps.
:math:`k_\vee = |B(P \cup Q)|` is :math:`|U_{P \cup Q}|\, E[1 / |(P \cup Q)_b|]`.

References
----------
.. [1] R. Karp, M. Luby, N. Madras, "Monte-Carlo approximation algorithms for enumeration problems",
   J. Algorithms 10, 1989.
"""

import math

import numpy as np

from skmil._engines.boxes.confidence import log_capital, stake_on
from skmil._engines.boxes.corners import FEW
from skmil._engines.boxes.exact import count_exactly
from skmil._jit import njit
from skmil._random import mix, uniform

AND, MIN, OR = 0, 1, 2
FIRST_LOOK, FIRST_STAKE = 8, 0.5
CORE = 5  # points of each bag whose boxes are counted exactly
POINTS_PAY = math.log(4.0)  # the core is worth this much to the proposal from pairs
TOGETHER = 32  # points up to which, in few dimensions, asking all at once beats each until it is outside


@njit
def count_entries(T, first, second, kinds, epsilon, delta, seed):
    """Log counts of the pairs of bags (first[e], second[e]), one column per kind; boxes drawn.

    ``kinds`` is [AND], [MIN], [AND, MIN] or [OR]; OR of a bag with itself is |B(P)|.
    """
    out = np.empty((len(first), len(kinds)))
    drawn = np.empty(len(first), np.int64)
    for e in range(len(first)):
        i, j = first[e], second[e]
        if T.key[j] < T.key[i]:
            i, j = j, i
        key = mix(mix(seed ^ np.uint64(kinds[0]), T.key[i]), T.key[j])
        out[e], drawn[e] = _count(T, i, j, kinds, epsilon, delta, key)
    return out, drawn


@njit
def _count(T, i, j, kinds, epsilon, delta, key):
    """Choose what to draw boxes from: pairs of points, or the points of one bag or of both."""
    p, q = np.arange(T.offsets[i], T.offsets[i + 1]), np.arange(T.offsets[j], T.offsets[j + 1])
    pairs = kinds[0] != OR
    if pairs:
        volumes = _pair_volumes(T.logz, p, q)
        in_p, in_q = log_sum(T.volume[p]), log_sum(T.volume[q])
        if min(in_p, in_q) < log_sum(volumes) - POINTS_PAY:
            pairs = False
            if in_q < in_p:
                p, q = q, p
            volumes = T.volume[p]
    else:
        p = p if i == j else np.concatenate((p, q))
        q = np.empty(0, np.int64)
        volumes = T.volume[p]
    return _sample(T.z, p, q, volumes, pairs, kinds, epsilon, delta, key)


@njit
def _sample(z, p, q, volumes, pairs, kinds, epsilon, delta, key):
    """Draw boxes until every kind is known: log counts and the number of boxes.

    The sets to draw from are B(p ^ q), volumes in the order of p, or B(p) where not ``pairs``. In all but
    the proposal from one bag the boxes of a core are counted exactly and the samples come from the rest.
    """
    core = np.zeros(len(p) + len(q), np.bool_)
    known, left = -np.inf, volumes
    if pairs or kinds[0] == OR:
        known = _core(z, p, q, volumes, pairs, 1 if kinds[-1] == MIN else CORE, core)
        left = _without_core(volumes, core, len(p), pairs)
    log_rest = log_sum(left)
    log_u = max(known, log_rest) + math.log1p(math.exp(-abs(known - log_rest)))
    share = math.exp(known - log_u)
    estimate = np.full(len(kinds), min(1.0, (1.0 + epsilon) * share))
    if share * (1.0 + epsilon) >= 1.0 - epsilon:
        return log_u + np.log(estimate), 0
    cumulative = _cumulative(left)
    goal = math.log(2.0 / delta)
    trials = np.empty((3 * len(kinds), 64))  # rows: values, stakes up, stakes down of each kind
    stake = np.full((len(kinds), 2), FIRST_STAKE)
    counts = np.empty((64, 3), np.int64)
    columns = _columns(z, p, q)
    n, look, missing = 0, FIRST_LOOK, 1
    while missing:
        if look > trials.shape[1]:
            trials, counts = _longer(trials), np.empty((2 * len(counts), 3), np.int64)
        if len(columns):
            _draw_together(columns, len(p), pairs, cumulative, core, key, n, look, counts)
        else:
            _draw(z, p, q, pairs, cumulative, core, key, n, look, counts)
        missing = 0
        for k in range(len(kinds)):
            trial = trials[3 * k : 3 * k + 3]
            _record(kinds[k], pairs, counts, n, look, stake[k], trial)
            estimate[k], done = _look(trial, look, share, epsilon, goal, stake[k])
            missing += not done
        n, look = look, look + max(4, look // 4)
    return log_u + np.log(estimate), n


@njit
def _core(z, p, q, volumes, pairs, size, core):
    """Mark a core of at most ``size`` points of a bag; log count of its boxes, exact.

    In many dimensions, and where lengths differ beyond the range of floats, it is the largest set.
    """
    n, m = len(p), len(q) if pairs else 1
    if z.shape[1] <= FEW and size > 1:
        _mark_core(volumes, n, m, pairs, size, core)
        known = count_exactly(z, p[core[:n]], q[core[n:]], not pairs)
        if known > -np.inf:
            return known
    core[:] = False
    top = np.argmax(volumes)
    core[top // m] = True
    if pairs:
        core[n + top % m] = True
    return volumes[top]


@njit
def _mark_core(volumes, n, m, pairs, size, core):
    """Mark the points that carry most boxes: ``size`` of each bag, or twice as many of both together."""
    mass = np.zeros(len(core))
    largest = volumes.max()
    for u in range(len(volumes)):
        mass[u // m] += math.exp(volumes[u] - largest)
        if pairs:
            mass[n + u % m] += math.exp(volumes[u] - largest)
    _mark_largest(mass[:n], core[:n], size if pairs else 2 * size)
    _mark_largest(mass[n:], core[n:], size)


@njit
def _mark_largest(mass, core, size):
    for _ in range(min(size, len(mass))):
        best = -1
        for i in range(len(mass)):
            if not core[i] and (best < 0 or mass[i] > mass[best]):
                best = i
        core[best] = True


@njit
def _without_core(volumes, core, n, pairs):
    """The volumes with those of the core left out."""
    m = len(volumes) // n
    out = volumes.copy()
    for u in range(len(volumes)):
        if core[u // m] and (not pairs or core[n + u % m]):
            out[u] = -np.inf
    return out


@njit
def _draw(z, p, q, pairs, cumulative, core, key, start, stop, counts):
    """Boxes ``start`` to ``stop``: points of P and of Q inside, and whether the core holds the box."""
    m = len(q) if pairs else 1
    thresholds = np.empty(z.shape[1])
    for i in range(start, stop):
        stream = mix(key, i)
        u = _find(cumulative, uniform(stream, z.shape[1]) * cumulative[-1])
        first = p[u // m]
        second = q[u % m] if pairs else first
        a, b, held = _inside(z, p, q, first, second, core, pairs, stream, thresholds)
        counts[i - start, 0], counts[i - start, 1], counts[i - start, 2] = a, b, held


@njit
def _columns(z, p, q):
    """Lengths of few points by coordinates; nothing where points or coordinates are many."""
    n, m = len(p), len(q)
    pays = n + m <= TOGETHER and z.shape[1] <= FEW
    out = np.empty((z.shape[1] if pays else 0, n + m))
    for r in range(n + m):
        for j in range(len(out)):
            out[j, r] = z[p[r] if r < n else q[r - n], j]
    return out


@njit
def _draw_together(columns, n, pairs, cumulative, core, key, start, stop, counts):
    """``_draw`` without branches: each coordinate drops the points of both bags that miss its threshold."""
    D, both = columns.shape
    m, least = (both - n, 2) if pairs else (1, 1)
    alive = np.empty(both, np.uint8)
    for i in range(start, stop):
        stream = mix(key, i)
        u = _find(cumulative, uniform(stream, D) * cumulative[-1])
        first = u // m
        second = n + u % m if pairs else first
        alive[:] = 1
        for j in range(D):
            t = min(columns[j, first], columns[j, second]) * (1.0 - uniform(stream, j))
            left = 0
            for r in range(both):
                alive[r] &= columns[j, r] >= t
                left += alive[r]
            if left == least:  # the points that the box is drawn around
                break
        a, core_p = _held(alive[:n], core[:n])
        b, core_q = _held(alive[n:], core[n:])
        held = core_p and (core_q or not pairs)
        counts[i - start, 0], counts[i - start, 1], counts[i - start, 2] = a, b, held


@njit
def _held(alive, core):
    """Points inside, and whether one of them is of the core."""
    n, some = 0, 0
    for r in range(len(alive)):
        n += alive[r]
        some += alive[r] & core[r]
    return n, some > 0


@njit
def _record(kind, pairs, counts, start, stop, stake, trial):
    """Put down what the new boxes are worth and the stakes, which were chosen before."""
    for i in range(start, stop):
        c = counts[i - start]
        trial[0, i] = _value(kind, pairs, c[0], c[1], c[2])
        trial[1, i], trial[2, i] = stake[0], stake[1]


@njit
def _look(trial, n, share, epsilon, goal, stake):
    """Estimate share + (1 - share) * mean, and whether it is known to a relative error of epsilon.

    Also sets the stakes of the samples to come.
    """
    total, squares = 0.0, 0.0
    for i in range(n):
        total += trial[0, i]
        squares += trial[0, i] ** 2
    mean, rest = total / n, 1.0 - share
    variance = (max(0.0, squares - total * mean) + 0.05) / (n + 1.0)
    estimate = share + rest * mean
    low = (estimate / (1.0 + epsilon) - share) / rest
    high = (estimate / (1.0 - epsilon) - share) / rest
    done = low <= 0.0 or log_capital(trial, 1, n, low, low) >= goal
    done = done and (high >= 1.0 or log_capital(trial, 2, n, high, high - 1.0) >= goal)
    stake[0], stake[1] = stake_on(mean, variance, low, low), stake_on(mean, variance, high, high - 1.0)
    return estimate, done


@njit
def _value(kind, pairs, a, b, held):
    """The sampled quantity for a box with a points of P and b of Q, in [0, 1]."""
    if kind == OR:
        return 0.0 if held else 1.0 / a
    if not pairs:
        return (1.0 if b > 0 else 0.0) / a if kind == AND else min(a, b) / a
    if kind == AND:
        return 0.0 if held else 1.0 / (a * b)
    return (min(a, b) - 1.0) / (a * b - 1.0) if held else 1.0 / max(a, b)


@njit
def _inside(z, p, q, first, second, core, pairs, stream, t):
    """Draw a box of B(first ^ second); points of P and of Q inside, and whether the core holds it."""
    n, drawn, a, b, core_p, core_q = len(p), 0, 0, 0, False, not pairs
    for r in range(n + len(q)):
        row = p[r] if r < n else q[r - n]
        inside = True
        if row != first and row != second:
            for j in range(z.shape[1]):
                if j == drawn:
                    t[j] = min(z[first, j], z[second, j]) * (1.0 - uniform(stream, j))
                    drawn += 1
                if z[row, j] < t[j]:
                    inside = False
                    break
        if inside and r < n:
            a += 1
            core_p = core_p or core[r]
        elif inside:
            b += 1
            core_q = core_q or core[r]
    return a, b, core_p and core_q


@njit(fastmath={"reassoc", "contract", "nsz"})  # lets the sum over dimensions vectorise
def _pair_volumes(logz, p, q):
    """Log |B(p ^ q)| for all pairs, p first."""
    out = np.empty(len(p) * len(q))
    for i in range(len(p)):
        for j in range(len(q)):
            u, v = logz[p[i]], logz[q[j]]
            total = 0.0
            for k in range(logz.shape[1]):
                total += min(u[k], v[k])
            out[i * len(q) + j] = total
    return out


@njit
def log_sum(values):
    """Log of the sum of exponentials."""
    top = values.max()
    if top == -np.inf:
        return top
    total = 0.0
    for v in values:
        total += math.exp(v - top)
    return top + math.log(total)


@njit
def _cumulative(volumes):
    """Running sum of the volumes, relative to the largest."""
    largest = volumes.max()
    out = np.empty(len(volumes))
    total = 0.0
    for i in range(len(volumes)):
        total += math.exp(volumes[i] - largest)
        out[i] = total
    return out


@njit
def _find(cumulative, value):
    """First position whose running sum exceeds the value."""
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@njit
def _longer(x):
    out = np.empty((x.shape[0], 2 * x.shape[1]))
    out[:, : x.shape[1]] = x
    return out
