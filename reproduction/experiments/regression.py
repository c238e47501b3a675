"""Which method predicts a number that comes from one instance, from the best one, or from all of them."""

import warnings

import numpy as np
from sklearn.metrics import r2_score

import skmil
from reproduction.experiments.base import Experiment, pivot
from skmil import Bags
from skmil.registry import methods

TARGETS = ("witness", "largest", "share", "mean")
N_TRAIN, N_TEST, N_FEATURES = 120, 200, 5

READING = """R² of each method at its defaults on 200 new bags, after 120 bags of 3 to 8 instances with five
features; 0 is what the mean target gives. *witness*: one instance of a kind, in every bag, says the number
by where it lies, and the others are noise; *largest*: the instance nearest to a point decides, whichever
it is; *share*: the share of instances on one side of a plane; *mean*: the mean of a feature over the bag.

"""


def tasks(table, data):
    """Every method on every target, for several seeds."""
    names = methods("regression") if table.methods == ("all",) else table.methods
    seeds = range(table.settings["seeds"])
    return [{"method": m, "target": t, "seed": s} for t in TARGETS for m in names for s in seeds]


def run(table, task):
    """R² on new bags."""
    rng = np.random.default_rng([TARGETS.index(task["target"]), task["seed"]])
    X, y = _draw(task["target"], N_TRAIN, rng)
    T, truth = _draw(task["target"], N_TEST, rng)
    model = skmil.method(task["method"], "regression")
    seeded = {k: task["seed"] for k in model.get_params() if k.endswith("random_state")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = model.set_params(**seeded).fit(X, y).predict(T)
    return {"r2": float(r2_score(truth, predicted))}


def page(table, results, out):
    """One table and how to read it."""
    return READING + pivot(results, ["method"], "target", "r2", "{:.2f}")


def _draw(target: str, n: int, rng) -> tuple[Bags, np.ndarray]:
    """Bags of noise, and a number for each that its instances decide."""
    bags = [rng.normal(size=(rng.integers(3, 9), N_FEATURES)) for _ in range(n)]
    if target == "witness":
        for bag in bags:
            bag[rng.integers(len(bag))] = [4.0 + rng.uniform(0, 2), -4.0, 0.0, 0.0, 0.0]
        return Bags.from_list(bags), np.array([np.exp(-(bag[:, 0].max() - 4.0)) for bag in bags])
    if target == "largest":
        return Bags.from_list(bags), np.array([_nearness(bag[:, :2]).max() for bag in bags])
    if target == "share":
        return Bags.from_list(bags), np.array([(bag[:, 0] > 0).mean() for bag in bags])
    return Bags.from_list(bags), np.array([bag[:, 0].mean() for bag in bags])


def _nearness(points: np.ndarray) -> np.ndarray:
    return np.exp(-((points - 1.0) ** 2).sum(axis=1))


EXPERIMENTS = {"regression": Experiment(tasks, run, page, kind="regression", pinned=False)}
