"""What was extracted from a thing, kept by content: in memory for one process, in SQLite for all.

A key is the hash of the thing's content, of the extractor, its parameters and versions, so a changed file,
a changed parameter and a new version are new keys, and nothing has to be thrown away to be right.
"""

import io
import json
import sqlite3
import threading
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import joblib
import numpy as np

LIMIT = 2**27  # bytes of the cache in memory; a picture of sixteen segments takes one kilobyte


class MemoryCache:
    """Bytes by key up to a limit; what was used longest ago goes first."""

    def __init__(self, limit: int = LIMIT):
        self.limit, self.used = limit, 0
        self.kept: OrderedDict[str, bytes] = OrderedDict()
        self.lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, or ``None``."""
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
            return self.kept.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Keep the bytes of a key."""
        with self.lock:
            self.used += len(value) - len(self.kept.pop(key, b""))
            self.kept[key] = value
            while self.used > self.limit:
                self.used -= len(self.kept.popitem(last=False)[1])


class DiskCache:
    """Bytes by key in ``things.sqlite`` of a folder; each is there whole or not at all.

    Any number of processes may use it. What cannot be written is computed again next time; a file that is
    no cache is named in an error.
    """

    def __init__(self, folder):
        self.path = Path(folder) / "things.sqlite"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        try:
            self.db = sqlite3.connect(self.path, timeout=30, check_same_thread=False, isolation_level=None)
            # A write-ahead log needs no sync for each thing, and a kill loses the last ones only.
            self.db.execute("PRAGMA journal_mode=WAL")
            self.db.execute("PRAGMA synchronous=NORMAL")
            self.db.execute(
                "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
            )
        except sqlite3.Error as error:
            raise ValueError(
                f"{self.path}: not a cache of things ({error}); delete it or name another folder"
            ) from None

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, or ``None``, also where another process keeps us waiting too long."""
        try:
            with self.lock:
                row = self.db.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
        except sqlite3.OperationalError:
            return None
        return None if row is None else row[0]

    def put(self, key: str, value: bytes) -> None:
        """Keep the bytes of a key, if the disk lets us."""
        try:
            with self.lock:
                self.db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (key, value))
        except sqlite3.OperationalError as error:
            warnings.warn(f"{self.path}: not kept ({error})", RuntimeWarning, stacklevel=2)

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()


def encode(value: Any) -> bytes:
    """An array, or whatever JSON can hold, as bytes."""
    if isinstance(value, np.ndarray):
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        return b"N" + buffer.getvalue()
    return b"J" + json.dumps(value).encode()


def decode(data: bytes) -> Any:
    """What ``encode`` was given; nothing in the bytes is run."""
    if data[:1] == b"N":
        return np.load(io.BytesIO(data[1:]), allow_pickle=False)
    return json.loads(data[1:])


def fingerprint(value: Any) -> str:
    """A name for a parameter by its content; a function counts by its code and what it closes over."""
    return joblib.hash(_plain(value))


def _plain(value: Any) -> Any:
    code = getattr(value, "__code__", None)
    if code is not None:
        inside = [c.cell_contents for c in value.__closure__ or ()]
        constants = [c.co_code if hasattr(c, "co_code") else c for c in code.co_consts]
        return [
            value.__qualname__,
            code.co_code,
            constants,
            code.co_names,
            value.__defaults__,
            _plain(inside),
        ]
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value
