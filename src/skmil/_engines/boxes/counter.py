"""From bags to matrices of log counts: which entry is served by which route."""

from dataclasses import dataclass, field

import numpy as np

from skmil._engines.boxes.corners import FEW, corner_lists
from skmil._engines.boxes.coverage import count_coverage
from skmil._engines.boxes.exact import exact_log, exact_own, is_few
from skmil._engines.boxes.pairwise import AND, MIN, OR, count_entries, log_sum
from skmil._engines.boxes.sharing import Recent, share_beside, share_boxes, share_either
from skmil._engines.boxes.space import Table
from skmil._threads import map_blocks, slices

KINDS = ("and", "or", "and/or", "min")
LITERAL = ("coverage", "plain coverage")  # the paper's own algorithms, which no shorter way replaces
CODES = {"and": AND, "min": MIN, "or": OR}
LONGEST = {"auto": 1024, "exact": 8192}  # corners of a bag: 100 kB or so; a MB where all must be exact
LARGEST = 2**20  # numbers in the corners of a bag: 8 MB
MANY, SMALL = 64, 31  # coordinates up to which sums over the corners of five points beat samples, too
TERMS = 2**17  # products of corners up to which a sum is cheaper than samples
SECONDS = 3e-10  # for one factor of a product; three times as long where powers of two are put aside
PATIENCE = 0.5  # seconds that a tile may take
HOPELESS = 3600.0  # seconds, of one processor
LARGE = 400  # pairs of points that are not counted exactly, on average, from which shared boxes pay
LEAST = 20  # bags that many pairs take
TILE, PARTS = 32, 64  # side of a tile at most, and tiles that are enough to share out
POINTS = 4096  # in the rows of a tile that is taller than wide: a call may be interrupted between tiles


@dataclass
class Report:
    """How a matrix of log counts came about.

    Parameters
    ----------
    entries : dict, method -> number of counts it served
    boxes : int
        Boxes drawn in all.
    epsilon : float
        Largest relative error of a count, kept with probability 1 - delta each; 0 where all are exact,
        NaN where nothing is promised (``method="shared"``).
    """

    entries: dict[str, int] = field(default_factory=dict)
    boxes: int = 0
    epsilon: float = 0.0

    def add(self, method: str, n: int, boxes: int = 0, epsilon: float = 0.0) -> None:
        """Note n counts served by a method."""
        if n:
            self.entries[method] = self.entries.get(method, 0) + int(n)
            self.boxes += int(boxes)
            self.epsilon = epsilon if np.isnan(epsilon) else max(self.epsilon, epsilon)

    def merge(self, other: "Report") -> None:
        """Add what another report says."""
        for method, n in other.entries.items():
            self.entries[method] = self.entries.get(method, 0) + n
        self.boxes += other.boxes
        self.epsilon = other.epsilon if np.isnan(other.epsilon) else max(self.epsilon, other.epsilon)


@dataclass(frozen=True)
class Plan:
    """What is asked for: the method, the promise about every count, the key of all random streams."""

    method: str
    epsilon: float
    delta: float
    seed: np.uint64


def log_grams(T: Table, n_rows: int, symmetric: bool, kinds, plan: Plan):
    """Matrices of log counts, one per kind, and a report.

    Rows are the first ``n_rows`` bags of the table; columns are the same bags where ``symmetric``, the
    other bags elsewhere.
    """
    n = len(T.offsets) - 1
    shift = 0 if symmetric else n_rows
    n_columns = n - shift
    out = {k: np.empty((n_rows, n_columns)) for k in kinds}
    counter = Counter(T, plan)
    counter.prepare(kinds, n_rows, symmetric)

    def fill(tile):
        rows, columns = tile
        i, j = np.mgrid[rows, columns]
        keep = (j >= i) if symmetric else np.ones(i.shape, bool)
        i, j = i[keep], j[keep]
        values, report = counter.counts(i, j + shift, kinds)
        for k in kinds:
            out[k][i, j] = values[k]
            if symmetric:
                out[k][j, i] = values[k]
        return report

    tiles = _tiles(n_rows, n_columns, symmetric, counter.sizes[:n_rows].mean())
    tiles = [t for tile in tiles for t in _cut(tile, counter.seconds, shift)]
    for report in map_blocks(fill, tiles):
        counter.report.merge(report)
    return out, counter.report


