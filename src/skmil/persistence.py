"""Fitted models as files that run nothing when they are read (skops)."""

import inspect
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.tree._tree import Tree

from skmil.formats._files import replacing

# What may be inside a model, besides what skops trusts itself (public scikit-learn estimators, NumPy
# arrays, plain Python values): the classes of these packages, sparse matrices, and the private helpers
# that fitted estimators of scikit-learn hold.
_PACKAGES = (
    "skmil.bags",
    "skmil._engines",
    "skmil.sources",
    "skmil.preprocessing",
    "skmil.kernels",
    "skmil.embeddings",
    "skmil.learners",
    "skmil.inspection.alike",
)
_HELPERS = frozenset(
    {
        "scipy.sparse._csc.csc_array",
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.calibration._SigmoidCalibration",
        "numpy.dtype",  # what an imputer of scikit-learn was fitted on
        "sklearn.tree._tree.Tree",  # checked by _sound, because its compiled code trusts its numbers
    }
)


def save_model(model: BaseEstimator, path) -> None:
    """Write a fitted model to a file; the file appears when it is whole.

    Examples
    --------
    >>> import os, tempfile, skmil
    >>> from skmil.persistence import load_model, save_model
    >>> model = skmil.method("Simple-MI").fit([[[0.0]], [[4.0]]], ["low", "high"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.skops")
    >>> save_model(model, path)
    >>> load_model(path).predict([[[3.0], [5.0]]]).tolist()
    ['high']
    """
    data = _skops().dumps(model)
    if refused := _refused(data):
        raise ValueError(
            f"the model holds {refused[0]}, which load_model would refuse; use skmil's own parts"
        )
    with replacing(Path(path), "wb") as file:
        file.write(data)


def load_model(path) -> BaseEstimator:
    """Read a model that ``save_model`` wrote; a file with any other kind of object is refused.

    Nothing in the file is run: objects are rebuilt from a list of known classes.
    """
    path = Path(path)
    data = path.read_bytes()
    skops = _skops()
    try:
        refused = _refused(data)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, ImportError) as error:
        raise ValueError(f"{path}: not a model written by `skmil fit` ({_first_line(error)})") from None
    if refused:
        raise ValueError(f"{path}: refused, because it holds {refused[0]}, which no model of skmil needs")
    try:
        model = skops.loads(data, trusted=sorted(_trusted()))
    except Exception as error:  # a damaged file can fail anywhere inside skops
        raise ValueError(f"{path}: damaged model ({_first_line(error)})") from None
    if not (isinstance(model, BaseEstimator) and hasattr(model, "predict")):
        raise ValueError(f"{path}: holds {type(model).__name__}, not a model")
    if not all(_sound(tree) for tree in _trees(model)):
        raise ValueError(f"{path}: damaged model (a decision tree points outside itself)")
    return model


def _trees(part) -> Iterator[Tree]:
    """All decision trees inside an object."""
    if isinstance(part, Tree):
        yield part
    elif isinstance(part, (list, tuple)) or (isinstance(part, np.ndarray) and part.dtype == object):
        for p in np.ravel(part) if isinstance(part, np.ndarray) else part:
            yield from _trees(p)
    elif isinstance(part, dict) or isinstance(part, BaseEstimator):
        for p in (part if isinstance(part, dict) else vars(part)).values():
            yield from _trees(p)


def _sound(tree: Tree) -> bool:
    """Whether each node is a leaf or points to two later nodes and an existing feature."""
    left, right, i = tree.children_left, tree.children_right, np.arange(tree.node_count)
    leaf = (left == -1) & (right == -1)
    inside = (i < left) & (left < len(i)) & (i < right) & (right < len(i))
    known = (0 <= tree.feature) & (tree.feature < tree.n_features)
    return bool((leaf | (inside & known)).all())


def _refused(data: bytes) -> list[str]:
    return [t for t in _skops().get_untrusted_types(data=data) if t not in _trusted()]


@cache
def _trusted() -> frozenset[str]:
    """Full names of all classes that a model may hold: classes only, so no function can be named."""
    found = set(_HELPERS)
    for module in _modules():
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                found.add(f"{module.__name__}.{name}")
    return frozenset(found)


def _modules() -> Iterator:
    for name in _PACKAGES:
        package = import_module(name)
        yield package
        if hasattr(package, "__path__"):
            for found in walk_packages(package.__path__, f"{name}."):
                yield import_module(found.name)


def _skops():
    try:
        import skops.io
    except ImportError:
        raise ImportError("model files need skops; install it with: pip install 'skmil[cli]'") from None
    return skops.io


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:120]
