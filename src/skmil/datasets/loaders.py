"""Data sets by name or path."""

import os
from importlib.resources import as_file, files
from pathlib import Path

from sklearn.utils import Bunch

from skmil.formats import READERS, read_bags

SHIPPED = ("musk1", "musk2")
_ENDINGS = (*READERS, ".txt")

_MUSK = """\
{title}

A molecule is a bag, each of its low-energy shapes (conformations) an instance, described by {d}
features: distances from the molecule's surface to a reference shape along fixed rays, and four
numbers for the position of an oxygen atom. Label 1 means that people smell musk, 0 that they do
not. A molecule smells if at least one of its shapes fits.

{n} bags ({positive} of label 1, {negative} of label 0), {instances} instances, {d} features.

Source: Chapman, D. & Jain, A. (1994). Musk ({version}) [Dataset]. UCI Machine Learning Repository.
{doi}
Licence: Creative Commons Attribution 4.0 International (CC BY 4.0).
Changes: stored as a NumPy archive; the values are those of the source.
First used in: T. G. Dietterich, R. H. Lathrop, T. Lozano-Perez (1997). Solving the multiple instance
problem with axis-parallel rectangles. Artificial Intelligence 89, 31-71.
{folds}"""
_SOURCES = {
    "musk1": ("Version 1", "https://doi.org/10.24432/C5ZK5B"),
    "musk2": ("Version 2", "https://doi.org/10.24432/C51608"),
}
_FOLDS = """\
folds[r, i] is the test fold (0 to 9) of bag i in repetition r of 5, the partition of the MIDatasets
collection; it makes figures comparable with those computed on it.
"""


def load_musk1(*, return_X_y=False):
    """Musk1: 92 molecules, 476 conformations, 166 features (UCI, CC BY 4.0).

    Parameters
    ----------
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (Bags), ``target`` (1 musk, 0 not), ``ids``, ``folds`` (5 x 92), ``instance_names``,
        ``DESCR``.

    Examples
    --------
    >>> from skmil.datasets import load_musk1
    >>> load_musk1().data
    Bags(92 bags, 476 instances, 166 features; sizes 2 to 40, median 4)
    """
    return as_result(_shipped("musk1"), return_X_y)


def load_musk2(*, return_X_y=False):
    """Musk2: 102 molecules, 6598 conformations, 166 features (UCI, CC BY 4.0).

    Parameters
    ----------
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (Bags), ``target`` (1 musk, 0 not), ``ids``, ``DESCR``.

    Examples
    --------
    >>> from skmil.datasets import load_musk2
    >>> load_musk2().data
    Bags(102 bags, 6598 instances, 166 features; sizes 1 to 1044, median 12)
    """
    return as_result(_shipped("musk2"), return_X_y)


def load_bags(name_or_path, *, return_X_y=False, bag=None, label=None):
    """Load a file, a shipped set by name, or a set by name from the folder ``$SKMIL_DATA``.

    Parameters
    ----------
    name_or_path : ``musk1``, ``musk2``, a path, or the name of a file in ``$SKMIL_DATA`` with or
        without its ending
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.
    bag, label : str, optional
        Columns with the bag ids and the labels, as in :func:`skmil.formats.read_bags`.

    Returns
    -------
    Bunch
        ``data``, ``target``, ``ids``, ``DESCR`` and what else the file holds.
    """
    name = os.fspath(name_or_path)
    if name in SHIPPED and bag is None and label is None:
        return as_result(_shipped(name), return_X_y)
    path = _find(name)
    bunch = read_bags(path, bag=bag, label=label)
    bunch.setdefault("DESCR", f"{bunch.data!r} from {path.name}")
    return as_result(bunch, return_X_y)


def _find(name: str) -> Path:
    """The file meant by a name; a path comes first, then the data folder."""
    if Path(name).exists():
        return Path(name)
    folder = os.environ.get("SKMIL_DATA")
    if folder:
        beside = [Path(folder) / f"{name}{ending}" for ending in ("", *_ENDINGS)]
        found = next((path for path in beside if path.is_file()), None)
        if found is not None:
            return found
    raise FileNotFoundError(
        f"no data set {name!r}: not shipped ({', '.join(SHIPPED)}), not a file, and {_in_folder(folder)}"
    )


def _in_folder(folder: str | None) -> str:
    if not folder:
        return "SKMIL_DATA names no folder to look in"
    if not Path(folder).is_dir():
        return f"SKMIL_DATA={folder} is not a folder"
    names = sorted(p.name for p in Path(folder).iterdir() if p.suffix.lower() in _ENDINGS)
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"SKMIL_DATA={folder} holds {shown or 'no readable file'}"


def _shipped(name: str) -> Bunch:
    with as_file(files("skmil.datasets").joinpath(f"data/{name}.npz")) as path:
        bunch = read_bags(path)
    version, doi = _SOURCES[name]
    positive = int(bunch.target.sum())
    bunch.DESCR = _MUSK.format(
        title=name.capitalize(),
        version=version,
        doi=doi,
        n=len(bunch.data),
        positive=positive,
        negative=len(bunch.data) - positive,
        instances=len(bunch.data.instances),
        d=bunch.data.n_features,
        folds=_FOLDS if "folds" in bunch else "",
    )
    return bunch


def as_result(bunch: Bunch, return_X_y: bool):
    """What loaders and generators return: everything, or bags and labels."""
    bunch.ids = bunch.data.ids
    return (bunch.data, bunch.target) if return_X_y else bunch
