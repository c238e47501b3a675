"""Tables with one row per instance: CSV and TSV, and which column is what."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from skmil._checks import some
from skmil.bags import Bags
from skmil.formats._files import (
    How,
    NoColumn,
    Rows,
    is_number,
    reading_text,
    replacing,
    unique_ids,
    written,
    written_names,
    wrong,
)

_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?\Z")
BAG = ("bag", "bag_id", "bagid", "bag_name", "molecule", "molecule_name")
LABEL = ("label", "class", "y", "target", "bag_label", "bag_class")
EXTRAS = {
    "instance_names": ("instance", "instance_id", "instance_name", "instance_names", "conformation_name"),
    "instance_target": ("instance_label", "instance_y", "instance_target"),
    "split": ("split",),
}


@dataclass
class Columns:
    """Which column is what."""

    names: list[str] | None
    bag: int
    label: int | None
    extras: dict[str, int]
    features: list[int]

    def describe(self, k: int) -> str:
        """Name the k-th feature column in an error."""
        at = self.features[k]
        return f"column {at + 1}" if self.names is None else f"column {self.names[at]!r}"


def read(path: Path, how: How, tab: bool = False) -> Bunch:
    """Read a table with a header, or ``label,bag,features...`` without one."""
    with reading_text(path) as file:
        first = file.readline()
        delimiter = "\t" if tab else max(",;\t", key=first.count)
        reader = csv.reader(chain([first], file), delimiter=delimiter, strict=True)
        try:
            return read_rows(path, ((reader.line_num, row) for row in reader), how, delimiter)
        except csv.Error as error:
            raise wrong(path, reader.line_num, f"expected a well-formed row ({error})") from None


def read_rows(path: Path, lines: Iterable[tuple[int, list[str]]], how: How, delimiter: str = "") -> Bunch:
    """Bags from numbered rows of text fields."""
    body: Iterator[tuple[int, list[str]]] = ((line, row) for line, row in lines if row)
    number, first = next(body, (1, []))
    columns = find_columns(path, [c.strip() for c in first], how)
    if columns.names is None:
        body = chain([(number, first)], body)
    how, body = _with_decimal(how, body, columns, delimiter)
    names = None if columns.names is None else [columns.names[k] for k in columns.features]
    guessed = names is None and how.bag is None and how.label is None
    rows = Rows(path, names, extras={k: [] for k in columns.extras}, guessed=guessed, how=how)
    pick, width = _picker(columns.features), len(first)
    for line, row in body:
        if len(row) != width:
            raise wrong(path, line, f"expected {width} fields, found {len(row)}")
        rows.add(line, row[columns.bag], None if columns.label is None else row[columns.label])
        for key, at in columns.extras.items():
            rows.extras[key].append(row[at].strip())
        rows.add_dense(line, pick(row), columns.describe)
    return rows.bunch()


def _with_decimal(how: How, body: Iterator, columns: Columns, delimiter: str):
    """Decimal commas where the caller says so, or where the first row has them between other marks."""
    ahead = next(body, None)
    body = body if ahead is None else chain([ahead], body)
    if how.decimal is None and delimiter != "," and ahead is not None:
        fields = [ahead[1][k].strip() for k in columns.features if k < len(ahead[1])]
        commas = any(_COMMA.match(t) for t in fields) and not any("." in t for t in fields)
        return replace(how, decimal="," if commas else "."), body
    return how, body


def _picker(features: list[int]):
    """Pick the feature fields of a row; a slice where they are neighbours, which is fastest."""
    if features == list(range(features[0], features[-1] + 1)):
        return itemgetter(slice(features[0], features[-1] + 1))
    return itemgetter(*features)


def find_columns(path: Path, first: Sequence[str], how: How, header: bool = False) -> Columns:
    """Find bag, label and features from the first row, or from the names the caller gives."""
    if len(first) < 2:
        raise wrong(path, 1, f"expected a header, or label,bag,features...; found {len(first)} field(s)")
    if header or _is_header(first, how):
        columns = _by_name(path, first, how)
    elif how.bag is None and how.label is None:
        _check_no_header(path, first)
        columns = Columns(None, 1, 0, {}, [])
    else:
        bag = 1 if how.bag is None else _place(path, first, how.bag, names=False)
        label = None if how.label is None else _place(path, first, how.label, names=False)
        columns = Columns(None, bag, label, {}, [])
    left_out = [_place(path, first, c) for c in how.ignore]
    used = {columns.bag, columns.label, *columns.extras.values(), *left_out}
    columns.features = [k for k in range(len(first)) if k not in used]
    if not columns.features:
        raise wrong(path, 1, "expected at least one feature column besides bag and label")
    return columns


def _is_header(first: Sequence[str], how: How) -> bool:
    """Whether a row holds names. Numbers may be names of columns only where they count them."""
    if _matches(first, BAG) or not all(map(is_number, first[2:])):
        return True
    rest = [c for c in first if c not in (how.bag, how.label)]
    counted = [[str(k + start) for k in range(len(rest))] for start in (0, 1)]
    return how.bag in first and len(rest) < len(first) and list(rest) in counted


def _by_name(path: Path, first: Sequence[str], how: How) -> Columns:
    at = _named(path, first, how.bag, BAG, "bag")
    if at is None:
        raise wrong(
            path,
            1,
            f"expected a column with the bag ids; none of {some(first)} is named "
            f"like one ({', '.join(BAG)}); name it with bag=",
        )
    _check_distinct(path, first)
    # A column y beside a column x is a coordinate, not a label.
    usual = LABEL if not _matches(first, ("x",)) else tuple(n for n in LABEL if n != "y")
    columns = Columns(list(first), at, _named(path, first, how.label, usual, "label"), {}, [])
    extras = {k: m[0] for k, names in EXTRAS.items() if len(m := _matches(first, names)) == 1}
    if how.instance is not None:
        extras["instance_names"] = _place(path, first, how.instance)
    taken = {columns.bag, columns.label, *(_place(path, first, c) for c in how.ignore)}
    columns.extras = {k: v for k, v in extras.items() if v not in taken}
    return columns


def _check_no_header(path: Path, first: Sequence[str]) -> None:
    """Refuse to take the header of a data frame with numbered columns for data, or a number for a bag."""
    counted = [[str(k + start) for k in range(len(first) - 2)] for start in (0, 1)]
    if list(first[2:]) in counted and len(first) > 3 and not any(map(is_number, first[:2])):
        raise wrong(
            path, 1, f"expected to know the bag column of {some(first)}; name it with bag= and label="
        )
    if is_number(first[1]) and not float(first[1]).is_integer():
        what = f"expected label,bag,features... without a header, found the bag {first[1]!r}"
        raise wrong(path, 1, f"{what}; give the numbers of the columns, from 0, with bag= and label=")


def _named(path: Path, header: Sequence[str], name, usual: Sequence[str], what: str) -> int | None:
    if name is not None:
        return _place(path, header, name)
    found = _matches(header, usual)
    if len(found) > 1:
        both = " and ".join(repr(header[k]) for k in found)
        raise wrong(path, 1, f"expected one {what} column, found {both}; choose with {what}=")
    return found[0] if found else None


def _place(path: Path, header: Sequence[str], place, names: bool = True) -> int:
    """Number of a column from its name, or from its number, which may come as text."""
    if names and place in header:
        return list(header).index(place)
    number = int(place) if str(place).isdigit() else -1
    if 0 <= number < len(header):
        return number
    error = NoColumn(
        f"{path}, line 1: expected a column {place!r} (a name, or a number from 0), found {some(header)}"
    )
    error.column = place
    raise error


def _matches(header: Sequence[str], usual: Sequence[str]) -> list[int]:
    return [k for k, c in enumerate(header) if re.sub(r"[ .\-]", "_", str(c).lower()) in usual]


def _check_distinct(path: Path, header: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise wrong(path, 1, f"expected each column once, found {name!r} twice")
        seen.add(name)


def layout(bags: Bags, y, extras: dict) -> tuple[dict, list[str], list[str]]:
    """Columns that come before the features, names of the features, extras left out."""
    sizes = bags.sizes
    leading = {"bag": np.repeat(unique_ids(bags), sizes)}
    if y is not None:
        leading["label"] = np.repeat(y, sizes)
    if "instance_names" in extras:
        leading["instance"] = np.asarray(extras["instance_names"])
    if "instance_target" in extras:
        leading["instance_label"] = np.asarray(extras["instance_target"])
    if "split" in extras:
        leading["split"] = np.repeat(extras["split"], sizes)
    names = bags.feature_names
    features = [f"f{k + 1}" for k in range(bags.n_features)] if names is None else names.tolist()
    clash = [c for c in features if _matches([c], (*BAG, *LABEL, *chain(*EXTRAS.values())))]
    if clash or len(set(features)) < len(features) or any(c != c.strip() for c in features):
        raise ValueError(
            f"the feature names {some(clash or features)} would be read as something else or are "
            "not unique; rename them or write .npz"
        )
    return leading, features, [k for k in extras if k not in EXTRAS]


def write(path: Path, bags: Bags, y, extras: dict) -> list[str]:
    """Write a header and one line per instance; tabs where the name ends in .tsv."""
    leading, features, left_out = layout(bags, y, extras)
    front = [written_names(v, k, "\0") for k, v in leading.items()]
    with replacing(path) as file:
        tabs = ".tsv" in [e.lower() for e in path.suffixes]
        writer = csv.writer(file, delimiter="\t" if tabs else ",", lineterminator="\n")
        writer.writerow([*leading, *features])
        for k, bag in enumerate(bags):
            rows = written(bag.toarray() if bags.is_sparse else bag)
            at = bags.offsets[k]
            writer.writerows([c[at + r] for c in front] + row for r, row in enumerate(rows))
    return left_out
