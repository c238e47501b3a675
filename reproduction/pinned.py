"""What the papers' tables are run with where the registered default is another one since."""

from typing import Any

import skmil

# The scaling, weights and thresholds of the papers; ``defaults`` says why ours differ.
PAPERS: dict[str, dict[str, Any]] = {}


def paper_method(name: str, task: str = "classification", **overrides):
    """The estimator of a method as the papers' tables have it."""
    return skmil.method(name, task, **{**PAPERS.get(name, {}), **overrides})
