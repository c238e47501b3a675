"""Things drawn with their parts shaded: blue speaks for the prediction, orange against it."""

import base64
import io
from collections.abc import Callable

import numpy as np

from skmil.inspection._dom import Element, h
from skmil.sources.parts import Boxes, Conformers, Regions, Residues, Spans

LEVELS = 9  # shades of one colour
_SHOWN = 12  # conformers that are drawn


def drawing(parts, support: np.ndarray) -> Element | None:
    """The thing with its parts shaded by their support; ``None`` where there is nothing to draw."""
    strength = support / (np.abs(support).max() or 1.0)
    draw = _DRAWINGS.get(type(parts))
    return None if draw is None else draw(parts, strength)


def part_name(parts) -> str:
    """What an instance of the thing is called."""
    names = {
        Regions: "region",
        Boxes: "tile",
        Spans: "passage",
        Conformers: "conformer",
        Residues: "residue",
    }
    return names.get(type(parts), "instance")


def part_labels(parts) -> list[str]:
    """A name for each instance that says where it is."""
    if isinstance(parts, Residues):
        return [f"{parts.sequence[i]}{i + 1}" for i in parts.places.tolist()]
    if isinstance(parts, Spans):
        texts = [" ".join(parts.text[a:b].split()) for a, b in parts.spans.tolist()]
        return [f"{k}: {t[:40]}…" if len(t) > 40 else f"{k}: {t}" for k, t in enumerate(texts)]
    return [f"{part_name(parts)} {k}" for k in range(len(parts))]


def shade(value: float) -> str:
    """Classes of a part: the side it is on and one of nine shades."""
    side = "for" if value >= 0 else "against"
    return f"part {side} s{min(LEVELS, round(LEVELS * abs(value)))}"


def strength_of(value: float) -> str:
    """How strong a part is, in percent of the strongest: what the slider compares with."""
    return f"{100 * abs(value):.1f}"


def _picture(parts, shapes: list[Element]) -> Element:
    height, width = parts.picture.shape[:2]
    image = h("image", href=_encoded(parts.picture), width=width, height=height)
    return h(
        "svg", image, *shapes, viewBox=f"0 0 {width} {height}", class_="picture", role="img",
        preserveAspectRatio="xMinYMin",
        aria_label="the picture with its parts shaded",
    )  # fmt: skip


def _regions(parts: Regions, strength) -> Element:
    shapes = [
        h("path", h("title", f"region {k}: {s:+.2f} of the strongest"), d=_outline(parts.labels == k),
          class_=shade(s), data_strength=strength_of(s), data_part=k)
        for k, s in enumerate(strength)
    ]  # fmt: skip
    return _picture(parts, shapes)


def _outline(mask: np.ndarray) -> str:
    """Path that covers a mask: a rectangle for each run of a row, rows that repeat merged into one."""
    found, top = [], 0
    for row in range(1, len(mask) + 1):
        if row < len(mask) and np.array_equal(mask[row], mask[top]):
            continue
        edges = np.flatnonzero(np.diff(np.concatenate([[0], mask[top].astype(np.int8), [0]])))
        for left, right in zip(edges[::2], edges[1::2], strict=True):
            found.append(f"M{left} {top}H{right}V{row}H{left}z")
        top = row
    return "".join(found)


def _boxes(parts: Boxes, strength) -> Element:
    shapes = [
        h("rect", h("title", f"tile {k}: {s:+.2f} of the strongest"), x=x, y=t, width=r - x, height=b - t,
          class_=f"tile {shade(s)}", data_strength=strength_of(s), data_part=k)
        for k, ((t, x, b, r), s) in enumerate(zip(parts.boxes.tolist(), strength, strict=True))
    ]  # fmt: skip
    return _picture(parts, shapes)


def _encoded(picture: np.ndarray) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _spans(parts: Spans, strength) -> Element:
    """The text, cut where passages begin and end; a piece counts as the mean of the passages it lies in."""
    starts, ends = parts.spans[:, 0], parts.spans[:, 1]
    cuts = np.unique(np.concatenate([[0, len(parts.text)], starts, ends]))
    pieces: list = []
    for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        inside = (starts <= a) & (b <= ends)
        text = parts.text[a:b]
        if not inside.any() or not text.strip():
            pieces.append(text)
            continue
        s = float(strength[inside].mean())
        which = np.flatnonzero(inside).tolist()
        told = f"passage {', '.join(map(str, which))}: {s:+.2f}"
        pieces.append(
            h("mark", text, class_=shade(s), data_strength=strength_of(s), title=told,
              data_part=" ".join(map(str, which)))
        )  # fmt: skip
    return h("div", *pieces, class_="text")


