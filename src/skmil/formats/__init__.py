"""Files <-> Bags: one small module per format, told apart by name and content."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from skmil._schema import check_lengths, check_weights
from skmil.bags import as_bags
from skmil.formats import arff, delimited, excel, lines, mat, npz, parquet
from skmil.formats._files import GZIP, How, is_screen, wrong

READERS: dict[str, Callable[..., Bunch]] = {
    ".npz": npz.read,
    ".csv": delimited.read,
    ".tsv": partial(delimited.read, tab=True),
    ".parquet": parquet.read,
    ".xlsx": excel.read,
    ".arff": arff.read,
    ".data": lines.read_data,
    ".svm": lines.read_andrews,
    ".mat": mat.read,
}
WRITERS = {
    ".npz": npz.write,
    ".csv": delimited.write,
    ".tsv": delimited.write,
    ".parquet": parquet.write,
    ".arff": arff.write,
    ".data": lines.write_data,
    ".svm": lines.write_andrews,
    ".txt": lines.write_andrews,
    ".mat": mat.write,
}
ONE_BAG = (".npy", ".h5", ".hdf5", ".safetensors", ".pt", ".pth")
_MAGIC = {b"PK\x03\x04": ".npz", b"PAR1": ".parquet", b"MATLAB": ".mat", b"\x89HDF": ".mat"}


def read_bags(
    path,
    *,
    bag=None,
    label=None,
    labels=True,
    ignore=(),
    instance=None,
    decimal=None,
    n_features=None,
    missing=False,
) -> Bunch:
    """Read bags from a file; its ending says the format, its content where the ending does not.

    Parameters
    ----------
    path : .npz, .csv, .tsv, .parquet, .xlsx, .arff, .data, .svm, .txt or .mat; text may be packed (.gz)
    bag, label : str or int, optional
        Columns (or arrays) with the bag ids and the labels, where they do not have usual names such
        as ``bag``, ``bag_id``, ``molecule_name`` and ``label``, ``class``, ``y`` (unless there is an
        ``x``), ``target``. Tables without a header take column numbers, from 0.
    labels : bool
        False leaves labels out, also those that are only partly there.
    ignore : columns to leave out, by name or number
    instance : column with names of instances, where it has no usual name such as ``instance``
    decimal : "." or ","
        Decimal mark of a CSV; told from its first row where not given.
    n_features : int, optional
        Number of features of a sparse text; its largest index where not given.
    missing : bool
        Take empty fields, NA, NaN and ? as missing values, for a ``BagImputer``.

    Returns
    -------
    Bunch
        ``data`` (Bags), ``target`` (one label per bag, or ``None``) and what else the file holds:
        ``folds``, ``split``, ``instance_target``, ``instance_names``, ``class_names``, ``DESCR``, ...

    Raises
    ------
    ValueError
        One line that names the file, the line and what was expected there.
    """
    path = Path(path)
    if not path.is_file():
        kind = "a folder, not a file" if path.is_dir() else "a pipe or device; copy it into a file first"
        raise FileNotFoundError(
            f"{path}: {f'this is {kind}' if path.exists() else 'there is no such file'}"
        )
    try:
        how = How(bag, label, labels, tuple(ignore), instance, decimal, n_features, missing)
        bunch = READERS[_kind(path)](path, how)
        return bunch if labels else Bunch(**{**bunch, "target": None})
    except MemoryError:
        raise wrong(path, None, "the file asks for more memory than there is") from None
    except (ValueError, TypeError) as error:
        if str(error).startswith(str(path)):
            raise
        raise wrong(path, None, str(error)) from None


def write_bags(path, bags, y=None, **extras) -> list[str]:
    """Write bags to a file, in the format its ending names.

    The file appears under its name only when it is complete.

    Parameters
    ----------
    path : .npz, .csv, .tsv, .parquet, .arff, .data, .svm, .txt or .mat; text also packed, as .csv.gz
        "-" and /dev/stdout get a CSV.
    bags : Bags, or whatever ``as_bags`` takes
    y : one label per bag, optional
    **extras
        What else ``read_bags`` may return: ``folds``, ``split``, ``instance_target``,
        ``instance_names``, ...

    Returns
    -------
    list of str
        Names of the extras that this format cannot hold; always empty for .npz.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skmil.formats import read_bags, write_bags
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.csv"
    >>> write_bags(path, [[[0.1, 2.0]], [[3.0, 4.0], [5.0, 6.0]]], ["no", "yes"])
    []
    >>> read_bags(path).target.tolist()
    ['no', 'yes']
    """
    path = Path(path)
    kind = ".csv" if is_screen(path) else _ending(path)
    if kind not in WRITERS or (path.suffix.lower() == ".gz" and kind in (".npz", ".parquet", ".mat")):
        raise ValueError(f"{path}: expected a name ending in one of {', '.join(WRITERS)}")
    bags = as_bags(bags)
    extras = {k: v for k, v in extras.items() if v is not None and k != "ids"}  # the bags have them
    _check_extras(extras, bags)
    return WRITERS[kind](path, bags, None if y is None else _check_labels(y, bags), extras)


def _check_labels(y, bags) -> np.ndarray:
    y = check_lengths(y, bags)
    y = np.array(y.tolist()) if y.dtype == object else y
    if y.dtype.kind not in "biufU":
        raise ValueError(f"labels are numbers or text to be written, not {y.dtype}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        i = int(np.argmin(np.isfinite(y)))
        raise ValueError(f"the label of {bags.describe(i)} is {y[i]}; drop the bag or write without labels")
    return y


def _check_extras(extras: dict, bags) -> None:
    """What goes with instances, bags or folds must be as long as these."""
    n, n_instances = len(bags), len(bags.owner)
    lengths = {
        "split": n,
        "folds": n,
        "sample_weight": n,
        "instance_names": n_instances,
        "instance_target": n_instances,
    }
    for key, value in extras.items():
        if key in (
            "X",
            "data",
            "indices",
            "indptr",
            "shape",
            "bag",
            "y",
            "target",
            "names",
            "feature_names",
        ):
            raise ValueError(f"{key!r} is a name that the formats use themselves; choose another")
        if key in lengths and np.shape(value)[-1:] != (lengths[key],):
            raise ValueError(f"{key!r} has shape {np.shape(value)}; expected {lengths[key]} entries")
    check_weights(extras.get("sample_weight"), bags)


def _ending(path: Path) -> str:
    """The ending that says the format, which may stand before .gz."""
    ends = [e.lower() for e in path.suffixes]
    return ends[-2] if ends[-1:] == [".gz"] and len(ends) > 1 else ends[-1] if ends else ""


def _packed(path: Path, ending: str) -> str:
    """The format of a gzip file: a text, whose name says which."""
    if ending in (".csv", ".tsv", ".arff", ".data", ".svm"):
        return ending
    known = "such as bags.csv.gz; other formats are unpacked first (gunzip)"
    raise wrong(path, None, f"expected the name of a packed text, {known}")


def _kind(path: Path) -> str:
    """The format: its magic bytes where there are any, else the ending, else the first line."""
    with open(path, "rb") as file:
        start = file.read(4096)
    ending = _ending(path)
    if ending in ONE_BAG:
        raise wrong(
            path, None, "a file of one bag; put such files into a folder: skmil convert folder/ bags.zarr"
        )
    if start.startswith(GZIP):
        return _packed(path, ending)
    magic = next((kind for mark, kind in _MAGIC.items() if start.startswith(mark)), None)
    if magic == ".npz" and ending == ".xlsx":  # both are zip archives
        return ending
    if ending in READERS and magic is not None and magic != ending:
        raise wrong(path, None, f"expected {ending[1:]}, found the beginning of a {magic} file; rename it")
    if not start.strip():
        raise wrong(path, None, "expected bags, found an empty file")
    if magic is not None or ending in READERS:
        return magic or ending
    first = next(
        (t for t in start.decode("utf-8", "replace").lstrip("\ufeff").splitlines() if t.strip("# \t")), ""
    )
    if first.lstrip().startswith(("@", "%")):
        return ".arff"
    return ".svm" if first.startswith("#") or [*first.split(), ""][0].count(":") == 2 else ".csv"
