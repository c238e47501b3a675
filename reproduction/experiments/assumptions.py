"""Which method respects which assumption (Raff & Holt, NeurIPS 2023; Weidmann et al. 2003; GMIL)."""

import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

from reproduction.experiments.base import Experiment, pivot
from reproduction.pinned import paper_method
from skmil._scores import decision_values
from skmil.datasets import make_assumption, make_counts, make_gmil
from skmil.registry import methods

CONCEPTS = ("repulsion", "count", "single", "double", "frequency")

READING = """AUC of each method, with the settings of the papers' tables, on concepts with a known
rule. *single*: a positive bag holds an instance of the concept; *double*: instances of two concepts; *frequency*: one of each, where negative bags
of the attack repeat one of them; *repulsion*: attraction points must be hit and repulsion points missed
(GMIL); *count*: the number of instances near a point decides.

## Bags drawn as in training

"""

ATTACK = """
## Attacked bags

In training every negative bag holds a poison instance (or few repeats of a concept); in the attack the
positive ones do (or many repeats). A method that respects the standard assumption keeps its AUC; one that
uses evidence for the negative class falls below one half. Kernels on bags are free to use such evidence.

"""


def tasks(table, data):
    """Every method on every concept, for several seeds."""
    names = methods("classification") if table.methods == ("all",) else table.methods
    seeds = range(table.settings["seeds"])
    # Counts have been drawn otherwise since: zero may be right, and the size of a bag says nothing.
    drawn = {"count": {"draw": 2}}
    return [
        {"method": m, "concept": c, "seed": s, **drawn.get(c, {})}
        for c in CONCEPTS
        for m in names
        for s in seeds
    ]


def run(table, task):
    """AUC on bags drawn as in training, and on bags that an attacker has changed."""
    train, same, attacked = _draw(task["concept"], task["seed"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # attacked bags leave the range that was seen: that is the point
            model = _seeded(paper_method(task["method"]), task["seed"]).fit(*train)
            return {
                "as in training": _auc(model, *same),
                "attacked": _auc(model, *attacked) if attacked else None,
            }
    except ValueError as refusal:
        return {"as in training": None, "attacked": None, "refused": str(refusal)}


def page(table, results, out):
    """Two tables and how to read them."""
    refused = sorted(
        {f"- {r['method']} ({r['concept']}): {r['refused']}" for r in results if r.get("refused")}
    )
    return (
        READING
        + pivot(results, ["method"], "concept", "as in training", "{:.2f}")
        + ATTACK
        + pivot(results, ["method"], "concept", "attacked", "{:.2f}")
        + ("\n## Refused\n\n" + "\n".join(refused) + "\n" if refused else "")
    )


def _draw(concept: str, seed: int):
    """(train, test as in training, attacked test or None), each bags and labels."""
    if concept in ("single", "double", "frequency"):
        sets = make_assumption(concept, random_state=seed)
        return tuple((s.data, s.target) for s in (sets.train, sets.test, sets.attacked))
    make = make_gmil if concept == "repulsion" else make_counts
    bunch = make(n_bags=300, random_state=seed)
    half = len(bunch.target) // 2
    return (bunch.data[:half], bunch.target[:half]), (bunch.data[half:], bunch.target[half:]), None


def _auc(model, X, y) -> float:
    return float(roc_auc_score(y, decision_values(model, X)))


def _seeded(model, seed):
    names = [k for k in model.get_params() if k.endswith("random_state")]
    return model.set_params(**dict.fromkeys(names, int(np.int64(seed))))


EXPERIMENTS = {"assumptions": Experiment(tasks, run, page)}
