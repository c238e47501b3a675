"""
Proteins in the coordinates of their own alignment
==================================================

Tao et al. (2008) describe a protein by the properties and the position of each residue, and count boxes.
They propose, without trying it, to take positions from the alignment of each *pair* of sequences, since
insertions and deletions move everything that lies behind them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.svm import SVC

from skmil.bags import Bags
from skmil.datasets import make_sequences
from skmil.kernels import BoxKernel
from skmil.sources import PairwiseAlignment, SequenceBags

# %%
# A family with a hydrophobic patch at one of two places of the common ancestor: the place is the label.
# Insertions shift both places, so that positions overlap.

family = make_sequences(12, random_state=0)
starts, y = family.patches[:, 0], family.target
print("patches of positive sequences begin at", np.sort(starts[y == 1]).tolist())
print("patches of negative sequences begin at", np.sort(starts[y == 0]).tolist())


# %%
# The same kernel with positions counted from the start, from the motif, and in the alignment of each pair.


def gram(align=None, **parameters):
    """Ratios of box counts in hydropathy and position."""
    bags = SequenceBags(["kyte_doolittle"], **parameters).fit_transform(family.data)
    bags = Bags.from_list(list(bags))
    return BoxKernel("and/or", align=align, delta=0.1, random_state=0).fit(bags)(bags)


grams = {
    "from the start": gram(),
    "from the motif": gram(motif="WCGPC", before=100, after=300),
    "pairwise": gram(PairwiseAlignment(), letters=True),
}
machine = SVC(kernel="precomputed", C=10)
accuracy = {name: cross_val_score(machine, K, y, cv=LeaveOneOut()).mean() for name, K in grams.items()}
for name, value in accuracy.items():
    print(f"{name}: {value:.2f}")

# %%
# In pairwise coordinates relatives of one class look alike, which shows as two blocks.

order = np.argsort(y, kind="stable")
fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, (name, K) in zip(axes, grams.items(), strict=True):
    shown = np.where(np.eye(len(y), dtype=bool), np.nan, K)[np.ix_(order, order)]
    ax.imshow(shown, cmap="viridis")
    ax.set(title=f"{name}: {accuracy[name]:.2f}", xticks=[], yticks=[])
plt.show()
