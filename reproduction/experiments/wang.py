"""The learned exponent of Wang, Yang & Zha (ICML 2008)."""

import numpy as np

from reproduction.experiments.base import Experiment, axes, pivot, save
from reproduction.pinned import paper_method
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
    fitted = _fit(X, y, task["seed"], **one_mixture)
    return {
        "p": float(fitted.p_),
        "curve": [[round(float(v), 5) for v in row] for row in fitted.alignment_curve_],
    }


def mechanism_page(table, results, out):
    """For each number of bags a table, a panel and how often the order is right."""
    sizes = sorted({r["bags"] for r in results})
    figure, ax = axes(4.5 * max(1, len(sizes)), 3.6, max(1, len(sizes)))
    text = ""
    for axis, n in zip(ax.flat, sizes, strict=False):
        part = [r for r in results if r["bags"] == n]
        _curves(axis, part)
        axis.set_title(f"{n} bags")
        text += f"## {n} bags\n\n" + pivot(part, ["mechanism"], "seed", "p", "{:.2f}") + _order(part)
    return text + save(figure, out, table.name)


def _curves(axis, results) -> None:
    """Alignment against p, divided by its maximum, for each mechanism: each draw, and their mean."""
    for mechanism in (1, 2, 3):
        curves = [np.array(r["curve"]) for r in results if r["mechanism"] == mechanism and "curve" in r]
        if not curves:
            continue
        shapes = [c[:, 1] / c[:, 1].max() for c in curves]
        axis.plot(curves[0][:, 0], np.transpose(shapes), color=f"C{mechanism - 1}", alpha=0.15)
        axis.plot(
            curves[0][:, 0],
            np.mean(shapes, axis=0),
            color=f"C{mechanism - 1}",
            label=f"mechanism {mechanism}",
        )
    axis.set(xlabel="p", ylabel="alignment / its maximum", ylim=(0.5, 1.02))
    if axis.get_legend_handles_labels()[0]:
        axis.legend()


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


def _fit(X, y, seed, **parameters):
    model = paper_method("PPMM", random_state=seed).set_params(**parameters)
    return model.fit(X, y).named_steps["ppmm"]


def _learn(X, y, seed, **parameters) -> float:
    return float(_fit(X, y, seed, **parameters).p_)


EXPERIMENTS = {
    "learned-p": Experiment(p_tasks, p_run, p_page, methods=("PPMM",)),
    "mechanisms": Experiment(mechanism_tasks, mechanism_run, mechanism_page, version=3, methods=("PPMM",)),
}