def _tiles(n_rows: int, n_columns: int, symmetric: bool, points: float):
    """Blocks of entries, small enough to share out; tall where many bags, of ``points`` each, meet few."""
    wide = tall = max(4, min(TILE, n_columns // 8))
    if not symmetric and n_rows >= PARTS * wide:
        wide = min(TILE, n_columns)
        tall = max(tall, min(TILE**2 // wide, n_rows // PARTS, int(POINTS / points)))
    rows, columns = slices(n_rows, tall), slices(n_columns, wide)
    return [(r, c) for r in rows for c in columns if not symmetric or c.stop > r.start]


def _cut(tile, seconds, shift: int) -> list:
    """Halve a tile until its sums over corners are short: between tiles a call may be interrupted."""
    rows, columns = tile
    i, j = np.ogrid[rows, columns]
    sides = i.size, j.size
    if max(sides) == 1 or seconds(i, j + shift).sum() <= PATIENCE:
        return [tile]
    if sides[0] >= sides[1]:
        halves = [(s, columns) for s in _halves(rows)]
    else:
        halves = [(rows, s) for s in _halves(columns)]
    return [t for half in halves for t in _cut(half, seconds, shift)]


def _halves(s: slice) -> tuple[slice, slice]:
    middle = (s.start + s.stop) // 2
    return slice(s.start, middle), slice(middle, s.stop)


_recent = Recent()  # log |B(P)| of standing bags


class Counter:
    """Log counts of pairs of bags of one table, by whatever keeps the promise at the least cost."""

    def __init__(self, T: Table, plan: Plan):
        self.T, self.plan = T, plan
        self.sizes = np.diff(T.offsets)
        self.corners = corner_lists(T, _longest(plan.method, T.z.shape[1]))
        self.report = Report()
        self.own = np.full(len(self.sizes), np.nan)  # log |B(P)|
        self.shared: dict[str, np.ndarray] = {}  # log counts of pairs, NaN where not certain yet
        self.shift = 0  # the bag that is their first column

    def prepare(self, kinds, n_rows: int, symmetric: bool) -> None:
        """Count what many entries need: shared boxes where they pay, |B(P)| of all bags."""
        base = base_kinds(kinds)
        if self.plan.method in LITERAL:
            return
        if self.plan.method == "exact" and "and" in base:
            self._refuse_hopeless(n_rows, symmetric)
        if has_or(kinds) or (symmetric and "and" in base):
            self.prepare_own(kinds, 0 if symmetric else n_rows)
        if self._sharing_pays(base, n_rows, symmetric):
            delta, self.shift = self._delta(kinds), 0 if symmetric else n_rows
            if symmetric:
                self.shared, boxes = share_boxes(self.T, base, delta, self.plan)
            else:
                self.shared, boxes = share_beside(self.T, n_rows, base, delta, self.plan)
                if has_or(kinds):
                    boxes += self._share_either(n_rows)
            self.report.boxes += boxes

    def _share_either(self, n_rows: int) -> int:
        """Find k_or of new bags and standing ones that are near; boxes drawn for it."""
        both = np.logaddexp.outer(self.own[:n_rows], self.own[n_rows:])
        near = self.shared["and"] > both + np.log(far_apart(self.plan.epsilon))
        near &= self.T.key[:n_rows, None] != self.T.key[n_rows:]
        found = share_either(self.T, self.own[n_rows:], near, self.plan.delta / 4, self.plan)
        self.shared["or"], boxes = found
        return boxes

    def prepare_own(self, kinds, standing: int = 0) -> None:
        """Find log |B(P)| of all bags; those of the last ones, from ``standing`` on, are remembered."""
        if self.plan.method in LITERAL:
            return
        self._set_promise(kinds)
        new, staying = np.split(np.arange(len(self.sizes)), [standing])
        key = self.T.key[standing:].tobytes(), self.T.z.shape[1], self.promise, self.plan
        parts = self._each_alone(new) + _recent.get(key, lambda: self._each_alone(staying))
        self.own = np.concatenate([values for values, _ in parts])
        for _, report in parts:
            self.report.merge(report)

    def _each_alone(self, bags: np.ndarray) -> list:
        return map_blocks(lambda s: self._alone(bags[s]), slices(len(bags), 16))

    def seconds(self, first, second) -> np.ndarray:
        """How long the sums over corners of pairs of bags take, about."""
        lists = np.diff(self.corners.starts).astype(float)
        return self._is_short(first, second) * lists[first] * lists[second] * self._pace()

    def _pace(self) -> float:
        """Seconds for a product."""
        return SECONDS * self.T.z.shape[1] * (3 if len(self.corners.blocks) > 2 else 1)

    def _refuse_hopeless(self, n_rows: int, symmetric: bool) -> None:
        lists = np.diff(self.corners.starts).astype(float)
        rows, columns = lists[:n_rows], lists[0 if symmetric else n_rows :]
        products = rows.sum() * columns.sum()
        if symmetric:
            products = (products - np.square(lists).sum()) / 2
        seconds = products * self._pace()
        if seconds > HOPELESS:
            raise ValueError(
                f"exact counts of {len(rows)} x {len(columns)} bags of up to {lists.max():.0f} corners "
                f"take about {seconds / 3600:.1f} hours of one processor; use method='pairwise' or 'auto', "
                "which keep a relative error of epsilon, or count fewer bags at a time"
            )

    def _sharing_pays(self, base, n_rows: int, symmetric: bool) -> bool:
        """Whether pairs are many and large; of new bags and standing ones, the standing ones say so."""
        staying = np.arange(0 if symmetric else n_rows, len(self.sizes))
        if self.plan.method != "auto" or self.T.z.shape[1] > 2 * FEW or len(staying) < LEAST:
            return False
        first, sizes = staying[:, None], self.sizes
        sampled = ~self._is_short(first, staying) if base == ["and"] else True
        if np.mean(sizes[first] * sizes[staying] * sampled) < LARGE:
            return False
        return symmetric or base != ["and"] or not self._is_short(np.arange(n_rows)[:, None], staying).all()

    def counts(self, first, second, kinds):
        """Log counts of the pairs (first[e], second[e]) for each kind, and a report."""
        report = Report()
        if self.plan.method in LITERAL:
            return self._literal(first, second, kinds, report), report
        self._set_promise(kinds)
        out = self._base(first, second, base_kinds(kinds), self._delta(kinds), report)
        if has_or(kinds):
            out["or"] = self._or(first, second, out["and"], report)
            out["and/or"] = np.minimum(0.0, out["and"] - out["or"])
        return {k: out[k] for k in kinds}, report

    def _literal(self, first, second, kinds, report) -> dict[str, np.ndarray]:
        """Each count by the paper's algorithm for it, whatever bags it is of."""
        plan, ratio = self.plan, "and/or" in kinds
        needed = [k for k in ("and", "or", "min") if k in kinds or (ratio and k != "min")]
        codes = np.array([CODES[k] for k in needed])
        delta, plain = plan.delta / (2 if ratio else 1), plan.method != "coverage"
        values = count_coverage(self.T, first, second, codes, plan.epsilon, delta, plan.seed, plain)
        report.add(plan.method, len(first) * len(needed), 0, plan.epsilon)
        out = dict(zip(needed, values.T, strict=True))
        if ratio:
            out["and/or"] = np.minimum(0.0, out["and"] - out["or"])
        return {k: out[k] for k in kinds}

    def _set_promise(self, kinds) -> None:
        """How well |B(P)| must be known: better where k_or is made of it."""
        epsilon, delta = self.plan.epsilon, self.plan.delta
        self.promise = (epsilon / 2, delta / 4) if has_or(kinds) else (epsilon, delta)

    def _delta(self, kinds) -> float:
        """The share of delta that k_and may spend: all of it, or half where k_or takes the rest."""
        return self.plan.delta / (2 if has_or(kinds) else 1)

    def _base(self, first, second, kinds, delta, report) -> dict[str, np.ndarray]:
        """k_and and k_min: closed forms, exact counts, shared boxes, samples."""
        out = {k: np.full(len(first), np.nan) for k in kinds}
        same = self.T.key[first] == self.T.key[second]
        for kind, values in out.items():
            own = self._bag_volumes if kind == "min" else self._own
            values[same] = own(first[same], report)
            exactly = ~same & self._is_exact(first, second, kind)
            values[exactly] = self._exact(first[exactly], second[exactly], kind, report)
            if kind in self.shared:
                missing = np.isnan(values)
                values[missing] = self.shared[kind][first[missing], second[missing] - self.shift]
                report.add("shared", (missing & ~np.isnan(values)).sum(), 0, self.plan.epsilon)
        self._sample_missing(first, second, out, delta, report)
        return out

    def _sample_missing(self, first, second, out, delta, report) -> None:
        """Sample what is still missing; entries that miss several kinds get all of them from one pass."""
        missing = np.array([np.isnan(v) for v in out.values()])
        for pattern in np.unique(missing, axis=1).T:
            kinds = [k for k, m in zip(out, pattern, strict=True) if m]
            if not kinds:
                continue
            e = (missing == pattern[:, None]).all(axis=0)
            values = self._sampled(first[e], second[e], kinds, self.plan.epsilon, delta, report)
            for k, v in zip(kinds, values.T, strict=True):
                out[k][e] = v

    def _or(self, first, second, k_and, report) -> np.ndarray:
        r"""|B(P)| + |B(Q)| - k_and where these are exact, or k_and so small that errors add up to epsilon.

        With |B(P)| and |B(Q)| known to epsilon / 2 the difference errs by at most
        epsilon / 2 (k_or + k_and) + epsilon k_and, which is <= epsilon k_or iff k_and <= k_or / 3.
        """
        out = k_and.copy()
        rest = np.flatnonzero(self.T.key[first] != self.T.key[second])
        both = np.logaddexp(self._own(first[rest], report), self._own(second[rest], report))
        exactly = self._is_short(first[rest], second[rest])
        report.add("exact", exactly.sum())
        apart = exactly | (k_and[rest] <= both + np.log(far_apart(self.plan.epsilon)))
        out[rest[apart]] = both[apart] + np.log1p(-np.exp(k_and[rest[apart]] - both[apart]))
        near, plan = rest[~apart], self.plan
        if "or" in self.shared:
            out[near] = self.shared["or"][first[near], second[near] - self.shift]
            report.add("shared", (~np.isnan(out[near])).sum(), 0, plan.epsilon)
            near = near[np.isnan(out[near])]
        values = self._sampled(first[near], second[near], ["or"], plan.epsilon, plan.delta / 2, report)
        out[near] = values[:, 0]
        return out

    def _own(self, bags, report) -> np.ndarray:
        """Log |B(P)| of each bag, as ``prepare`` found it or anew."""
        values = self.own[bags]
        for e in np.flatnonzero(np.isnan(values)):
            values[e : e + 1], found = self._alone(bags[e : e + 1])
            report.merge(found)
        return values

    def _alone(self, bags: np.ndarray):
        report = Report()
        values = np.empty(len(bags))
        short = self._is_short(bags, bags)
        report.add("exact", short.sum())
        values[short] = exact_own(self.T, self.corners, bags[short])
        rest = bags[~short]
        values[~short] = self._sampled(rest, rest, ["or"], *self.promise, report)[:, 0]
        return values, report

    def _bag_volumes(self, bags, report) -> np.ndarray:
        """Log k_min(P, P) = log |U_P|: every point counts the boxes around it."""
        T = self.T
        report.add("exact", len(bags))
        return np.array([log_sum(T.volume[T.offsets[i] : T.offsets[i + 1]]) for i in bags])

    def _is_short(self, first, second) -> np.ndarray:
        """Whether the lists of corners are so short that counting exactly pays."""
        if self.plan.method == "exact":
            return np.ones(np.broadcast(first, second).shape, bool)
        n, m = (np.diff(self.corners.starts)[bags] for bags in (first, second))
        terms = np.where(first == second, n, n * m)
        return (terms > 0) & (terms <= TERMS)

    def _is_exact(self, first, second, kind) -> np.ndarray:
        """Whether a count is exact: by corners, or k_min by the subsets of a few points."""
        short, D = self._is_short(first, second), self.T.z.shape[1]
        if kind == "and" or self.plan.method == "exact":
            return short
        n, m = self.sizes[first], self.sizes[second]
        single = np.minimum(n, m) == 1  # no box holds two of one point: k_min is k_and
        return short & single | (is_few(n, m, D) & (self.plan.method == "auto" and D <= MANY))

    def _exact(self, first, second, kind, report) -> np.ndarray:
        report.add("exact", len(first))
        return exact_log(self.T, self.corners, first, second, kind)

    def _sampled(self, first, second, kinds, epsilon, delta, report) -> np.ndarray:
        """Log counts with one column per kind."""
        codes = np.array([CODES[k] for k in kinds])
        values, boxes = count_entries(self.T, first, second, codes, epsilon, delta, self.plan.seed)
        report.add("pairwise", len(first) * len(kinds), boxes.sum(), epsilon)
        return values


def _longest(method: str, D: int) -> int:
    """Corners that the list of a bag may have; where sampling is cheap, the sums must be, too."""
    if method == "auto" and D > FEW:
        return SMALL if D <= MANY else 1
    return min(LONGEST.get(method, 0), max(1, LARGEST // D))


def far_apart(epsilon: float) -> float:
    """Largest estimate of k_and / (|B(P)| + |B(Q)|) that is sure to mean k_and <= k_or / 3.

    k_and is known to epsilon and the sum, which is k_or + k_and, to epsilon / 2. Where both err in the
    worst way, an estimated ratio t means k_and (1 - epsilon) <= t (1 + epsilon / 2) (k_or + k_and).
    """
    return (1.0 - epsilon) / (4.0 * (1.0 + epsilon / 2.0))


def has_or(kinds) -> bool:
    """Whether k_or is among the counts or in one of them."""
    return "or" in kinds or "and/or" in kinds


def base_kinds(kinds) -> list[str]:
    """The counts that the others are made of: k_and, k_min."""
    return [k for k, of in (("and", {"and", "or", "and/or"}), ("min", {"min"})) if of & set(kinds)]
