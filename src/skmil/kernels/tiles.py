"""Gram matrices on disk: tiles that are written once and never computed again."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from functools import cached_property, lru_cache
from pathlib import Path

import joblib
import numpy as np
from sklearn.base import clone

from skmil._cluster import active, run, spilled
from skmil._engines.pairs import middle
from skmil._schema import check_bags
from skmil._threads import slices
from skmil._version import __version__
from skmil.bags import Bags, as_bags
from skmil.kernels.base import BagKernel
from skmil.store.arrays import import_zarr, remove_torn, write_file

TILE_BYTES = 2**26  # instances on one side of a tile
MOST = 1024  # bags on one side: 8 MiB of numbers
DTYPES = ("float64", "float32")


def gram(
    kernel: BagKernel,
    X,
    Y=None,
    out=None,
    *,
    tile: int | None = None,
    dtype: str = "float64",
    progress: Callable | None = None,
):
    """Gram matrix of X and Y, or of X with itself, tile by tile; on disk, it can be stopped and goes on.

    Parameters
    ----------
    kernel : BagKernel
        Used as it is where it is fitted; otherwise a clone is fitted on X first.
    X, Y : bags, in memory or a store
        Without Y the matrix is symmetric and half of its tiles are computed.
    out : path, optional
        A Zarr array to make, usually ``k.zarr``, whose chunks are the tiles. Until it is complete it is
        called ``k.zarr.part``; the same call goes on with the tiles that are missing there.
    tile : int, optional
        Bags on one side of a tile.
    dtype : "float64" or "float32"
        Of the result. A tile is computed in float64 and then rounded: half the memory, and numbers that
        are right to a relative 6e-8.
    progress : function of (tiles done, tiles in all), optional

    Returns
    -------
    ndarray, or the ``zarr.Array`` where ``out`` is given

    Examples
    --------
    >>> import os, tempfile, skmil
    >>> from skmil.kernels import SetKernel
    >>> path = os.path.join(tempfile.mkdtemp(), "k.zarr")
    >>> K = skmil.gram(SetKernel(gamma=1.0), [[[0.0], [1.0]], [[1.0]], [[5.0]]], out=path, tile=2)
    >>> K.shape, K.chunks, float(K[0, 0].round(3))
    ((3, 3), (2, 2), 0.684)
    """
    if not isinstance(kernel, BagKernel):
        raise TypeError(f"kernel is {kernel!r}; give a kernel on bags, such as SetKernel()")
    kernel = kernel if hasattr(kernel, "bags_") else clone(kernel).fit(X)
    A = check_bags(kernel, X, reset=False, tables=True, stream=True)
    B = A if Y is None or Y is X else check_bags(kernel, Y, reset=False, tables=True, stream=True)
    tile = default_tile(A, B) if tile is None else int(tile)
    if tile < 1:
        raise ValueError(f"tile is {tile}; give at least 1")
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}; use one of {', '.join(DTYPES)}")
    kernel, numbers = without_bags(kernel), np.dtype(dtype)
    if out is None:
        return _in_memory(kernel, A, B, tile, numbers, progress)
    return _on_disk(kernel, A, B, tile, numbers, Path(out), progress)


def default_tile(A, B) -> int:
    """Bags on one side of a tile: as many as are read at a time, and enough tiles to share out."""
    side = min(TILE_BYTES / max(_row_bytes(X) * X.sizes.mean(), 1.0) for X in (A, B))
    return max(1, min(int(side), MOST, -(-max(len(A), len(B)) // 8)))


def tile_bytes(A, B, tile: int) -> int:
    """Memory that a tile needs: its bags as they are and in float64, its numbers and the last ones."""
    sides = [
        max(int(X.sizes[s].sum()) for s in slices(len(X), tile)) * (_row_bytes(X) + 8 * _width(X))
        for X in (A, B)
    ]
    return int(sum(sides)) + 6 * 8 * tile**2


def without_bags(kernel: BagKernel) -> BagKernel:
    """A fitted kernel, and those inside it, with one training bag: enough for calls with two sides."""
    kernel = copy(kernel)
    if hasattr(kernel, "bags_"):
        kernel.bags_ = as_bags(kernel.bags_[:1])
    for name, part in vars(kernel).items():
        if isinstance(part, BagKernel) and name.endswith("_"):
            setattr(kernel, name, without_bags(part))
    return kernel


class Tiles:
    """The plan of a matrix: what a worker needs to compute a tile by its number.

    Parameters
    ----------
    kernel : fitted kernel
    A, B : Bags or BagStore; ``B is A`` for a symmetric matrix
    tile : bags on one side of a tile
    dtype : numpy.dtype of the numbers
    path : folder of the Zarr array, or None to return tiles
    """

    def __init__(self, kernel, A, B, tile, dtype, path):
        self.kernel, self.A, self.B, self.tile, self.path = kernel, A, B, tile, path
        self.dtype = dtype
        self.symmetric = A is B
        self.rows, self.columns = slices(len(A), tile), slices(len(B), tile)
        self.places = [
            (i, j)
            for i in range(len(self.rows))
            for j in range(i if self.symmetric else 0, len(self.columns))
        ]
        self.origins = [None if A.is_sparse or B.is_sparse else middle(X) for X in (A, B)]

    def missing(self) -> list[int]:
        """Numbers of the tiles that are not on disk: their presence is the only mark of being done."""
        return [k for k in range(len(self.places)) if not all(f.exists() for f in self.files(k))]

    def files(self, k: int) -> list[Path]:
        """The chunks that hold a tile and, where a symmetric matrix has it twice, its transpose."""
        i, j = self.places[k]
        both = [(i, j), (j, i)] if self.symmetric and i != j else [(i, j)]
        return [self.path / "c" / str(a) / str(b) for a, b in both]

    def compute(self, k: int) -> np.ndarray:
        """The numbers of a tile."""
        i, j = self.places[k]
        P = self._bags(0, i)
        Q = P if self.symmetric and i == j else self._bags(0 if self.symmetric else 1, j)
        return self.kernel(P, Q).astype(self.dtype, copy=False)

    def write(self, k: int, K: np.ndarray) -> None:
        """Put a tile in its place, on both sides of the diagonal at once: each waits for the disk."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self._write, self.files(k), (K, K.T)))

    def _write(self, file: Path, values: np.ndarray) -> None:
        """A chunk is as large as all others, filled up with zeros."""
        chunk = np.zeros((self.tile, self.tile), self.dtype)
        chunk[: values.shape[0], : values.shape[1]] = values
        write_file(file, chunk.data.cast("B"))

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_bags"}

    @cached_property
    def _bags(self) -> Callable[[int, int], Bags]:
        """The bags of a row or column of tiles; the two that were asked for last are kept."""
        return lru_cache(2)(self._read)

    def _read(self, side: int, k: int) -> Bags:
        X, cuts = (self.B, self.columns) if side else (self.A, self.rows)
        part = X[cuts[k]]
        part = part if isinstance(part, Bags) else part.load(2**62)
        part.origin = self.origins[side]
        return part


