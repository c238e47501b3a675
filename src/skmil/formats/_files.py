"""What all formats share: errors that name the line, typed labels, rows to bags, safe writing."""

import gzip
import os
import re
import secrets
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from skmil._checks import group_rows
from skmil.bags import Bags

GZIP = b"\x1f\x8b"
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_PLAIN_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,17})\Z")


@dataclass(frozen=True)
class How:
    """What a caller says about a file.

    Parameters
    ----------
    bag, label : columns with bag ids and labels, by name or number; None to look for usual names
    labels : whether labels are wanted at all
    ignore : columns to leave out
    instance : column with the names of instances
    decimal : decimal mark of numbers; None to tell from the first row
    n_features : width of a sparse file
    missing : whether empty fields, NA, NaN and ? stand for missing values
    """

    bag: str | int | None = None
    label: str | int | None = None
    labels: bool = True
    ignore: tuple[str | int, ...] = ()
    instance: str | int | None = None
    decimal: str | None = None
    n_features: int | None = None
    missing: bool = False


MISSING = ("", "?", "na", "nan", "n/a", "null", "none", "-")


class NoColumn(ValueError):
    """The file lacks a column that the caller named (``column``, where it is known which)."""

    column: str | int | None = None


def wrong(path, line: int | None, what: str, kind: type[ValueError] = ValueError) -> ValueError:
    """The one error of all readers: file, line where there is one, what was expected."""
    return kind(f"{path}: {what}" if line is None else f"{path}, line {line}: {what}")


