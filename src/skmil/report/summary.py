"""What records say: means, intervals, comparisons, beside the published figures and what guessing gives."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from skmil._identity import agree
from skmil.records import Answers, Record
from skmil.registry import REGISTRY, Figure, data_known_as, published
from skmil.report.baseline import guesses

LEVEL = 0.05
RARE = 3  # times as many bags in the largest class as in the smallest: accuracy alone would mislead


@dataclass(frozen=True)
class Summary:
    """One method in one section: its records, and what they amount to.

    ``name`` is the method's, with what sets it apart where it is there with other settings too.
    """

    method: str
    records: tuple[Record, ...]
    figures: tuple[Figure, ...] = ()
    name: str = ""

    def values(self, score: str) -> np.ndarray:
        """A score in each fold where it is defined."""
        found = [r.scores.get(score) for r in self.records]
        return np.array([v for v in found if v is not None], dtype=float)

    def mean(self, score: str) -> float:
        """Mean over folds; NaN where the score is nowhere defined."""
        v = self.values(score)
        return float(v.mean()) if len(v) else float("nan")

    def sd(self, score: str) -> float:
        """Standard deviation over folds; 0 for a single fold."""
        v = self.values(score)
        return float(v.std(ddof=1)) if len(v) > 1 else 0.0

    def interval(self, score: str) -> tuple[float, float]:
        """95 % interval of the mean, with the variance of ``corrected_ttest``."""
        v = self.values(score)
        if len(v) < 2:
            return self.mean(score), self.mean(score)
        half = stats.t.ppf(1 - LEVEL / 2, len(v) - 1) * corrected_error(v, _test_ratio(self.records))
        return float(v.mean() - half), float(v.mean() + half)

    @property
    def label(self) -> str:
        """The name to show."""
        return self.name or self.method

    @property
    def error(self) -> str | None:
        """Why the method failed; None where it did not."""
        return next((r.error for r in self.records if r.error is not None), None)

    @property
    def fit_seconds(self) -> float:
        """Median over folds."""
        return float(np.median([r.fit_seconds for r in self.records]))

    @property
    def predict_seconds(self) -> float:
        """Median over folds."""
        return float(np.median([r.predict_seconds for r in self.records]))

    @property
    def paper(self) -> str:
        """Authors and year, where the method is registered."""
        return REGISTRY[self.method].paper if self.method in REGISTRY else ""


@dataclass(frozen=True)
class Section:
    """All methods on one data set under one protocol, best first, and those that failed.

    ``score`` is what methods are ordered and compared by, ``baseline`` what guessing the majority class, or
    the mean, gives on the same folds.
    """

    score: str
    summaries: tuple[Summary, ...]
    failed: tuple[Summary, ...] = ()
    baseline: Summary | None = None

    @property
    def first(self) -> Record:
        """Any record: data, task and protocol are the same in all."""
        return (self.summaries or self.failed)[0].records[0]

    @property
    def regression(self) -> bool:
        """Whether the targets are numbers."""
        return self.first.task == "regression"

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.first.classes) == 2

    @property
    def n_bags(self) -> int:
        """Number of bags of the data set."""
        return self.first.n_train + self.first.n_test

    @cached_property
    def rows(self) -> tuple[Summary, ...]:
        """Methods and the baseline, best first; what ties with guessing comes before it."""
        rows = [*self.summaries, *([] if self.baseline is None else [self.baseline])]
        return tuple(sorted(rows, key=lambda s: -np.nan_to_num(s.mean(self.score), nan=-np.inf)))

    @property
    def protocol(self) -> str:
        """How it was measured, in one line."""
        r = self.first
        repeats = max(len({x.repeat for x in s.records}) for s in self.summaries + self.failed)
        text = f"{r.folds}-fold cross-validation"
        text += f", {repeats} repetitions" if repeats > 1 else ""
        text += ", given folds" if r.given else f", seed {r.seed}"
        return text + (", parameters by nested search" if r.nested else "")

    def unfinished(self, summary: Summary) -> str:
        """How many folds a method has, where others have more."""
        most = max(len(s.records) for s in self.summaries)
        return f"{len(summary.records)} of {most} folds" if len(summary.records) < most else ""


def sections(records: Sequence[Record]) -> list[Section]:
    """Records by data set and protocol; a fold that was run twice counts once, the later one."""
    groups: dict[tuple, list[Record]] = defaultdict(list)
    for r in Answers(records):
        groups[r.data, r.fingerprint, r.task, r.folds, r.given, r.nested, r.seed].append(r)
    return [_section(g) for g in groups.values()]


def _section(records: list[Record]) -> Section:
    by_method: dict[str, list[Record]] = defaultdict(list)
    for r in sorted(records, key=lambda r: (r.repeat, r.fold)):
        by_method[r.method].append(r)
    found = [s for m, rs in by_method.items() for s in _summaries(m, rs)]
    done = [s for s in found if s.error is None]
    score = _leading(records)
    ordered = sorted(done, key=lambda s: (-np.nan_to_num(s.mean(score), nan=-np.inf), s.label))
    guessed = guesses([r for s in done for r in s.records])
    baseline = Summary(guessed[0].method, guessed) if guessed else None
    return Section(score, tuple(ordered), tuple(s for s in found if s.error is not None), baseline)


def _leading(records: Sequence[Record]) -> str:
    """Accuracy, unless a class is so rare that forgetting it costs next to nothing."""
    if records[0].task == "regression":
        return "r2"
    labels = {b: t for r in records for b, t in zip(*_truth(r), strict=True)}
    counts = Counter(labels.values()).values()
    return "balanced_accuracy" if counts and max(counts) >= RARE * min(counts) else "accuracy"


def _truth(record: Record) -> tuple[list, list]:
    """Numbers and labels of the bags of a fold; none of one that failed."""
    return record.outputs.get("bag", []), record.outputs.get("true", [])


def _summaries(method: str, records: Iterable[Record]) -> list[Summary]:
    """A summary for each estimator, revision and grid that a method was run with."""
    variants: list[list[Record]] = []
    for r in records:
        same = next((v for v in variants if _one_row(v[0], r)), None)
        if same is None:
            variants.append([r])
        else:
            same.append(r)
    names = _names(method, [v[0] for v in variants])
    return [
        Summary(method, tuple(v), _figures(method, v[0]), name)
        for v, name in zip(variants, names, strict=True)
    ]


def _one_row(a: Record, b: Record) -> bool:
    one, other = ((r.fixed_estimator, r.revision, r.grid) for r in (a, b))
    return one == other and agree(a.fixed_settings, b.fixed_settings)


def _names(method: str, variants: list[Record]) -> list[str]:
    """What to call the variants of a method: by the settings in which they differ."""
    if len(variants) == 1:
        return [method]
    told = [
        {"revision": r.revision, "grid": r.grid, **r.settings, "estimator": r.estimator} for r in variants
    ]
    differ = [k for k in told[0] if len({repr(t.get(k, "")) for t in told}) > 1]
    shown = [k for k in differ if k != "estimator"] or differ or ["estimator"]
    names = [f"{method} ({', '.join(_said(k, t[k]) for k in shown if k in t)})" for t in told]
    return [n if names.count(n) == 1 else f"{n} {k}" for k, n in enumerate(names, 1)]


def _said(name: str, value) -> str:
    text = f"{name.rsplit('__', 1)[-1]}={value}"
    return text if len(text) <= 40 else text[:39] + "…"


def _figures(method: str, record: Record) -> tuple[Figure, ...]:
    """Published accuracies of a method on these very bags, whatever their file is called."""
    if method not in REGISTRY or record.task == "regression":
        return ()
    name = data_known_as(record.fingerprint)
    return tuple(f for f in published(method) if f.data == name)


def corrected_error(values: np.ndarray, test_ratio: float) -> float:
    r"""Standard error of a mean over resampled folds (Nadeau & Bengio 2003).

    .. math:: \sqrt{(1 / J + n_{test} / n_{train})\, s^2}

    Training parts overlap, so the plain :math:`s / \sqrt J` is too small.
    """
    return float(np.sqrt((1 / len(values) + test_ratio) * values.var(ddof=1)))


def corrected_ttest(a: Summary, b: Summary, score: str) -> tuple[float, float | None]:
    """Mean difference a - b over the folds that both have, and its two-sided p-value.

    The corrected resampled t-test of Nadeau and Bengio (2003).

    Returns
    -------
    difference, p : p is None where there are fewer than two common folds, or where the difference is the
        same in all of them: without variance there is no test
    """
    other = {(r.repeat, r.fold): r.scores.get(score) for r in b.records}
    pairs = [(r.scores.get(score), other.get((r.repeat, r.fold))) for r in a.records]
    d = np.array([x - y for x, y in pairs if x is not None and y is not None])
    if len(d) < 2:
        return (float(d.mean()) if len(d) else float("nan")), None
    mean, error = float(d.mean()), corrected_error(d, _test_ratio(a.records))
    if error <= 1e-12:
        return mean, None
    return mean, float(2 * stats.t.sf(abs(mean) / error, len(d) - 1))


def significant(p: float | None) -> bool:
    """Whether a test finds a difference; none where there was nothing to test."""
    return p is not None and p < LEVEL


def _test_ratio(records) -> float:
    return float(np.mean([r.n_test / r.n_train for r in records]))
