"""
Which instances MILES selects
=============================

Positive bags hold an instance of one of two concepts, all other instances are noise. MILES compares a
bag with every training instance, and its 1-norm SVM keeps a few of them: those near the concepts with a
positive weight, and some of the noise with a negative one. Nobody told it which instances matter.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmil import Bags
from skmil.learners import MILES

# %%
# Sixty bags of three to eight instances. Half of them get one instance of a concept.
rng = np.random.default_rng(0)
concepts = np.array([[2.5, 2.5], [-3.0, 1.5]])
y = np.arange(60) % 2
noise = [rng.normal(0, 1.2, size=(rng.integers(3, 9), 2)) for _ in y]
witness = concepts[rng.integers(2, size=60)] + rng.normal(0, 0.3, size=(60, 2))
X = Bags.from_list(
    [np.vstack([b, w]) if label else b for b, w, label in zip(noise, witness, y, strict=True)]
)

# %%
# Fit, and see what is left: a handful of instances with their bags and weights.
model = MILES(gamma=1.0, C=3.0).fit(X, y)
print(f"{len(model.selected_)} of {len(X.instances)} instances selected")
for k in np.argsort(-np.abs(model.coef_))[:5]:
    x = model.selected_instances_[k].round(1)
    print(f"bag {model.selected_bags_[k]:2d}, instance {x}, weight {model.coef_[k]:+.2f}")

# %%
# The background is the decision value of a bag that holds a single instance there; circles are the
# selected instances, their area is the weight.
side = np.linspace(-5, 5, 121)
grid = np.array([[a, b] for b in side for a in side])
level = model.decision_function(grid[:, None]).reshape(121, 121)  # bags of one instance

fig, ax = plt.subplots(figsize=(6.5, 5.2), layout="constrained")
reach = np.abs(level).max()
shade = ax.pcolormesh(side, side, level, cmap="RdBu_r", vmin=-reach, vmax=reach, alpha=0.6, rasterized=True)
ax.contour(side, side, level, levels=[0], colors="0.3", linewidths=1)
positive = y[X.owner] == 1
ax.scatter(*X.instances[~positive].T, s=8, color="0.45", label="instance of a negative bag")
ax.scatter(
    *X.instances[positive].T, s=14, color="k", marker="x", lw=0.9, label="instance of a positive bag"
)
for sign, colour in ((1, "tab:red"), (-1, "tab:blue")):
    chosen = np.sign(model.coef_) == sign
    size = 40 + 150 * np.abs(model.coef_[chosen]) / np.abs(model.coef_).max()
    ax.scatter(
        *model.selected_instances_[chosen].T,
        s=size,
        facecolors="none",
        edgecolors=colour,
        linewidths=2,
        label=f"selected, weight {'above' if sign > 0 else 'below'} zero",
    )
ax.set(
    xlabel="feature 1", ylabel="feature 2", xlim=(-5, 5), ylim=(-5, 5), title="Instances selected by MILES"
)
ax.legend(loc="lower right", fontsize=8)
fig.colorbar(shade, label="decision value of a single instance")
plt.show()