@dataclass
class Rows:
    """Instances as they stand in a file, one row each, before they become bags.

    ``values`` holds dense rows one after the other; sparse rows fill ``indices`` (the smallest is
    ``first``) and ``indptr`` too. ``mixed_labels`` allows labels 0/1 or -1/1 that differ inside a bag.
    ``guessed`` columns are checked by their labels also where those are not wanted.
    """

    path: Path
    names: Sequence[str] | None = None
    lines: list[int] = field(default_factory=list)
    bags: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    extras: dict[str, list[str]] = field(default_factory=dict)
    values: array = field(default_factory=lambda: array("d"))
    indices: array = field(default_factory=lambda: array("q"))
    indptr: array = field(default_factory=lambda: array("q", [0]))
    first: int = 0
    mixed_labels: bool = False
    guessed: bool = False
    how: How = How()

    def add(self, line: int, bag: str, label: str | None) -> None:
        """Start the next row: the line it stands in, its bag and its label."""
        bag = bag.strip()
        if not bag:
            raise wrong(self.path, line, "expected a bag id, found an empty field")
        self.lines.append(line)
        self.bags.append(bag)
        if label is not None and (self.how.labels or self.guessed):
            self.labels.append(label.strip())

    def add_dense(self, line: int, tokens: Sequence[str], describe: Callable[[int], str]) -> None:
        """Append the numbers of a row; ``describe(k)`` names its k-th field."""
        start = len(self.values)
        if self.how.decimal == ",":
            tokens = [t.replace(",", ".") for t in tokens]
        try:
            self.values.extend(map(float, tokens))
        except ValueError:
            del self.values[start:]  # what stood before the field that is no number
        else:
            if "_" not in "".join(tokens):  # Python reads 1_0 as ten; a data file means a typing error
                return
            del self.values[start:]
        if self.how.missing:
            tokens = ["nan" if t.strip().lower() in MISSING else t for t in tokens]
        bad = [k for k, t in enumerate(tokens) if not is_number(t)]
        if bad:
            raise wrong(self.path, line, self._not_numbers(tokens, bad, describe))
        self.values.extend(map(float, tokens))

    def _not_numbers(self, tokens, bad: list[int], describe) -> str:
        """What is wrong with fields that are no numbers, and what to do."""
        token = tokens[bad[0]]
        found = f"expected a number in {describe(bad[0])}, found {token[:40]!r}"
        if token.strip().lower() in MISSING:
            return f"{found}; a missing value needs missing=True and a BagImputer"
        names = [describe(k) for k in bad if tokens[k].strip().lower() not in MISSING]
        more = f" (also text: {', '.join(names[1:6])})" if len(names) > 1 else ""
        return f"{found}{more}; leave columns of text out with ignore="

    def add_sparse(self, line: int, pairs: Sequence[str], separator: str) -> None:
        """Append ``index<separator>value`` pairs."""
        start, first = len(self.indices), self.first
        try:
            keys, numbers = zip(*(p.split(separator) for p in pairs), strict=True) if pairs else ((), ())
            self.indices.extend(map(int, keys))
            self.values.extend(map(float, numbers))
        except (ValueError, OverflowError):
            good = False
        else:
            good = "_" not in "".join(pairs) and min(self.indices[start:], default=first) >= first
        if not good:
            at = next((p for p in pairs if not _is_pair(p, separator, first)), "")
            shape = f"index{separator}value with whole indices from {first}"
            raise wrong(self.path, line, f"expected {shape}, found {at[:40]!r}")
        seen = self.indices[start:]
        if len(set(seen)) < len(seen):
            raise wrong(self.path, line, "expected each feature index once, found one twice")
        if max(seen, default=0) - first >= 2**31 - 1:
            raise wrong(self.path, line, f"expected feature indices below 2^31, found {max(seen)}")
        self.indptr.append(len(self.indices))

    def table(self, n_features: int | None):
        """All rows as one array, or as CSR where they came as pairs."""
        n = len(self.bags)
        if n == 0:
            raise wrong(self.path, None, "expected at least one instance, found none")
        values = np.frombuffer(self.values)
        if len(self.indptr) == 1:
            return values.reshape(n, -1)
        indices = np.array(self.indices, dtype=np.int64) - self.first
        d, widest = n_features, int(indices.max(initial=0)) + 1
        if d is not None and widest > d:
            raise wrong(self.path, None, f"expected {d} features, found one with the number {widest}")
        d = widest if d is None else d
        table = sparse.csr_matrix((values, indices, np.array(self.indptr)), shape=(n, d))
        table.eliminate_zeros()
        return table

    def bunch(self, n_features: int | None = None) -> Bunch:
        """The rows as ``Bunch(data, target, ...)``, grouped into bags in order of appearance."""
        table = self.table(n_features)
        self._check_finite(table)
        rows, offsets, ids = group_rows(typed_ids(self.bags))
        order = np.arange(len(self.bags)) if rows is None else rows
        missing = self.how.missing
        data = Bags(table if rows is None else table[rows], offsets, ids, self.names, missing)
        extras = {k: self._extra(k, v)[order] for k, v in self.extras.items()}
        target = self._targets(order, offsets, extras)
        target = target if self.how.labels else None
        if "split" in extras:
            extras["split"] = one_per_bag(self.path, extras["split"], offsets, ids)
        return Bunch(data=data, target=target, **extras)

    def _extra(self, key: str, tokens: list[str]) -> np.ndarray:
        return np.array(tokens, dtype=str) if key == "instance_names" else typed(tokens, self, key)

    def _check_finite(self, table) -> None:
        values = table.data if sparse.issparse(table) else table.ravel()
        bad = np.isinf(values) if self.how.missing else ~np.isfinite(values)
        if not bad.any():
            return
        at = int(np.argmax(bad))
        if sparse.issparse(table):
            row, k = int(np.searchsorted(table.indptr, at, side="right")) - 1, int(table.indices[at])
        else:
            row, k = divmod(at, table.shape[1])
        column = f"feature {k + 1}" if self.names is None else f"column {self.names[k]!r}"
        found = f"expected a finite number in {column}, found {values[at]}"
        remedy = "; a missing value needs missing=True and a BagImputer" if np.isnan(values[at]) else ""
        raise wrong(self.path, self.lines[row], found + remedy)

    def _targets(self, order, offsets, extras) -> np.ndarray | None:
        """One label per bag; labels that differ inside a bag are an error, or instance labels."""
        if not any(t not in ("", "?") for t in self.labels):
            return None
        labels = typed(self.labels, self, "label")[order]
        first = labels[offsets[:-1]]
        differs = np.nonzero(labels != np.repeat(first, np.diff(offsets)))[0]
        if len(differs) == 0:
            return first
        if self.mixed_labels and set(np.unique(labels).tolist()) in ({0, 1}, {-1, 1}):
            extras["instance_target"] = labels
            return np.maximum.reduceat(labels, offsets[:-1])
        at = int(differs[0])
        before = first[np.searchsorted(offsets, at, side="right") - 1]
        row = int(order[at])
        raise wrong(
            self.path,
            self.lines[row],
            f"expected the label {before} of bag {self.bags[row]!r}, found {labels[at]}; a bag has one"
            + ("; where that is no label, tell the columns with bag= and label=" if self.guessed else ""),
        )


def one_per_bag(path, split: np.ndarray, offsets, ids) -> np.ndarray:
    """The part (train or test) of each bag; all its instances are in one."""
    first = split[offsets[:-1]]
    differs = split != np.repeat(first, np.diff(offsets))
    if differs.any():
        i = int(np.searchsorted(offsets, int(np.argmax(differs)), side="right")) - 1
        raise wrong(path, None, f"expected each bag in one split, found bag {str(ids[i])!r} in two")
    return first


def is_number(token: str) -> bool:
    """Whether a token is a decimal number (NaN and infinity are reported later, by name)."""
    try:
        float(token)
    except ValueError:
        return False
    return "_" not in token


def _is_pair(pair: str, separator: str, first: int) -> bool:
    index, _, value = pair.partition(separator)
    return bool(_INTEGER.match(index)) and int(index) >= first and is_number(value)


