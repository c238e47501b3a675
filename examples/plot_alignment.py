"""
Learning what makes a bag positive
==================================

Three synthetic sets share the same kind of instances and differ in how these decide on the label of
a bag: one witness is enough, more than a fifth, more than half. The power p of the PPMM kernel that
agrees best with the labels tells them apart. This redraws Figure 1 of Wang, Yang & Zha (ICML 2008).
"""

import matplotlib.pyplot as plt

from skmil.datasets import make_mixture_bags
from skmil.embeddings import PosteriorEmbedding
from skmil.inspection import plot_alignment

fitted = {}
for mechanism in (1, 2, 3):
    X, y = make_mixture_bags(mechanism, random_state=0, return_X_y=True)
    # The number of components differs from the true one (20), which is not known in practice.
    embedding = PosteriorEmbedding(n_components=25, mixture="spherical", n_init=1, random_state=0)
    fitted[f"mechanism {mechanism}"] = embedding.fit(X, y)

_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plot_alignment(fitted, ax=ax)
ax.set_title("One witness, some, or the majority?")
plt.show()
