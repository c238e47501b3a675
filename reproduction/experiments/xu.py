"""Speaker-size timing, densities of misclassified bags, instance ranking (Xu, Ting & Zhou, KDD 2019)."""

import time

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from reproduction.experiments.base import Experiment, axes, pivot, save
from reproduction.pinned import paper_method
from skmil._memo import searching
from skmil.datasets import load_bags, make_speaker_like
from skmil.preprocessing import BagScaler


def speaker_tasks(table, data):
    """Each method with each share of the training bags."""
    shares = table.settings["shares"]
    return [
        {"method": m, "scale": table.settings["scale"], "share": f} for m in table.methods for f in shares
    ]


def speaker_run(table, task):
    """Seconds to fit and to predict, and accuracy: 120 + 120 bags to train, 40 + 90 to test.

    Parameters are the one pair that 30 + 30 validation bags choose, with all training bags.
    """
    X, y = make_speaker_like(n_instances=round(583_600 * task["scale"]), random_state=0, return_X_y=True)
    train, valid, test = speaker_parts(y, task["share"])
    best = _best_on(task["method"], X, y, train, valid)
    start = time.perf_counter()
    model = best.fit(X[train], y[train])
    fitted = time.perf_counter()
    score = model.score(X[test], y[test])
    return {
        "train": fitted - start,
        "test": time.perf_counter() - fitted,
        "accuracy": 100 * score,
        "instances": int(X.offsets[-1]),
    }


def speaker_parts(y, share: float) -> tuple[np.ndarray, ...]:
    """Numbers of the bags to train with, to choose with and to test with, as far as the set has them."""
    rng = np.random.default_rng(0)
    parts: list[list[int]] = [[], [], []]
    for label, sizes in ((1, (120, 30, 40)), (0, (120, 30, 90))):
        rows = rng.permutation(np.flatnonzero(y == label))
        cuts = np.cumsum(np.array(sizes) * min(1.0, len(rows) / sum(sizes))).astype(int)
        for k, part in enumerate(np.split(rows, cuts)[:3]):
            parts[k].extend(part[: max(2, round(share * len(part)))] if k == 0 else part)
    return tuple(np.sort(p) for p in parts)


def _best_on(name: str, X, y, train, valid):
    """The method with the parameters of a few that are best on the validation bags."""
    few: dict[str, dict[str, list]] = {"ISK": {"n_cells": [64, 256]}, "miFV": {"n_components": [2, 8]}}
    ((parameter, values),) = few.get(name, {"C": [1.0, 10.0, 100.0]}).items()
    with searching():
        models = [paper_method(name, **{parameter: v}).fit(X[train], y[train]) for v in values]
        scores = [model.score(X[valid], y[valid]) for model in models]
    return paper_method(name, **{parameter: values[int(np.argmax(scores))]})


def speaker_page(table, results, out):
    """Seconds and accuracy with all training bags beside the published ones, and the curve."""
    whole = [{"source": "ours", **r} for r in results if r["share"] == 1.0]
    rows = whole + [{"source": "published", **r} for r in table.published]
    titles = {"train": "Seconds to train", "test": "Seconds to predict", "accuracy": "Accuracy (%)"}
    text = "\n".join(f"## {t}\n\n" + pivot(rows, ["method"], "source", v) for v, t in titles.items())
    figure, ax = axes()
    for m in dict.fromkeys(r["method"] for r in results):
        part = sorted((r["share"], r["accuracy"]) for r in results if r["method"] == m)
        ax[0, 0].plot(*zip(*part, strict=True), "o-", label=m)
    ax[0, 0].set(xlabel="share of the training bags", ylabel="accuracy (%)")
    if results:
        ax[0, 0].legend()
    curve = "\n## Accuracy against the share of the training bags (Figure 3)\n\n"
    return text + curve + pivot(results, ["method"], "share", "accuracy") + save(figure, out, table.name)


def density_tasks(table, data):
    """Each set."""
    return [{"data": d} for d in data]


