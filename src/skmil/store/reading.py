"""Reading a store: what is known without reading instances, and blocks of bags."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from skmil._checks import as_index, bag_name, feature_columns, read_only
from skmil._lazy import LazyBags, cut
from skmil.bags import Bags
from skmil.store.arrays import ArrayReader, import_zarr

FORMAT = 1


def open_bags(path) -> "BagStore":
    """Open bags on disk; no instance is read.

    Parameters
    ----------
    path : folder that ``write_bags``, ``writer`` or ``skmil convert`` wrote, usually ``something.zarr``

    Examples
    --------
    >>> import os, tempfile, skmil
    >>> path = os.path.join(tempfile.mkdtemp(), "two.zarr")
    >>> skmil.write_bags(path, [[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0]]], ["no", "yes"])
    []
    >>> store = skmil.open_bags(path)
    >>> store
    BagStore(2 bags, 3 instances, 2 features, float64; two.zarr)
    >>> store[1], store.target.tolist(), store[[1]].load()
    (array([[4., 5.]]), ['no', 'yes'], Bags(1 bag, 1 instance, 2 features; sizes 1 to 1, median 1))
    """
    path = Path(path)
    root = _root(path)
    kinds = ("data", "indices", "indptr") if root["kind"] == "csr" else ("instances",)
    with _naming(path):
        group = import_zarr().open_group(path, mode="r")
        arrays = {name: ArrayReader(group[name], path / name) for name in kinds}
        offsets = group["offsets"][:]
        texts = {n: _column(group, n) for n in ("ids", "target", "feature_names")}
        extras = {n: _column(group["extras"], n) for n in group["extras"]} if "extras" in group else {}
    if len(offsets) != root["n_bags"] + 1 or int(offsets[-1]) != root["n_instances"]:
        raise ValueError(f"{path}: the store is damaged: its offsets do not fit its counts; write it again")
    return BagStore(Bunch(path=path, root=root, arrays=arrays, offsets=offsets, extras=extras, **texts))


class BagStore(LazyBags):
    """Bags on disk, in a Zarr group; made by ``open_bags``.

    ``store[i]`` reads one bag; ``store[slice | indices | mask]`` is a ``BagStore`` that has read nothing,
    so that scikit-learn's splitters work on it. Estimators take a store wherever they take bags: scalers,
    embeddings and Gram matrices read it block by block, others load it if it fits in memory.

    Parameters
    ----------
    content : Bunch
        What ``open_bags`` found.
    index : numbers of the bags that are selected, optional
    steps : fitted transformers that blocks pass when they are read

    Attributes
    ----------
    target : one label per bag, or None
    ids, sizes, shape, dtype, n_features, feature_names, is_sparse : as of ``Bags``; no instance is read
    """

    def __init__(self, content: Bunch, index: np.ndarray | None = None, steps: tuple = ()):
        self._content, self._index, self._steps = content, index, steps

    @property
    def path(self) -> Path:
        """The folder."""
        return self._content.path

    @property
    def ids(self) -> np.ndarray:
        """Names of the bags."""
        ids = self._content.ids
        n = np.arange(len(self._content.offsets) - 1) if ids is None else ids
        return n if self._index is None else n[self._index]

    @property
    def target(self) -> np.ndarray | None:
        """One label per bag, or None."""
        target = self._content.target
        return target if target is None or self._index is None else target[self._index]

    @property
    def extras(self) -> dict[str, np.ndarray]:
        """What else was written: ``folds``, ``split``, ``instance_target``, ... of all bags."""
        return self._content.extras

    @property
    def feature_names(self) -> np.ndarray | None:
        """Names of the features, or None."""
        return self._first.feature_names if self._steps else self._content.feature_names

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of instances of each bag."""
        sizes = np.diff(self._content.offsets)
        return sizes if self._index is None else sizes[self._index]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._first.n_features if self._steps else self._content.root["n_features"]

    @property
    def offsets(self) -> np.ndarray:
        """Where bags begin in a table of all instances."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def has_missing(self) -> bool:
        """Never: the writer refuses a bag with missing values."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """(number of bags, number of features)."""
        return len(self), self.n_features

    @property
    def dtype(self) -> np.dtype:
        """Type of the feature values."""
        return self._first.dtype if self._steps else np.dtype(self._content.root["dtype"])

    @property
    def is_sparse(self) -> bool:
        """Whether the instances are kept as CSR."""
        return self._first.is_sparse if self._steps else self._content.root["kind"] == "csr"

    @property
    def n_bytes(self) -> int:
        """Bytes of all instances in memory."""
        return int(self.sizes.sum() * self._row_bytes)

    @property
    def fingerprint(self) -> str:
        """Tells these bags from others, without reading them."""
        own = self._content.root["fingerprint"]
        chosen = self._index is not None or self._steps
        return joblib.hash((own, self._index, self._steps)) if chosen else own

    def through(self, step) -> "BagStore":
        """The same bags, which pass a fitted transformer of bags when they are read."""
        return BagStore(self._content, self._index, (*self._steps, step))

    def astype(self, dtype) -> "BagStore":
        """The same bags, whose values are of another type when they are read."""
        return self if self.dtype == dtype else self.through(_Step("astype", dtype))

    def with_features(self, names, who: str = "the selection") -> "BagStore":
        """The same bags with the named features, in that order and no others."""
        same = feature_columns(self.feature_names, names, who) is None
        return self if same else self.through(_Step("with_features", names, who))

    def to_dense(self) -> "BagStore":
        """The same bags, dense when they are read."""
        return self.through(_Step("to_dense")) if self.is_sparse else self

    def to_sparse(self) -> "BagStore":
        """The same bags, as CSR when they are read."""
        return self if self.is_sparse else self.through(_Step("to_sparse"))

    def blocks(self, max_bytes: int | None = None) -> Iterator[Bags]:
        """Neighbouring bags, at most ``max_bytes`` of instances at a time (a large bag alone has more).

        The next block is read while the caller works on one.
        """
        parts = cut(self.sizes, self._row_bytes, max_bytes)
        with ThreadPoolExecutor(1, thread_name_prefix="skmil-read") as reader:
            ahead = reader.submit(self._raw, parts[0])
            for after in [*parts[1:], None]:
                block = ahead.result()
                if after is not None:
                    ahead = reader.submit(self._raw, after)
                yield self._processed(block)

    def load(self, max_bytes: int | None = None) -> Bags:
        """All bags, in memory, if they need no more than ``max_bytes`` (half of what is free)."""
        limit = _free_memory() // 2 if max_bytes is None else max_bytes
        if self.n_bytes > limit:
            raise MemoryError(
                f"{self.path}: {_size(self.n_bytes)} of instances are to be held in memory at once and "
                f"{_size(limit)} may be used; take a method that reads blocks (Simple-MI, ISK, miFV, PPMM, "
                "or NystroemEmbedding of any kernel and a linear machine), or a part: store[:100]"
            )
        if self.is_sparse or self._steps:
            return Bags.concat(list(self.blocks()))
        return self._raw(slice(0, len(self)))

    def rows(self, index: np.ndarray):
        """Instances by their numbers, counted over all selected bags."""
        starts = self.offsets
        bag = np.searchsorted(starts, index, side="right") - 1
        places = self._starts[bag] + (index - starts[bag])
        order = np.argsort(places, kind="stable")
        table = self._take(places[order])[np.argsort(order, kind="stable")]
        singles = Bags(table, np.arange(len(index) + 1), feature_names=self._content.feature_names)
        return self._processed(singles).instances

    def describe(self, i: int) -> str:
        """Name bag ``i`` for an error message."""
        return bag_name(i, None if self._content.ids is None else self.ids)

    def __len__(self) -> int:
        return len(self._content.offsets) - 1 if self._index is None else len(self._index)

    def __iter__(self) -> Iterator[Any]:
        return (bag for block in self.blocks() for bag in block)

    def __getitem__(self, key):
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn writes X[key, ...]
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            i = range(len(self))[key]
            return self._processed(self._raw(slice(i, i + 1)))[0]
        index = np.arange(len(self))[as_index(key)]
        if len(index) == 0:
            raise ValueError("the selection holds no bags; select at least one")
        chosen = index if self._index is None else self._index[index]
        return BagStore(self._content, chosen, self._steps)

    def __getstate__(self):
        """What travels to a worker: the path, the selection and the steps; never instances."""
        return {"path": str(self.path), "index": self._index, "steps": self._steps}

    def __setstate__(self, state):
        content = open_bags(state["path"])._content
        self._content, self._index, self._steps = content, state["index"], state["steps"]

    def __repr__(self) -> str:
        counts = {"bag": len(self), "instance": int(self.sizes.sum()), "feature": self.n_features}
        text = ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in counts.items())
        kind = " CSR" if self.is_sparse else ""
        return f"BagStore({text}, {self.dtype}{kind}; {self.path.name})"

    @cached_property
    def _first(self) -> Bags:
        """The first bag as its readers see it."""
        return self._processed(self._raw(slice(0, 1)))

    @property
    def _starts(self) -> np.ndarray:
        """Row of the arrays at which each selected bag begins."""
        starts = self._content.offsets[:-1]
        return starts if self._index is None else starts[self._index]

    @cached_property
    def _row_bytes(self) -> float:
        root = self._content.root
        if root["kind"] == "csr":
            return (root["n_values"] / root["n_instances"]) * (np.dtype(root["dtype"]).itemsize + 4) + 8
        return root["n_features"] * np.dtype(root["dtype"]).itemsize

    def _processed(self, bags: Bags) -> Bags:
        for step in self._steps:
            bags = step._transform(bags)
        return bags

    def _raw(self, part: slice) -> Bags:
        """Neighbouring bags as they are on disk, in memory. They were checked when they were written."""
        starts, sizes = self._starts[part], self.sizes[part]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        new = np.flatnonzero(starts[1:] != starts[:-1] + sizes[:-1]) + 1  # bags that do not follow on disk
        cuts = np.concatenate([[0], new, [len(sizes)]])
        runs = [(int(starts[a]), int(offsets[a]), int(offsets[b])) for a, b in pairwise(cuts)]
        read = self._csr if self._content.root["kind"] == "csr" else self._dense
        bags = object.__new__(Bags)
        bags.instances, bags.offsets = read_only(read(runs, int(offsets[-1]))), read_only(offsets)
        bags._ids, bags.feature_names = self.ids[part], self._content.feature_names
        bags.missing = False
        return bags

    def _dense(self, runs, n: int) -> np.ndarray:
        reader = self._content.arrays["instances"]
        out = np.empty((n, *reader.shape[1:]), reader.dtype)
        for start, a, b in runs:
            reader.read(start, start + b - a, out[a:b])
        return out

    def _csr(self, runs, n: int) -> sparse.csr_matrix:
        parts = [self._rows_of_csr(start, start + b - a) for start, a, b in runs]
        return parts[0] if len(parts) == 1 else sparse.vstack(parts, "csr")

    def _rows_of_csr(self, start: int, stop: int) -> sparse.csr_matrix:
        arrays = self._content.arrays
        indptr = arrays["indptr"].read(start, stop + 1)
        a, b = int(indptr[0]), int(indptr[-1])
        parts = arrays["data"].read(a, b), arrays["indices"].read(a, b), indptr - a
        return sparse.csr_matrix(parts, shape=(stop - start, self._content.root["n_features"]))

    def _take(self, rows: np.ndarray):
        """Rows of the arrays; ``rows`` ascends."""
        arrays = self._content.arrays
        if "instances" in arrays:
            return arrays["instances"].take(rows)
        starts = arrays["indptr"].take(rows)
        lengths = arrays["indptr"].take(rows + 1) - starts
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
        values, columns = arrays["data"].take(places), arrays["indices"].take(places)
        return sparse.csr_matrix(
            (values, columns, np.concatenate([[0], ends])), (len(rows), self._content.root["n_features"])
        )


class _Step:
    """A method of ``Bags`` as a step that blocks pass."""

    def __init__(self, name: str, *args):
        self.name, self.args = name, args

    def _transform(self, bags: Bags) -> Bags:
        return getattr(bags, self.name)(*self.args)


def _root(path: Path) -> dict:
    """What the writer says about a finished store; anything else is refused with a reason."""
    if not path.exists():
        unfinished = path.with_name(path.name + ".part")
        if unfinished.is_dir():
            raise FileNotFoundError(
                f"{path}: not finished; {unfinished} holds its whole bags and the same command goes on"
            )
        raise FileNotFoundError(f"{path}: there is no such store")
    file = path / "zarr.json"
    if not file.is_file():
        raise ValueError(f"{path}: not a store of bags (it has no zarr.json)")
    try:
        root = json.loads(file.read_text("utf-8"))["attributes"]["skmil"]
        if root["format"] != FORMAT:
            raise ValueError(
                f"{path}: a store of version {root['format']} (by skmil {root.get('version')}); this skmil "
                f"reads version {FORMAT}: convert the data again"
            )
        return root
    except (KeyError, TypeError, json.JSONDecodeError):
        raise ValueError(f"{path}: a Zarr group, but no finished store of bags; write it again") from None


class _naming:
    """Whatever Zarr says about a damaged array, in one line with the name of the store."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None and isinstance(error, Exception) and not isinstance(error, ImportError):
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise ValueError(f"{self.path}: the store is damaged ({first}); write it again") from None


def _column(group, name: str) -> np.ndarray | None:
    """A small array, or None; text as NumPy's fixed-width text."""
    if name not in group:
        return None
    values = np.asarray(group[name][...])
    return values if values.dtype.kind in "biuf" else np.array(values.tolist(), dtype=str)


def _free_memory() -> int:
    try:
        from psutil import virtual_memory
    except ImportError:
        return 2**62  # nobody knows; the system will say
    return int(virtual_memory().available)


def _size(n: float) -> str:
    """Bytes for people."""
    return f"{n / 2**30:.1f} GiB" if n >= 2**29 else f"{n / 2**20:.0f} MiB"
