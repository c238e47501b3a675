"""Things on disk: which kind a file is, what a folder or a file holds, and the labels that go with it."""

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skmil.formats import READERS
from skmil.sources._reading import TEXT_SUFFIXES, decode, table_rows
from skmil.sources.base import BagSource
from skmil.sources.images import ImageBags
from skmil.sources.molecules import MoleculeBags, read_sdf, read_smiles
from skmil.sources.sequences import SequenceBags, read_fasta
from skmil.sources.texts import TextBags
from skmil.sources.things import BadThing, Thing

SOURCES: dict[str, type[BagSource]] = {
    "images": ImageBags,
    "texts": TextBags,
    "molecules": MoleculeBags,
    "sequences": SequenceBags,
}
_ENDINGS = {
    "images": (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm"),
    "texts": TEXT_SUFFIXES,
    "molecules": (".sdf", ".mol", ".smi", ".smiles"),
    "sequences": (".fasta", ".fa", ".faa", ".fas", ".fna"),
}
_PICTURE = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n|GIF8[79]a|BM.{12}|II\*\0|MM\0\*|RIFF.{4}WEBP|P[1-6]\s", re.S
)
_MOLECULE = re.compile(r"^M  END|^\$\$\$\$|V[23]000\s*$", re.M)
_FASTA = re.compile(r"\s*>[^\n]*\n[A-Za-z*\-.\s]+(?:\n>|\Z)")
_SMILES = ("smiles", "canonical_smiles")
_LABELS = ("label", "class", "target", "y")


@dataclass(frozen=True)
class Found:
    """Things of one kind; ``labels`` is ``None`` where there are none."""

    kind: str
    things: list[Thing]
    labels: np.ndarray | None
    ignored: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.things)


def kind_of(path) -> str | None:
    """The kind of thing in a file, by its first bytes, else by its ending; ``None`` for anything else."""
    path = Path(path)
    with open(path, "rb") as file:
        start = file.read(4096)
    if is_picture(start):
        return "images"
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    text = start.removeprefix(BOM_UTF8).decode("latin-1")
    if ending in (".csv", ".tsv"):
        names = re.split("[\t,;]", text.split("\n", 1)[0].lower())
        return "molecules" if any(n.strip(' "\r') in _SMILES for n in names) else None
    if ending in READERS:
        return None
    by_name = next((kind for kind, endings in _ENDINGS.items() if ending in endings), None)
    if by_name in ("images", "molecules", "sequences") or start.startswith(b"%PDF"):
        return by_name or "texts"
    if _MOLECULE.search(text):
        return "molecules"
    if _FASTA.match(text):
        return "sequences"
    return by_name or ("texts" if _is_text(start) else None)


def is_picture(data: bytes) -> bool:
    """Whether bytes begin as a picture of a kind that is read here does."""
    return _PICTURE.match(data) is not None


def find_things(path, kind: str | None = None, labels=None, label: str | None = None) -> Found | None:
    """Things in a folder or a file; ``None`` where a file holds none, such as a file of bags.

    Parameters
    ----------
    path : folder of pictures, texts, SDF or FASTA files; or one such file, or a table of SMILES
        The labels of a folder are the names of its subfolders, if all its things lie in some.
    kind : "images", "texts", "molecules" or "sequences"; told from the content where ``None``
    labels : path of a table, optional
        A column of names (paths, file names with or without ending, titles) and one of labels.
    label : str, optional
        The column of labels in ``labels`` or in a table of SMILES; the field of an SDF.

    Raises
    ------
    ValueError
        If a folder holds several kinds, or a thing has no label in ``labels``.
    """
    path = Path(path)
    if kind is not None and kind not in SOURCES:
        raise ValueError(f"no source {kind!r}; there are {', '.join(SOURCES)}")
    if path.is_dir():
        found = _in_folder(path, kind)
    else:
        held = kind or kind_of(path)
        # A single .txt may be a file of bags, too, and one text is nothing to learn from.
        if held is None or (held == "texts" and kind is None and path.suffix.lower() == ".txt"):
            return None
        found = Found(held, *_in_file(path, held, label))
    return found if labels is None else replace(found, labels=_labels(found.things, Path(labels), label))


def _in_folder(folder: Path, kind: str | None) -> Found:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not _hidden(p, folder))
    kinds = {p: _kind_if_readable(p) for p in files}
    if kind is None:
        kind = _only_kind(folder, Counter(k for k in kinds.values() if k))
    chosen = [p for p in files if kinds[p] == kind or p.suffix.lower() in _ENDINGS[kind]]
    if not chosen:
        raise ValueError(f"{folder}: no {kind} found among its {len(files)} files")
    things, groups = [], []
    for p in chosen:
        held = [Thing(p, p.relative_to(folder).as_posix())]
        if kind in ("molecules", "sequences"):
            held = _in_file(p, kind, None)[0]
        things += held
        groups += [p.relative_to(folder).parts[0] if p.parent != folder else None] * len(held)
    taken = set(chosen)
    ignored = tuple(str(p.relative_to(folder)) for p in files if p not in taken)
    labels = None if None in groups or len(set(groups)) < 2 else np.array(groups)
    return Found(kind, things, labels, ignored)


def _kind_if_readable(path: Path) -> str | None:
    """A file that may not be read counts by its ending; whoever extracts it says which one it is."""
    try:
        return kind_of(path)
    except OSError:
        return None