def _residues(parts: Residues, strength) -> Element:
    """The sequence in lines of sixty letters, by tens."""
    instance = {place: k for k, place in enumerate(parts.places.tolist())}
    motif = range(*parts.motif) if parts.motif else range(0)
    lines = []
    for start in range(0, len(parts.sequence), 60):
        letters: list = [h("span", f"{start + 1:>5} ", class_="soft")]
        for i in range(start, min(start + 60, len(parts.sequence))):
            letters.append(_residue(parts.sequence[i], i, instance.get(i), strength, i in motif))
            letters += [" "] * (i % 10 == 9)
        lines.append(h("span", *letters, class_="line"))
    return h("div", *lines, class_="sequence")


def _residue(letter: str, i: int, k: int | None, strength, in_motif: bool) -> Element:
    """A letter of the text, shaded if it is instance k."""
    motif = " motif" if in_motif else ""
    if k is None:
        return h("span", letter, class_=f"soft{motif}")
    return h(
        "mark", letter, class_=shade(strength[k]) + motif, data_strength=strength_of(strength[k]),
        title=f"{letter}{i + 1}: {strength[k]:+.2f}", data_part=k,
    )  # fmt: skip


def _conformers(parts: Conformers, strength) -> Element:
    """The strongest conformers, each turned so that its widest sides lie in the page."""
    order = np.argsort(-np.abs(strength), kind="stable")[:_SHOWN]
    panels = [_conformer(parts, int(k), float(strength[k])) for k in order]
    more = len(strength) - len(order)
    note = h("p", f"{more} weaker conformers are not drawn", class_="soft") if more > 0 else None
    return h("div", h("div", *panels, class_="panels"), note)


def _conformer(parts: Conformers, k: int, strength: float) -> Element:
    atoms = [a for a in parts.mol.GetAtoms() if a.GetAtomicNum() > 1] or list(parts.mol.GetAtoms())
    number = {a.GetIdx(): i for i, a in enumerate(atoms)}
    xyz = parts.mol.GetConformer(int(parts.ids[k])).GetPositions()[list(number)]
    xy = _flattened(xyz)
    pairs = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in parts.mol.GetBonds()]
    lines = [
        h("line", x1=f"{xy[i, 0]:.1f}", y1=f"{xy[i, 1]:.1f}", x2=f"{xy[j, 0]:.1f}", y2=f"{xy[j, 1]:.1f}")
        for i, j in ((number[a], number[b]) for a, b in pairs if a in number and b in number)
    ]
    dots = [
        h("circle", h("title", a.GetSymbol()), cx=f"{x:.1f}", cy=f"{y:.1f}", r=4,
          class_=f"atom {a.GetSymbol()}")
        for a, (x, y) in zip(atoms, xy, strict=True)
    ]  # fmt: skip
    energy = parts.energies[k]
    told = f"conformer {k}: {strength:+.2f}" + ("" if np.isnan(energy) else f", {energy:.1f} kcal/mol")
    picture = h("svg", *lines, *dots, viewBox="0 0 150 150", role="img", aria_label=told)
    mark = {"class_": f"panel {shade(strength)}", "data_strength": strength_of(strength), "data_part": k}
    return h("figure", picture, h("figcaption", told), **mark)


def _flattened(xyz: np.ndarray) -> np.ndarray:
    """Coordinates along the two widest axes, between 10 and 140."""
    centred = xyz - xyz.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2] if len(xyz) > 1 else np.eye(2, 3)
    axes = axes * np.where(axes.sum(axis=1) < 0, -1.0, 1.0)[:, None]  # an SVD leaves the signs open
    xy = np.pad(centred @ axes.T, ((0, 0), (0, 2 - len(axes))))
    return 75 + 65 * xy / (np.abs(xy).max() or 1.0)


_DRAWINGS: dict[type, Callable[..., Element]] = {
    Regions: _regions,
    Boxes: _boxes,
    Spans: _spans,
    Conformers: _conformers,
    Residues: _residues,
}
