"""Lines of JSON in a file that several programs may add to and no crash can spoil.

A line is written whole, with its end last, while nobody else writes, and is on the disk before the next
step. What a killed program left of a line is cut off before anything is added behind it.
"""

import gzip
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


class Journal:
    """One JSON object a line; lines of finished work may lie compressed in ``<path>.gz`` beside it.

    Parameters
    ----------
    path : file, which need not exist yet

    Examples
    --------
    >>> from skmil._journal import Journal
    >>> list(Journal("no_such_file.jsonl").entries())
    []
    """

    def __init__(self, path):
        self.path = Path(path)
        self.packed = self.path.with_name(self.path.name + ".gz")

    def entries(self) -> Iterator[tuple[str, Any]]:
        """(file and line, what stands there), oldest first; a last line that was cut short is left out."""
        for path, read in ((self.packed, _unpacked), (self.path, Path.read_bytes)):
            with suppress(FileNotFoundError):
                for number, line in enumerate(_lines(read(path)), 1):
                    where = f"{path}, line {number}"
                    yield where, _parsed(where, line)

    def append(self, rows: Iterable[Any]) -> None:
        """Add objects; returns when they are on the disk."""
        text = "".join(json.dumps(row, ensure_ascii=False, default=repr) + "\n" for row in rows)
        if not text:
            return
        with _locked(self.path) as file:
            file.truncate(_sound_length(file))
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())

    def pack(self) -> None:
        """Put all lines into the compressed file, each once: the same bytes for the same lines."""
        if not self.path.exists():
            return
        with _locked(self.path) as file:
            old = _lines(_unpacked(self.packed)) if self.packed.exists() else []
            lines = dict.fromkeys([*old, *_lines(self.path.read_bytes())])
            temporary = self.packed.with_suffix(".tmp")
            with open(temporary, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packing:
                packing.write(b"".join(line + b"\n" for line in lines))
            os.replace(temporary, self.packed)
            # Whoever waits for the lock finds an empty file, or, where an open one can go, none.
            file.truncate(0)
            with suppress(PermissionError):
                self.path.unlink()


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _lines(content: bytes) -> list[bytes]:
    """Whole lines that are not blank; what follows the last line end was not written to its end."""
    return [line for line in content[: content.rfind(b"\n") + 1].split(b"\n") if line.strip()]


def _parsed(where: str, line: bytes):
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _sound_length(file: IO[bytes], block: int = 1 << 16) -> int:
    """Bytes up to the end of the last whole line."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - block)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """The file, open for appending, while nobody else appends to it or packs it.

    The system lets go of the lock when a program dies, so that none is ever left behind.
    """
    try:
        while True:
            with open(path, "a+b") as file:
                _lock(file)
                try:
                    if _is_still(path, file):
                        yield file
                        return
                finally:
                    _unlock(file)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk says where
        raise


def _is_still(path: Path, file: IO[bytes]) -> bool:
    """Whether a path still names an open file: it may have been packed while we waited."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


_lock: Callable[[IO[bytes]], None]
_unlock: Callable[[IO[bytes]], None]

if sys.platform == "win32":
    import msvcrt

    _FAR = 2**40  # a lock there forbids reading to nobody: no file has a byte so far out

    def _lock(file):
        while True:
            file.seek(_FAR)
            try:
                return msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except OSError:
                time.sleep(0.02)

    def _unlock(file):
        file.flush()
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file):
        # A file system without locks is written to without: a line is one write at the end of a file.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file):
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
