"""All boxes of a grid, grouped by the few points they contain: the attributes of GMIL-1 and GMIL-2."""

import math

import numpy as np

from skmil._jit import njit

LIMIT = 20_000_000  # entries of one step of grouping: half a gigabyte
CORNERS = 100_000_000  # features of all groups: one gigabyte and a half of lower and upper corners
COUNTS = 2**12, 2**18, LIMIT  # groups of a step that are followed, one count after the other
DRAWN, BOUNDED = 2**14, (10, 8, 6, 4)  # boxes drawn to see if groups are too many, features they bound
COUNTED = 2**20  # boxes drawn to count their groups
ADDRESSED = 22  # centers up to which all sets of them are the places of a table: 100 MB


def group_boxes(centers: np.ndarray, s: np.ndarray, cuts: list[np.ndarray]):
    """Partition the boxes of the grid by the centers they contain.

    Returns
    -------
    lower, upper : corners of the largest box of each group (boxes without a center left out)
    size : log of the number of boxes of each group
    """
    intervals = [_intervals(c, int(t), v) for c, t, v in zip(centers.T, s, cuts, strict=True)]
    _refuse_hopeless(len(centers), [which for which, *_ in intervals])
    inside = np.array([(1 << len(centers)) - 1])
    size, length, steps = np.zeros(1), np.zeros(1), []
    for which, ways, low, high in intervals:
        addressed = _is_addressed(len(inside) * len(which), len(centers))
        merge = _merged_in_place if addressed else _merged_sorted
        parts = inside, size, length, which, np.log(ways), np.log(high - low + 1), len(centers)
        inside, size, length, old, new = merge(*parts)
        steps.append((old.astype(np.int32), new.astype(np.int32)))
    return *_corners(intervals, steps, len(inside)), size


