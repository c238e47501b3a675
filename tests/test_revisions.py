"""A method that decides otherwise than before has a new revision: else old folds pass for those of today.

``python -m tests.test_revisions`` writes down what every method decides, once revisions have been raised.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import skmil
from skmil._scores import decision_values
from skmil.registry import REGISTRY

STORED = Path(__file__).with_name("revisions.json")
# Another processor rounds otherwise and may break a tie in a tree the other way; a change of method shows.
SAME = 0.97


def decided(name):
    """What a method that saw thirty bags says about thirty others."""
    rng = np.random.default_rng(5)
    y = np.arange(60) % 2
    X = [rng.normal(size=(rng.integers(2, 7), 4)) for _ in y]
    for bag, label in zip(X, y, strict=True):
        bag[0] += 2.5 * label
    if "classification" in REGISTRY[name].tasks:
        model = skmil.method(name).fit(X[:30], y[:30])
        return decision_values(model, X[30:])
    return skmil.method(name, "regression").fit(X[:30], y[:30] + 0.5).predict(X[30:])


@pytest.mark.parametrize("name", REGISTRY)
def test_what_decides_otherwise_has_a_new_revision(name):
    stored = json.loads(STORED.read_text("utf-8"))
    remedy = "run python -m tests.test_revisions"
    assert name in stored and stored[name]["revision"] == REGISTRY[name].revision, remedy
    likeness = np.corrcoef(decided(name), stored[name]["decided"])[0, 1]
    assert likeness > SAME, (
        f"{name} decides otherwise than before: raise its revision in entries.py, then {remedy}"
    )


def main():
    """Write down what every method decides."""
    found = {
        n: {"revision": m.revision, "decided": [float(f"{v:.4g}") for v in decided(n)]}
        for n, m in REGISTRY.items()
    }
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(values)}" for n, values in found.items())
    STORED.write_text(f"{{\n{lines}\n}}\n", "utf-8")


if __name__ == "__main__":
    main()
