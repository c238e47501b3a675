r"""When boxes drawn once serve many entries: all pairs of some bags, or new bags beside standing ones.

Shared boxes (``shared``) estimate a count as soon as one of its two bags belongs to the bags D that the
boxes are drawn around. So new bags need no boxes of their own: those around the standing bags, training
bags or anchors, are drawn once, together with the points of standing bags that each of them holds, and a
new bag only asks which of them hold it. Its own points are not in D, so that a sample is up to 1, not 1/2.

How many boxes there are is decided by the standing bags alone: the bits of an entry depend on no other new
bag.

A box that holds either bag may hold the new one alone, so k_or also takes boxes around the new bag P: those
that miss Q are what P adds to |B(Q)|,

    k_or(P, Q) = |B(Q)| + |U_P| E[ 1[Q_b empty] / |P_b| ].
"""

from collections import OrderedDict, namedtuple
from functools import partial
from threading import Lock

import numpy as np

from skmil._engines.boxes import shared
from skmil._engines.boxes.space import Table
from skmil._jit import njit
from skmil._threads import map_blocks, slices

MOST_BOXES = 2_000_000
STEP = 8 * shared.BLOCK  # boxes drawn between two looks at what they settle
SOME = 64 * shared.BLOCK  # boxes up to which more of them are drawn in any case
SETTLED, GAIN = 0.995, 0.05  # share of entries that is enough, and that a doubling must bring
ROUGHLY = 0.95  # the same of new bags, which pay for the boxes one by one
LOOKED_AT = 64  # standing bags whose pairs say how many boxes are enough
HELD = 2**28  # bytes of boxes around standing bags, and of what they hold
KEPT = 2  # sets of standing bags whose boxes are remembered
ROWS = 64  # new bags asked about together
FEW = 1024  # points up to which boxes are asked point by point
FIRST = 24  # coordinates that all boxes are asked about

Standing = namedtuple("Standing", ["boxes", "weights", "starts", "bags", "points", "log_volume"])
Standing.__doc__ = """Boxes around standing bags.

boxes : (S, 2d) thresholds
weights : (S,) one over the points of standing bags that a box holds
starts, bags, points : box s holds points[e] points of bag bags[e], for e from starts[s] to starts[s + 1]
log_volume : log of the sum of |B(p)| over the points of all standing bags
"""


