"""The checks behind ``bags.py``: each makes one raw thing valid or says what is wrong."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d


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
    if len({a.dtype for a in arrays}) > 1:  # float32 and integers would meet in float32
        arrays = [a.astype(np.float64) for a in arrays]
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
        refuse_text(array, where)
        if array.dtype == object and any(np.iscomplexobj(v) for v in array.flat):
            raise ValueError("Complex data not supported")
        return array if array.dtype.kind in "fiu" else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{where} is not a table of numbers: {error}") from None


def refuse_text(table, where: str) -> None:
    """Refuse what NumPy would turn into numbers without a word: text, dates and times."""
    if isinstance(table, np.ndarray) and table.dtype.kind in "SUMm":
        kind = "text" if table.dtype.kind in "SU" else "dates"
        raise ValueError(f"{where} holds {kind} ({table.dtype}); encode it as numbers")


def check_instances(instances, offsets, ids, missing: bool = False):
    """C-contiguous float64 or float32, or canonical CSR, finite (or NaN if ``missing``), read-only."""
    if sparse.issparse(instances):
        table = _canonical(instances)
        values = table.data
    else:
        numbers = _as_numbers(instances, "the instance table")
        values = table = np.ascontiguousarray(numbers, dtype=_kept(numbers.dtype))
    if table.ndim != 2:
        raise ValueError(f"the instance table has shape {table.shape}; expected two dimensions")
    if table.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={table.shape}) while a minimum of 1 is required."
        )
    if offsets[-1] != table.shape[0]:
        raise ValueError(f"offsets run from 0 to {offsets[-1]}; expected 0 to {table.shape[0]}")
    check_sizes(offsets, ids)
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum())
    if suspicious and not np.isfinite(values).all() and not (missing and not np.isinf(values).any()):
        raise_not_finite(table, offsets, ids)
    return read_only(table)


def _kept(dtype):
    """The type that numbers of a given type are kept in."""
    return np.float32 if dtype == np.float32 else np.float64


def _canonical(instances) -> sparse.csr_matrix:
    """CSR with sorted indices, each once and inside the table; the caller's arrays stay as they are."""
    if np.dtype(instances.dtype).kind not in "biuf":
        raise ValueError(f"the instance table holds {instances.dtype}; expected real numbers")
    table = sparse.csr_matrix(instances, dtype=_kept(instances.dtype))
    try:
        table.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"the instance table is no valid CSR matrix: {error}") from None
    if not table.has_canonical_format:
        table = table.copy()  # a CSR made from a CSR shares its arrays
        table.sum_duplicates()
    return table


def raise_not_finite(table, offsets, ids) -> None:
    """Name the first value that is no number."""
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
        f"{row - offsets[i]}); impute it, with a BagImputer in front, or drop it"
    )


def check_offsets(offsets) -> np.ndarray:
    """Whole numbers from 0, as a read-only int64 view."""
    offsets = np.asarray(offsets)
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu":
        raise ValueError(
            f"offsets are {offsets.dtype} of shape {offsets.shape}; expected whole numbers in one row"
        )
    if len(offsets) < 2:
        raise ValueError("there are no bags; expected at least one")
    if offsets[0] != 0:
        raise ValueError(f"offsets begin with {offsets[0]}; expected 0")
    return read_only(np.ascontiguousarray(offsets, dtype=np.int64))


def check_sizes(offsets, ids) -> None:
    empty = np.diff(offsets) < 1
    if empty.any():
        i = int(np.argmax(empty))
        count = max(0, int(offsets[i + 1] - offsets[i]))
        raise ValueError(f"{bag_name(i, ids)} has {count} instances; drop it or give it at least one")


def check_parts(parts) -> None:
    """What ``Bags.concat`` puts together must fit together."""
    if len(parts) == 0:
        raise ValueError("there are no bags; expected at least one part")
    for k, part in enumerate(parts):
        if part.is_sparse != parts[0].is_sparse:
            raise TypeError("some parts are sparse and some are dense; convert them to one kind")
        if part.n_features != parts[0].n_features:
            raise ValueError(
                f"part {k} has {part.n_features} features and part 0 has {parts[0].n_features}"
            )


def check_squares(bags) -> None:
    """Refuse values so large that inner products and squared distances overflow."""
    values = bags.instances.data if bags.is_sparse else bags.instances
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if largest > 1e153 / np.sqrt(bags.n_features):
        raise ValueError(
            f"the features hold values up to {largest:.3g}, whose squares overflow; scale them"
        )


def check_targets(y) -> np.ndarray:
    if y.dtype.kind not in "fiub":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"Unknown label type: text such as {str(y[0])!r}; regression needs numbers"
            ) from None
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
    return read_only(names)


