"""What the page shows of a thing: a small picture with its regions shaded, or pieces of text."""

import io
import weakref
from pathlib import Path

import numpy as np

from skmil.search.index import Collection
from skmil.sources import Boxes, Regions, Residues, Spans
from skmil.sources._pictures import pillow, rgb
from skmil.sources.cache import DiskCache, decode, encode
from skmil.sources.molecules import as_molecule

SIDE = 320  # pixels of the longer side of a small picture
LEVELS = 9  # shades of one colour
_FOR, _AGAINST = (35, 97, 143), (194, 84, 47)  # as in the pages of `skmil explain`
_LINE = (140, 200, 245)  # seen on dark and on bright pictures
_VEIL = 56  # of 255: the strongest shade, which lets colours be recognised
_TEXT = 260  # letters on a card
_PARTS = 3  # parts named on a card
_NAMED = {"bags": "instance", "molecules": "conformer"}  # parts that have a number only


class Gallery:
    """Small pictures and maps of regions, made when first shown and kept in the index."""

    def __init__(self, folder):
        self._kept = DiskCache(Path(folder) / "views")
        weakref.finalize(self, self._kept.close)

    def picture(self, c: Collection, i: int) -> tuple[bytes, str] | None:
        """A small picture and its kind; ``None`` where things are no pictures."""
        if c.kind == "images":
            return self._image(c, i)[0], "image/jpeg"
        if c.kind == "molecules":
            return self._once(f"{c.ids[i]} {c.stamps[i]} drawn", lambda: _drawn(c, i)), "image/svg+xml"
        return None

    def shade(self, c: Collection, i: int, support: np.ndarray) -> bytes:
        """A transparent picture to lay over the small one: blue speaks for the thing, orange against it."""
        return _png(_colours(_over_pixels(self._image(c, i)[1], _strength(support))))

    def pieces(self, c: Collection, i: int, support: np.ndarray | None) -> list[tuple[str, int]]:
        """Texts with the shade of each, from -9 (against) to 9 (for); 0 is plain."""
        strength = None if support is None else _strength(support)
        if c.kind in _NAMED:  # what the bag says is enough; finding shapes again would take seconds
            return _parts([f"{_NAMED[c.kind]} {k}" for k in range(c.bags.sizes[i])], strength)
        if c.kind == "images":
            return []
        parts = c.source.parts(c.things[i])  # type: ignore[union-attr]
        return _passages(parts, strength) if isinstance(parts, Spans) else _letters(parts, strength)

    def _image(self, c: Collection, i: int) -> tuple[bytes, np.ndarray]:
        """The small picture, and its map of regions or its tiles."""
        key = f"{c.ids[i]} {c.stamps[i]} {c.source._recipe() if c.source else ''!r}"
        both = self._once(key, lambda: _reduced(c.source.parts(c.things[i])))  # type: ignore[union-attr]
        cut = int.from_bytes(both[:4], "big")
        return both[4 : 4 + cut], decode(both[4 + cut :])

    def _once(self, key: str, make) -> bytes:
        found = self._kept.get(key)
        if found is None:
            found = make()
            self._kept.put(key, found)
        return found


def small_png(data: bytes, side: int, max_pixels: int) -> bytes:
    """A picture that somebody sent, decoded and written anew, so that nothing else of the file remains."""
    return _png(rgb(data, side, max_pixels))


def _reduced(parts: Regions | Boxes) -> bytes:
    Image = pillow()
    image = Image.fromarray(parts.picture)
    scale = min(1.0, SIDE / max(image.size))
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    if isinstance(parts, Regions):
        rows = np.minimum((np.arange(size[1]) + 0.5) / scale, image.height - 1).astype(int)
        columns = np.minimum((np.arange(size[0]) + 0.5) / scale, image.width - 1).astype(int)
        places = parts.labels[np.ix_(rows, columns)].astype(np.uint16)
    else:
        places = np.vstack([[[0, 0, size[1], size[0]]], np.rint(parts.boxes * scale)]).astype(np.int64)
    buffer = io.BytesIO()
    image.resize(size).save(buffer, "JPEG", quality=85)
    jpeg = buffer.getvalue()
    return len(jpeg).to_bytes(4, "big") + jpeg + encode(places)


