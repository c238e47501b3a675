"""The checks behind ``bags.py``: each makes one raw thing valid or says what is wrong."""

import numpy as np
from scipy import sparse


def check_list(bags, ids) -> list:
    if len(bags) == 0:
        raise ValueError("there are no bags; expected at least one 2-D array")
    names = check_names(ids, len(bags), "ids", "bags")
    kinds = {sparse.issparse(b) for b in bags}
    if len(kinds) > 1:
        raise TypeError("some bags are sparse and some are dense; convert them to one kind")
    arrays = [_check_one(b, i, names) for i, b in enumerate(bags)]
    for i, a in enumerate(arrays):
        if a.shape[1] != arrays[0].shape[1]:
            raise ValueError(
                f"{bag_name(i, names)} has {a.shape[1]} features and {bag_name(0, names)} "
                f"has {arrays[0].shape[1]}; all bags need the same features"
            )
    return arrays


def _check_one(b, i: int, names):
    """One bag of a list as a 2-D numeric array."""
    where = bag_name(i, names)
    if sparse.issparse(b):
        array = b.tocsr()
    else:
        if isinstance(b, (str, bytes, dict)) or b is None or np.isscalar(b):
            raise TypeError(f"{where} is {b!r}; expected a 2-D array (n_instances, n_features)")
        array = _as_numbers(b, where)
    if array.ndim != 2:
        raise ValueError(
            f"{where} has shape {array.shape}; expected (n_instances >= 1, n_features). If each "
            "row is a bag of one instance, pass one 2-D array instead of a list"
        )
    if array.shape[0] == 0:
        raise ValueError(f"{where} has 0 instances; drop it or give it at least one")
    return array


def _as_numbers(values, where: str) -> np.ndarray:
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        return array if array.dtype.kind in "fiu" else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{where} is not a table of numbers: {error}") from None


def check_instances(instances, offsets, ids):
    """C-contiguous float64 or canonical CSR, finite, as a read-only view."""
    if sparse.issparse(instances):
        table = sparse.csr_matrix(instances, dtype=np.float64)
        if not table.has_canonical_format:
            table = table.copy() if table is instances else table
            table.sum_duplicates()
        values = table.data
    else:
        table = np.ascontiguousarray(_as_numbers(instances, "the instance table"), dtype=np.float64)
        if table.ndim != 2:
            raise ValueError(f"the instance table has shape {table.shape}; expected two dimensions")
        values = table
    if table.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={table.shape}) while a minimum of 1 is required."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum())
    if suspicious and not np.isfinite(values).all():
        _raise_not_finite(table, offsets, ids)
    return read_only(table)


def _raise_not_finite(table, offsets, ids) -> None:
    if sparse.issparse(table):
        at = int(np.argmin(np.isfinite(table.data)))
        row, column, value = (
            int(np.searchsorted(table.indptr, at, side="right")) - 1,
            int(table.indices[at]),
            table.data[at],
        )
    else:
        row, column = (int(v[0]) for v in np.nonzero(~np.isfinite(table)))
        value = table[row, column]
    i = int(np.searchsorted(offsets, row, side="right")) - 1
    what = "NaN" if np.isnan(value) else "infinity (inf)"
    raise ValueError(
        f"{bag_name(i, ids)} contains {what} in feature {column} (its instance "
        f"{row - offsets[i]}); impute or drop it"
    )


def check_offsets(offsets, n: int, ids) -> None:
    if len(offsets) < 2:
        raise ValueError("there are no bags; expected at least one")
    if offsets[0] != 0 or offsets[-1] != n:
        raise ValueError(f"offsets run from {offsets[0]} to {offsets[-1]}; expected 0 to {n}")
    empty = np.diff(offsets) < 1
    if empty.any():
        i = int(np.argmax(empty))
        count = max(0, int(offsets[i + 1] - offsets[i]))
        raise ValueError(f"{bag_name(i, ids)} has {count} instances; drop it or give it at least one")


def check_targets(y) -> np.ndarray:
    if y.dtype.kind not in "fiub":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"Unknown label type: {y.dtype}; regression needs numbers") from None
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        i = int(np.argmin(np.isfinite(y)))
        what = "NaN" if np.isnan(y[i]) else "infinity (inf)"
        raise ValueError(f"the target y contains {what} at bag {i}; drop that bag")
    return y


def check_names(names, n: int, what: str, of: str):
    if names is None:
        return None
    names = np.asarray(names)
    names = names.astype(str) if names.dtype == object else names
    if names.shape != (n,):
        raise ValueError(f"{what} has shape {names.shape} for {n} {of}; give one name each")
    return names


def numeric_table(columns, names, n: int) -> np.ndarray:
    table = np.empty((n, len(columns)))
    for k, (column, name) in enumerate(zip(columns, names, strict=True)):
        try:
            table[:, k] = column
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {name!r} is not numeric ({error}); encode or drop it") from None
    return table


def read_only(table):
    """The same table without a copy, such that writing through it fails."""
    if sparse.issparse(table):
        parts = [read_only(part) for part in (table.data, table.indices, table.indptr)]
        view = sparse.csr_matrix(tuple(parts), shape=table.shape, copy=False)
        view.has_canonical_format = True
        return view
    view = table.view()
    view.flags.writeable = False
    return view


def bag_name(i: int, names) -> str:
    return f"bag {i}" if names is None else f"bag {i} ({str(names[i])!r})"


def some(names) -> str:
    shown = ", ".join(repr(str(n)) for n in names[:8])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
