r"""
Diverse Density and its hypotheses
==================================

Left: minus the logarithm of Diverse Density over a plane, with the instances and the local maxima that the
search finds with fixed feature scales; the cross is the planted target. Middle and right: how much each
hypothesis counts in the marginalized kernel on a fold of Musk1. By density (MG-DDV) the weights differ by
orders of magnitude and part of the hypotheses count for nothing, by training accuracy (MG-ACC) they
change little by little: Figure 3 of Kwok and Cheung (2007).
"""

import matplotlib.pyplot as plt
import numpy as np

from skmil import Bags
from skmil.datasets import load_musk1
from skmil.kernels import MarginalizedKernel
from skmil.learners import DD
from skmil.preprocessing import BagScaler


def planted(seed=0, n=24, target=(1.0, 1.5)):
    """Positive bags hold an instance near the target; everything else is spread evenly."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = [rng.uniform(-3, 3, size=(4, 2)) for _ in y]
    for bag, label in zip(X, y, strict=True):
        if label:
            bag[0] = target + rng.normal(scale=0.15, size=2)
    return Bags.from_list(X), y


def surface(bags, y, scales, points):
    """-log DD at each point, with the scales of the best hypothesis."""
    d = (((points[:, None, :] - bags.instances[None]) * scales) ** 2).sum(axis=2)
    log_miss = np.log(-np.expm1(-np.maximum(d, 1e-8)))
    log_q = np.add.reduceat(log_miss, bags.offsets[:-1], axis=1)
    log_p = np.log(-np.expm1(np.minimum(log_q, -1e-12)))
    return -np.where(y == 1, log_p, log_q).sum(axis=1)


def draw_surface(ax):
    bags, y = planted()
    model = DD(gamma=3.0, feature_scaling=False).fit(bags, y)
    axis = np.linspace(-3, 3, 120)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    height = surface(bags, y, model.scales_, grid).reshape(120, 120)
    levels = np.geomspace(height.min(), height.max(), 16)
    ax.contourf(axis, axis, height, levels, cmap="viridis_r")
    positive = np.repeat(y == 1, bags.sizes)
    ax.scatter(*bags.instances[positive].T, c="white", s=14, edgecolors="black", linewidths=0.5)
    ax.scatter(*bags.instances[~positive].T, c="crimson", s=8)
    ax.scatter(*model.optima_.points.T, marker="D", c="orange", s=26, edgecolors="black", linewidths=0.5)
    ax.plot(1.0, 1.5, "x", color="black", ms=20, mew=2, zorder=1)
    ax.set(title="-log DD, instances, local maxima", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")


def draw_weights(left, right):
    bunch = load_musk1()
    X, y = BagScaler().fit_transform(bunch.data), np.asarray(bunch.target)
    train = np.arange(len(y)) % 10 > 0
    search = DD(max_starts=60, random_state=0)
    accuracy, density = (
        MarginalizedKernel(w, estimator=search).fit(X[train], y[train]).hypothesis_weights_
        for w in ("accuracy", "density")
    )
    order = np.argsort(accuracy)
    left.plot(density[order], label="MG-DDV", color="crimson")
    left.plot(accuracy[order], label="MG-ACC", color="steelblue")
    left.set(title="P(h | D) on a fold of Musk1", xlabel="hypothesis, sorted by P(h | D) of MG-ACC")
    left.legend()
    right.plot(accuracy[order], color="steelblue")
    right.set(title="P(h | D) of MG-ACC alone", xlabel="hypothesis")


fig, (a, b, c) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
draw_surface(a)
draw_weights(b, c)
plt.show()