def typed_ids(tokens: Sequence[str]) -> np.ndarray:
    """Bag ids: integers or floats if all are written the way Python writes them, else text."""
    if all(_PLAIN_INTEGER.match(t) for t in tokens):
        return np.array(tokens, dtype=str).astype(np.int64)
    if all(is_number(t) and repr(float(t)) == t and np.isfinite(float(t)) for t in tokens):
        return np.array([float(t) for t in tokens])
    return np.array(tokens, dtype=str)


def typed(tokens: Sequence[str], rows: Rows, what: str) -> np.ndarray:
    """Labels: integers, else numbers, else truth values, else text; none may be missing."""
    distinct = set(tokens)
    for missing in ("", "?"):
        if missing in distinct:
            row = list(tokens).index(missing)
            told = f"expected a {what}, found {missing!r}; give bag {rows.bags[row]!r} one, or drop it"
            raise wrong(rows.path, rows.lines[row], told)
    if all(_INTEGER.match(t) for t in distinct):
        return np.array([int(t) for t in tokens], dtype=np.int64)
    if all(is_number(t) for t in distinct):
        numbers = np.array([float(t) for t in tokens])
        if not np.isfinite(numbers).all():
            line = rows.lines[int(np.argmin(np.isfinite(numbers)))]
            raise wrong(rows.path, line, f"expected a {what}, found NaN or infinity")
        return numbers
    if distinct <= {"True", "False"}:
        return np.array([t == "True" for t in tokens])
    return np.array(tokens, dtype=str)


@contextmanager
def reading_text(path: Path) -> Iterator[IO[str]]:
    """Open UTF-8 text, packed by gzip or not; what is no text is reported as such."""
    with open(path, "rb") as raw:
        packed = raw.read(2) == GZIP
    opened = gzip.open if packed else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise wrong(path, None, f"expected a complete gzip file ({error})") from None
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:#04x}"
        raise wrong(path, None, f"expected UTF-8 text, found the byte {byte}; save it as UTF-8") from None


def is_screen(path) -> bool:
    """Whether a name stands for the standard output."""
    return str(path) in ("-", "/dev/stdout")


@contextmanager
def replacing(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` that takes its place once it is complete.

    A link stays a link: the file that it leads to is replaced. What is no file, such as a pipe or a
    device, is written to as it is; "-" is the standard output. A name that ends in .gz is packed.
    """
    try:
        with _standard_output(mode) if str(path) == "-" else _replacing(path, mode) as file:
            yield file
    except OSError as error:  # of a full disk Python says no name, of a file under way its passing one
        if error.errno and (error.filename is None or str(error.filename).endswith(".tmp")):
            name = "standard output" if str(path) == "-" else str(path)
            raise type(error)(error.errno, error.strerror, name) from None
        raise


@contextmanager
def _standard_output(mode: str) -> Iterator[IO[Any]]:
    yield sys.stdout.buffer if "b" in mode else sys.stdout
    sys.stdout.flush()


@contextmanager
def _replacing(path: Path, mode: str) -> Iterator[IO[Any]]:
    device = path.is_absolute() and path.parts[1:2] == ("dev",)  # /dev/stdout may lead to a file, too
    direct = device or (path.exists() and not path.is_file())
    path = path if direct else Path(os.path.realpath(path))
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    opened: Callable[..., IO[Any]] = gzip.open if path.suffix == ".gz" else open
    mode = mode if "b" in mode else mode + "t"
    if direct:
        with opened(path, mode, **text) as file:
            yield file
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with opened(temporary, mode.replace("w", "x"), **text) as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def written(table: np.ndarray) -> Iterator[list[str]]:
    """The rows of a table as text that reads back to the same bits."""
    whole = np.abs(table).max() < 2**53 and (table == np.rint(table)).all()
    if whole and not (np.signbit(table) & (table == 0)).any():
        table = table.astype(np.int64)
    return (list(map(repr, row)) for row in table.tolist())


def written_names(values, what: str, forbidden: str = "") -> list[str]:
    """Ids or labels as text, refused where the format could not give them back."""
    tokens = [repr(v) if isinstance(v, (int, float)) else str(v) for v in np.asarray(values).tolist()]
    for t in tokens:
        if t in ("", "?") or t != t.strip() or any(c in t for c in forbidden):
            raise ValueError(
                f"the {what} {t!r} cannot be written in this format: it is empty or '?', begins or ends "
                f"with a space or holds one of {forbidden!r}; rename it or write .npz"
            )
    return tokens


def unique_ids(bags: Bags) -> np.ndarray:
    """The ids, which must differ where the file knows a bag by its id alone."""
    ids, counts = np.unique(bags.ids, return_counts=True)
    if (counts > 1).any():
        twice = ids[np.argmax(counts)]
        raise ValueError(f"{counts.max()} bags have the id {str(twice)!r}; give each its own or write .npz")
    return bags.ids
