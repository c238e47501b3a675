"""Arrays of a store: plain Zarr 3 arrays whose chunks are whole rows, uncompressed, in files of their own.

Zarr writes and reads everything small. The chunks of instances are files of raw numbers, as the Zarr
specification has it, and are mapped and written here: reading costs what ``np.memmap`` costs, a chunk is
synced and renamed into its place, and a damaged one is named.
"""

import os
import secrets
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np

CHUNK_BYTES = 2**25  # 32 MiB: a terabyte is 32,768 files


def import_zarr():
    """Zarr, or what to install."""
    try:
        import zarr
    except ImportError:
        raise ImportError("bags on disk need zarr; install it with: pip install 'skmil[scale]'") from None
    return zarr


def chunk_rows(dtype, width: int) -> int:
    """Rows of a chunk."""
    return max(1, CHUNK_BYTES // (np.dtype(dtype).itemsize * max(1, width)))


class ArrayWriter:
    """Appends rows to an array; what ``flush`` has written stays, whatever happens later.

    Parameters
    ----------
    path : folder of the array
    dtype : type of the numbers
    width : numbers in a row; None for an array with one dimension
    length : rows that are there already
    """

    def __init__(self, path: Path, dtype, width: int | None, length: int = 0):
        self.path, self.dtype, self.width = path, np.dtype(dtype).newbyteorder("<"), width
        self.rows = chunk_rows(dtype, width or 1)
        self.buffer = np.zeros(shape_of(self.rows, width), self.dtype)
        self.length = length
        if last := length % self.rows:
            # The file may hold more: rows of bags that did not come into the journal.
            file = self._file(length // self.rows)
            self.buffer[:last] = np.fromfile(file, self.dtype, last * (width or 1)).reshape(
                shape_of(last, width)
            )

    def append(self, rows: np.ndarray) -> None:
        """Add rows; full chunks go to disk at once."""
        start = 0
        while start < len(rows):
            at = self.length % self.rows
            n = min(self.rows - at, len(rows) - start)
            self.buffer[at : at + n] = rows[start : start + n]
            self.length += n
            start += n
            if self.length % self.rows == 0:
                self._write(self.length // self.rows - 1)
                self.buffer[:] = 0

    def flush(self) -> None:
        """Put the rows of the last, unfinished chunk on disk; it is written again when it is full."""
        if last := self.length % self.rows:
            self._write(self.length // self.rows, last)

    def finish(self, group) -> None:
        """Fill up the last chunk, as Zarr wants it, unless it is the only one, and describe the array."""
        if self.length > self.rows and self.length % self.rows:
            self._write(self.length // self.rows)
        else:
            self.flush()
        (self.path / "zarr.json").unlink(missing_ok=True)
        chunk = min(self.rows, max(1, self.length))
        group.create_array(
            self.path.name,
            shape=shape_of(self.length, self.width),
            chunks=shape_of(chunk, self.width),
            dtype=self.dtype,
            compressors=None,
            filters=None,
        )

    def _write(self, k: int, rows: int | None = None) -> None:
        write_file(self._file(k), self.buffer[:rows].data.cast("B"))

    def _file(self, k: int) -> Path:
        return chunk_file(self.path, k, self.width is not None)


class ArrayReader:
    """Rows of an array of a store, by mapping its chunks.

    Parameters
    ----------
    array : zarr.Array
    path : folder of the array
    """

    def __init__(self, array, path: Path):
        self.path, self.shape, self.dtype = path, array.shape, np.dtype(array.dtype)
        self.chunk = tuple(array.chunks)
        names = [c.get("name") for c in array.metadata.to_dict()["codecs"]]
        whole_rows = len(self.chunk) < 2 or self.chunk[1] == self.shape[1]
        # Whoever has compressed a store with other tools may: Zarr reads it then, if more slowly.
        self.array = None if names == ["bytes"] and whole_rows else array

    def read(self, start: int, stop: int, out: np.ndarray | None = None) -> np.ndarray:
        """Rows ``start`` to ``stop``."""
        out = np.empty((stop - start, *self.shape[1:]), self.dtype) if out is None else out
        if self.array is not None:
            out[:] = self.array[start:stop]
            return out
        rows = self.chunk[0]
        for k in range(start // rows, -(-stop // rows)):
            a, b = max(start, k * rows), min(stop, (k + 1) * rows)
            out[a - start : b - start] = self._map(k)[a - k * rows : b - k * rows]
        return out

    def take(self, index: np.ndarray) -> np.ndarray:
        """Rows by their numbers, which ascend."""
        out, rows = np.empty((len(index), *self.shape[1:]), self.dtype), self.chunk[0]
        places = index // rows
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(places)) + 1, [len(index)]])
        for a, b in pairwise(cuts) if len(index) else ():
            k = int(places[a])
            table = self._map(k) if self.array is None else self.array[k * rows : (k + 1) * rows]
            out[a:b] = table[index[a:b] - k * rows]
        return out

    def _map(self, k: int) -> np.ndarray:
        return read_chunk(chunk_file(self.path, k, len(self.shape) == 2), self.dtype, self.chunk)


def shape_of(rows: int, width: int | None) -> tuple[int, ...]:
    """Shape of rows of a table, or of an array with one dimension."""
    return (rows,) if width is None else (rows, width)


def chunk_file(path: Path, k: int, table: bool) -> Path:
    """Where Zarr keeps the k-th chunk of rows."""
    return path / "c" / str(k) / "0" if table else path / "c" / str(k)


def read_chunk(file: Path, dtype, shape) -> np.ndarray:
    """Map a chunk; one that is missing or has another size is named."""
    expected = int(np.prod(shape)) * np.dtype(dtype).itemsize
    found = file.stat().st_size if file.exists() else None
    if found != expected:
        state = "is missing" if found is None else f"has {found} bytes instead of {expected}"
        raise ValueError(f"{file}: this chunk of the store {state}; convert the data again")
    return np.memmap(file, dtype=dtype, mode="r", shape=shape)


def write_file(file: Path, data) -> None:
    """Write a file under another name, sync it, and rename it into its place."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, file)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(file)  # a full disk says where
        raise


def remove_torn(folder: Path) -> None:
    """Remove what a killed process left of files that it was writing."""
    for file in folder.rglob(".*.tmp"):
        file.unlink(missing_ok=True)
