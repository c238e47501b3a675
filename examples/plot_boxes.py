"""
A concept with a repulsion point
================================

A bag is positive if it has an instance in one region and none in another. Which instances are "positive"
then no longer decides: the set kernel, which adds up similarities of instances, cannot tell a bag that hits
both regions from one that hits the first. Counting boxes can, because a box that is hit counts once.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmil.datasets import make_gmil
from skmil.kernels import BoxKernel, EmpiricalMap, SetKernel
from skmil.learners import BagSVC

made = make_gmil(400, n_attraction=1, n_repulsion=1, random_state=0)
train, test = slice(0, 200), slice(200, 400)

models = {
    "set kernel": BagSVC(SetKernel(normalization="cosine"), C=10),
    "boxes (k_and)": BagSVC(EmpiricalMap(BoxKernel("and", power=0.1, random_state=0)), C=1e4),
}
scores = {}
for name, model in models.items():
    model.fit(made.data[train], made.target[train])
    scores[name] = model.score(made.data[test], made.target[test])

# %%
# Instances of positive bags on the left, of negative bags in the middle; green is the region that a
# positive bag hits, red the one that it avoids.
fig, axes = plt.subplots(1, 3, figsize=(12, 4))
for ax, label, title in zip(axes, (1, 0), ("positive bags", "negative bags"), strict=False):
    instances = np.vstack([b for b, y in zip(made.data, made.target, strict=True) if y == label])
    ax.scatter(*instances.T, s=4, color="gray")
    for points, colour in ((made.concept.attraction, "green"), (made.concept.repulsion, "red")):
        for x, y in points - made.concept.radius:
            side = 2 * made.concept.radius
            ax.add_patch(plt.Rectangle((x, y), side, side, fill=False, edgecolor=colour, linewidth=2))
    ax.set_title(title)
    ax.set_aspect("equal")
axes[2].bar(list(scores), list(scores.values()), color=["gray", "tab:blue"])
axes[2].axhline(0.5, color="black", linestyle=":")
axes[2].set_ylim(0, 1)
axes[2].set_title("accuracy on new bags")
fig.tight_layout()
plt.show()
