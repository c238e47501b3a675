"""
A sunset without a sun
======================

Positive is a sunset whose sun is hidden; sunsets with the sun in view are negative, like all other
pictures. No segment makes a picture positive: the orange sky must be there and the sun must not. Diverse
Density looks for a point that positive bags come near and negative ones stay away from, and there is none.
Boxes that a bag must *miss* count for the box kernels like those it must hit. This is task "Sunset 2" of
Tao et al. (2008), Table 7.
"""

import matplotlib.pyplot as plt
import numpy as np

import skmil
from skmil.datasets import make_pictures
from skmil.sources import ImageBags

train = make_pictures("sunset 2", 100, random_state=0)
test = make_pictures("sunset 2", 150, random_state=1)

fig, axes = plt.subplots(2, 5, figsize=(12, 3.6))
for row, label in zip(axes, (1, 0), strict=True):
    chosen = np.flatnonzero(train.target == label)[:5]
    for ax, i in zip(row, chosen, strict=True):
        ax.imshow(train.data[i])
        ax.set_title(("positive: " if label else "negative: ") + str(train.shows[i]), fontsize=8)
        ax.axis("off")
fig.tight_layout()
plt.show()

# %%
# The same bags for all methods; the source has nothing to learn from training pictures.
source = ImageBags(features=("chroma", "texture"))
bags, new = source.fit_transform(train.data), source.transform(test.data)
errors = {}
for name in ("k_and emp", "k_and/or emp", "DD", "EM-DD"):
    predicted = skmil.method(name, random_state=0).fit(bags, train.target).predict(new)
    wrong = predicted != test.target
    errors[name] = [wrong.mean(), wrong[test.target == 1].mean(), wrong[test.target == 0].mean()]

# %%
# Errors on all new pictures, on positive and on negative ones.
fig, ax = plt.subplots(figsize=(7, 3.2))
for k, (name, values) in enumerate(errors.items()):
    ax.bar(np.arange(3) + 0.2 * k - 0.3, values, 0.18, label=name)
ax.set_xticks(np.arange(3), ["all", "positive", "negative"])
ax.set_ylabel("share of errors")
ax.legend()
plt.show()
