"""Plots of the report as HTML with small inline SVG: crisp, no dependency, text that never shrinks.

A strip is one row per method: its name, a track whose marks sit at percentages of the width, and a
number. Panels are small squares, one per method, that wrap to the width of the page.
"""

import base64
import math
import struct
import zlib
from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from sklearn.metrics import roc_curve

from skmil.learners.base import positive_class
from skmil.report.summary import Section, Summary
from skmil.report.text import WORDS, seconds


def score_strip(section: Section) -> str:
    """Mean of the leading score with its 95 % interval; diamonds are published, dashed is guessing."""
    percent = 1 if section.regression else 100
    score = section.score
    limits = (-math.inf, math.inf) if section.regression else (0.0, 100.0)
    ends = [
        [min(max(percent * v, limits[0]), limits[1]) for v in s.interval(score)] for s in section.summaries
    ]
    figures = [
        sorted({f.accuracy for f in s.figures}) if score == "accuracy" else [] for s in section.summaries
    ]
    guessed = [] if section.baseline is None else [percent * section.baseline.mean(score)]
    everything = [v for pair in ends for v in pair] + [v for row in figures for v in row] + guessed
    axis = Axis(min(everything), max(everything))
    rows = []
    for s, (low, high), published in zip(section.summaries, ends, figures, strict=True):
        mean = percent * s.mean(score)
        marks = "".join(_upright(axis.place(v), "base") for v in guessed)
        marks += (
            f'<line class="span" x1="{axis.place(low)}%" x2="{axis.place(high)}%" y1="50%" y2="50%"/>'
            + "".join(f'<g class="pub">{diamond(axis.place(v))}</g>' for v in published)
            + f'<circle class="dot" cx="{axis.place(mean)}%" cy="50%" r="5"/>'
        )
        said = f"{s.label}: {mean:.4g}, 95 % interval {low:.4g} to {high:.4g}"
        said += "".join(f"; published {v:g}" for v in published)
        shown = f"{mean:.1f}" if percent == 100 else f"{mean:.3f}"
        rows.append(_strip_row(s.label, axis, marks, said, shown))
    return _strip(rows, axis, f"{WORDS[score]}, mean and 95 % interval")


def time_strip(section: Section) -> str:
    """Median seconds to fit (disc) and to predict (ring), on a logarithmic axis."""
    times = {s.label: (s.fit_seconds, s.predict_seconds) for s in section.summaries}
    positive = [max(t, 1e-6) for pair in times.values() for t in pair]
    axis = Axis(min(positive), max(positive), log=True)
    rows = []
    for m, (fit, predict) in times.items():
        a, b = axis.place(predict), axis.place(fit)
        marks = f'<line class="thin" x1="{a}%" x2="{b}%" y1="50%" y2="50%"/>'
        marks += f'<circle class="ring" cx="{a}%" cy="50%" r="4.5"/>'
        marks += f'<circle class="dot" cx="{b}%" cy="50%" r="5"/>'
        said = f"{m}: {seconds(fit)} to fit, {seconds(predict)} to predict"
        rows.append(_strip_row(m, axis, marks, said, seconds(fit)))
    return _strip(rows, axis, "seconds per fold, logarithmic")


