"""Data sets by name or path."""

import os
from importlib.resources import as_file, files
from pathlib import Path

from sklearn.utils import Bunch

from skmil.formats import read_bags


def load_musk1(return_X_y=False):
    """Musk1: 92 molecules, 476 conformations, 166 features (UCI, CC BY 4.0)."""
    return _shipped("musk1", return_X_y)


def load_musk2(return_X_y=False):
    """Musk2: 102 molecules, 6598 conformations, 166 features (UCI, CC BY 4.0)."""
    return _shipped("musk2", return_X_y)


def load_bags(name_or_path, return_X_y=False):
    """Load a file, a shipped set by name, or a set by name from the folder ``$SKMIL_DATA``."""
    name = str(name_or_path)
    if name in ("musk1", "musk2"):
        return _shipped(name, return_X_y)
    path = Path(name)
    if not path.exists() and "SKMIL_DATA" in os.environ:
        path = Path(os.environ["SKMIL_DATA"]) / f"{name}.npz"
    return _result(read_bags(path), return_X_y)


def _shipped(name: str, return_X_y: bool):
    with as_file(files("skmil.datasets").joinpath(f"data/{name}.npz")) as path:
        return _result(read_bags(path), return_X_y)


def _result(bunch: Bunch, return_X_y: bool):
    bunch.ids = bunch.data.ids
    return (bunch.data, bunch.target) if return_X_y else bunch
