"""Records: what happened in one fold, one JSON line each, safe to stop at any moment."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any


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
    scores : accuracy, balanced_accuracy and auc (two classes; None where the fold holds one class
        only), or r2, rmse and mae
    outputs : one entry per test bag in ``bag`` (its number), ``true``, ``predicted`` and ``decision``
        (for the second of two classes; of the class predicted where there are more; None where a
        method has none)
    classes : the labels, in the order of the decision function; empty for regression
    fit_seconds, predict_seconds : wall time, after compiling
    versions : of skmil, scikit-learn, NumPy, Numba and Python
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

    @property
    def key(self) -> str:
        """What makes two records answers to the same question."""
        names = "fingerprint method task estimator seed folds given nested grid repeat fold".split()
        return json.dumps([getattr(self, n) for n in names], sort_keys=True, default=repr)

    def to_json(self) -> str:
        """The record as one line."""
        return json.dumps(asdict(self), ensure_ascii=False, default=repr)

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """The record in one line; ``ValueError`` says what is wrong with it."""
        values = json.loads(line)
        if not isinstance(values, dict):
            raise ValueError(f"expected a JSON object, found {type(values).__name__}")
        expected = {f.name for f in fields(cls)}
        missing, unknown = sorted(expected - set(values)), sorted(set(values) - expected)
        if missing or unknown:
            what = f"no {missing[0]!r}" if missing else f"unknown {unknown[0]!r}"
            raise ValueError(f"{what}; not a record of this version")
        return cls(**values)


def read_records(path) -> list[Record]:
    """All records of a file; a last line that was cut short is left out.

    Examples
    --------
    >>> from skmil.records import read_records
    >>> read_records("no_such_file.jsonl")
    []
    """
    path = Path(path)
    if not path.exists():
        return []
    whole = path.read_bytes()[: _sound_length(path)].decode("utf-8", errors="replace")
    return [_parse(path, n, line) for n, line in enumerate(whole.split("\n"), 1) if line.strip()]


def append_records(path, records: Iterable[Record]) -> None:
    """Add records to a file and make sure that they are on the disk."""
    with open(path, "ab") as file:
        for record in records:
            file.write(record.to_json().encode("utf-8") + b"\n")
        file.flush()
        os.fsync(file.fileno())


def repair_records(path) -> None:
    """Cut off a last line that was not written to its end, so that appending is safe."""
    path = Path(path)
    if path.exists() and (length := _sound_length(path)) < path.stat().st_size:
        os.truncate(path, length)


def _sound_length(path: Path) -> int:
    """Bytes up to the end of the last whole line (a record is written with its line end last)."""
    return path.read_bytes().rfind(b"\n") + 1


def _parse(path: Path, number: int, line: str) -> Record:
    try:
        return Record.from_json(line)
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {error}") from None