def _corners(intervals: list, steps: list, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the groups of the last step, each followed back to the first."""
    lower, upper = np.empty((n, len(steps))), np.empty((n, len(steps)))
    at = np.arange(n)
    for k in reversed(range(len(steps))):
        (_, _, low, high), (old, new) = intervals[k], steps[k]
        lower[:, k], upper[:, k], at = low[new[at]], high[new[at]], old[at]
    return lower, upper


def _merged_sorted(inside, size, length, which, ways, longer, m):
    """Every group cut by every interval of one more feature, equal sets merged.

    Sets in order, their sizes and largest lengths, and the group and the interval that have the latter.
    """
    table = inside[:, None] & which
    old, new = np.nonzero(table != 0)  # with a center
    mask, total, length = table[old, new], size[old] + ways[new], length[old] + longer[new]
    order = np.argsort(mask, kind="stable")
    ordered = mask[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    best = order[_last_largest(length[order], starts)]
    return mask[best], np.logaddexp.reduceat(total[order], starts), length[best], old[best], new[best]


def _last_largest(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Place of the largest value of each part, the last of equal ones."""
    largest = np.repeat(np.maximum.reduceat(values, starts), np.diff(starts, append=len(values)))
    places = np.flatnonzero(values == largest)
    return places[np.searchsorted(places, np.append(starts[1:], len(values))) - 1]


def _refuse_hopeless(m: int, masks: list[np.ndarray]) -> None:
    """Refuse what will not fit before the work: groups are counted by a part of them, then by all.

    The groups that some of the groups of a step lead to are at least as many in the next, so a count by a
    part refuses nothing that fits. Features with one interval lead to no other groups.
    """
    d, masks = len(masks), [which for which in masks if len(which) > 1]
    if _look_hopeless(m, masks):
        _refuse(m, d, 1, masks)
    for most in COUNTS:
        inside, largest = np.array([(1 << m) - 1]), 1
        for k, which in enumerate(masks):
            if len(inside) * len(which) > LIMIT or len(inside) * d > CORNERS:
                _refuse(m, d, len(inside), masks[k:])
            largest = max(largest, len(inside))
            inside = _distinct(inside[:: -(-len(inside) // most)], which, m)
        if len(inside) * d > CORNERS:
            _refuse(m, d, len(inside), [])
        if largest <= most:  # these were all
            break
        if most == COUNTS[0] and _seen_hopeless(m, masks):
            _refuse(m, d, 1, masks)


def _look_hopeless(m: int, masks: list[np.ndarray]) -> bool:
    """Whether boxes drawn at random fall into one group so seldom that there must be too many groups.

    In G groups n boxes make n (n - 1) / 2G pairs or more in the mean, equal shares making the fewest. Some
    hundreds are expected where the groups just fit, and half of them never happen by chance.
    """
    if len(masks) < 2:
        return False
    rng, most = np.random.default_rng(0), LIMIT / len(masks[-1])

    def seldom(bounded):
        long = _long_sides(m, masks[:-1], bounded)
        n_long = np.array([len(w) for w in long])
        table = np.array([np.resize(w, n_long.max()) for w in long])
        k = rng.integers(len(table), size=(bounded, DRAWN))
        inside = np.bitwise_and.reduce(table[k, rng.integers(n_long[k])])
        n_of = np.unique(inside[inside != 0], return_counts=True)[1]
        return n_of @ (n_of - 1) < n_of.sum() * (n_of.sum() - 1) / most / 2 - 40

    return any(seldom(bounded) for bounded in BOUNDED)


def _seen_hopeless(m: int, masks: list[np.ndarray]) -> bool:
    """Whether boxes drawn at random fall into too many groups: there are no fewer.

    They are bounded by features before a late one with most intervals, where a step holds most.
    """
    late = range(len(masks) // 2, len(masks))
    step = max(late, key=lambda k: (len(masks[k]), k))
    if step == 0:
        return False
    rng, seen = np.random.default_rng(0), np.empty(0, dtype=np.int64)
    for bounded in BOUNDED:
        long = _long_sides(m, masks[:step], bounded)
        width = max(len(w) for w in long)
        table = np.concatenate([np.resize(w, width) for w in long])
        inside = np.full(COUNTED, (1 << m) - 1)
        for _ in range(bounded):
            inside &= table[rng.integers(len(table), size=COUNTED, dtype=np.uint32)]
        seen = _distinct(np.append(seen, inside), np.array([(1 << m) - 1]), m)
        if len(seen) * len(masks[step]) > LIMIT:
            return True
    return False


def _distinct(inside: np.ndarray, which: np.ndarray, m: int) -> np.ndarray:
    """The groups with a center that intervals cut groups into, each once, in order."""
    if _is_addressed(len(inside) * len(which), m):
        return np.flatnonzero(_marked(inside, which, m))
    ordered = np.sort(inside[:, None] & which, axis=None)  # much faster in NumPy than hashing such numbers
    ordered = ordered[np.searchsorted(ordered, 1) :]
    return ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]


def _is_addressed(n: int, m: int) -> bool:
    """Whether a table of all sets of m centers costs less than sorting the n sets that are there."""
    return m <= ADDRESSED and n > 2**m // 16


def _long_sides(m: int, masks: list[np.ndarray], bounded: int) -> list[np.ndarray]:
    """Intervals so long that a box of ``bounded`` of them has some centers left."""
    dropped = [np.array([m - int(which).bit_count() for which in of_feature]) for of_feature in masks]
    return [w[n * bounded <= 1.5 * m] for w, n in zip(masks, dropped, strict=True)]


def _refuse(m: int, d: int, groups: int, masks: list[np.ndarray]) -> None:
    powers = np.log2(groups) + np.log2([len(which) for which in masks]).sum()
    raise ValueError(
        f"{m} representatives in {d} dimensions make up to {2.0 ** min(m, powers):.1e} "
        "groups of boxes, too many to hold; lower n_clusters (for GMIL-2 also n_cuts), or use a BoxKernel"
    )


def _intervals(column: np.ndarray, s: int, values: np.ndarray):
    """Intervals of {0..s} by the run of ``values`` they contain: centers inside, number, widest one."""
    edges = np.concatenate([[-1], values, [s + 1]])
    i, j = np.triu_indices(len(values))
    low, high = edges[i] + 1, edges[j + 2] - 1
    ways = (edges[i + 1] - edges[i]) * (edges[j + 2] - edges[j + 1])
    held = (column >= low[:, None]) & (column <= high[:, None])
    return held @ (1 << np.arange(len(column))), ways, low, high


@njit
def _merged_in_place(inside, size, length, which, ways, longer, m):
    """The same as ``_merged_sorted`` without sorting: every set of centers has its place in a table."""
    sizes, lengths = np.empty(2**m), np.full(2**m, -np.inf)
    old, new = np.empty(2**m, np.int32), np.empty(2**m, np.int32)
    for i in range(len(inside)):
        for j in range(len(which)):
            mask, total, long = inside[i] & which[j], size[i] + ways[j], length[i] + longer[j]
            if mask == 0:
                continue
            sizes[mask] = total if lengths[mask] == -np.inf else _logaddexp(sizes[mask], total)
            if long >= lengths[mask]:
                lengths[mask], old[mask], new[mask] = long, i, j
    found = np.flatnonzero(lengths > -np.inf)
    return found, sizes[found], lengths[found], old[found], new[found]


@njit
def _marked(inside, which, m):
    """Sets with a center that are met, marked in a table of all sets."""
    found = np.zeros(2**m, np.bool_)
    for i in range(len(inside)):
        for j in range(len(which)):
            found[inside[i] & which[j]] = True
    found[0] = False
    return found


@njit
def _logaddexp(a, b):
    return max(a, b) + (math.log(2.0) if a == b else math.log1p(math.exp(-abs(a - b))))
