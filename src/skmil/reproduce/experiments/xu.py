"""Time at the size of the Speaker set, and densities of misclassified bags (Xu, Ting & Zhou, KDD 2019)."""

import time

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import skmil
from skmil.datasets import load_bags, make_speaker_like
from skmil.preprocessing import BagScaler
from skmil.reproduce.experiments.base import Experiment, pivot


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


def density_ratios(X, y, components: int = 5) -> np.ndarray:
    """Largest density in the nearest bag of another class over the smallest in the bag itself.

    Gaussian kernel density of the scaled instances on their first principal components (in 166
    features a kernel density has no digits left).
    """
    scaled = BagScaler().fit_transform(X)
    Z = PCA(components, random_state=0).fit_transform(scaled.instances)
    density = X.split(gaussian_kde(Z.T)(Z.T))
    low = scaled.with_instances(Z)
    means = np.array([[np.linalg.norm(a[:, None] - b[None], axis=2).mean() for b in low] for a in low])
    means[np.equal.outer(y, y)] = np.inf
    nearest = means.argmin(axis=1)
    return np.array([density[j].max() / density[i].min() for i, j in enumerate(nearest)])


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
        + pivot(rows, ["misclassified by"], "data", "bags", "{:.0f}")
        + "\n## Density ratio\n\n"
        + pivot(rows + theirs, ["misclassified by"], "data", "ratio", "{:.2f}")
    )


EXPERIMENTS = {
    "speaker": Experiment(speaker_tasks, speaker_run, speaker_page),
    "densities": Experiment(density_tasks, density_run, density_page),
}
