"""Fitted models as files that run nothing when they are read (skops), and say what they hold."""

import inspect
import io
import json
import warnings
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.model_selection._search import BaseSearchCV

from skmil._identity import plain
from skmil._sound import check_parts, first_step, try_out, with_trees, without_trees
from skmil._version import __version__
from skmil.bags import Bags
from skmil.formats._files import replacing

HEADER = "about.json"  # beside the schema and the arrays of skops, in the same archive
LONGEST_HEADER = 2**24
FASTEST = 1  # level of compression: the corners of boxes, mostly infinite, need a quarter of the room
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
    }
)


class ModelVersionWarning(UserWarning):
    """A model file was written by another version."""


def save_model(model: BaseEstimator, path, *, bags: Bags | None = None, **about: Any) -> None:
    """Write a fitted model to a file; the file appears when it is whole.

    Parameters
    ----------
    model : fitted estimator, pipeline or search
        Of a search (``GridSearchCV``) the best estimator is kept, and what was found in the description.
    path : where to
    bags : the training bags, optional
        Their number and sizes become part of the description.
    **about : what else ``read_about`` should give back
        Such as ``method``, and the names of the columns ``bag`` and ``label``.

    Examples
    --------
    >>> import os, tempfile, skmil
    >>> from skmil.persistence import load_model, read_about, save_model
    >>> model = skmil.method("Simple-MI").fit([[[0.0]], [[4.0]]], ["low", "high"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.skops")
    >>> save_model(model, path, method="Simple-MI")
    >>> load_model(path).predict([[[3.0], [5.0]]]).tolist()
    ['high']
    >>> read_about(path)["classes"]
    ['high', 'low']
    """
    if isinstance(model, BaseSearchCV):
        model, about = _best(model), _found(model) | about
    data = _skops().dumps(without_trees(model), compression=zipfile.ZIP_DEFLATED, compresslevel=FASTEST)
    if refused := _refused(data):
        raise ValueError(
            f"the model holds {refused[0]}, which load_model would refuse; use skmil's own parts"
        )
    try:
        check_parts(model)
    except ValueError as error:
        raise ValueError(f"the model cannot be saved: {error}") from None
    header = json.dumps(_describe(model, bags) | plain(about), ensure_ascii=False)
    whole = io.BytesIO(data)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr(HEADER, header)
    with replacing(Path(path), "wb") as file:
        file.write(whole.getvalue())


def load_model(path) -> BaseEstimator:
    """Read a model that ``save_model`` wrote; a file with any other kind of object is refused.

    Nothing in the file is run: objects are rebuilt from a list of known classes. Whatever compiled code
    would use as an index, length or offset is checked, and the model answers for one made-up bag, so that a
    damaged file is a ``ValueError`` here and not a crash later.
    """
    path = Path(path)
    data = path.read_bytes()
    about = _header(path)
    skops = _skops()
    try:
        refused = _refused(data)
    except Exception as error:  # a stranger's file can fail anywhere inside skops
        raise ValueError(f"{path}: not a model written by `skmil fit` ({_first_line(error)})") from None
    if refused:
        raise ValueError(f"{path}: refused, because it holds {refused[0]}, which no model of skmil needs")
    by = _written_by(about)
    try:
        model = with_trees(skops.loads(data, trusted=sorted(_trusted())))
        if not (isinstance(model, BaseEstimator) and hasattr(model, "predict")):
            raise ValueError(f"holds {type(model).__name__}, not a model")
        check_parts(model)
        try_out(model)
    except Exception as error:  # whatever does not fit together, it is the file's fault
        raise ValueError(f"{path}: damaged model ({_first_line(error)}){by and f', {by}'}") from None
    if by:
        warnings.warn(f"{path}: {by}; its answers may differ", ModelVersionWarning, stacklevel=2)
    return model


def read_about(path) -> dict[str, Any]:
    """What a model file says of itself, without reading the model.

    Returns
    -------
    dict
        ``versions``, ``estimator``, ``task``, ``classes``, ``n_features``, ``feature_names``, ``sparse``,
        ``training`` (numbers of bags and instances, sizes of bags) and what was given to ``save_model``.
    """
    about = _header(Path(path))
    if about is None:
        raise ValueError(f"{path}: a model without a description; an earlier version wrote it")
    return about


def _header(path: Path) -> dict[str, Any] | None:
    """The description in a file; ``None`` where an archive has none."""
    try:
        with zipfile.ZipFile(path) as archive:
            if HEADER not in archive.namelist():
                return None
            if archive.getinfo(HEADER).file_size > LONGEST_HEADER:
                raise ValueError("its description is too long")
            about = json.loads(archive.read(HEADER))
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path}: not a model written by `skmil fit` ({_first_line(error)})") from None
    if not isinstance(about, dict) or not isinstance(about.get("versions"), dict):
        raise ValueError(f"{path}: damaged model (its description is no description)")
    return about


def _written_by(about: dict | None) -> str:
    """Which other version wrote a file; empty where it was this one."""
    version = None if about is None else about["versions"].get("skmil")
    if version == __version__:
        return ""
    writer = f"skmil {version}" if version else "an earlier version"
    return f"written by {writer}, this is {__version__}"


def _describe(model, bags: Bags | None) -> dict[str, Any]:
    """What a model says of itself."""
    first = first_step(model)
    names = getattr(first, "feature_names_in_", None)
    versions = {"skmil": __version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}
    classes = getattr(model, "classes_", None)
    task = "classification" if is_classifier(model) else "regression" if is_regressor(model) else None
    return {
        "versions": versions,
        "estimator": type(model).__name__,
        "task": task,
        "classes": plain(np.asarray(classes).tolist()) if classes is not None else None,
        "n_features": getattr(first, "n_features_in_", None),
        "feature_names": None if names is None else [str(n) for n in names],
        "sparse": bool(getattr(first, "sparse_in_", False)),
        "training": None if bags is None else _summary(bags),
    }


def _summary(bags: Bags) -> dict[str, Any]:
    sizes = bags.sizes
    spread = [int(sizes.min()), float(np.median(sizes)), int(sizes.max())]
    return {"bags": len(bags), "instances": int(sizes.sum()), "sizes": spread}


def _best(search: BaseSearchCV):
    if not hasattr(search, "best_estimator_"):
        raise ValueError("the search has no best estimator; fit it, with refit=True")
    return search.best_estimator_


def _found(search: BaseSearchCV) -> dict[str, Any]:
    """What a search has to say besides its best estimator."""
    known = {k: getattr(search, k, None) for k in ("best_params_", "best_score_", "n_splits_")}
    return {"search": {k.rstrip("_"): v for k, v in known.items()}}


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
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
