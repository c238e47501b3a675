"""Parquet, through pandas or polars, with the columns of the CSV."""

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from skmil._checks import group_rows
from skmil.bags import Bags
from skmil.formats._files import How, one_per_bag, replacing, wrong
from skmil.formats.delimited import find_columns, layout

_NEEDS = "Parquet needs pandas and pyarrow, or polars: pip install skmil[tables]"


def read(path: Path, how: How) -> Bunch:
    """Read a Parquet file; ids and labels keep the types of their columns."""
    frame = load_frame(path)
    header = [str(c) for c in frame.columns]
    columns = find_columns(path, header, how, header=True)
    frame.columns = header
    wanted = columns.label if how.labels else None
    kept = sorted({*columns.features, columns.bag} | {k for k in [wanted] if k is not None})
    try:
        names = [header[k] for k in kept]
        name = None if columns.label is None or not how.labels else header[columns.label]
        found = Bags.from_frame(frame[names], header[columns.bag], name, missing=how.missing)
        data, target = found if isinstance(found, tuple) else (found, None)
        rows, offsets, ids = group_rows(frame[header[columns.bag]].to_numpy())
    except (ValueError, TypeError) as error:
        raise wrong(path, None, str(error)) from None
    extras = {k: plain(frame[header[at]].to_numpy()) for k, at in columns.extras.items()}
    extras = extras if rows is None else {k: v[rows] for k, v in extras.items()}
    if "split" in extras:
        extras["split"] = one_per_bag(path, extras["split"], offsets, ids)
    return Bunch(data=data, target=None if target is None else plain(target), **extras)


def plain(values: np.ndarray) -> np.ndarray:
    """Python objects as an array of numbers or text."""
    return np.array(values.tolist()) if values.dtype == object else values


def frame_width(path: Path) -> int | None:
    """Number of columns of the data frame, from the head of the file; None where only polars is there."""
    try:
        from pyarrow.parquet import read_schema
    except ImportError:
        return None
    return read_schema(path).empty_table().to_pandas().shape[1]


def load_frame(path: Path):
    """A data frame of pandas, or of polars where there is no pandas."""
    try:
        from pandas import read_parquet as load
    except ImportError:
        try:
            from polars import read_parquet as load
        except ImportError:
            raise ImportError(_NEEDS) from None
    try:
        return load(path)
    except ImportError:
        raise ImportError(_NEEDS) from None
    except Exception as error:  # pyarrow and polars raise a dozen kinds
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise wrong(path, None, f"expected a complete Parquet file ({first})") from None


def write(path: Path, bags: Bags, y, extras: dict) -> list[str]:
    """Write the columns bag, label, what goes with instances, then the features."""
    leading, features, left_out = layout(bags, y, extras)
    table = bags.to_dense().instances
    columns = leading | {name: table[:, k] for k, name in enumerate(features)}
    try:
        from pandas import DataFrame
    except ImportError:
        try:
            from polars import DataFrame
        except ImportError:
            raise ImportError(_NEEDS) from None
    frame = DataFrame(columns)
    save = frame.to_parquet if hasattr(frame, "to_parquet") else frame.write_parquet
    with replacing(path, "wb") as file:
        save(file)
    return left_out