class Recent:
    """What was made for the keys that were asked about last."""

    def __init__(self):
        self._made: OrderedDict[tuple, object] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple, make):
        """What ``make`` gives, called once for a key that stays among the last."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            self._made.move_to_end(key)
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
            return self._made[key]


_recent = Recent()


def share_boxes(T: Table, kinds, delta: float, plan):
    """Log counts of all pairs of bags from shared boxes, NaN where the promise is not kept; boxes drawn."""
    M, n = shared.masks(T), len(T.offsets) - 1
    sums = _zeros(kinds, n)
    # Two different bags in a box make two points, so the weights of their samples are at most 1/2.
    S, sure = _grow(
        lambda start: _draw(T, M, start, plan.seed, lambda boxes, counts, weights: None, sums, slice(None)),
        lambda S: {k: shared.certified(S, a, b, 0.5, plan.epsilon, delta) for k, (a, b) in sums.items()},
        SETTLED,
    )
    if "and" in sums:
        # h + h' - h h' says that a box holds either bag; it may be one point, so the weights reach 1.
        a, b = (np.add.outer(m.diagonal(), m.diagonal()) - m for m in sums["and"])
        sums["or"], sure["or"] = [a, b], shared.certified(S, a, b, 1.0, plan.epsilon, delta)
    log_u = shared.log_volume(T)
    return {k: _logs(first, S, sure[k], log_u) for k, (first, _) in sums.items()}, S


def share_beside(T: Table, n_new: int, kinds, delta: float, plan):
    """Log counts of the first ``n_new`` bags with each of the others, as ``share_boxes`` gives them."""
    found = standing(_part(T, n_new, len(T.key)), kinds, delta, plan)
    S, n = len(found.boxes), len(T.key) - n_new

    def work(rows):
        A = _part(T, rows.start, rows.stop)
        inside, sums = _asked(A), {k: np.zeros((2, len(A.key), n)) for k in kinds}
        for s in slices(S, shared.BLOCK):
            counts = inside(found.boxes[s])
            for k, out in sums.items():
                _beside(counts, found, s.start, k == "min", out)
        sure = {k: shared.certified(S, a, b, 1.0, plan.epsilon, delta) for k, (a, b) in sums.items()}
        return {k: _logs(a, S, sure[k], found.log_volume) for k, (a, _) in sums.items()}

    parts = map_blocks(work, slices(n_new, ROWS))
    return {k: np.concatenate([p[k] for p in parts]) for k in kinds}, S


def share_either(T: Table, log_own, near, delta: float, plan):
    r"""Log k_or of new bags, the first, with those others that are ``near``, NaN elsewhere; boxes drawn.

    ``near`` has a row for each new bag. ``log_own``, log \|B(Q)\| of the others, is known to epsilon / 2;
    its error and that of the boxes, epsilon' of the sum, add up to epsilon where
    epsilon' (1 + epsilon / 2) = epsilon / 2. An entry is done as soon as it is certain, whatever the others
    need.
    """
    epsilon = (plan.epsilon / 2) / (1 + plan.epsilon / 2)
    others = _part(T, len(near), len(T.key))
    out = np.full(near.shape, np.nan)
    if not near.any():
        return out, 0
    M = shared.masks(others)

    def work(i):
        A, near_by = _part(T, i, i + 1), np.flatnonzero(near[i])
        log_u, inside = shared.log_volume(A), _asked(A)
        own, sums, S = np.exp(log_own[near_by] - log_u), np.zeros((2, len(near_by))), 0
        values = np.full(len(near_by), np.nan)
        while np.isnan(values).any() and S < SOME:
            boxes = shared.draw_boxes(A, shared.BLOCK, plan.seed, S)
            missed = shared.inside(others, M, boxes)[:, near_by] == 0
            w = 1.0 / inside(boxes)[:, 0]
            sums += np.stack([w, w**2]) @ missed
            S += shared.BLOCK
            first, second = sums[0] + S * own, sums[1] + 2 * own * sums[0] + S * own**2
            new = np.isnan(values) & shared.certified(S, first, second, 1 + own, epsilon, delta)
            values[new] = np.log(first[new] / S) + log_u
        out[i, near_by] = values
        return S

    return out, sum(map_blocks(work, range(len(near))))


def standing(T: Table, kinds, delta: float, plan) -> Standing:
    """The boxes around the bags of a table, drawn once for the bags that were asked about last."""
    key = (T.key.tobytes(), T.z.shape, tuple(kinds), delta, plan)
    return _recent.get(key, lambda: _standing(T, kinds, delta, plan))


def _standing(T: Table, kinds, delta: float, plan) -> Standing:
    M, n = shared.masks(T), len(T.offsets) - 1
    few = np.unique(np.linspace(0, n - 1, LOOKED_AT).astype(int))
    sums, parts = _zeros(kinds, len(few)), list[tuple]()
    _grow(
        lambda start: parts.extend(_draw(T, M, start, plan.seed, _held, sums, few)),
        lambda S: {k: shared.certified(S, a, b, 1.0, plan.epsilon, delta) for k, (a, b) in sums.items()},
        ROUGHLY,
        lambda: sum(a.nbytes for part in parts for a in part) >= HELD,
    )
    boxes, weights, sizes, bags, points = (np.concatenate(a) for a in zip(*parts, strict=True))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Standing(boxes, weights, starts, bags, points, shared.log_volume(T))


def _held(boxes, counts, weights) -> tuple:
    """Boxes with the bags that have points in them, and how many."""
    bags = np.nonzero(counts)[1].astype(np.int32)
    return boxes, weights, np.count_nonzero(counts, axis=1), bags, counts[counts > 0]


def _zeros(kinds, n: int) -> dict[str, list[np.ndarray]]:
    return {k: [np.zeros((n, n)), np.zeros((n, n))] for k in kinds}


def _grow(add, judge, enough: float, full=lambda: False):
    """Add boxes until ``enough`` pairs are certain, or one more doubling would cost more than it settles.

    Their number, and which pairs are certain.
    """
    S, step, settled = 0, STEP, -1.0
    while S < MOST_BOXES and not full():
        for start in range(S, S + step, STEP):
            add(start)
        S += step
        sure = judge(S)
        share = float(np.mean([s[np.triu_indices(len(s), 1)].mean() for s in sure.values()]))
        if share > enough or (S > SOME and share - settled < GAIN):
            break
        settled, step = share, S
    return S, sure


def _draw(T, M, start, seed, keep, sums, seen) -> list:
    """What ``keep`` keeps of boxes from ``start`` on; ``sums`` learn what these tell of the bags seen."""
    boxes = shared.draw_boxes(T, STEP, seed, start)

    def work(s):
        counts = shared.inside(T, M, boxes[s])
        weights = 1.0 / counts.sum(axis=1)
        told = [_summed(k, np.ascontiguousarray(counts[:, seen]), weights) for k in sums]
        return keep(boxes[s], counts, weights), told

    done = map_blocks(work, slices(STEP, shared.BLOCK))
    for _, told in done:
        for total, new in zip(sums.values(), told, strict=True):
            total[0] += new[0]
            total[1] += new[1]
    return [kept for kept, _ in done]


def _summed(kind, counts, weights):
    return (shared.min_sums if kind == "min" else shared.and_sums)(counts, weights)


def _logs(first, S, sure, log_volume) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.where(sure, np.log(first / S) + log_volume, np.nan)


def _part(T: Table, start: int, stop: int) -> Table:
    """The table of some bags that stand side by side."""
    a, b = T.offsets[start], T.offsets[stop]
    return Table(T.z[a:b], T.logz[a:b], T.volume[a:b], T.offsets[start : stop + 1] - a, T.key[start:stop])


def _asked(A: Table):
    """``shared.inside`` of these bags, for boxes that bound every feature."""
    if len(A.z) > FEW:
        return partial(shared.inside, A, shared.masks(A))
    return lambda boxes: _inside(A.z, A.offsets, boxes, np.ascontiguousarray(boxes[:, :FIRST].T))


@njit
def _inside(z, offsets, boxes, first):
    """Points of each bag in each box, point by point: few boxes are left after the first coordinates."""
    out = np.zeros((len(boxes), len(offsets) - 1), np.int32)
    for k in range(out.shape[1]):
        for p in range(offsets[k], offsets[k + 1]):
            room = z[p, 0] - first[0]
            for j in range(1, len(first)):
                x, t = z[p, j], first[j]
                for s in range(len(room)):  # no branch, so that it vectorises
                    room[s] = x - t[s] if x - t[s] < room[s] else room[s]
            for s in range(len(room)):
                if room[s] >= 0:
                    j = len(first)
                    while j < z.shape[1] and boxes[s, j] <= z[p, j]:
                        j += 1
                    out[s, k] += j == z.shape[1]
    return out


@njit
def _beside(counts, found, start, least, out):
    """Add samples and their squares; ``counts`` has the points of new bags in boxes from ``start`` on."""
    for r in range(len(counts)):
        s = start + r
        w = found.weights[s]
        for i in range(counts.shape[1]):
            c = counts[r, i]
            if c == 0:
                continue
            for e in range(found.starts[s], found.starts[s + 1]):
                x = w * min(c, found.points[e]) if least else w
                out[0, i, found.bags[e]] += x
                out[1, i, found.bags[e]] += x * x