class Axis:
    """Places on a track, 0 to 100 percent, with room at both ends, and round ticks."""

    def __init__(self, low: float, high: float, log: bool = False):
        self.log = log
        a, b = (math.log10(low), math.log10(high)) if log else (low, high)
        room = 0.06 * (b - a) or (0.5 if log else 1.0)
        self.low, self.high = a - room, b + room

    def place(self, value: float) -> float:
        """Percentage of the width; values outside sit at the ends."""
        v = math.log10(max(value, 1e-6)) if self.log else value
        return round(min(100.0, max(0.0, 100 * (v - self.low) / (self.high - self.low))), 2)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values and their labels."""
        if self.log:
            powers = range(math.ceil(self.low), math.floor(self.high) + 1)
            factors = (1,) if len(powers) > 2 else (1, 2, 5)
            step = max(1, math.ceil(len(powers) / 5))
            found = [f * 10.0**p for p in range(powers.start - 1, powers.stop, step) for f in factors]
            return [(v, seconds(v)) for v in found if self.low <= math.log10(v) <= self.high]
        width = _round_step((self.high - self.low) / 6)
        first, last = math.ceil(self.low / width), math.floor(self.high / width)
        return [(k * width, f"{k * width:.6g}") for k in range(first, last + 1)]

    def css(self, tick: float) -> str:
        """Marks the ticks of a logarithmic axis that are left out where there is little room."""
        powers = [v for v, _ in self.ticks() if self.log and math.log10(v).is_integer()]
        kept = powers[:: 2 if len(powers) > 3 else 1]
        return ' class="less"' if len(kept) > 1 and tick not in kept else ""


def _round_step(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below ``rough``."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(f * power for f in (1, 2, 5, 10) if f * power >= rough * (1 - 1e-9))


def _strip_row(name: str, axis: Axis, marks: str, said: str, shown: str) -> str:
    lines = "".join(_upright(axis.place(v), "grid") for v, _ in axis.ticks())
    return (
        f'<div class="name">{escape(name)}</div>'
        f'<svg class="track" role="img" aria-label="{escape(said)}"><title>{escape(said)}</title>'
        f'{lines}{marks}</svg><div class="value">{shown}</div>'
    )


def _upright(percent: float, css: str) -> str:
    return f'<line class="{css}" x1="{percent}%" x2="{percent}%" y1="0" y2="100%"/>'


def _strip(rows: Sequence[str], axis: Axis, label: str) -> str:
    ticks = "".join(
        f'<text{axis.css(v)} x="{axis.place(v)}%" y="13">{escape(t)}</text>' for v, t in axis.ticks()
    )
    foot = f'<div></div><svg class="ticks" aria-hidden="true">{ticks}</svg><div></div>'
    foot += f'<div></div><div class="axis">{escape(label)}</div><div></div>'
    return f'<div class="strip">{"".join(rows)}{foot}</div>'


def diamond(percent: float) -> str:
    """A diamond at a percentage of the width; a nested svg turns percent into a place."""
    return (
        f'<svg x="{percent}%" y="50%" overflow="visible"><path d="M0 -5.5 L5.5 0 L0 5.5 L-5.5 0 Z"/></svg>'
    )


def panels(section: Section, prefix: str) -> tuple[str, str, str]:
    """Heading, caption and one panel per method: what fits the task. Ids begin with ``prefix``."""
    if section.regression:
        heading, caption = "Predictions", "Each dot is a bag: true value across, prediction upwards."
        return heading, caption, _grid(section, _scatter, "r2")
    if section.binary:
        heading, classes = "ROC curves", section.first.classes
        of = classes[positive_class(classes)]
        caption = (
            f"Rate of true positives over rate of false positives for class {of}, "
            "averaged over folds, so that the area is the AUC of the table. Grey: all other methods."
        )
        return heading, caption, _roc_panels(section, prefix)
    heading = "Confusion"
    caption = "Rows are true classes, columns predicted ones; the stronger the colour, the more bags. "
    caption += f"In order: {', '.join(map(str, section.first.classes))}."
    return heading, caption, _grid(section, lambda s: _confusion(section, s), "accuracy")


def _grid(section: Section, draw: Callable[[Summary], str], score: str) -> str:
    cells = []
    for s in section.summaries:
        value, name = s.mean(score), escape(s.label)
        text = f"{WORDS[score]} {value:.3f}" if value == value else ""
        cells.append(
            f'<figure class="panel"><svg viewBox="-2 -2 104 104" role="img" aria-label="{name}, {text}">'
            f"<title>{name}, {text}</title>{draw(s)}</svg>"
            f"<figcaption><b>{name}</b><span>{text}</span></figcaption></figure>"
        )
    return f'<div class="panels">{"".join(cells)}</div>'


def mean_roc(summary: Summary, n: int = 101) -> np.ndarray | None:
    """True-positive rate at n false-positive rates, averaged over folds that hold both classes."""
    at = np.linspace(0, 1, n)
    curves = []
    for r in summary.records:
        if r.scores.get("auc") is not None:
            chosen = positive_class(r.classes)
            positive = [t == r.classes[chosen] for t in r.outputs["true"]]
            decision = np.asarray(r.outputs["decision"]) * (1 if chosen == 1 else -1)
            fpr, tpr, _ = roc_curve(positive, decision, drop_intermediate=False)
            curves.append(np.interp(at, fpr, tpr))
    return np.mean(curves, axis=0) if curves else None


def _roc_panels(section: Section, prefix: str) -> str:
    """All curves are drawn once, in grey, and used as the ground of each panel."""
    curves = {s.label: mean_roc(s) for s in section.summaries}
    grey = "".join(_curve(c, "other") for c in curves.values() if c is not None)
    ground = (
        f'<svg class="hidden" aria-hidden="true"><defs><g id="{prefix}">{_FRAME}{grey}</g></defs></svg>'
    )

    def draw(s: Summary) -> str:
        own = curves[s.label]
        return f'<use href="#{prefix}"/>' + ("" if own is None else _curve(own, "curve"))

    return ground + _grid(section, draw, "auc")


def _curve(tpr: np.ndarray, css: str) -> str:
    start = "0,100 " if tpr[0] > 0 else ""
    points = " ".join(
        f"{x:g},{100 - 100 * t:.4g}" for x, t in zip(np.linspace(0, 100, len(tpr)), tpr, strict=True)
    )
    return f'<polyline class="{css}" points="{start}{points}"/>'


_FRAME = (
    '<rect class="frame" width="100" height="100"/><line class="grid" x1="0" y1="100" x2="100" y2="0"/>'
)


def _scatter(s: Summary, most: int = 400) -> str:
    true = np.concatenate([r.outputs["true"] for r in s.records]).astype(float)
    predicted = np.concatenate([r.outputs["predicted"] for r in s.records]).astype(float)
    low, high = true.min(), true.max()
    step = math.ceil(len(true) / most)
    x, y = (np.clip(100 * (v[::step] - low) / (high - low or 1), 0, 100) for v in (true, predicted))
    dots = "".join(
        f'<circle class="bag" cx="{a:.1f}" cy="{100 - b:.1f}" r="1.6"/>' for a, b in zip(x, y, strict=True)
    )
    return _FRAME + dots


def _confusion(section: Section, s: Summary) -> str:
    classes = section.first.classes
    index = {c: k for k, c in enumerate(classes)}
    M = np.zeros((len(classes), len(classes)))
    for r in s.records:
        for t, p in zip(r.outputs["true"], r.outputs["predicted"], strict=True):
            M[index[t], index[p]] += 1
    share = M / np.maximum(M.sum(axis=1, keepdims=True), 1)
    size = 100 / len(classes)
    names = [escape(str(c)) for c in classes]
    rects = "".join(
        f'<rect class="cell" x="{j * size:.2f}" y="{i * size:.2f}" width="{size:.2f}" height="{size:.2f}" '
        f'fill-opacity="{share[i, j]:.2f}">'
        f"<title>{names[i]} taken for {names[j]}: {100 * share[i, j]:.0f} %</title></rect>"
        for i, j in zip(*np.nonzero(share > 0.005), strict=True)
    )
    return f'<rect class="frame" width="100" height="100"/>{rects}'


def gram_map(K: np.ndarray, y: np.ndarray, name: str, most: int = 400) -> str:
    """A Gram matrix as a picture, bags ordered by class, each entry a cosine, lines between classes."""
    order = np.argsort(y, kind="stable")
    d = np.sqrt(np.maximum(K.diagonal(), 1e-300))
    C = (K / np.outer(d, d))[np.ix_(order, order)]
    labels, counts = np.unique(y, return_counts=True)
    edges = 100 * np.cumsum(counts)[:-1] / len(y)
    off = C[~np.eye(len(C), dtype=bool)]
    low, high = np.percentile(off, [1, 99]) if off.size else (0.0, 1.0)
    keep = np.linspace(0, len(C) - 1, min(most, len(C))).astype(int)
    levels = np.clip(255 * (C[np.ix_(keep, keep)] - low) / (high - low or 1), 0, 255).astype(np.uint8)
    lines = "".join(
        f'<line x1="{e:.2f}" x2="{e:.2f}" y1="0" y2="100"/>'
        f'<line x1="0" x2="100" y1="{e:.2f}" y2="{e:.2f}"/>'
        for e in edges
    )
    said = f"Gram matrix of {name} on {len(y)} bags, ordered by class"
    share = (
        "".join(
            f'<span style="flex:{c}">{escape(str(v))}</span>' for v, c in zip(labels, counts, strict=True)
        )
        if len(labels) <= 12
        else ""
    )
    return (
        f'<figure class="gram"><div class="image"><img alt="{escape(said)}" src="{png(levels)}">'
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">{lines}</svg></div>'
        f'<div class="classes">{share}</div>'
        f'<div class="scale"><span>{low:.2g}</span><i></i><span>{high:.2g}</span></div></figure>'
    )


# Dark blue to pale yellow by way of green: the order is kept in grey and for colour-blind readers.
_COLOURS = np.array([[24, 20, 70], [38, 84, 130], [52, 140, 130], [136, 190, 106], [250, 236, 150]])


def png(levels: np.ndarray) -> str:
    """A matrix of bytes as a PNG with a palette, in a data address."""
    at = np.linspace(0, len(_COLOURS) - 1, 256)
    palette = np.column_stack([np.interp(at, range(len(_COLOURS)), c) for c in _COLOURS.T]).astype(np.uint8)
    h, w = levels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in levels)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()
