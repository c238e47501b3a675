"""
From pictures to bags: sunsets
==============================

A picture is cut into segments of like colour and texture, and each segment is an instance: this is how
Tao et al. (2008) turned photographs into bags. The photographs were never published, so the ones here are
painted. Whether a picture shows a sunset can be told from one segment, an orange sky, so every method does
well.
"""

import matplotlib.pyplot as plt
import numpy as np

import skmil
from skmil.datasets import make_pictures
from skmil.sources import ImageBags

train = make_pictures("sunset", 100, random_state=10)
test = make_pictures("sunset", 150, random_state=100)

# %%
# Pictures and the segments that k-means over blocks of 4 x 4 pixels finds in them, in their mean colours.
source = ImageBags(features=("chroma", "texture"))
bags = source.fit_transform(train.data)
print(bags)

fig, axes = plt.subplots(2, 5, figsize=(12, 3.6))
for column, picture in zip(axes.T, train.data, strict=False):
    regions = source.parts(picture)
    means = [picture[regions.labels == k].mean(axis=0) for k in range(len(regions))]
    column[0].imshow(picture)
    column[1].imshow(np.array(means)[regions.labels].astype(np.uint8))
    for ax in column:
        ax.axis("off")
fig.tight_layout()
plt.show()

# %%
# Share of errors on new pictures. The methods differ by little.
for name in ("k_and emp", "DD", "EM-DD", "MI-Kernel"):
    model = skmil.method(name).fit(bags, train.target)
    error = 1 - model.score(source.transform(test.data), test.target)
    print(f"{name:12} {error:.3f}")
