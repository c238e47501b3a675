"""Records: what happened in one fold, one JSON line each, safe to stop at any moment."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

from skmil._identity import agree, deciding, searched, unsearched, unsearched_text
from skmil._journal import Journal

# What decides a result beside its settings.
QUESTION = "fingerprint method task estimator revision seed folds given nested grid repeat fold".split()
# Fields that records of version 0.1.0 do not have, and classes that had another name there.
LATER = {"settings", "revision", "error"}
RENAMED = {"GramSVC(": "WideLinearSVC("}


@dataclass(frozen=True)
class Record:
    """One method on one fold of one data set.

    Parameters
    ----------
    data, fingerprint : name of the data set, and a hash of its bags and labels
    method : name of the method
    task : "classification" or "regression"
    estimator : the unfitted estimator as text
    parameters : the simple parameters it was fitted with, those that a nested search chose included
    seed : seed of the folds and of the method's random numbers
    folds : number of folds
    given : hash of the folds where they were given, else None
    nested, grid : whether an inner search chose parameters, and among which
    repeat, fold : which fold of which repetition
    n_train, n_test : numbers of bags
    scores : accuracy, balanced_accuracy and auc (of more than two classes the mean over each against
        the rest; None where the fold holds one class only), or r2, rmse and mae
    outputs : one entry per test bag in ``bag`` (its number), ``true``, ``predicted`` and ``decision``
        (for the second of two classes; of the class predicted where there are more; None where a
        method has none)
    classes : the labels, in the order of the decision function; empty for regression
    fit_seconds, predict_seconds : wall time, after compiling
    versions : of skmil, scikit-learn, NumPy, Numba and Python
    settings : all parameters of the unfitted estimator, those at their defaults included
    revision : of the method, raised when the same settings give something else
    error : why the fold failed; None where it did not
    """

    data: str
    fingerprint: str
    method: str
    task: str
    estimator: str
    parameters: dict[str, Any]
    seed: int
    folds: int
    given: str | None
    nested: bool
    grid: dict[str, list] | list[dict[str, list]] | None
    repeat: int
    fold: int
    n_train: int
    n_test: int
    scores: dict[str, float | None]
    outputs: dict[str, list]
    classes: list
    fit_seconds: float
    predict_seconds: float
    versions: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)
    revision: str = "1"
    error: str | None = None

    @property
    def question(self) -> str:
        """What was asked, but for the settings, some of which an older record may not name."""
        asked = {name: getattr(self, name) for name in QUESTION} | {"estimator": self.fixed_estimator}
        return json.dumps(list(asked.values()), sort_keys=True, default=repr)

    @cached_property
    def fixed_estimator(self) -> str:
        """The estimator as text, without the parameters that a search set anyway."""
        return unsearched_text(self.estimator, searched(self.grid))

    @cached_property
    def fixed_settings(self) -> dict[str, Any]:
        """The settings that no search set."""
        return unsearched(self.settings, self.grid)

    @property
    def key(self) -> str:
        """Everything that decides the result: two records with one key answer the same question."""
        return self.question + json.dumps(self.fixed_settings, sort_keys=True, default=repr)

    def to_json(self) -> str:
        """The record as one line."""
        return json.dumps(asdict(self), ensure_ascii=False, default=repr)

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """The record in one line; ``ValueError`` says what is wrong with it."""
        return cls.from_dict(json.loads(line))

    @classmethod
    def from_dict(cls, values) -> "Record":
        """The record with these values; ``ValueError`` says what is wrong with them."""
        if not isinstance(values, dict):
            raise ValueError(f"expected a JSON object, found {type(values).__name__}")
        expected = {f.name for f in fields(cls)}
        missing, unknown = sorted(expected - set(values) - LATER), sorted(set(values) - expected)
        if missing or unknown:
            what = f"no {missing[0]!r}" if missing else f"unknown {unknown[0]!r}"
            raise ValueError(f"{what}; not a record of this version")
        return cls(**(values if "settings" in values else _of_first_version(values)))


class Answers:
    """Records by what they answer; a later one replaces an earlier one, a failure replaces no result.

    Parameters
    ----------
    records : in the order in which they were written
    """

    def __init__(self, records: Iterable[Record] = ()):
        self._found: dict[str, list[Record]] = {}
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Keep a record in place of those that answer the same question."""
        same = self._found.setdefault(record.question, [])
        old = [r for r in same if agree(r.fixed_settings, record.fixed_settings)]
        if record.error is not None and any(r.error is None for r in old):
            return
        same[:] = [r for r in same if r not in old] + [record]

    def to(self, asked: Record) -> Record | None:
        """The record that answers what another one asks, whose results do not matter."""
        same = self._found.get(asked.question, [])
        return next((r for r in reversed(same) if agree(r.fixed_settings, asked.fixed_settings)), None)

    def __iter__(self):
        """All records that count."""
        return (r for same in self._found.values() for r in same)


def read_records(path) -> list[Record]:
    """All records of a file; a last line that was cut short is left out.

    Examples
    --------
    >>> from skmil.records import read_records
    >>> read_records("no_such_file.jsonl")
    []
    """
    found = []
    for where, values in Journal(path).entries():
        try:
            found.append(Record.from_dict(values))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return found


def append_records(path, records: Iterable[Record]) -> None:
    """Add records to a file, behind whole lines only, and make sure that they are on the disk."""
    Journal(path).append([asdict(r) for r in records])


def _of_first_version(values: dict) -> dict:
    """A record of version 0.1.0 in the words of today; settings are what no search and no seed chose."""
    grids = values["grid"] if isinstance(values["grid"], list) else [values["grid"] or {}]
    chosen = {name for grid in grids for name in grid}
    settings = {
        k: v
        for k, v in deciding(values["parameters"]).items()
        if k not in chosen and k.rsplit("__", 1)[-1] != "random_state"
    }
    text = values["estimator"]
    for old, new in RENAMED.items():
        text = text.replace(old, new)
    return {**values, "estimator": text, "settings": settings, "revision": "1"}