def _tile(tiles: Tiles, k: int) -> np.ndarray | None:
    """One task: compute a tile, unless another worker has."""
    done = tiles.path is not None and all(f.exists() for f in tiles.files(k))
    return None if done else tiles.compute(k)


def _written(tiles: Tiles, k: int, K: np.ndarray | None) -> None:
    """The end of a task: its tile is on disk."""
    if K is not None:
        tiles.write(k, K)


def _in_memory(kernel, A, B, tile, dtype, progress) -> np.ndarray:
    K = np.empty((len(A), len(B)), dtype)
    with _away(A, B) as (a, b):
        tiles = Tiles(kernel, a, b, tile, dtype, None)
        numbers = range(len(tiles.places))
        for done, (k, part) in enumerate(run(_tile, tiles, numbers, tile_bytes(A, B, tile)), 1):
            i, j = tiles.places[k]
            K[tiles.rows[i], tiles.columns[j]] = part
            if tiles.symmetric:
                K[tiles.columns[j], tiles.rows[i]] = part.T
            if progress is not None:
                progress(done, len(tiles.places))
    return K


def _on_disk(kernel, A, B, tile, dtype, out: Path, progress):
    zarr = import_zarr()
    part = _begin(zarr, kernel, A, B, tile, dtype, out)
    with _away(A, B) as (a, b):
        tiles = Tiles(kernel, a, b, tile, dtype, part)
        todo = tiles.missing()
        done = len(tiles.places) - len(todo)
        for _ in run(_tile, tiles, todo, tile_bytes(A, B, tile), _written):
            done += 1
            if progress is not None:
                progress(done, len(tiles.places))
        if missing := tiles.missing():
            raise OSError(
                f"{part}: {len(missing)} tiles are missing, the first is {missing[0]}; run it again"
            )
    remove_torn(part)
    os.rename(part, out)
    return zarr.open_array(out, mode="r")


def _begin(zarr, kernel, A, B, tile, dtype, out: Path) -> Path:
    """The unfinished array: a new one, or that of an earlier run with the same plan."""
    if out.exists():
        raise FileExistsError(f"{out}: there is such a file or folder already; remove it first")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"{out}: the folder {out.parent} does not exist")
    part = out.with_name(out.name + ".part")
    key = joblib.hash((__version__, kernel, _key(A), _key(B), tile, dtype.str, len(A), len(B)))
    plan = {"kernel": " ".join(repr(kernel).split()), "tile": tile, "version": __version__, "plan": key}
    if (part / "zarr.json").exists():
        found = json.loads((part / "zarr.json").read_text("utf-8"))["attributes"].get("skmil", {})
        if found.get("plan") != key:
            raise ValueError(
                f"{part}: begun with another kernel, other bags or tiles; remove it to start anew"
            )
        return part
    zarr.create_array(
        part, shape=(len(A), len(B)), chunks=(tile, tile), dtype=dtype, compressors=None, filters=None,
        fill_value=np.nan, attributes={"skmil": plan},
    )  # fmt: skip
    return part


@contextmanager
def _away(A, B):
    """Both sides where workers can read them."""
    if not active():
        yield A, B
        return
    with spilled(A) as a:
        if B is A:
            yield a, a
            return
        with spilled(B) as b:
            yield a, b


def _key(X) -> str:
    return joblib.hash(X) if isinstance(X, Bags) else X.fingerprint


def _width(X) -> float:
    """Numbers of an instance in memory."""
    if isinstance(X, Bags):
        return X.instances.nnz / X.instances.shape[0] if X.is_sparse else X.n_features
    return X._row_bytes / X.dtype.itemsize


def _row_bytes(X) -> float:
    return _width(X) * (X.dtype.itemsize + 4 * X.is_sparse)
