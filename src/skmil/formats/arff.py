"""Relational ARFF as Weka writes it: one line per bag, its instances in one quoted field."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from skmil._checks import some
from skmil.bags import Bags
from skmil.formats._files import (
    How,
    NoColumn,
    Rows,
    reading_text,
    replacing,
    unique_ids,
    written,
    written_names,
    wrong,
)

_NAME = re.compile(r"""\s*(?:'([^'\\]*(?:\\.[^'\\]*)*)'|"([^"\\]*(?:\\.[^"\\]*)*)"|([^\s,'"{}%]+))\s*""")
_FIELD = re.compile(r"""\s*(?:'([^'\\]*(?:\\.[^'\\]*)*)'|"([^"\\]*(?:\\.[^"\\]*)*)"|([^,'"]*))\s*(,|\Z)""")
_WEIGHT = re.compile(r"\{\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?)\s*\}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_NUMERIC = ("numeric", "real", "integer")


class Attribute(NamedTuple):
    """A column of the outer table: its name and, where it is nominal, its values."""

    name: str
    values: frozenset[str] | None


class Header(NamedTuple):
    """Outer columns, the place of the relational one, and the features inside it."""

    outer: list[Attribute]
    relation: int
    features: list[str]


def read(path: Path, how: How) -> Bunch:
    """Read bag id, relational attribute and class; the class may be nominal or numeric."""
    with reading_text(path) as file:
        lines = ((k, text.strip()) for k, text in enumerate(file, start=1))
        lines = ((k, text) for k, text in lines if text and not text.startswith("%"))
        header = _read_header(path, lines)
        at, label_at = _find(path, header, how)
        rows = Rows(path, header.features, how=how)
        seen: set[str] = set()
        weights: list[float] = []
        for line, text in lines:
            fields, weight = _fields(path, line, text, header)
            weights.append(weight)
            name = f"{len(seen)}" if at is None else fields[at]
            if name in seen:
                raise wrong(path, line, f"expected each bag in one line, found {name!r} again")
            seen.add(name)
            for instance in _instances(path, line, fields[header.relation]):
                rows.add(line, name, None if label_at is None else fields[label_at])
                _add_instance(rows, line, instance, header.features)
    if len(rows.indptr) > 1 and len(rows.indptr) != len(rows.bags) + 1:
        raise wrong(path, None, "expected all instances dense or all sparse, found both")
    bunch = rows.bunch(len(header.features))
    if any(w != 1 for w in weights):
        bunch.sample_weight = np.array(weights)
    return bunch


def _read_header(path: Path, lines: Iterator[tuple[int, str]]) -> Header:
    outer: list[Attribute] = []
    features: list[str] = []
    relation, inside = None, False
    for line, text in lines:
        keyword, rest = [*text.split(maxsplit=1), ""][:2]
        keyword = keyword.lower()
        if keyword == "@data":
            break
        if keyword == "@end":
            inside = False
        elif keyword == "@attribute":
            name, kind = _attribute(path, line, rest)
            if inside:
                _check_numeric(path, line, name, kind)
                features.append(name)
            elif kind.lower() == "relational":
                if relation is not None:
                    raise wrong(path, line, "expected one relational attribute, found a second")
                relation, inside = len(outer), True
                outer.append(Attribute(name, None))
            else:
                outer.append(Attribute(name, _nominal(path, line, kind)))
        elif keyword != "@relation":
            raise wrong(path, line, f"expected @relation, @attribute, @end or @data, found {text[:40]!r}")
    else:
        raise wrong(path, None, "expected @data after the attributes, found the end of the file")
    if relation is None or not features or inside:
        raise wrong(path, None, "expected '@attribute bag relational', numeric attributes and '@end bag'")
    return Header(outer, relation, features)


def _attribute(path: Path, line: int, rest: str) -> tuple[str, str]:
    match = _NAME.match(rest)
    if match is None or match.end() == len(rest):
        raise wrong(path, line, f"expected '@attribute name type', found {rest[:40]!r}")
    return _unescape(match), rest[match.end() :].strip()


def _check_numeric(path: Path, line: int, name: str, kind: str) -> None:
    if kind.lower() not in _NUMERIC:
        raise wrong(
            path, line, f"expected a numeric attribute in the bag, found {name!r} of type {kind[:40]}"
        )


def _nominal(path: Path, line: int, kind: str) -> frozenset[str] | None:
    """The values of a nominal attribute; ``None`` for numbers and strings."""
    if kind.lower() in (*_NUMERIC, "string"):
        return None
    if not (kind.startswith("{") and kind.endswith("}")):
        raise wrong(path, line, f"expected numeric, string, relational or {{a,b,...}}, found {kind[:40]!r}")
    values, at, body = [], 0, kind[1:-1]
    while match := _FIELD.match(body, at):
        values.append(_unescape(match))
        at = match.end()
        if not match[4]:
            return frozenset(values)
    raise wrong(path, line, f"expected {{a,b,...}}, found {kind[:40]!r}")


def _find(path: Path, header: Header, how: How) -> tuple[int | None, int | None]:
    """Places of bag id and class among the outer attributes."""
    names = [a.name for a in header.outer]
    for name in (how.bag, how.label, *how.ignore):
        if name is not None and name not in names:
            raise wrong(path, None, f"expected an attribute {name!r}, found {some(names)}", NoColumn)
    outer = [k for k in range(len(names)) if k != header.relation and names[k] not in how.ignore]
    before, after = ([k for k in outer if (k < header.relation) == first] for first in (True, False))
    at = names.index(str(how.bag)) if how.bag is not None else before[0] if before else None
    label_at = names.index(str(how.label)) if how.label is not None else after[-1] if after else None
    more = [names[k] for k in outer if k not in (at, label_at)]
    if more:
        told = (
            f"expected a bag id, the bag and a class, found also {some(more)}; leave them out with ignore="
        )
        raise wrong(path, None, told)
    return at, label_at


def _fields(path: Path, line: int, text: str, header: Header) -> tuple[list[str], float]:
    """Cut a line at its commas; quotes protect, backslashes escape, ``{w}`` at the end is a weight."""
    fields, at, more = [], 0, True
    while more:
        match = _FIELD.match(text, at)
        if match is None:
            raise wrong(path, line, f"expected a field or a closing quote, found {text[at : at + 20]!r}")
        at, more = match.end(), bool(match[4])
        fields.append(_unescape(match))
    weight = _WEIGHT.fullmatch(fields[-1]) if len(fields) == len(header.outer) + 1 else None
    if weight is not None and np.isfinite(float(weight[1])):
        fields.pop()
    if len(fields) != len(header.outer):
        raise wrong(path, line, f"expected {len(header.outer)} fields, found {len(fields)}")
    for value, attribute in zip(fields, header.outer, strict=True):
        if attribute.values is not None and value not in attribute.values | {"?"}:
            raise wrong(
                path, line, f"expected a declared value of {attribute.name!r}, found {value[:40]!r}"
            )
    return fields, 1.0 if weight is None else float(weight[1])


def _instances(path: Path, line: int, text: str) -> list[str]:
    instances = [part for part in text.split("\n") if part.strip()]
    if not instances:
        raise wrong(path, line, "expected at least one instance in the bag, found none")
    return instances


def _add_instance(rows: Rows, line: int, text: str, features: list[str]) -> None:
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        rows.add_sparse(line, [p.strip() for p in text[1:-1].split(",") if p.strip()], " ")
        if max(rows.indices[rows.indptr[-2] :], default=0) >= len(features):
            raise wrong(
                rows.path, line, f"expected feature indices below {len(features)}, found a larger one"
            )
        return
    tokens = text.split(",")
    if len(tokens) == len(features) + 1 and not tokens[-1].strip():
        tokens.pop()  # some of Weka's own files end each instance with a comma
    if len(tokens) != len(features):
        raise wrong(
            rows.path, line, f"expected {len(features)} features in an instance, found {len(tokens)}"
        )
    rows.add_dense(line, tokens, lambda k: f"attribute {features[k]!r}")


def _unescape(match: re.Match) -> str:
    quoted = match[1] if match[1] is not None else match[2]
    if quoted is None:
        return match[3].strip()
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted, flags=re.DOTALL)


def _quote(token: str) -> str:
    if re.fullmatch(r"[^\s,'\"{}%\\]+", token):
        return token
    for raw, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
        token = token.replace(raw, escaped)
    return f"'{token}'"


def write(path: Path, bags: Bags, y, extras: dict) -> list[str]:
    """Write bag id (nominal), relational attribute ``bag``, class (nominal; numeric for real targets)."""
    ids = [_quote(t) for t in written_names(unique_ids(bags), "bag id")]
    names = bags.feature_names
    features = [f"f{k + 1}" for k in range(bags.n_features)] if names is None else names.tolist()
    labels = None if y is None else [_quote(t) for t in written_names(y, "label")]
    weights = np.asarray(extras.get("sample_weight", np.ones(len(bags))), dtype=float).tolist()
    with replacing(path) as file:
        file.write(f"@relation {_quote(path.stem)}\n\n@attribute bag_id {{{','.join(ids)}}}\n")
        file.write("@attribute bag relational\n")
        file.writelines(
            f"  @attribute {_quote(t)} numeric\n" for t in written_names(features, "feature name")
        )
        file.write("@end bag\n")
        if labels is not None:
            kind = "numeric" if y.dtype.kind == "f" else "{" + ",".join(dict.fromkeys(labels)) + "}"
            file.write(f"@attribute class {kind}\n")
        file.write("\n@data\n")
        for k, bag in enumerate(bags):
            rows = "\\n".join(_written_instances(bag))
            label = "" if labels is None else "," + labels[k]
            weight = "" if weights[k] == 1 else f",{{{weights[k]!r}}}"
            file.write(f'{ids[k]},"{rows}"{label}{weight}\n')
    return [k for k in extras if k != "sample_weight"]


def _written_instances(bag) -> Iterator[str]:
    if not sparse.issparse(bag):
        return (",".join(row) for row in written(bag))
    parts = (slice(a, b) for a, b in zip(bag.indptr[:-1], bag.indptr[1:], strict=True))
    return ("{" + ",".join(_pairs(bag.indices[s], bag.data[s])) + "}" for s in parts)


def _pairs(indices: np.ndarray, values: np.ndarray) -> Iterator[str]:
    return (f"{i} {v!r}" for i, v in zip(indices.tolist(), values.tolist(), strict=True))
