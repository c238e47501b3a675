"""
Tutorial: from a table to an explained prediction
=================================================

A chemist has a table: one row per shape of a molecule, a column that names the molecule, one that says
whether it is active, and what was measured of each shape. A molecule is active if one of its shapes fits;
which one, nobody wrote down. This page goes from that table to a model, an honest figure and the shape
that decided.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

import skmil
from skmil.inspection import explain, plot_instances

# %%
# The table
# ---------
# We make one: 80 molecules of 3 to 9 shapes. Every active one has a shape that fits: narrow and deep.
rng = np.random.default_rng(0)
rows = []
for i in range(80):
    active = i % 2
    shapes = rng.normal([5.0, 2.0, 1.0], [1.0, 0.6, 1.0], size=(rng.integers(3, 10), 3))
    if active:
        shapes[rng.integers(len(shapes))] = rng.normal([2.0, 4.5, 1.0], 0.2)
    for k, (width, depth, charge) in enumerate(shapes):
        name, label = f"mol-{i:02d}", "active" if active else "inactive"
        rows.append([name, label, f"shape {k}", width, depth, charge])
columns = ["molecule", "activity", "instance", "width", "depth", "charge"]
folder = Path(tempfile.mkdtemp())
pd.DataFrame(rows, columns=columns).to_csv(folder / "molecules.csv", index=False)
print((folder / "molecules.csv").read_text()[:200])

# %%
# Bags
# ----
# Reading groups the rows into bags; on the command line ``skmil data molecules.csv --label activity``.
data = skmil.formats.read_bags(folder / "molecules.csv", label="activity")
X, y = data.data, data.target
print(X, dict(zip(*np.unique(y, return_counts=True), strict=True)))

# %%
# An honest figure
# ----------------
# Every method is a scikit-learn estimator, scaling included, so everything is fitted inside the fold.
# ``skmil bench --data molecules.csv --label activity`` compares methods and writes a report.
for name in ("Simple-MI", "MI-Kernel", "MI-SVM"):
    scores = cross_val_score(skmil.method(name), X, y, cv=5)
    print(f"{name:10} {scores.mean():.2f} ± {scores.std():.2f}")

# %%
# A model that explains itself
# ----------------------------
# ``skmil fit molecules.csv model.skops --method MI-SVM --label activity`` keeps the model in a file.
model = skmil.method("MI-SVM").fit(X[:60], y[:60])
new = X[60:]
print(model.predict(new)[:5], y[60:65])

# %%
# Which shape decided? ``skmil explain model.skops new.csv --id mol-61``. The instance that speaks most for
# the prediction comes first; MI-SVM decides by one witness, which is marked.
names = data.instance_names[X.offsets[60] :]
print(explain(model, new, 1, names=names))
plot_instances(model, new, 1, names=names)