def density_run(table, task):
    """Density ratios of bags misclassified by ISK only, by MI-Kernel only, by both."""
    bunch = load_bags(task["data"])
    X, y = bunch.data, bunch.target
    cv = StratifiedKFold(table.settings["folds"], shuffle=True, random_state=0)
    models = {"ISK": paper_method("ISK", random_state=0), "MI-Kernel": paper_method("MI-Kernel")}
    wrong = {name: cross_val_predict(model, X, y, cv=cv) != y for name, model in models.items()}
    ratio = density_ratios(X, y)
    groups = {
        "ISK only": wrong["ISK"] & ~wrong["MI-Kernel"],
        "both": wrong["ISK"] & wrong["MI-Kernel"],
        "MI-Kernel only": wrong["MI-Kernel"] & ~wrong["ISK"],
    }
    found: dict[str, float | None] = {}
    for name, mask in groups.items():
        found[f"{name}: bags"] = int(mask.sum())
        found[f"{name}: ratio"] = float(ratio[mask].mean()) if mask.any() else None
    return found


def density_ratios(X, y) -> np.ndarray:
    """Largest density in the nearest bag of another class over the smallest in the bag itself."""
    scaled = BagScaler("minmax").fit_transform(X)
    density = X.split(typical_density(scaled.instances))
    means = np.array([[cdist(a, b).mean() for b in scaled] for a in scaled])
    means[np.equal.outer(y, y)] = np.inf
    nearest = means.argmin(axis=1)
    return np.array([density[j].max() / density[i].min() for i, j in enumerate(nearest)])


def typical_density(Z: np.ndarray) -> np.ndarray:
    """Geometric mean over features of a Gaussian kernel density with the paper's bandwidths.

    In the product of two hundred features, which the paper names, an instance sees only itself.
    """
    spread = Z.std(axis=0)
    Z, spread = Z[:, spread > 0], spread[spread > 0]
    n, d = Z.shape
    width = spread * (4 / ((d + 2) * n)) ** (1 / (d + 4))
    logs = [np.log(np.exp(-(np.subtract.outer(z, z) ** 2) / 2).mean(axis=1)) for z in (Z / width).T]
    return np.exp(np.mean(logs, axis=0))


def density_page(table, results, out):
    """Counts and ratios by group."""
    groups = ("ISK only", "both", "MI-Kernel only")
    rows = [
        {"misclassified by": g, "data": r["data"], "bags": r[f"{g}: bags"], "ratio": r[f"{g}: ratio"]}
        for r in results
        for g in groups
    ]
    theirs = [{**r, "misclassified by": f"{r['group']} (published)"} for r in table.published]
    return (
        "## Misclassified bags\n\n"
        + pivot(rows + theirs, ["misclassified by"], "data", "bags", "{:.0f}")
        + "\n## Density ratio\n\n"
        + pivot(rows + theirs, ["misclassified by"], "data", "ratio", "{:.2f}")
    )


def ranking_tasks(table, data):
    """Each method on each set."""
    return [{"data": d, "method": m} for d in data for m in table.methods]


def ranking_run(table, task):
    """How well instance scores rank the true positives of a positive test bag above its other instances."""
    bunch = load_bags(task["data"])
    X, y, truth = bunch.data, bunch.target, bunch.data.split(bunch.instance_target)
    cv = StratifiedKFold(table.settings["folds"], shuffle=True, random_state=0)
    found = []
    for train, test in cv.split(np.zeros((len(y), 1)), y):
        model = paper_method(task["method"]).fit(X[train], y[train])
        # A positive bag without a positive instance, or with nothing else, has nothing to rank.
        ranked = [i for i in test if y[i] == 1 and 0 < np.mean(truth[i] > 0) < 1]
        scores = model.score_instances(X[ranked])
        found += [roc_auc_score(truth[i] > 0, s) for i, s in zip(ranked, scores, strict=True)]
    return {"auc": 100 * float(np.mean(found)), "bags": len(found)}


def ranking_page(table, results, out):
    """A row per set and the mean over sets."""
    means = [
        {"data": "mean", "method": m, "auc": np.mean([r["auc"] for r in results if r["method"] == m])}
        for m in dict.fromkeys(r["method"] for r in results)
    ]
    return pivot(results + means, ["data"], "method", "auc")


EXPERIMENTS = {
    "speaker": Experiment(speaker_tasks, speaker_run, speaker_page, version=2),
    "densities": Experiment(density_tasks, density_run, density_page, methods=("ISK", "MI-Kernel")),
    "ranking": Experiment(ranking_tasks, ranking_run, ranking_page),
}
