"""Which method respects which assumption (Raff & Holt, NeurIPS 2023; Weidmann et al. 2003; GMIL)."""

import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

from reproduction.experiments.base import Experiment, pivot
from reproduction.pinned import paper_method
from skmil._scores import decision_values
from skmil.datasets import make_assumption, make_counts, make_gmil
from skmil.registry import find, methods

CONCEPTS = ("repulsion", "count", "single", "double", "frequency")

READING = """AUC of each method, with the settings of the papers' tables, on concepts with a known rule.
*single*: a positive bag holds an instance of the concept; *double*: instances of two concepts;
*frequency*: one of each, where negative bags of the attack repeat one of them; *repulsion*: attraction
points must be hit and repulsion points missed (GMIL); *count*: how many instances are near a point decides.
Transductive forms, which see the very bags that they are asked about, are left out.

{boxes}## Bags drawn as in training

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
    return [
        {"method": m, "concept": c, "seed": s, **_since(m, c)}
        for c in CONCEPTS
        for m in names
        if not find(m).transductive
        for s in seeds
    ]


def _since(method: str, concept: str) -> dict:
    """What has changed since the first results: those before it have another key, and are done again."""
    if concept == "count":
        return {"draw": 2}  # zero may be right, and the size of a bag says nothing
    # In two features boxes of points that are few are counted exactly, where they were sampled.
    exactly = concept == "repulsion" and method.removesuffix(" emp") in ("k_and", "k_and/or")
    return {"counts": "exact"} if exactly else {}


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
        READING.format(boxes=_boxes(results))
        + pivot(results, ["method"], "concept", "as in training", "{:.2f}")
        + ATTACK
        + pivot(results, ["method"], "concept", "attacked", "{:.2f}")
        + ("\n## Refused\n\n" + "\n".join(refused) + "\n" if refused else "")
    )


def _boxes(results) -> str:
    """What boxes from a subset change where features are many."""
    wide = ("single", "double", "frequency")
    found = {
        (m, c): [r["as in training"] for r in results if (r["method"], r["concept"]) == (m, c)]
        for m in ("k_and", "k_and subset")
        for c in wide
    }
    if not all(v and None not in v for v in found.values()):
        return ""
    means = [f"{np.mean(v):.2f}" for v in found.values()]
    return (
        f"*{'*, *'.join(wide)}* have 16 features, where nearly all boxes lie around a few far\n"
        f"instances: to count all of them (`k_and`) gives {', '.join(means[:3])}, boxes from a subset\n"
        f"around any instance, bounded in few features (`k_and subset`), {', '.join(means[3:])}.\n\n"
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
