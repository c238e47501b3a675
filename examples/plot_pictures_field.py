"""
A field and no sky, and the picture that explains itself
========================================================

Positive is a field without sky: task "Conjunctive" of Tao et al. (2008), Table 7. Again something must be
absent. The source and the method are one pipeline that takes pictures, and what it has learned can be
shown on a picture itself: which regions speak for the prediction, and which against it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

import skmil
from skmil.datasets import make_pictures
from skmil.inspection import explain_things
from skmil.sources import ImageBags

train = make_pictures("conjunctive", 100, random_state=0)
test = make_pictures("conjunctive", 100, random_state=1)

models = {}
for name in ("k_and emp", "DD", "EM-DD"):
    source = ImageBags(features=("chroma", "texture"))
    models[name] = make_pipeline(source, skmil.method(name, random_state=0)).fit(train.data, train.target)
    print(f"{name:12} error {1 - models[name].score(test.data, test.target):.3f}")

# %%
# What the regions of some new pictures say about their prediction: blue speaks for it, orange against it.
# ``explain_things`` returns data; in a notebook its answers show themselves as pages with a slider, and
# ``skmil explain model.skops new.jpg --html page.html`` writes such a page.
chosen = [*np.flatnonzero(test.target == 1)[:2], *np.flatnonzero(test.shows == "field")[:2]]
told = explain_things(models["k_and emp"], [test.data[i] for i in chosen])
fig, axes = plt.subplots(2, 4, figsize=(12, 4.4))
for column, i, e in zip(axes.T, chosen, told, strict=True):
    column[0].imshow(test.data[i])
    column[0].set_title(f"{test.shows[i]}: predicted {e.told.prediction}", fontsize=8)
    most = np.abs(e.told.support).max()
    column[1].imshow(e.told.support[e.parts.labels], cmap="PuOr", vmin=-most, vmax=most)
    for ax in column:
        ax.axis("off")
fig.tight_layout()
plt.show()
