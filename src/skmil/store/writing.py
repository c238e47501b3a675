"""Writing a store: a bag is there whole or not at all, whatever happens to the writer.

Everything goes to a folder ``x.zarr.part``. Instances come first, in chunks that are synced and renamed;
then a line of the journal names each bag whose instances are on disk. The small arrays, the offsets and,
last, the attribute that makes it a store follow when all bags are there; then the folder gets its name.
A writer that was killed leaves the folder; ``resume=True`` goes on after the last bag of its journal.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from skmil._checks import check_names
from skmil._schema import check_lengths
from skmil._version import __version__
from skmil.bags import Bags, as_bags
from skmil.store.arrays import ArrayWriter, import_zarr, remove_torn
from skmil.store.reading import FORMAT, BagStore

SECONDS = 5.0  # work that a killed writer may lose
TYPES = ("float32", "float64")


def write_bags(path, bags, y=None, **extras) -> list[str]:
    """Write bags to a store, in the type they have; it appears under its name when it is complete.

    Parameters
    ----------
    path : folder to make, usually ``something.zarr``
    bags : Bags, BagStore, or whatever ``as_bags`` takes
    y : one label per bag, optional
    **extras
        Further arrays to keep: ``folds``, ``split``, ``instance_target``, ...

    Returns
    -------
    list of str
        Names of what a store cannot hold: always empty.
    """
    bags = bags if isinstance(bags, BagStore) else as_bags(bags)
    y = None if y is None else check_lengths(y, bags)
    with writer(path, bags.n_features, bags.dtype, feature_names=bags.feature_names) as out:
        out.keep = False
        out.extras = {k: np.asarray(v) for k, v in extras.items() if v is not None}
        i = 0
        for block in bags.blocks():
            for name, bag in zip(block.ids, block, strict=True):
                out.add(name, bag, None if y is None else y[i])
                i += 1
    return []


def writer(path, n_features=None, dtype="float32", *, feature_names=None, resume=False) -> "BagWriter":
    """A context that writes a store bag by bag; the store appears when it ends without an error.

    Parameters
    ----------
    path : folder to make, usually ``something.zarr``
    n_features : int, optional
        That of the first bag where not given.
    dtype : "float32" or "float64"
    feature_names : sequence of str, optional
    resume : bool
        Go on with what an interrupted writer left; ``ids`` of the writer are the bags it has already.

    Examples
    --------
    >>> import os, tempfile, skmil
    >>> path = os.path.join(tempfile.mkdtemp(), "slides.zarr")
    >>> with skmil.store.writer(path) as out:
    ...     out.add("slide 1", [[0.5, 1.0], [2.0, 3.0]], label="tumour")
    ...     out.add("slide 2", [[4.0, 5.0]], label="normal")
    >>> skmil.open_bags(path)
    BagStore(2 bags, 3 instances, 2 features, float32; slides.zarr)
    """
    return BagWriter(path, n_features, dtype, feature_names, resume)


class BagWriter:
    """Writes bags one by one; see ``writer``.

    Attributes
    ----------
    ids : dict
        Bags that are written or buffered, with their labels.
    """

    def __init__(self, path, n_features, dtype, feature_names, resume):
        self.path, self.part = Path(path), Path(f"{path}.part")
        self.dtype = np.dtype(dtype)
        if self.dtype.name not in TYPES:
            raise ValueError(f"dtype is {dtype!r}; use one of {', '.join(TYPES)}")
        self.n_features, self.feature_names = n_features, feature_names
        self.resume, self.keep = resume, True
        self.sparse: bool | None = None
        self.ids: dict[Any, Any] = {}
        self.extras: dict[str, np.ndarray] = {}
        self._rows: list[tuple] = []  # (id, label, instances, values, digest) of each bag
        self._arrays: dict[str, ArrayWriter] = {}
        self._known = self._journal_size = 0
        self._last = time.monotonic()

    def __enter__(self) -> "BagWriter":
        import_zarr()
        if self.path.exists():
            raise FileExistsError(f"{self.path}: there is such a file or folder already; remove it first")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"{self.path}: the folder {self.path.parent} does not exist")
        if self.part.exists() and not self.resume:
            raise FileExistsError(
                f"{self.part}: left by an interrupted writer; go on with resume=True, or remove it"
            )
        self.part.mkdir(exist_ok=True)
        self._read_journal()
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind is None:
            try:
                self.finish()
            except OSError:
                self._leave()
                raise
        else:
            self._leave()

    def add(self, bag_id, instances, label=None) -> None:
        """Append a bag; one with the id of an earlier bag is refused."""
        bag_id, label = _plain(bag_id), _plain(label)
        table = self._checked(bag_id, instances)
        if bag_id in self.ids:
            raise ValueError(f"there is a bag {bag_id!r} already; give each bag an id of its own")
        if self._rows and (label is None) != (self._rows[0][1] is None):
            raise ValueError(
                f"bag {bag_id!r} has {'no' if label is None else 'a'} label, unlike the first bag"
            )
        if not self._arrays:
            self._begin(sparse.issparse(table), table.shape[1])
        values = self._append(table)
        self.ids[bag_id] = label
        self._rows.append((bag_id, label, table.shape[0], values, _digest(table)))
        if time.monotonic() - self._last > SECONDS:
            self.commit()

    def commit(self) -> None:
        """Put all bags so far on disk, then into the journal."""
        if len(self._rows) > self._known:
            for array in self._arrays.values():
                array.flush()
            self._journal(self._rows[self._known :])
            self._known = len(self._rows)
        self._last = time.monotonic()

    def finish(self) -> None:
        """Write what makes it a store, and give it its name."""
        if not self._rows:
            raise ValueError(f"{self.path}: no bags were written; a store holds at least one")
        self.commit()
        zarr = import_zarr()
        for name in ("zarr.json", "ids", "target", "feature_names", "offsets", "extras"):
            _remove(self.part / name)
        group = zarr.open_group(self.part, mode="a")
        ids, labels, sizes, values, digests = zip(*self._rows, strict=True)
        for array in self._arrays.values():
            array.finish(group)
        _put(group, "ids", np.array(ids))
        if labels[0] is not None:
            _put(group, "target", np.array(labels))
        if self.feature_names is not None:
            names = check_names(self.feature_names, self.n_features, "feature_names", "features")
            _put(group, "feature_names", names.astype(str))
        extras = group.create_group("extras") if self.extras else None
        for name, value in self.extras.items():
            _put(extras, name, value)
        _put(group, "offsets", np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
        group.attrs["skmil"] = {
            "format": FORMAT,
            "version": __version__,
            "kind": "csr" if self.sparse else "dense",
            "dtype": self.dtype.name,
            "n_bags": len(ids),
            "n_instances": int(sum(sizes)),
            "n_features": int(self.n_features),
            "n_values": int(sum(values)),
            "fingerprint": hashlib.sha256("".join(map(str, digests + ids)).encode()).hexdigest()[:16],
        }
        remove_torn(self.part)
        os.remove(self.part / "journal.jsonl")
        os.rename(self.part, self.path)

    def _leave(self) -> None:
        """Without a store: keep whole bags for ``resume``, or nothing where nobody would go on."""
        if not self.keep or not self._rows:
            shutil.rmtree(self.part, ignore_errors=True)

    def _checked(self, bag_id, instances):
        """The bag as a valid table of our type."""
        bags = Bags.from_list([instances], ids=[str(bag_id)])
        if self.n_features is not None and bags.n_features != self.n_features:
            raise ValueError(
                f"bag {bag_id!r} has {bags.n_features} features; those before it have {self.n_features}"
            )
        if self.sparse is not None and bags.is_sparse != self.sparse:
            raise TypeError(
                f"bag {bag_id!r} is {'sparse' if bags.is_sparse else 'dense'}, unlike those before it"
            )
        with np.errstate(over="ignore"):
            table = bags.instances.astype(self.dtype, copy=False)
        if table.dtype != bags.dtype and not np.isfinite(table.data if bags.is_sparse else table).all():
            raise ValueError(
                f"bag {bag_id!r} holds numbers too large for {self.dtype}; use dtype='float64'"
            )
        return table

    def _begin(self, is_sparse: bool, n_features: int) -> None:
        self.sparse, self.n_features = is_sparse, n_features
        self._open_arrays()
        if is_sparse:
            self._arrays["indptr"].append(np.zeros(1, np.int64))
        header = {"format": FORMAT, "sparse": is_sparse, "n_features": n_features, "dtype": self.dtype.name}
        self._write_journal(json.dumps(header))

    def _open_arrays(self) -> None:
        n, values = sum(r[2] for r in self._rows), sum(r[3] for r in self._rows)
        if self.sparse:
            kinds: Any = {"data": (self.dtype, values), "indices": (np.int32, values)}
            kinds["indptr"] = (np.int64, n + 1 if self._rows else 0)
            self._arrays = {k: ArrayWriter(self.part / k, t, None, m) for k, (t, m) in kinds.items()}
        else:
            path = self.part / "instances"
            self._arrays = {"instances": ArrayWriter(path, self.dtype, self.n_features, n)}

    def _append(self, table) -> int:
        """Instances to the buffers; returns how many numbers they hold."""
        if not self.sparse:
            self._arrays["instances"].append(table)
            return table.size
        before = self._arrays["data"].length
        self._arrays["data"].append(table.data)
        self._arrays["indices"].append(table.indices)
        self._arrays["indptr"].append(table.indptr[1:].astype(np.int64) + before)
        return table.nnz

    def _journal(self, rows) -> None:
        self._write_journal("\n".join(json.dumps(r) for r in rows))

    def _write_journal(self, text: str) -> None:
        path = self.part / "journal.jsonl"
        size = path.stat().st_size if path.exists() else 0
        if size != self._journal_size:
            raise OSError(f"{path}: another process writes here too; let one of them do it")
        with open(path, "ab") as file:
            file.write(text.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            self._journal_size = file.tell()

    def _read_journal(self) -> None:
        """Take over the whole bags of an interrupted writer."""
        path = self.part / "journal.jsonl"
        if not path.exists():
            return
        whole = path.read_bytes()
        whole = whole[: whole.rfind(b"\n") + 1]
        os.truncate(path, len(whole))
        self._journal_size = len(whole)
        if not whole:
            return
        header, *rows = map(json.loads, whole.splitlines())
        if header["format"] != FORMAT:
            raise ValueError(f"{self.part}: written by another version of skmil; remove it")
        if header["dtype"] != self.dtype.name or self.n_features not in (None, header["n_features"]):
            raise ValueError(
                f"{self.part}: begun with other features or another type; remove it to start anew"
            )
        self.sparse, self.n_features = header["sparse"], header["n_features"]
        self._rows = [tuple(r) for r in rows]
        self.ids = {r[0]: r[1] for r in self._rows}
        self._known = len(self._rows)
        self._open_arrays()
        if self.sparse and not self._rows:
            self._arrays["indptr"].append(np.zeros(1, np.int64))


def _put(group, name: str, values: np.ndarray) -> None:
    """A small array; text as the variable-length text that other readers of Zarr know."""
    if values.dtype.kind in "biuf":
        group.create_array(name, data=values)
        return
    array = group.create_array(name, shape=values.shape, dtype=str)
    array[...] = values.astype(object)


def _plain(value):
    """An id or a label as JSON keeps it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not isinstance(value, (str, int, float, bool)):
        raise ValueError(f"{value!r} is neither a number nor text; ids and labels are")
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"{value!r} is no label; leave the bag out")
    return value


def _digest(table) -> str:
    """A hash of a bag, by which stores of the same content are known."""
    parts = (table.data, table.indices, table.indptr) if sparse.issparse(table) else (table,)
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _remove(path: Path) -> None:
    remove: Callable = shutil.rmtree if path.is_dir() else os.remove
    if path.exists():
        remove(path)
