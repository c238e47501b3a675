"""The report as one HTML file that needs nothing else: no script, no font, no picture from outside."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np

from skmil.formats._files import replacing
from skmil.records import Record
from skmil.report import plots
from skmil.report.summary import LEVEL, Section, Summary, corrected_ttest, sections
from skmil.report.text import NAMES, number, seconds, shown_scores, source_letters

MANY = 14  # more methods than this are compared by signs, so that the table fits the page


def write_html(records: Sequence[Record], path, *, grams: dict | None = None) -> None:
    """Write the report of some records.

    Parameters
    ----------
    records : list of Record
        Of one or several data sets, methods and protocols.
    path : where to write; the file appears when it is whole
    grams : dict, optional
        For a fingerprint of the records' data, (name of the method, Gram matrix, labels).
    """
    if not records:
        raise ValueError("no records, so there is nothing to report")
    text = to_html(records, grams=grams)
    with replacing(Path(path)) as file:
        file.write(text)


def to_html(records: Sequence[Record], *, grams: dict | None = None) -> str:
    """The report as text; parameters as in ``write_html``."""
    found = sections(records)
    style = files("skmil.report").joinpath("style.css").read_text("utf-8")
    names = list(dict.fromkeys(s.first.data for s in found))
    links = "".join(f'<a href="#s{k}">{escape(_heading(s))}</a>' for k, s in enumerate(found))
    body = "".join(_section(s, k, (grams or {}).get(s.first.fingerprint)) for k, s in enumerate(found))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>skmil: {escape(', '.join(names))}</title><style>{style}</style></head><body>"
        "<header><h1>skmil · multiple-instance learning, cross-validated</h1>"
        f"{f'<nav>{links}</nav>' if len(found) > 1 else ''}</header>"
        f"<main>{body}</main>{_footer(records)}</body></html>\n"
    )


def _heading(section: Section) -> str:
    return section.first.data + (", nested search" if section.first.nested else "")


def _section(section: Section, number_: int, gram) -> str:
    head = f'<h2 id="s{number_}">{escape(section.first.data)}</h2>'
    head += (
        f'<p class="soft">{section.n_bags} bags · {escape(_classes(section))}{escape(section.protocol)}</p>'
    )
    parts = [head, _lead(section), _results(section), _scores(section)]
    heading, caption, drawn = plots.panels(section, f"roc{number_}")
    parts.append(f'<h3>{heading}</h3><p class="note">{escape(caption)}</p>{drawn}')
    if len(section.summaries) > 1:
        parts.append(_pairs(section))
    parts.append(_times(section))
    if gram is not None:
        parts.append(_gram(*gram))
    return f"<section>{''.join(parts)}</section>"


def _classes(section: Section) -> str:
    if section.regression:
        return "regression · "
    return f"{len(section.first.classes)} classes · "


def _lead(section: Section) -> str:
    """The result in a sentence or two."""
    best = section.summaries[0]
    unit = " %" if not section.regression else ""
    value = number(best, section.score).replace("  ", " ")
    leading = NAMES[section.score].removesuffix(" %")
    if len(section.summaries) == 1:
        return f'<p class="lead"><b>{escape(best.method)}</b> reaches {leading} {value}{unit}.</p>'
    level = [s for s in section.summaries[1:] if corrected_ttest(best, s, section.score)[1] >= LEVEL]
    rest = len(section.summaries) - 1
    if len(level) == rest:
        told = "no other method differs significantly from it"
    else:
        told = f"{rest - len(level)} of {rest} other methods are significantly worse"
    return (
        f'<p class="lead"><b>{escape(best.method)}</b> has the highest {leading}, {value}{unit}; {told} '
        f'<span class="soft">(corrected resampled t-test, {100 * LEVEL:.0f} %)</span>.</p>'
    )


def _results(section: Section) -> str:
    letters = source_letters(section)
    scores = shown_scores(section)
    head = "<th>method</th>" + "".join(f"<th>{NAMES[s]}</th>" for s in scores)
    head += '<th class="less">fit</th><th class="less">predict</th>'
    head += "<th>published</th><th title='ours minus the published figure'>diff.</th>" if letters else ""
    rows = "".join(_row(s, scores, letters, best=k == 0) for k, s in enumerate(section.summaries))
    notes = " · ".join(f"<sup>{letter}</sup> {escape(source)}" for source, letter in letters.items())
    sources = f'<p class="note">Published: {notes}.</p>' if notes else ""
    table = f"<table class='results'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    told = "Mean ± standard deviation over folds; median seconds per fold, after compiling."
    return f'<div class="wide">{table}</div><p class="note">{told}</p>{sources}'


def _row(s: Summary, scores, letters, best: bool) -> str:
    cells = f'<td>{escape(s.method)}<span class="paper">{escape(s.paper)}</span></td>'
    for score in scores:
        mean, _, sd = number(s, score).partition(" ± ")
        cells += f"<td>{mean}" + (f' <span class="soft">± {sd.strip()}</span>' if sd else "") + "</td>"
    cells += (
        f'<td class="less">{seconds(s.fit_seconds)}</td><td class="less">{seconds(s.predict_seconds)}</td>'
    )
    if letters:
        figures = "".join(f"<div>{f.accuracy:.1f}<sup>{letters[f.source]}</sup></div>" for f in s.figures)
        gaps = "".join(_gap(100 * s.mean("accuracy") - f.accuracy, f) for f in s.figures)
        cells += f'<td class="fig">{figures}</td><td class="fig">{gaps}</td>'
    return f"<tr{' class=best' if best else ''}>{cells}</tr>"


def _gap(difference: float, figure) -> str:
    css = "up" if difference >= 0 else "down"
    said = escape(f"{figure.source}; {figure.protocol}")
    shown = f"{difference:+.1f}".replace("-", "−")
    return f'<div class="{css}" title="{said}">{shown}</div>'


def _scores(section: Section) -> str:
    name = NAMES[section.score].removesuffix(" %")
    told = "Dot: mean over folds. Bar: 95 % interval, corrected for overlapping training parts."
    if any(s.figures for s in section.summaries):
        mark = f'<svg class="key"><g class="pub">{plots.diamond(50)}</g></svg>'
        told += f" {mark} published figure."
    return f'<h3>{name[0].upper() + name[1:]}</h3><p class="note">{told}</p>{plots.score_strip(section)}'


def _times(section: Section) -> str:
    return (
        '<h3>Time</h3><p class="note">Disc: median seconds to fit. Ring: to predict a test fold.</p>'
        f"{plots.time_strip(section)}"
    )


def _pairs(section: Section) -> str:
    """Win, tie or loss of each method against each other one."""
    found = section.summaries
    head = "<th></th><th>wins</th><th>ties</th><th>losses</th>"
    head += "".join(f'<th title="{escape(s.method)}">{k}</th>' for k, s in enumerate(found, 1))
    rows = []
    for k, a in enumerate(found, 1):
        tested = [None if a is b else corrected_ttest(a, b, section.score) for b in found]
        kinds = [None if t is None else _kind(*t) for t in tested]
        counts = "".join(f'<td class="sum">{kinds.count(w)}</td>' for w in ("win", "tie", "loss"))
        cells = "".join(
            '<td class="self"></td>' if t is None else _pair_cell(section, a, b, t)
            for b, t in zip(found, tested, strict=True)
        )
        name = f'<th class="row" scope="row"><span class="soft">{k}</span> {escape(a.method)}</th>'
        rows.append(f"<tr>{name}{counts}{cells}</tr>")
    unit = "R²" if section.regression else "percentage points"
    shown = f"Row minus column in {unit}; coloured" if len(found) <= MANY else "Row against column: + or −"
    told = (
        f"{shown} where the corrected resampled t-test (Nadeau and Bengio 2003) finds a difference at "
        f"{100 * LEVEL:.0f} %, each pair on its own."
    )
    table = f"<table class='pairs'><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<h3>Wins, ties, losses</h3><p class="note">{told}</p><div class="wide">{table}</div>'


def _kind(difference: float, p: float) -> str:
    return "tie" if p >= LEVEL else "win" if difference > 0 else "loss"


def _pair_cell(section: Section, a: Summary, b: Summary, tested: tuple[float, float]) -> str:
    difference, p = tested
    kind = _kind(difference, p)
    shown = f"{difference:+.2f}" if section.regression else f"{100 * difference:+.1f}"
    said = f"{a.method} against {b.method}: {shown}, p = {p:.3f}, {kind}"
    if len(section.summaries) > MANY:
        shown = {"win": "+", "tie": "", "loss": "−"}[kind]
    return f'<td class="{kind}" title="{escape(said)}">{shown.replace("-", "−")}</td>'


def _gram(name: str, K: np.ndarray, y) -> str:
    told = f"{escape(name)} fitted on all bags, which are ordered by class; entries are cosines."
    return f'<h3>Gram matrix</h3><p class="note">{told}</p>{plots.gram_map(K, np.asarray(y), name)}'


def _footer(records: Sequence[Record]) -> str:
    versions = sorted({", ".join(f"{k} {v}" for k, v in r.versions.items()) for r in records})
    return (
        "<footer><div>Scaling, discretising and parameter search are fitted inside each fold. "
        f"{escape('; '.join(versions))}.</div></footer>"
    )
