"""MATLAB files (up to version 7.2) with plain arrays."""

from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.io import loadmat, savemat
from sklearn.utils import Bunch

from skmil.bags import Bags
from skmil.formats._files import How, NoColumn, replacing, unique_ids, written_names, wrong
from skmil.formats.npz import from_arrays, to_arrays

_TABLE = ("X", "features", "instances", "data")
_BAG = ("bag", "bags", "bag_ids", "bag_id", "bagid")
_LABEL = ("y", "labels", "label", "target", "class")


def read(path: Path, how: How) -> Bunch:
    """Read a table, a bag number per row and labels, one per bag or one per row."""
    parts = _load(path)
    table = parts.pop(_key(path, parts, None, _TABLE, "a table of instances"))
    owner = _numbers(path, parts.pop(_key(path, parts, how.bag, _BAG, "a bag number per instance")))
    named = how.label is not None or _any(parts, _LABEL)
    key = _key(path, parts, how.label, _LABEL, "labels") if named else None
    y = None if key is None else _vector(path, parts.pop(key), key)
    numbers, owner = np.unique(owner, return_inverse=True)
    if "names" not in parts and not np.array_equal(numbers, np.arange(1, len(numbers) + 1)):
        parts["names"] = numbers
    # As many labels as rows go with the rows, also where each bag has one row and they are not in order.
    if y is not None and len(y) == len(owner):
        y = _per_bag(path, y, owner)
    flat = {k: v if k == "folds" else _vector(path, v, k) for k, v in parts.items()}
    if sparse.issparse(table):
        table = table.tocsr()
        flat |= {
            "data": table.data,
            "indices": table.indices,
            "indptr": table.indptr,
            "shape": np.array(table.shape),
        }
    else:
        flat["X"] = table
    return from_arrays(path, flat | {"bag": owner} | ({} if y is None else {"y": y}), "bag", "y", how)


def _load(path: Path) -> dict:
    try:
        parts = loadmat(path)
    except NotImplementedError:
        raise wrong(path, None, "this is MATLAB 7.3 (HDF5); save it again with -v7") from None
    except Exception as error:  # the parser raises whatever the damaged bytes lead to
        raise wrong(
            path, None, f"expected a complete MATLAB file ({type(error).__name__}: {error})"
        ) from None
    parts = {k: v for k, v in parts.items() if not k.startswith("__")}
    for key, value in parts.items():
        if not sparse.issparse(value) and (
            not isinstance(value, np.ndarray) or value.dtype.kind not in "biufU"
        ):
            raise wrong(path, None, f"expected plain arrays, found {key!r} to be a cell, struct or object")
    return parts


def _any(parts: dict, usual) -> bool:
    return any(k in parts for k in usual)


def _key(path: Path, parts: dict, name, usual, what: str) -> str:
    found = [k for k in ([name] if name is not None else usual) if k in parts]
    if not found:
        looked = repr(name) if name is not None else " or ".join(usual)
        there = ", ".join(parts) or "nothing"
        raise wrong(path, None, f"expected {what} under {looked}, found {there}", NoColumn)
    return found[0]


def _vector(path: Path, value, key: str) -> np.ndarray:
    value = value.toarray() if sparse.issparse(value) and min(value.shape) == 1 else value
    if sparse.issparse(value) or max(value.shape, default=0) != value.size:
        raise wrong(path, None, f"expected {key!r} to be a vector, found shape {value.shape}")
    value = value.ravel()
    if value.dtype.kind == "U":
        return np.char.rstrip(value)  # MATLAB pads text to equal lengths
    return value


def _numbers(path: Path, value) -> np.ndarray:
    value = _vector(path, value, "bag")
    if value.dtype.kind not in "iuf" or not np.array_equal(value, np.rint(value)):
        raise wrong(path, None, "expected whole bag numbers")
    return value.astype(np.int64)


def _per_bag(path: Path, y: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """One label per bag from one per instance."""
    first = y[np.unique(owner, return_index=True)[1]]
    differs = y != first[owner]
    if differs.any():
        row = int(np.argmax(differs))
        raise wrong(
            path,
            None,
            f"expected one label per bag, found {y[row]} and {first[owner[row]]} (row {row + 1})",
        )
    return first


def write(path: Path, bags: Bags, y, extras: dict) -> list[str]:
    """Write ``X`` (sparse where the bags are), ``bag`` from 1, ``y`` and the extras."""
    kept = {k: v for k, v in extras.items() if k in ("folds", "split", "instance_names", "instance_target")}
    parts = to_arrays(bags, y, kept)
    if bags.is_sparse:
        parts = {k: v for k, v in parts.items() if k not in ("data", "indices", "indptr", "shape")}
        parts["X"] = sparse.csc_matrix(bags.instances)
    parts["bag"] = parts["bag"] + 1
    for key, value in parts.items():
        if not sparse.issparse(value) and value.dtype.kind in "US":
            parts[key] = np.array(written_names(value, key, "\0"), dtype=str)
    unique_ids(bags)
    with replacing(path, "wb") as file:
        savemat(file, parts, do_compression=True, oned_as="column")
    return [k for k in extras if k not in kept]
