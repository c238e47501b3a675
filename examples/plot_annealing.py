"""
How many instances of a positive bag are positive?
==================================================

Bags of points in the plane: a fraction f of each positive bag comes from the two discs, everything else
from outside. Four SVMs look for the discs, knowing only the labels of bags. This redraws Figure 1 of Gehler
& Chapelle (AISTATS 2007).

mi-SVM starts with all instances of positive bags positive, and stays near that: it errs where f is small.
Annealing has no such bias and reaches a lower objective, and then calls too few instances positive where f
is large. For witnesses it matters little.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmil.datasets import make_annealing_toy
from skmil.datasets.annealing import SIDE, is_positive
from skmil.inspection import plot_annealing
from skmil.learners import AnnealedSVM

FRACTIONS = np.round(np.linspace(0.1, 1.0, 10), 1)
N_RUNS = 10  # the paper has 50
MODELS = {
    "labels, no annealing (mi-SVM)": ("labels", None),
    "labels, annealed (AL-SVM)": ("labels", 10.0),
    "witness, no annealing (MI-SVM)": ("witness", None),
    "witness, annealed (AW-SVM)": ("witness", 10.0),
}


# %%
# One run: 30 training and 100 test bags, C = 100 and an RBF kernel of width 1.
def errors(assumption, start_temperature, fraction, seed):
    X, y = make_annealing_toy(30, fraction, random_state=seed, return_X_y=True)
    test = make_annealing_toy(100, fraction, random_state=1000 + seed)
    model = AnnealedSVM(assumption, C=100.0, gamma=0.5, start_temperature=start_temperature)
    model.fit(X, y)
    called = np.sign(np.concatenate(model.score_instances(test.data)))
    return np.mean(model.predict(test.data) != test.target), np.mean(called != test.instance_target)


result = {
    name: np.array(
        [np.mean([errors(*setting, f, seed) for seed in range(N_RUNS)], axis=0) for f in FRACTIONS]
    )
    for name, setting in MODELS.items()
}

# %%
# The regions, the error on bags and the error on instances.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
grid = np.stack(np.meshgrid(*[np.linspace(-SIDE, SIDE, 400)] * 2), axis=-1)
region = is_positive(grid.reshape(-1, 2)).reshape(400, 400)
left.imshow(region, cmap="gray", extent=[-SIDE, SIDE, -SIDE, SIDE], origin="lower")
left.set_title("positive (white) and negative region")
for ax, column, title in ((middle, 0, "error on bags"), (right, 1, "error on instances")):
    for (name, table), style in zip(result.items(), ("C0--", "C0-", "C1--", "C1-"), strict=True):
        ax.plot(FRACTIONS, 100 * table[:, column], style, label=name)
    ax.set_title(f"{title} (%)")
    ax.set_xlabel("fraction of positive instances in a positive bag")
figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()

# %%
# What happened on the way, for one of them.
X, y = make_annealing_toy(30, 0.3, random_state=0, return_X_y=True)
_, axes = plt.subplots(2, 1, figsize=(6, 5), sharex=True, layout="constrained")
plot_annealing(AnnealedSVM(C=100.0, gamma=0.5).fit(X, y), axes=axes)
plt.show()
