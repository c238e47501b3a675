"""Files <-> Bags."""

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from skmil.bags import Bags


def read_bags(path, *, bag=None, label=None) -> Bunch:
    """Read bags from a file.

    Returns
    -------
    Bunch with ``data`` (Bags), ``target`` (one label per bag, or None) and what else the file
    holds: ``folds``, ``split``, ``instance_target``, ``class_names``, ...
    """
    path = Path(path)
    with np.load(path, allow_pickle=False) as z:
        parts = {k: z[k] for k in z.files}
    if "X" in parts:
        X = parts.pop("X")
    else:
        csr = tuple(parts.pop(k) for k in ("data", "indices", "indptr"))
        X = sparse.csr_matrix(csr, shape=tuple(parts.pop("shape")))
    bags = Bags.from_table(X, parts.pop("bag"), parts.pop("feature_names", None))
    bags = Bags(bags.instances, bags.offsets, parts.pop("names", None), bags.feature_names)
    if "instance_y" in parts:
        parts["instance_target"] = parts.pop("instance_y")
    return Bunch(data=bags, target=parts.pop("y", None), **parts)
