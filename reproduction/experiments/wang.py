"""The learned exponent of Wang, Yang & Zha (ICML 2008)."""

import skmil
from reproduction.experiments.base import Experiment, axes, pivot, save
from skmil.datasets import load_bags, make_mixture_bags


def p_tasks(table, data):
    """Each set, scaled as the table says, for several seeds of the clustering."""
    scaled = [{"data": d, **_scale(table, d)} for d in data]
    return [{**task, "seed": s} for task in scaled for s in range(table.settings["seeds"])]


def p_run(table, task):
    """The exponent learned on all bags of a set."""
    bunch = load_bags(task["data"])
    return {"p": _learn(bunch.data, bunch.target, task["seed"], **_scale(table, task["data"]))}


def _scale(table, data: str) -> dict:
    return {"scale__method": s} if (s := table.settings["scale"].get(data)) else {}


def p_page(table, results, out):
    """Ours and theirs."""
    known = [{"source": "published", **r} for r in table.published]
    ours = [{"data": r["data"], "source": "ours", "p": r["p"]} for r in results]
    return pivot(ours + known, ["source"], "data", "p", "{:.2f}")


def mechanism_tasks(table, data):
    """The three mechanisms, for several numbers of bags and seeds."""
    return [
        {"bags": n, "mechanism": m, "seed": s}
        for n in table.settings["bags"]
        for m in (1, 2, 3)
        for s in range(table.settings["seeds"])
    ]


def mechanism_run(table, task):
    """The exponent learned when one, a fifth, or half of the instances decide; with round Gaussians."""
    X, y = make_mixture_bags(
        task["mechanism"], n_bags=task["bags"], random_state=task["seed"], return_X_y=True
    )
    # One mixture: if the best aligned of several is kept, it takes over what the exponent should say.
    one_mixture = {"scale__method": "none", "ppmm__mixture": "spherical", "ppmm__n_init": 1}
    return {"p": _learn(X, y, task["seed"], **one_mixture)}


def mechanism_page(table, results, out):
    """For each number of bags a table, a panel and how often the order is right."""
    sizes = sorted({r["bags"] for r in results})
    figure, ax = axes(4.5 * max(1, len(sizes)), 3.6, max(1, len(sizes)))
    text = ""
    for axis, n in zip(ax.flat, sizes, strict=False):
        part = [r for r in results if r["bags"] == n]
        axis.plot([r["mechanism"] for r in part], [r["p"] for r in part], "o", alpha=0.6)
        axis.set(xticks=[1, 2, 3], xlabel="mechanism (one witness ... majority)", ylabel="learned p")
        axis.set_title(f"{n} bags")
        text += f"## {n} bags\n\n" + pivot(part, ["mechanism"], "seed", "p", "{:.2f}") + _order(part)
    return text + save(figure, out, table.name)


def _order(results) -> str:
    """In how many seeds the exponents come in the order of the mechanisms."""
    p = {(r["seed"], r["mechanism"]): r["p"] for r in results}
    seeds = sorted({s for s, _ in p if all((s, m) in p for m in (1, 2, 3))})
    first = sum(p[s, 1] == min(p[s, m] for m in (1, 2, 3)) for s in seeds)
    whole = sum(p[s, 1] <= p[s, 2] <= p[s, 3] for s in seeds)
    return (
        f"\nIn the order of the mechanisms for {whole} of {len(seeds)} seeds; "
        f"mechanism 1 is the smallest for {first}.\n\n"
    )


def _learn(X, y, seed, **parameters) -> float:
    model = skmil.method("PPMM", random_state=seed).set_params(**parameters)
    return float(model.fit(X, y).named_steps["ppmm"].p_)


EXPERIMENTS = {
    "learned-p": Experiment(p_tasks, p_run, p_page, methods=("PPMM",)),
    "mechanisms": Experiment(mechanism_tasks, mechanism_run, mechanism_page, version=2, methods=("PPMM",)),
}
