"""A folder with one file per bag, as tools that extract features leave it, and a table of labels."""

import csv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skmil._checks import some
from skmil.formats._files import Rows, reading_text, typed, wrong
from skmil.formats.delimited import BAG, LABEL
from skmil.formats.parquet import frame_width, load_frame

NAMES = ("features", "feats", "embeddings", "instances", "data", "X")  # of the table among several
IDS = (*BAG, "id", "slide_id", "slide", "case_id", "image", "file", "filename", "name")


def bag_files(folder) -> dict[str, Path]:
    """Files of bags by id: their names without endings, with the folders between."""
    folder = Path(folder)
    found: dict[str, Path] = {}
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in READERS and p.is_file()):
        name = path.relative_to(folder).with_suffix("").as_posix()
        if name.startswith(".") or "/." in name:
            continue
        if name in found:
            raise ValueError(f"{folder}: {found[name].name} and {path.name} are one bag twice; remove one")
        found[name] = path
    if not found:
        raise ValueError(f"{folder}: no files of bags; expected some that end in {', '.join(READERS)}")
    return found


def read_bag(path: Path, dataset: str | None = None):
    """The table of one bag; whatever is wrong with the file is said with its name."""
    try:
        table = READERS[path.suffix.lower()](path, dataset)
    except ImportError:
        raise
    except MemoryError:
        raise wrong(path, None, "the file asks for more memory than there is") from None
    except Exception as error:  # each of these libraries raises a dozen kinds
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise wrong(path, None, first.removeprefix(f"{path}: ")) from None
    table = table if sparse.issparse(table) else np.asarray(table)
    if table.ndim == 3 and table.shape[0] == 1:
        table = table[0]
    if table.ndim != 2 or table.shape[0] < 1 or table.dtype.kind not in "biuf":
        raise wrong(path, None, f"expected a table of numbers, found {table.dtype} of shape {table.shape}")
    return table


def width(path: Path, dataset: str | None = None) -> int | None:
    """Number of features, from the head of the file where its format has one; else None."""
    head = HEADS.get(path.suffix.lower())
    try:
        found = None if head is None else head(path, dataset)
        return None if found is None else int(found)
    except ImportError:
        raise
    except Exception:  # it will be named when it is read
        return None


def read_labels(path, bag: str | None = None, label: str | None = None) -> dict[str, str | int | float]:
    """Labels by bag id from a CSV, TSV or Parquet table with a header; ids lose the endings of files."""
    path = Path(path)
    header, rows = _parquet_rows(path) if path.suffix.lower() == ".parquet" else _csv_rows(path)
    at, to = _place(path, header, bag, IDS, "bag"), _place(path, header, label, LABEL, "label")
    ids: dict[str, int] = {}
    for n, row in enumerate(rows):
        name = _without_ending(str(row[at]).strip())
        if ids.setdefault(name, n) != n:
            raise wrong(path, n + 2, f"expected each bag once, found {name!r} twice")
    lines = Rows(path, lines=list(range(2, len(rows) + 2)))
    labels = typed([str(row[to]).strip() for row in rows], lines, "label")
    return {name: labels[n].item() for name, n in ids.items()}


def _place(path: Path, header, wanted: str | None, known, what: str) -> int:
    if wanted is not None:
        if header.count(wanted) != 1:
            raise wrong(path, 1, f"expected one column {wanted!r}, found {some(header)}")
        return header.index(wanted)
    found = [k for k, name in enumerate(header) if name.lower() in known]
    if len(found) != 1:
        ways = "--bag" if what == "bag" else "--label"
        raise wrong(path, 1, f"which column is the {what}? found {some(header)}; name it with {ways}")
    return found[0]


def _csv_rows(path: Path):
    with reading_text(path) as file:
        first = file.readline()
        delimiter = max(",;\t", key=first.count)
        header = [c.strip() for c in next(csv.reader([first], delimiter=delimiter), [])]
        rows = [r for r in csv.reader(file, delimiter=delimiter) if r]
    short = next((n for n, r in enumerate(rows) if len(r) != len(header)), None)
    if short is not None:
        raise wrong(path, short + 2, f"expected {len(header)} fields, found {len(rows[short])}")
    return header, rows


def _parquet_rows(path: Path):
    frame = load_frame(path)
    columns = [frame[c].to_numpy().tolist() for c in frame.columns]
    return [str(c) for c in frame.columns], list(zip(*columns, strict=True))


def _without_ending(name: str) -> str:
    ending = Path(name).suffix
    return name.removesuffix(ending) if ending.lower() in READERS else name


def _npy(path, dataset):
    return np.load(path, allow_pickle=False)


def _npy_head(path, dataset) -> int:
    return np.load(path, mmap_mode="r", allow_pickle=False).shape[-1]


def _npz(path, dataset):
    if not zipfile.is_zipfile(path):
        raise ValueError("not a complete .npz archive")
    with np.load(path, allow_pickle=False) as archive:
        parts = ("data", "indices", "indptr", "shape")
        if dataset is None and all(p in archive.files for p in parts):
            data, indices, indptr, shape = (archive[p] for p in parts)
            return sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
        return _chosen(path, {k: archive[k] for k in archive.files}, dataset)


