"""Image categorisation and regression of Kwok & Cheung (IJCAI 2007)."""

import numpy as np
from scipy.stats import ttest_rel
from sklearn.model_selection import GridSearchCV, KFold, StratifiedShuffleSplit

from reproduction.experiments.base import Experiment, pivot
from reproduction.pinned import paper_method
from skmil._memo import searching
from skmil.bags import Bags
from skmil.datasets import load_bags
from skmil.registry import grid

LABELS: dict[str, list[dict]] = {"MG-ACC": [{"label_kernel": "linear"}]}  # the paper found it worse


def halves_tasks(table, data):
    """Each method on each random half; the two that the paper tests against each other on more of them."""
    s = table.settings
    rest = {m: {"machines": "one against the rest"} for m in ("MI-Kernel",)}
    return [
        {"data": d, "method": m, "repeat": r, **rest.get(m, {})}
        for d in data
        for m in table.methods
        for r in range(s["more repeats"] if m in s["tested"] else s["repeats"])
    ]


def halves_run(table, task):
    """Accuracy of one half trained, the other tested; classes go one against the rest, as in the paper."""
    bunch = load_bags(task["data"])
    X, y = bunch.data, bunch.target
    split = StratifiedShuffleSplit(1, test_size=0.5, random_state=task["repeat"])
    train, test = next(split.split(np.zeros(len(y)), y))
    if task.get("machines") != "one against the rest":
        model = paper_method(task["method"]).fit(X[train], y[train])  # is so by itself
        return {"accuracy": 100 * float(model.score(X[test], y[test]))}
    classes = np.unique(y)
    with searching():  # one Gram matrix serves all machines
        machines = [paper_method(task["method"]).fit(X[train], y[train] == c) for c in classes]
        values = np.column_stack([m.decision_function(X[test]) for m in machines])
    return {"accuracy": 100 * float(np.mean(classes[values.argmax(axis=1)] == y[test]))}


def halves_page(table, results, out):
    """Mean accuracy over the halves, and the paper's test of differences."""
    rows = [{"source": "ours", **r} for r in results] + [
        {"source": "published", **r} for r in table.published
    ]
    text = "Accuracy in %, means and deviations over the halves of each method.\n\n"
    text += pivot(rows, ["method"], "source", "accuracy")
    return (
        text
        + "\n"
        + "".join(_paired(results, "MG-ACC", other) for other in ("MI-Kernel", "DD-SVM", "MI-SVM"))
    )


def _paired(results, first: str, second: str) -> str:
    """A paired t-test over the halves that both have."""
    found = [{r["repeat"]: r["accuracy"] for r in results if r["method"] == m} for m in (first, second)]
    both = sorted(set(found[0]) & set(found[1]))
    if len(both) < 3:
        return ""
    a, b = (np.array([f[r] for r in both]) for f in found)
    p = ttest_rel(a, b).pvalue
    gain = f"{np.mean(a - b):+.1f} points over {len(both)} halves"
    return f"{first} less {second}: {gain}, paired t-test p = {p:.2g}.\n\n"


def lj_tasks(table, data):
    """Each regression method on each set: with defaults and searched, without and with more features."""
    return [
        {"data": d, "method": m, **more, **extra}
        for d in data
        for m in table.methods
        for more in _forms(m)
        for extra in ({}, {"irrelevant": True})
    ]


def _forms(method: str) -> list[dict]:
    """With defaults, searched where there is something to search, with the paper's other label kernel."""
    searched = [{"searched": True}] if grid(method, "regression") else []
    return [{}, *searched, *LABELS.get(method, [])]


def lj_run(table, task):
    """Squared error, and the error of classifying at one half."""
    bunch = load_bags(task["data"])
    train, test = np.flatnonzero(bunch.split == 0), np.flatnonzero(bunch.split == 1)[1:]
    X, y = bunch.data, bunch.target
    X = with_irrelevant(X) if task.get("irrelevant") else X
    kernel = {k: task[k] for k in ("label_kernel",) if k in task}
    model = paper_method(task["method"], task="regression", **kernel)
    with searching():
        if task.get("searched"):
            found = GridSearchCV(
                model,
                grid(task["method"], "regression"),
                cv=KFold(5, shuffle=True, random_state=0),
                scoring="neg_mean_squared_error",
                refit=False,
            ).fit(X[train], y[train])
            model.set_params(**found.best_params_)
        predicted = model.fit(X[train], y[train]).predict(X[test])
    return {
        "squared error": float(np.mean((predicted - y[test]) ** 2)),
        "classification error": 100 * float(np.mean((predicted > 0.5) != (y[test] > 0.5))),
    }


def with_irrelevant(X):
    """As many features again: those that there are, shuffled over instances, so that they say nothing."""
    rng = np.random.default_rng(0)
    noise = np.column_stack([rng.permutation(column) for column in X.instances.T])
    return Bags(np.hstack([X.instances, noise]), X.offsets)


def lj_page(table, results, out):
    """Both errors, with defaults and searched, without and with irrelevant features."""
    text = ""
    for extra, title in ((None, ""), (True, ", as many irrelevant features added")):
        part = [
            {**r, "search": "yes" if r.get("searched") else "no", "method": _lj_name(r)}
            for r in results
            if r.get("irrelevant") == extra
        ]
        text += f"## Mean squared error{title}\n\n"
        text += pivot(part, ["method", "search"], "data", "squared error", "{:.4f}")
        text += f"\n## Classification error at one half (%){title}\n\n"
        text += pivot(part, ["method", "search"], "data", "classification error") + "\n"
    return text


def _lj_name(r: dict) -> str:
    return f"{r['method']}, {r['label_kernel']} label kernel" if "label_kernel" in r else r["method"]


EXPERIMENTS = {
    "halves": Experiment(halves_tasks, halves_run, halves_page),
    "lennard-jones": Experiment(lj_tasks, lj_run, lj_page, kind="regression"),
}