def frame_table(df, bag, label, wanted=None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Features, bag ids and feature names of a pandas or polars frame."""
    columns = list(df.columns)
    for name in [bag, *([] if label is None else [label]), *([] if wanted is None else wanted)]:
        if columns.count(name) != 1:
            found = "twice" if name in columns else "not at all"
            raise ValueError(
                f"expected one column {name!r} in the frame, found it {found}; it has {some(columns)}"
            )
    features = [c for c in columns if c not in (bag, label)] if wanted is None else list(wanted)
    twice = [c for c in features if columns.count(c) > 1] if len(set(columns)) < len(columns) else []
    if twice:
        raise ValueError(f"the frame has the column {twice[0]!r} twice; rename one")
    table = np.empty((len(df), len(features)))
    for k, name in enumerate(features):
        column = df[name].to_numpy()
        try:
            refuse_text(column, "it")
            table[:, k] = column
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {name!r} is not numeric ({error}); encode or drop it") from None
    return table, df[bag].to_numpy(), [str(c) for c in features]


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


def shares_memory(table, given) -> bool:
    """Whether writing to what was given would change the table."""
    if sparse.issparse(table):
        values = getattr(given, "data", None)
        return isinstance(values, np.ndarray) and np.may_share_memory(table.data, values)
    return isinstance(given, np.ndarray) and np.may_share_memory(table, given)


def bag_name(i: int, names) -> str:
    return f"bag {i}" if names is None else f"bag {i} ({str(names[i])!r})"


def some(names) -> str:
    shown = ", ".join(repr(str(n)) for n in names[:8])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def bag_labels(labels, bag_ids) -> np.ndarray:
    """One label per bag from one per row (bags in order of their first row)."""
    labels = np.asarray(labels)
    missing = _missing(labels)
    if missing.any():
        raise ValueError(
            f"row {int(np.argmax(missing))} has no label; give every instance the label of its bag"
        )
    rows, offsets, ids = group_rows(np.asarray(bag_ids))
    ordered = labels if rows is None else labels[rows]
    first = ordered[offsets[:-1]]
    differs = ordered != np.repeat(first, np.diff(offsets))
    if differs.any():
        r = int(np.argmax(differs))
        i = int(np.searchsorted(offsets, r, side="right")) - 1
        raise ValueError(
            f"bag {i} ({str(ids[i])!r}) has the labels {first[i]!s} and {ordered[r]!s}; "
            "all instances of a bag carry the label of the bag"
        )
    return first


def group_rows(bag_ids: np.ndarray):
    """Order of rows that makes bags contiguous (``None`` if they are), offsets and ids."""
    missing = _missing(bag_ids)
    if missing.any():
        raise ValueError(f"row {int(np.argmax(missing))} has no bag id")
    if bag_ids.dtype == object:
        whole = all(isinstance(b, (int, np.integer)) for b in bag_ids)
        bag_ids = bag_ids.astype(np.int64 if whole else str)
    ids, first, inverse = np.unique(bag_ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    position = rank[inverse]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(position, minlength=len(ids)))])
    in_order = bool((np.diff(position) >= 0).all())
    return None if in_order else np.argsort(position, kind="stable"), offsets, ids[order]


def _missing(values: np.ndarray) -> np.ndarray:
    """Which entries are None, NaN, NaT or a data frame's mark for missing."""
    if values.dtype.kind in "biuSU":
        return np.zeros(values.shape, dtype=bool)
    if values.dtype != object:
        return ~np.isfinite(values) if values.dtype.kind == "f" else values != values
    return np.array(
        [v is None or type(v).__name__ in ("NAType", "NaTType") or v != v for v in values], dtype=bool
    )


def remember(estimator, bags) -> None:
    estimator.sparse_in_, estimator.largest_bag_in_ = bags.is_sparse, int(bags.sizes.max())
    if bags.feature_names is not None:
        estimator.feature_names_in_ = bags.feature_names.astype(object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def refuse_table(estimator, bags) -> None:
    """One bag must not pass for many: the rows of a table would each get a label."""
    largest = getattr(estimator, "largest_bag_in_", 1)
    if largest > 1:
        raise ValueError(
            f"got one table of {len(bags)} rows, but {type(estimator).__name__} was fitted on bags of up "
            f"to {largest} instances; for one bag pass [bag] or X[[0]], for many a list of 2-D arrays or "
            "Bags.from_table(table, bag_ids)"
        )


def feature_columns(own, names, who: str) -> list[int] | None:
    """Where the named features stand among one's own; None where they are these."""
    names = np.asarray(names).astype(str)
    if own is None:
        raise ValueError(f"the bags have no feature names; {who} asks for {some(names)}")
    if np.array_equal(own, names):
        return None
    missing, new = np.setdiff1d(names, own), np.setdiff1d(own, names)
    if len(missing) or len(new):
        lack = f"lack the feature{'s' * (len(missing) > 1)} {some(missing)}" if len(missing) else ""
        more = f"have {some(new)}, unknown to {who}" if len(new) else ""
        told = " and ".join(t for t in (lack, more) if t)
        raise ValueError(f"the bags {told}; {who} wants {some(names)}, in any order")
    place = {name: k for k, name in enumerate(own)}
    return [place[name] for name in names]


def is_table(X) -> bool:
    """Whether X is one 2-D table, whose rows count as bags of one instance."""
    if hasattr(X, "offsets"):  # bags
        return False
    if isinstance(X, (list, tuple)):
        return is_list_of_rows(X)
    return sparse.issparse(X) or is_frame(X) or np.asarray(X).ndim == 2


def as_index(key):
    if isinstance(key, slice):
        return key
    key = np.asarray(key)
    if key.ndim != 1 or (key.size and key.dtype.kind not in "iub"):
        what = f"{key.dtype} of shape {key.shape}"
        raise IndexError(
            f"bags are indexed by a number, a slice, or a list of numbers or truth values, not by {what}"
        )
    return key if key.size else key.astype(int)


def is_list_of_rows(X) -> bool:
    """Whether X is a table written as plain lists of numbers, the way scikit-learn accepts one."""
    return len(X) > 0 and all(isinstance(r, (list, tuple)) and r and np.isscalar(r[0]) for r in X)


def is_frame(X) -> bool:
    return (hasattr(X, "columns") and hasattr(X, "__dataframe__")) or hasattr(X, "iloc")


def check_lengths(y, bags) -> np.ndarray:
    """``y`` as an array with one entry per bag."""
    y = column_or_1d(y, warn=True)
    if len(y) != len(bags):
        raise ValueError(f"{len(bags)} bags but {len(y)} labels; give one label per bag")
    return y
