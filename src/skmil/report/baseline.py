"""What one reaches without looking at the bags: the majority class, or the mean, of the training part."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skmil._scores import class_scores, regression_scores
from skmil.records import Record

MAJORITY, MEAN = "majority class", "mean target"


def guesses(records: Sequence[Record]) -> tuple[Record, ...]:
    """Records of guessing on the folds of some records, told from their outputs alone.

    Empty where the labels of some bags are not known, as no fold that tests them is done.
    """
    labels = {b: t for r in records for b, t in zip(r.outputs["bag"], r.outputs["true"], strict=True)}
    if not records or len(labels) < records[0].n_train + records[0].n_test:
        return ()
    folds = {(r.repeat, r.fold): r for r in records}
    return tuple(_guess(r, labels) for _, r in sorted(folds.items()))


def _guess(record: Record, labels: dict) -> Record:
    """The fold as guessing would do it; the first of several classes that are equally frequent."""
    test = set(record.outputs["bag"])
    training = [t for b, t in sorted(labels.items()) if b not in test]
    true = record.outputs["true"]
    if record.task == "regression":
        guessed = [float(np.mean(training))] * len(true)
        scores = regression_scores(true, guessed)
    else:
        guessed = [max(record.classes, key=training.count)] * len(true)
        scores = class_scores(true, guessed, None, record.classes)
        scores["auc"] = 0.5 if len(set(true)) > 1 else None  # one score for all bags ranks nothing
    return replace(
        record,
        method=MEAN if record.task == "regression" else MAJORITY,
        scores=scores,
        outputs={**record.outputs, "predicted": guessed, "decision": [None] * len(true)},
        fit_seconds=0.0,
        predict_seconds=0.0,
    )