def _only_kind(folder: Path, counts: Counter) -> str:
    """The kind of nearly all files; a few notes beside pictures do not make a folder of texts."""
    if not counts:
        raise ValueError(f"{folder}: this folder holds no pictures, texts, molecules or sequences")
    (kind, most), *others = counts.most_common()
    if others and others[0][1] > most / 4:
        told = " and ".join(f"{n} {k}" for k, n in counts.most_common(2))
        raise ValueError(f"{folder}: holds {told}; say which with --source {kind}")
    return kind


def _in_file(path: Path, kind: str, label: str | None) -> tuple[list[Thing], np.ndarray | None]:
    """The things of one file, with labels where the file has them."""
    ending = path.suffix.lower()
    if kind == "sequences":
        return read_fasta(path), None
    if kind == "molecules" and ending in (".csv", ".tsv", ".smi", ".smiles"):
        return _smiles(path, label)
    if kind == "molecules":
        things = read_sdf(path)
        return things, None if label is None else np.array([_field(t, label, path) for t in things])
    return [Thing(path, path.name)], None


def _smiles(path: Path, label: str | None):
    """A table of SMILES, with its usual columns of names and labels where they are not named."""
    if path.suffix.lower() in (".smi", ".smiles"):
        return read_smiles(path)
    header = _table(path)[0]
    low = [h.strip().lower() for h in header]
    name = next((n for n in ("name", "id", "title", "molecule", "compound") if n in low), None)
    found = read_smiles(path, name=name, label=label or next((n for n in _LABELS if n in low), None))
    if name is not None:
        _check_one_row_each(path, [t.name for t in found[0]], header, low)
    return found


def _check_one_row_each(path: Path, names: list[str], header: list[str], low: list[str]) -> None:
    """Refuse a table with a row per shape of a molecule: it holds bags already."""
    (most, count), *_ = Counter(names).most_common(1) or [("", 0)]
    if count > 1 and 2 * len(set(names)) <= len(names):
        smiles = next((h for h, n in zip(header, low, strict=True) if n in _SMILES), "NAME")
        raise ValueError(
            f"{path}: {count} rows have the name {most!r}; where a row is an instance, name the column "
            f"of bags with --bag and leave columns of text out with --ignore {smiles}"
        )


def _field(thing: Thing, label: str, path: Path) -> str:
    found = re.search(rf"^>.*<{re.escape(label)}>.*\n(.*)$", thing.content, re.M)
    if found is None or not found.group(1).strip():
        raise ValueError(f"{path}: {thing.name!r} has no field <{label}>")
    return found.group(1).strip()


def _labels(things: Sequence[Thing], path: Path, label: str | None) -> np.ndarray:
    """One label per thing from a table of names and labels."""
    header, *rows = _table(path)
    low = [h.strip().lower() for h in header]
    usual = [label.lower()] if label else list(_LABELS)
    at = next((low.index(n) for n in usual if n in low), None)
    if at is None:
        if label is not None:
            raise ValueError(f"{path}: no column {label!r}; it has {', '.join(header)}")
        rows, at = [header, *rows], 1  # no header: names and labels
    key = 0 if at != 0 else 1
    if any(len(r) <= max(at, key) for r in rows):
        raise ValueError(f"{path}: expected two columns, names and labels, in every line")
    known = _told_once(path, [(r[key].strip(), r[at].strip()) for r in rows])
    used = [_form(known, thing.name) for thing in things]
    missing = [t.name for t, form in zip(things, used, strict=True) if form is None]
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise ValueError(
            f"{path}: no label for {len(missing)} of {len(things)} things ({shown}); "
            "add them to the table, or take them away"
        )
    _check_forms(path, things, used)
    return np.array([known[form] for form in used if form is not None])


def _told_once(path: Path, pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Labels by name; a name may come twice if it says the same."""
    known: dict[str, str] = {}
    for name, label in pairs:
        if label and known.setdefault(name, label) != label:
            raise ValueError(f"{path}: {name!r} is both {known[name]!r} and {label!r}; keep one of them")
    return known


def _form(known: dict[str, str], name: str) -> str | None:
    """How the table calls a thing: by its path, its file name, or these without their ending."""
    path = Path(name)
    forms = (name, path.name, path.stem, path.with_suffix("").as_posix())
    return next((form for form in forms if form in known), None)


def _check_forms(path: Path, things: Sequence[Thing], used: list[str | None]) -> None:
    """Complain if two things of different names answer to the same short one."""
    first: dict[str | None, str] = {}
    for thing, form in zip(things, used, strict=True):
        if first.setdefault(form, thing.name) != thing.name:
            raise ValueError(
                f"{path}: {form!r} may mean {first[form]!r} or {thing.name!r}; give paths in the table"
            )


def _table(path: Path) -> list[list[str]]:
    rows = [r for r in table_rows(path) if any(cell.strip() for cell in r)]
    if not rows:
        raise ValueError(f"{path}: expected a table, found an empty file")
    return rows


def _is_text(start: bytes) -> bool:
    try:
        return bool(decode(start[:-4] if len(start) == 4096 else start, "utf-8").strip())
    except (BadThing, ValueError, LookupError):
        return False


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.relative_to(folder).parts)
