"""The learned exponent of Wang, Yang & Zha (ICML 2008)."""

import skmil
from skmil.datasets import load_bags, make_mixture_bags
from skmil.reproduce.experiments.base import Experiment, axes, pivot, save


def p_tasks(table, data):
    """Each set, for several seeds of the clustering."""
    return [{"data": d, "seed": s} for d in data for s in range(table.settings["seeds"])]


def p_run(table, task):
    """The exponent learned on all bags of a set."""
    bunch = load_bags(task["data"])
    return {"p": _learn(bunch.data, bunch.target, task["seed"])}


def p_page(table, results, out):
    """Ours and theirs."""
    known = [{"source": "published", **r} for r in table.published]
    ours = [{"data": r["data"], "source": "ours", "p": r["p"]} for r in results]
    return pivot(ours + known, ["source"], "data", "p", "{:.2f}")


def mechanism_tasks(table, data):
    """The three mechanisms, for several seeds."""
    return [{"mechanism": m, "seed": s} for m in (1, 2, 3) for s in range(table.settings["seeds"])]


def mechanism_run(table, task):
    """The exponent learned when one, a fifth, or half of the instances decide."""
    X, y = make_mixture_bags(mechanism=task["mechanism"], random_state=task["seed"])
    return {"p": _learn(X, y, task["seed"])}


def mechanism_page(table, results, out):
    """A table and a picture."""
    figure, ax = axes()
    for m in (1, 2, 3):
        values = [r["p"] for r in results if r["mechanism"] == m]
        ax[0, 0].plot([m] * len(values), values, "o", alpha=0.6)
    ax[0, 0].set(xticks=[1, 2, 3], xlabel="mechanism (one witness ... majority)", ylabel="learned p")
    seeds = sorted({r["seed"] for r in results})
    by_seed = [
        [r["p"] for r in sorted(results, key=lambda r: r["mechanism"]) if r["seed"] == s] for s in seeds
    ]
    ordered = sum(p == sorted(p) for p in by_seed)
    return (
        pivot(results, ["mechanism"], "seed", "p", "{:.2f}")
        + f"\nIn the order of the mechanisms for {ordered} of {len(seeds)} seeds.\n"
        + save(figure, out, table.name)
    )


def _learn(X, y, seed) -> float:
    return float(skmil.method("PPMM", random_state=seed).fit(X, y).named_steps["ppmm"].p_)


EXPERIMENTS = {
    "learned-p": Experiment(p_tasks, p_run, p_page),
    "mechanisms": Experiment(mechanism_tasks, mechanism_run, mechanism_page),
}