def _npz_head(path, dataset) -> int:
    with zipfile.ZipFile(path) as archive:
        held = {n.removesuffix(".npy"): n for n in archive.namelist()}
        if dataset is None and "indptr" in held:
            return np.load(archive.open(held["shape"]), allow_pickle=False)[1]
        shapes = {name: _Shape(_npy_shape(archive.open(member))) for name, member in held.items()}
        return _chosen(path, shapes, dataset).shape[-1]


def _npy_shape(file) -> tuple[int, ...]:
    """The shape that the head of an array in a stream tells."""
    versions = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    return versions[np.lib.format.read_magic(file)](file)[0]


class _Shape(NamedTuple):
    """What a head tells of a table."""

    shape: tuple[int, ...]


def _csv(path, dataset):
    delimiter, fields = _first_line(path)
    skipped = 1 if any(_number(t) is None for t in fields) else 0
    return np.loadtxt(path, delimiter=delimiter, skiprows=skipped, ndmin=2, encoding="utf-8-sig")


def _csv_head(path, dataset) -> int:
    return len(_first_line(path)[1])


def _first_line(path) -> tuple[str, list[str]]:
    with reading_text(path) as file:
        first = file.readline()
    delimiter = max(",;\t", key=first.count)
    return delimiter, first.split(delimiter)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _parquet(path, dataset):
    return load_frame(path).to_numpy()


def _parquet_head(path, dataset) -> int | None:
    return frame_width(path)


def _h5(path, dataset):
    with _h5py().File(path, "r") as file:
        return _chosen(path, _tables(file), dataset)[...]


def _h5_head(path, dataset) -> int:
    with _h5py().File(path, "r") as file:
        return _chosen(path, _tables(file), dataset).shape[-1]


def _tables(file) -> dict:
    """All datasets of an HDF5 file by their paths."""
    found: dict = {}
    file.visititems(lambda name, item: found.update({name: item}) if hasattr(item, "shape") else None)
    return found


def _safetensors(path, dataset):
    with _safe_open()(path, framework="numpy") as file:
        return file.get_tensor(_chosen_name(path, _slices(file), dataset))


def _safetensors_head(path, dataset) -> int:
    with _safe_open()(path, framework="numpy") as file:
        return _chosen(path, _slices(file), dataset).shape[-1]


def _slices(file) -> dict[str, _Shape]:
    return {name: _Shape(tuple(file.get_slice(name).get_shape())) for name in file.keys()}


def _safe_open():
    try:
        from safetensors import safe_open
    except ImportError:
        raise ImportError(".safetensors needs safetensors: pip install 'skmil[scale]'") from None
    return safe_open


def _torch(path, dataset):
    held = _tensor(path, dataset)
    return (held.float() if str(held.dtype) == "torch.bfloat16" else held).numpy()


def _torch_head(path, dataset) -> int:
    return _tensor(path, dataset, mmap=True).shape[-1]


def _tensor(path, dataset, **how):
    """The tensor of a file, on this machine; nothing in the file is run."""
    try:
        import torch
    except ImportError:
        raise ImportError(f"{path}: needs torch, which is not installed") from None
    held = torch.load(path, map_location="cpu", weights_only=True, **how)
    if isinstance(held, dict):
        held = _chosen(path, {k: v for k, v in held.items() if hasattr(v, "shape")}, dataset)
    if not hasattr(held, "detach"):
        raise ValueError(f"expected a tensor or a dictionary of tensors, found {type(held).__name__}")
    return held.detach()


def _chosen(path, tables: dict, dataset: str | None):
    """The table of a file that may hold several."""
    return tables[_chosen_name(path, tables, dataset)]


def _chosen_name(path, tables: dict, dataset: str | None) -> str:
    """The name of that table: the one asked for, one with a usual name, or the only wide one."""
    if dataset is not None:
        if dataset not in tables:
            raise ValueError(f"no dataset {dataset!r}; it holds {some(list(tables)) or 'nothing'}")
        return dataset
    usual = [n for n in NAMES if n in tables]
    wide = [n for n, t in tables.items() if len(t.shape) >= 2]
    for names in (usual[:1], wide if len(wide) == 1 else []):
        if names:
            return names[0]
    held = some(list(tables)) or "nothing"
    raise ValueError(f"which dataset holds the instances? it has {held}; name it with --dataset")


def _h5py():
    try:
        import h5py
    except ImportError:
        raise ImportError(".h5 needs h5py: pip install 'skmil[scale]'") from None
    return h5py


READERS: dict[str, Callable] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": _csv,
    ".parquet": _parquet,
    ".h5": _h5,
    ".hdf5": _h5,
    ".safetensors": _safetensors,
    ".pt": _torch,
    ".pth": _torch,
}
HEADS: dict[str, Callable] = {
    ".npy": _npy_head,
    ".npz": _npz_head,
    ".csv": _csv_head,
    ".parquet": _parquet_head,
    ".h5": _h5_head,
    ".hdf5": _h5_head,
    ".safetensors": _safetensors_head,
    ".pt": _torch_head,
    ".pth": _torch_head,
}
