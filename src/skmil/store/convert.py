"""From a folder with one file per bag to a store, file by file; it can be stopped and goes on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from skmil._checks import some
from skmil.formats.folder import bag_files, read_bag, read_labels, width
from skmil.store.writing import BagWriter, writer


@dataclass
class Conversion:
    """What became of the files of a folder.

    Parameters
    ----------
    written : bags in the store
    resumed : of these, bags that an earlier run had written
    failed : one line for each file that could not be read
    unlabelled : ids of bags without a label, which were left out
    """

    written: int = 0
    resumed: int = 0
    failed: list[str] = field(default_factory=list)
    unlabelled: list[str] = field(default_factory=list)


def convert_folder(
    folder,
    out,
    *,
    labels=None,
    dataset: str | None = None,
    dtype: str = "float32",
    bag: str | None = None,
    label: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Conversion:
    """Write a folder with one file per bag as a store.

    A file that cannot be read is named in the result and the rest goes on. A run that was stopped, in
    whatever way, goes on where it was when it is started again.

    Parameters
    ----------
    folder : path
        Files .npy, .npz, .csv, .parquet, .h5, .safetensors or .pt; a bag's id is the name of its file.
    out : path of the store, usually ``something.zarr``
    labels : path of a table with a header, optional
        Bags without a label are left out; a label without a file is an error.
    dataset : name of the table in files that hold several, optional
    dtype : "float32" or "float64"
    bag, label : columns of ``labels``, where they have no usual names
    progress : function of (bytes done, bytes in all), called after each file

    Returns
    -------
    Conversion
    """
    files = bag_files(folder)
    known = None if labels is None else read_labels(labels, bag, label)
    unlabelled = [] if known is None else _compare(files, known, folder, labels)
    todo = {name: path for name, path in files.items() if known is None or name in known}
    _check_widths(todo, dataset)
    found = Conversion(unlabelled=unlabelled)
    with writer(out, dtype=dtype, resume=True) as store:
        found.resumed = len(store.ids)
        _check_resumed(store, todo, known)
        sizes = {name: path.stat().st_size for name, path in todo.items()}
        done, total = sum(sizes[n] for n in store.ids), sum(sizes.values())
        for name, path in todo.items():
            if name not in store.ids:
                _add(store, name, path, dataset, None if known is None else known[name], found)
                done += sizes[name]
                if progress is not None:
                    progress(done, total)
        if not store.ids:
            raise ValueError(f"{folder}: no file could be read; the first: {found.failed[0]}")
    found.written = len(store.ids)
    return found


def _add(store: BagWriter, name: str, path: Path, dataset, label, found: Conversion) -> None:
    """One file into the store, or its name among the failures; another width stops it all."""
    try:
        table = read_bag(path, dataset)
    except (ValueError, OSError) as error:
        found.failed.append(" ".join(str(error).split()))
        return
    if store.n_features not in (None, table.shape[1]):
        d = store.n_features
        raise ValueError(f"{path}: {table.shape[1]} features; the files before it have {d}: remove it")
    try:
        store.add(name, table, label)
    except OSError:
        raise
    except (ValueError, TypeError) as error:
        found.failed.append(f"{path}: {error}")


def _compare(files: dict, known: dict, folder, labels) -> list[str]:
    """Ids of bags that have no label."""
    lost = [name for name in known if name not in files]
    if lost:
        raise ValueError(f"{labels}: labels for {some(lost)}, but {folder} has no such file")
    left_out = [name for name in files if name not in known]
    if len(left_out) == len(files):
        raise ValueError(f"{labels}: has a label for none of the files of {folder}")
    return left_out


def _check_widths(files: dict[str, Path], dataset) -> None:
    """Files that differ in width are found before anything is written, where their heads say it."""
    first: tuple[Path, int] | None = None
    for path in files.values():
        d = width(path, dataset)
        if d is None:
            continue
        first = first or (path, d)
        if d != first[1]:
            raise ValueError(f"{path}: {d} features, and {first[0].name} has {first[1]}; remove one")


def _check_resumed(store: BagWriter, files: dict, known: dict | None) -> None:
    """What an earlier run has written must belong to this one."""
    strange = [n for n, label in store.ids.items() if n not in files or (known or {}).get(n) != label]
    if strange:
        raise ValueError(f"{store.part}: begun with other files or labels ({some(strange)}); remove it")