def _over_pixels(places: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """Strength of each pixel; where tiles overlap, their mean."""
    if places.dtype == np.uint16:
        return strength[places]
    (_, _, height, width), *boxes = places.tolist()
    total, count = np.zeros((height, width)), np.zeros((height, width))
    for (top, left, bottom, right), s in zip(boxes, strength, strict=True):
        total[top:bottom, left:right] += s
        count[top:bottom, left:right] += 1
    return total / np.maximum(count, 1)


def _colours(strength: np.ndarray) -> np.ndarray:
    light = np.empty((*strength.shape, 4), dtype=np.uint8)
    light[..., :3] = np.where((strength >= 0)[..., None], np.array(_FOR), np.array(_AGAINST))
    light[..., 3] = np.rint(_VEIL * np.abs(strength))
    light[_edges(strength > 0.5)] = (*_LINE, 255)
    return light


def _edges(strong: np.ndarray) -> np.ndarray:
    """Pixels of a mask that touch its outside: they draw a line around what carried a match.

    The rim of the picture counts as outside, so that a match of all its parts is seen as one.
    """
    inner = np.pad(strong, 2)
    all_round = [inner[2:-2, :-4], inner[2:-2, 4:], inner[:-4, 2:-2], inner[4:, 2:-2]]
    return strong & ~np.logical_and.reduce(all_round)


def _png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    pillow().fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _strength(support: np.ndarray) -> np.ndarray:
    return support / (np.abs(support).max() or 1.0)


def _level(value: float) -> int:
    return round(LEVELS * value)


def _parts(names: list[str], strength: np.ndarray | None) -> list[tuple[str, int]]:
    """The number of parts, or the strongest of them."""
    if strength is None:
        return [(f"{len(names)} × {names[0].split()[0]}", 0)]
    order = np.argsort(-np.abs(strength), kind="stable")[:_PARTS]
    return [(f"{names[k]} ({strength[k]:+.2f}) ", _level(strength[k])) for k in order]


def _passages(parts: Spans, strength: np.ndarray | None) -> list[tuple[str, int]]:
    """How the text begins, or the passages that speak most for it."""
    if strength is None:
        return [(_begin(parts.text[: 4 * _TEXT], _TEXT), 0)]
    best = np.argsort(-strength, kind="stable")[:2]
    each = _TEXT // len(best)
    texts = [_begin(parts.text[a:b], each) for a, b in parts.spans[best].tolist()]
    return [p for t, k in zip(texts, best, strict=True) for p in ((t, _level(strength[k])), (" … ", 0))]


def _begin(text: str, n: int) -> str:
    """The first words, at most n letters; a longer word is cut."""
    text = " ".join(text.split())
    if len(text) <= n:
        return text
    return (text[:n].rsplit(" ", 1)[0] if " " in text[:n] else text[: n - 1]) + "…"


def _letters(parts: Residues, strength: np.ndarray | None) -> list[tuple[str, int]]:
    """The sequence, neighbours of one shade together."""
    shown = parts.sequence[:_TEXT]
    if strength is None:
        return [(shown, 0)]
    level = dict(zip(parts.places.tolist(), map(_level, strength.tolist()), strict=True))
    pieces: list[tuple[str, int]] = []
    for i, letter in enumerate(shown):
        now = level.get(i, 0)
        if pieces and pieces[-1][1] == now:
            pieces[-1] = (pieces[-1][0] + letter, now)
        else:
            pieces.append((letter, now))
    return pieces


def _drawn(c: Collection, i: int) -> bytes:
    from rdkit.Chem import RemoveHs
    from rdkit.Chem.Draw import rdMolDraw2D
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        mol = RemoveHs(as_molecule(c.things[i].content))
        mol.RemoveAllConformers()
        canvas = rdMolDraw2D.MolDraw2DSVG(SIDE, 240)
        canvas.DrawMolecule(mol)
        canvas.FinishDrawing()
        return canvas.GetDrawingText().encode()
