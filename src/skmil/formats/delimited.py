"""Tables with one row per instance: CSV and TSV, and which column is what."""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from skmil._checks import some
from skmil.bags import Bags
from skmil.formats._files import (
    Rows,
    is_number,
    reading_text,
    replacing,
    unique_ids,
    written,
    written_names,
    wrong,
)

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


def read(path: Path, bag, label, tab: bool = False) -> Bunch:
    """Read a table with a header, or ``label,bag,features...`` without one."""
    with reading_text(path) as file:
        first = file.readline()
        delimiter = "\t" if tab else max(",;\t", key=first.count)
        reader = csv.reader(chain([first], file), delimiter=delimiter, strict=True)
        try:
            return _read_rows(path, reader, bag, label)
        except csv.Error as error:
            raise wrong(path, reader.line_num, f"expected a well-formed row ({error})") from None


def _read_rows(path: Path, reader, bag, label) -> Bunch:
    first: list[str] = next((row for row in reader if row), [])
    columns = find_columns(path, [c.strip() for c in first], bag, label)
    names = None if columns.names is None else [columns.names[k] for k in columns.features]
    rows = Rows(path, names, extras={k: [] for k in columns.extras})
    body: Iterable[list[str]] = chain([first], reader) if names is None else reader
    pick, width = _picker(columns.features), len(first)
    for row in body:
        if len(row) != width:
            if not row:
                continue
            raise wrong(path, reader.line_num, f"expected {width} fields, found {len(row)}")
        rows.add(reader.line_num, row[columns.bag], None if columns.label is None else row[columns.label])
        for key, at in columns.extras.items():
            rows.extras[key].append(row[at].strip())
        rows.add_dense(reader.line_num, pick(row), columns.describe)
    return rows.bunch()


def _picker(features: list[int]):
    """Pick the feature fields of a row; a slice where they are neighbours, which is fastest."""
    if features == list(range(features[0], features[-1] + 1)):
        return itemgetter(slice(features[0], features[-1] + 1))
    return itemgetter(*features)


def find_columns(path: Path, first: Sequence[str], bag, label, header: bool = False) -> Columns:
    """Find bag, label and features from the first row, or from the names the caller gives."""
    header = header or bag in first or bool(_matches(first, BAG)) or not all(map(is_number, first[2:]))
    if len(first) < 2:
        raise wrong(path, 1, f"expected a header, or label,bag,features...; found {len(first)} field(s)")
    if header:
        at = _named(path, first, bag, BAG, "bag")
        if at is None:
            raise wrong(
                path,
                1,
                f"expected a column with the bag ids; none of {some(first)} is named "
                f"like one ({', '.join(BAG)}); name it with bag=",
            )
        extras = {k: m[0] for k, names in EXTRAS.items() if len(m := _matches(first, names)) == 1}
        columns = Columns(list(first), at, _named(path, first, label, LABEL, "label"), extras, [])
        columns.extras = {k: v for k, v in extras.items() if v not in (columns.bag, columns.label)}
        _check_distinct(path, first)
    elif bag is None and label is None:
        _check_no_header(path, first)
        columns = Columns(None, 1, 0, {}, [])
    else:
        places = [_position(path, first, c) for c in (bag, label)]
        columns = Columns(None, 1 if places[0] is None else places[0], places[1], {}, [])
    used = {columns.bag, columns.label, *columns.extras.values()}
    columns.features = [k for k in range(len(first)) if k not in used]
    if not columns.features:
        raise wrong(path, 1, "expected at least one feature column besides bag and label")
    return columns


def _check_no_header(path: Path, first: Sequence[str]) -> None:
    """Refuse to take the header of a data frame with numbered columns for data."""
    counted = [[str(k + start) for k in range(len(first) - 2)] for start in (0, 1)]
    if list(first[2:]) in counted and len(first) > 3 and not any(map(is_number, first[:2])):
        raise wrong(
            path, 1, f"expected to know the bag column of {some(first)}; name it with bag= and label="
        )


def _named(path: Path, header: Sequence[str], name, usual: Sequence[str], what: str) -> int | None:
    if name is not None:
        if name in header:
            return list(header).index(name)
        return _position(path, header, name)
    found = _matches(header, usual)
    if len(found) > 1:
        both = " and ".join(repr(header[k]) for k in found)
        raise wrong(path, 1, f"expected one {what} column, found {both}; choose with {what}=")
    return found[0] if found else None


def _position(path: Path, header: Sequence[str], place) -> int | None:
    if place is None:
        return None
    if isinstance(place, (int, np.integer)) and 0 <= place < len(header):
        return int(place)
    raise wrong(path, 1, f"expected a column {place!r}, found {some(header)}")


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
        writer = csv.writer(
            file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", lineterminator="\n"
        )
        writer.writerow([*leading, *features])
        for k, bag in enumerate(bags):
            rows = written(bag.toarray() if bags.is_sparse else bag)
            at = bags.offsets[k]
            writer.writerows([c[at + r] for c in front] + row for r, row in enumerate(rows))
    return left_out
