"""
Molecules as bags of shapes
===========================

A flexible molecule has many shapes; whether it fits is decided by one of them. ``MoleculeBags`` makes a bag
of conformers from a SMILES string and describes each shape by numbers.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import skmil
from skmil.sources import MoleculeBags

acids = ["CCC(=O)O", "CCCC(=O)O", "CC(C)C(=O)O", "OC(=O)CCl", "CC(O)C(=O)O", "OC(=O)CCC=C", "NCC(=O)O"]
alkanes = ["CCCC", "CCCCC", "CC(C)CC", "CCCCCC", "CC(C)(C)CC", "CCC(C)CC", "CC1CCCCC1"]
molecules, y = acids + alkanes, [1] * len(acids) + [0] * len(alkanes)

# %%
# Ten conformers are placed and relaxed; those of low energy that differ from each other stay. The bags of
# stiff molecules are small.

source = MoleculeBags(n_conformers=10)
bags = source.fit_transform(molecules)
print(bags)

# %%
# The source is the first step of a pipeline that takes SMILES.

model = make_pipeline(source, skmil.method("MI-Kernel"))
print("accuracy:", cross_val_score(model, molecules, y, cv=3).mean().round(2))

# %%
# ``parts`` gives the molecule with its conformers and their energies. Shapes differ in how far they reach
# out: the first feature of USRCAT is the mean distance of the atoms from the centre.

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for smiles in ("CCCCCC", "OC(=O)CCC=C", "CC1CCCCC1"):
    parts = source.parts(smiles)
    reach = source.transform([smiles])[0][:, 0]
    ax.plot(reach, parts.energies, "o", label=f"{smiles} ({len(parts)} conformers)")
ax.set(xlabel="mean distance from the centre (Å)", ylabel="energy above the lowest (kcal/mol)")
ax.legend()
plt.show()
