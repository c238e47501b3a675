"""What records say: means, intervals, comparisons, beside the published figures."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from skmil.records import Record
from skmil.registry import REGISTRY, Figure, published

LEVEL = 0.05


@dataclass(frozen=True)
class Summary:
    """One method in one section: its records, and what they amount to."""

    method: str
    records: tuple[Record, ...]
    figures: tuple[Figure, ...]

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
    """All methods on one data set under one protocol, best first."""

    summaries: tuple[Summary, ...]

    @property
    def first(self) -> Record:
        """Any record: data, task and protocol are the same in all."""
        return self.summaries[0].records[0]

    @property
    def regression(self) -> bool:
        """Whether the targets are numbers."""
        return self.first.task == "regression"

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.first.classes) == 2

    @property
    def score(self) -> str:
        """The score that methods are ordered and compared by."""
        return "r2" if self.regression else "accuracy"

    @property
    def n_bags(self) -> int:
        """Number of bags of the data set."""
        return self.first.n_train + self.first.n_test

    @property
    def protocol(self) -> str:
        """How it was measured, in one line."""
        r = self.first
        repeats = max(len({x.repeat for x in s.records}) for s in self.summaries)
        text = f"{r.folds}-fold cross-validation"
        text += f", {repeats} repetitions" if repeats > 1 else ""
        text += ", given folds" if r.given else f", seed {r.seed}"
        return text + (", parameters by nested search" if r.nested else "")


def sections(records: Sequence[Record]) -> list[Section]:
    """Records by data set and protocol; a fold that was run twice counts once, the later one."""
    groups: dict[tuple, dict] = defaultdict(dict)
    for r in records:
        group = (r.data, r.fingerprint, r.task, r.folds, r.given, r.nested, r.seed)
        groups[group][r.method, r.repeat, r.fold] = r
    return [_section(list(g.values())) for g in groups.values()]


def _section(records: list[Record]) -> Section:
    by_method = defaultdict(list)
    for r in sorted(records, key=lambda r: (r.repeat, r.fold)):
        by_method[r.method].append(r)
    score = "r2" if records[0].task == "regression" else "accuracy"
    found = [Summary(m, tuple(rs), _figures(m, rs[0])) for m, rs in by_method.items()]
    return Section(tuple(sorted(found, key=lambda s: (-np.nan_to_num(s.mean(score)), s.method))))


def _figures(method: str, record: Record) -> tuple[Figure, ...]:
    """Published accuracies of a method on this data set."""
    if method not in REGISTRY or record.task == "regression":
        return ()
    return tuple(f for f in published(method) if f.data == record.data)


def corrected_error(values: np.ndarray, test_ratio: float) -> float:
    r"""Standard error of a mean over resampled folds (Nadeau & Bengio 2003).

    .. math:: \sqrt{(1 / J + n_{test} / n_{train})\, s^2}

    Training parts overlap, so the plain :math:`s / \sqrt J` is too small.
    """
    return float(np.sqrt((1 / len(values) + test_ratio) * values.var(ddof=1)))


def corrected_ttest(a: Summary, b: Summary, score: str) -> tuple[float, float]:
    """Mean difference a - b over the folds that both have, and its two-sided p-value.

    The corrected resampled t-test of Nadeau and Bengio (2003).

    Returns
    -------
    difference, p : p is 1 where there are fewer than two common folds or no difference at all
    """
    other = {(r.repeat, r.fold): r.scores.get(score) for r in b.records}
    pairs = [(r.scores.get(score), other.get((r.repeat, r.fold))) for r in a.records]
    d = np.array([x - y for x, y in pairs if x is not None and y is not None])
    if len(d) < 2:
        return (float(d.mean()) if len(d) else float("nan")), 1.0
    mean, error = float(d.mean()), corrected_error(d, _test_ratio(a.records))
    if error <= 1e-12:
        return mean, 1.0 if abs(mean) <= 1e-12 else 0.0
    return mean, float(2 * stats.t.sf(abs(mean) / error, len(d) - 1))


def _test_ratio(records) -> float:
    return float(np.mean([r.n_test / r.n_train for r in records]))
