"""NumPy archives: plain arrays, sparse or dense, everything kept."""

import zipfile
import zlib
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from skmil.bags import Bags
from skmil.formats._files import How, NoColumn, replacing, wrong

PER_INSTANCE = ("instance_y", "instance_target", "instance_names")


def read(path: Path, how: How) -> Bunch:
    """Read ``X`` (or CSR parts), ``bag``, ``y`` and what else the archive holds."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            parts = {key: archive[key] for key in archive.files}
    except (
        ValueError,
        OSError,
        EOFError,
        KeyError,
        MemoryError,
        SyntaxError,
        TypeError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
        OverflowError,
        RuntimeError,
    ) as error:
        raise wrong(path, None, f"expected a complete .npz archive of plain arrays ({error})") from None
    return from_arrays(path, parts, str(how.bag or "bag"), str(how.label or "y"), how)


def from_arrays(path: Path, parts: dict, bag: str, label: str, how: How) -> Bunch:
    """Make the Bunch from named arrays; bag numbers say which ``y``, ``names``, ... belong to a row."""
    table = _table(path, parts).astype(np.float64)  # files keep the smallest type that has every bit
    owner = parts.pop(bag, None)
    if owner is None or owner.shape != (table.shape[0],) or owner.dtype.kind not in "iu":
        found = "none" if owner is None else f"{owner.dtype} of shape {owner.shape}"
        raise wrong(
            path,
            None,
            f"expected {bag!r}: one bag number for each of {table.shape[0]} instances, found {found}",
            NoColumn if owner is None else ValueError,
        )
    if label != "y" and label not in parts:
        there = ", ".join(parts) or "nothing else"
        raise wrong(path, None, f"expected labels under {label!r}, found {there}", NoColumn)
    sizes = _sizes(path, owner)
    if (np.diff(owner.astype(np.int64)) < 0).any():
        order = np.argsort(owner, kind="stable")
        table = table[order]
        parts.update(
            {k: parts[k][order] for k in PER_INSTANCE if k in parts and len(parts[k]) == len(order)}
        )
    target, names = parts.pop(label, None), parts.pop("names", None)
    parts.pop("y", None)  # the labels that the caller did not choose
    _check_lengths(path, {"names": names, **parts, "y": target}, len(sizes), table.shape[0])
    cuts = np.concatenate([[0], np.cumsum(sizes)])
    data = Bags(table, cuts, names, parts.pop("feature_names", None), how.missing)
    if "instance_y" in parts:
        parts["instance_target"] = parts.pop("instance_y")
    extras = {k: str(v) if v.shape == () and v.dtype.kind == "U" else v for k, v in parts.items()}
    return Bunch(**{**extras, "data": data, "target": target})


def _table(path: Path, parts: dict):
    if "X" in parts:
        table = parts.pop("X")
        if table.ndim != 2 or table.dtype.kind not in "biuf":
            raise wrong(
                path,
                None,
                f"expected X to be a table of numbers, found {table.dtype} of shape {table.shape}",
            )
        return table
    keys = ("data", "indices", "indptr", "shape")
    if not all(k in parts for k in keys):
        raise wrong(
            path,
            None,
            f"expected 'X' or the parts {keys} of a CSR matrix, found {', '.join(parts) or 'nothing'}",
        )
    data, indices, indptr, shape = (parts.pop(k) for k in keys)
    try:
        return sparse.csr_matrix((data, indices, indptr), shape=tuple(int(s) for s in shape))
    except (ValueError, TypeError, OverflowError) as error:
        raise wrong(path, None, f"expected the parts of a CSR matrix ({error})") from None


def _sizes(path: Path, owner: np.ndarray) -> np.ndarray:
    n = int(owner.max(initial=-1)) + 1
    if n == 0 or owner.min() < 0 or n > len(owner):
        raise wrong(
            path,
            None,
            f"expected bag numbers from 0 without gaps, found {n - 1} for {len(owner)} instances",
        )
    sizes = np.bincount(owner, minlength=n)
    if (sizes == 0).any():
        raise wrong(
            path, None, f"expected bag numbers from 0 without gaps, found none of bag {np.argmin(sizes)}"
        )
    return sizes


def _check_lengths(path: Path, parts: dict, n: int, n_instances: int) -> None:
    """Arrays that go with bags or instances must be as long as these."""
    per_bag = [k for k in parts if k in ("y", "names", "split")]
    expected = dict.fromkeys(per_bag, (n,)) | dict.fromkeys(PER_INSTANCE, (n_instances,))
    for key, shape in expected.items():
        if parts.get(key) is not None and parts[key].shape != shape:
            raise wrong(path, None, f"expected {key!r} of shape {shape}, found {parts[key].shape}")
    folds = parts.get("folds")
    if folds is not None and (folds.ndim not in (1, 2) or folds.shape[-1] != n):
        raise wrong(path, None, f"expected 'folds' with {n} columns, found shape {folds.shape}")


def to_arrays(bags: Bags, y, extras: dict) -> dict:
    """Name the arrays the way ``from_arrays`` finds them."""
    X = bags.instances
    if bags.is_sparse:
        parts = {
            "data": smallest(X.data),
            "indices": X.indices,
            "indptr": X.indptr,
            "shape": np.array(X.shape),
        }
    else:
        parts = {"X": smallest(X)}
    parts["bag"] = bags.owner.astype(np.int32)
    named = {"y": y, "names": bags._ids, "feature_names": bags.feature_names, **extras}
    if "instance_target" in named:
        named["instance_y"] = named.pop("instance_target")
    return parts | {k: np.asarray(v) for k, v in named.items() if v is not None}


def smallest(values: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest type that keeps every bit of them."""
    if (np.signbit(values) & (values == 0)).any():
        return values
    largest = np.abs(values).max(initial=0)
    for dtype, limit in ((np.int16, 2**15 - 1), (np.int32, 2**31 - 1), (np.float32, 3e38)):
        if largest <= limit and np.array_equal(values.astype(dtype), values):
            return values.astype(dtype)
    return values


def write(path: Path, bags: Bags, y, extras: dict) -> list[str]:
    """Write everything; nothing is left out."""
    parts = to_arrays(bags, y, extras)
    for key, value in parts.items():
        if value.dtype.hasobject:
            raise ValueError(f"{key!r} holds Python objects; an .npz file keeps plain arrays")
    with replacing(path, "wb") as file:
        np.savez_compressed(file, **parts)
    return []
