"""
A kernel that looks at the data
===============================

The Isolation Set-Kernel (Xu, Ting & Zhou, KDD 2019) asks how often the instances of two bags share a
cell of a random Voronoi diagram. Its centres are drawn from the data, so cells are large where data are
sparse: there, two bags at a given distance are more alike than in a dense region (Theorem 5.1).
The set kernel of Gaussians does not know the difference.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmil.kernels import IsolationKernel, SetKernel

rng = np.random.default_rng(0)

# %%
# Two clouds of 20,000 instances: one uniform, one a hundred times denser left of x = 0.
uniform = rng.uniform(-1, 1, size=(20_000, 2))
uneven = rng.uniform(-1, 1, size=(20_000, 2))
dense = rng.random(20_000) < 100 / 101
uneven[:, 0] = np.where(dense, -1, 1) * np.abs(uneven[:, 0])

# %%
# A bag of four instances in the middle is compared with the same bag moved to (a, b), as in Figure 1
# of the paper.
cross = 0.1 * np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
axis = np.linspace(-0.9, 0.9, 61)
moved = [cross + [a, b] for b in axis for a in axis]


def similarity(kernel):
    return kernel(moved, [cross]).reshape(len(axis), len(axis))


params = {"n_partitions": 500, "n_cells": 64, "random_state": 0}
panels = {
    "isolation, uniform data": similarity(IsolationKernel(**params).fit(uniform)),
    "isolation, left side 100x denser": similarity(IsolationKernel(**params).fit(uneven)),
    "set kernel, any data": similarity(SetKernel(gamma=8.0, normalization="cosine")),
}

# %%
# Left of the line instances are plenty, cells are small and the similarity falls off fast; right of it
# it reaches far.
fig, axes = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
for ax, (title, K) in zip(axes, panels.items(), strict=True):
    picture = ax.contourf(axis, axis, K, levels=np.linspace(0, 1, 11), cmap="Blues")
    ax.scatter(*cross.T, color="tab:orange", s=12, zorder=3)
    ax.set(title=title, xlabel="a", ylabel="b", aspect="equal")
axes[1].axvline(0, color="0.4", lw=0.8, ls="--")
fig.colorbar(picture, ax=axes, shrink=0.8, label="similarity to the bag in the middle")

# %%
# Theorem 5.1 along a line: pairs of bags at the same distance, both in the dense or in the sparse half.
steps = np.linspace(0, 0.8, 33)
kernel = IsolationKernel(normalize=False, **params).fit(uneven)
fig, ax = plt.subplots(figsize=(5.5, 3.9), layout="constrained")
for x, label, colour in [(0.5, "sparse half", "tab:orange"), (-0.5, "dense half", "tab:blue")]:
    pairs = kernel([cross + [x, -0.4]], [cross + [x, -0.4 + s] for s in steps])[0]
    ax.plot(steps, pairs, color=colour, label=label)
ax.set(title="equal distances, unequal density", xlabel="distance between the two bags")
ax.set(ylabel="share of partitions with a common cell", ylim=(0, None))
ax.legend(frameon=False)
plt.show()
