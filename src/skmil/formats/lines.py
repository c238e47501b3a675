"""One line per instance without a header: Andrews' sparse text, MILL's and UCI's .data files."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from scipy import sparse
from sklearn.utils import Bunch

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


def read_andrews(path: Path, how: How) -> Bunch:
    """Read ``instance:bag:label index:value ...``, indices from 1; the result is sparse."""
    refuse_names(path, how)
    rows = Rows(path, first=1, extras={"instance_names": []}, how=how)
    for line, text in _lines(path):
        first, *pairs = text.split()
        head = first.split(":")
        if len(head) != 3:
            raise wrong(path, line, f"expected instance:bag:label, found {first[:40]!r}")
        rows.extras["instance_names"].append(head[0])
        rows.add(line, head[1], head[2])
        rows.add_sparse(line, pairs, ":")
    return rows.bunch(how.n_features)


def read_data(path: Path, how: How) -> Bunch:
    """Read a .data file: UCI's musk form, or MILL's dense or sparse form, told by its first line."""
    refuse_names(path, how)
    _, first = next(iter(_lines(path)), (0, ""))
    fields = first.split(",")
    if len(fields) < 4:
        raise wrong(
            path, 1, "expected molecule,conformation,features...,class or instance,bag,label,features..."
        )
    read = (
        _add_uci if fields[-1].strip() in ("0.", "1.") else _add_sparse if ":" in fields[3] else _add_dense
    )
    rows = Rows(path, first=1, extras={"instance_names": []}, mixed_labels=read is not _add_uci, how=how)
    for line, text in _lines(path):
        tokens = text.split(",")
        if len(tokens) != len(fields) and read is not _add_sparse:
            raise wrong(path, line, f"expected {len(fields)} fields, found {len(tokens)}")
        read(rows, line, tokens)
    return rows.bunch(how.n_features)


def _add_uci(rows: Rows, line: int, tokens: list[str]) -> None:
    label = tokens[-1].strip()
    if label not in ("0.", "1."):
        raise wrong(rows.path, line, f"expected the class 0. or 1. at the end, found {label[:40]!r}")
    rows.extras["instance_names"].append(tokens[1].strip())
    rows.add(line, tokens[0], label[0])
    rows.add_dense(line, tokens[2:-1], lambda k: f"feature {k + 1}")


def _add_dense(rows: Rows, line: int, tokens: list[str]) -> None:
    rows.extras["instance_names"].append(tokens[0].strip())
    rows.add(line, tokens[1], tokens[2])
    rows.add_dense(line, tokens[3:], lambda k: f"feature {k + 1}")


def _add_sparse(rows: Rows, line: int, tokens: list[str]) -> None:
    if len(tokens) < 3:
        raise wrong(
            rows.path, line, f"expected instance,bag,label,index:value,..., found {tokens[0][:40]!r}"
        )
    rows.extras["instance_names"].append(tokens[0].strip())
    rows.add(line, tokens[1], tokens[2])
    rows.add_sparse(line, [t.strip() for t in tokens[3:] if t.strip()], ":")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that hold something; a line beginning with # is a comment."""
    with reading_text(path) as file:
        for line, text in enumerate(file, start=1):
            text = text.strip()
            if text and not text.startswith("#"):
                yield line, text


def refuse_names(path: Path, how: How) -> None:
    """Say that names of columns have no meaning where the places are fixed."""
    if how.bag is not None or how.label is not None or how.ignore or how.instance is not None:
        what = "this format has fixed places for bag and label; leave out bag= and label="
        raise wrong(path, None, what, NoColumn)


def write_andrews(path: Path, bags: Bags, y, extras: dict) -> list[str]:
    """Write one ``instance:bag:label index:value ...`` line per instance; zeros are left out."""
    heads = _heads(bags, y, extras, ": \t\r\n\v\f#")
    with replacing(path) as file:
        for head, pairs in zip(heads, _pairs(bags), strict=True):
            file.write(" ".join([":".join(head), *pairs]) + "\n")
    return [k for k in extras if k != "instance_names"]


def write_data(path: Path, bags: Bags, y, extras: dict) -> list[str]:
    """Write UCI's form for dense bags of the classes 0 and 1, else MILL's."""
    heads = _heads(bags, y, extras, ",#\r\n\v\f")
    uci = not bags.is_sparse and y is not None and y.dtype.kind in "iu" and set(y.tolist()) <= {0, 1}
    rows: Iterable[list[str]]
    if bags.is_sparse:
        rows = _pairs(bags)
    else:
        rows = written(bags.instances)
    with replacing(path) as file:
        for (instance, bag, label), row in zip(heads, rows, strict=True):
            fields = [bag, instance, *row, f"{label}."] if uci else [instance, bag, label, *row]
            file.write(",".join(fields) + "\n")
    return [k for k in extras if k != "instance_names"]


def _heads(bags: Bags, y, extras: dict, forbidden: str) -> Iterator[tuple[str, str, str]]:
    """Instance name, bag id and label of every instance."""
    ids = written_names(unique_ids(bags), "bag id", forbidden)
    labels = [""] * len(bags) if y is None else written_names(y, "label", forbidden)
    names = extras.get("instance_names")
    if names is None:
        names = [f"{ids[i]}_{k + 1}" for i, m in enumerate(bags.sizes) for k in range(m)]
    instances = written_names(names, "instance name", forbidden)
    return ((name, ids[i], labels[i]) for name, i in zip(instances, bags.owner, strict=True))


def _pairs(bags: Bags) -> Iterator[list[str]]:
    """``index:value`` of the non-zeros; the first row names the last feature, to keep the width."""
    X = sparse.csr_matrix(bags.instances)
    ends, d = X.indptr.tolist(), X.shape[1]
    missing = X.indices.max(initial=-1) < d - 1
    for r in range(X.shape[0]):
        part = slice(ends[r], ends[r + 1])
        stored = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
        pairs = [f"{i + 1}:{v!r}" for i, v in stored if v != 0]
        yield pairs + ([f"{d}:0"] if r == 0 and (missing or not pairs) else [])
