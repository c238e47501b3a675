"""Speaker-size timing, densities of misclassified bags, instance ranking (Xu, Ting & Zhou, KDD 2019)."""

import time

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import skmil
from reproduction.experiments.base import Experiment, pivot
from skmil.datasets import load_bags, make_speaker_like
from skmil.preprocessing import BagScaler


def speaker_tasks(table, data):
    """Each method once."""
    return [{"method": m, "scale": table.settings["scale"]} for m in table.methods]


def speaker_run(table, task):
    """Seconds to fit and to predict, and accuracy on 130 of 430 bags."""
    X, y = make_speaker_like(n_instances=round(583_600 * task["scale"]), random_state=0, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [round(0.3 * len(y))])
    start = time.perf_counter()
    model = skmil.method(task["method"]).fit(X[np.sort(train)], y[np.sort(train)])
    fitted = time.perf_counter()
    score = model.score(X[np.sort(test)], y[np.sort(test)])
    return {
        "train": fitted - start,
        "test": time.perf_counter() - fitted,
        "accuracy": 100 * score,
        "instances": int(X.offsets[-1]),
    }


def speaker_page(table, results, out):
    """Seconds beside the published ones."""
    rows = [{"source": "ours", **r} for r in results]
    rows += [{"source": "published", **r} for r in table.published]
    return "\n".join(
        f"## {v}\n\n" + pivot(rows, ["method"], "source", v) for v in ("train", "test", "accuracy")
    )


def density_tasks(table, data):
    """Each set."""
    return [{"data": d} for d in data]


def density_run(table, task):
    """Density ratios of bags misclassified by ISK only, by MI-Kernel only, by both."""
    bunch = load_bags(task["data"])
    X, y = bunch.data, bunch.target
    cv = StratifiedKFold(table.settings["folds"], shuffle=True, random_state=0)
    models = {"ISK": skmil.method("ISK", random_state=0), "MI-Kernel": skmil.method("MI-Kernel")}
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
        model = skmil.method(task["method"]).fit(X[train], y[train])
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
    "speaker": Experiment(speaker_tasks, speaker_run, speaker_page),
    "densities": Experiment(density_tasks, density_run, density_page, methods=("ISK", "MI-Kernel")),
    "ranking": Experiment(ranking_tasks, ranking_run, ranking_page),
}
