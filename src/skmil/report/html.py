"""The report as one HTML file that needs nothing else: no script, no font, no picture from outside."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np

from skmil.formats._files import replacing
from skmil.records import Record
from skmil.report import plots
from skmil.report.summary import LEVEL, Section, Summary, corrected_ttest, sections, significant
from skmil.report.text import NAMES, WORDS, is_best, number, seconds, shown_scores, source_letters

TIED = "\N{NO-BREAK SPACE}"  # a number keeps its unit on its line
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
    links = "".join(f'<a href="#s{k}">{escape(_heading(s, found))}</a>' for k, s in enumerate(found))
    body = "".join(_section(s, k, (grams or {}).get(s.first.fingerprint)) for k, s in enumerate(found))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>skmil: {escape(', '.join(names))}</title><style>{style}</style></head><body>"
        "<header><h1>skmil · multiple-instance learning, cross-validated</h1>"
        f"{f'<nav>{links}</nav>' if len(found) > 1 else ''}</header>"
        f"<main>{body}</main>{_footer(records)}</body></html>\n"
    )


def _heading(section: Section, among: Sequence[Section]) -> str:
    """The data set, and what sets the section apart from others on it."""
    twins = [s for s in among if s.first.data == section.first.data]
    if len({s.first.nested for s in twins}) > 1 and section.first.nested:
        return f"{section.first.data}, nested search"
    return section.first.data


def _section(section: Section, number_: int, gram) -> str:
    head = f'<h2 id="s{number_}">{escape(section.first.data)}</h2>'
    head += (
        f'<p class="soft">{section.n_bags} bags · {escape(_classes(section))}{escape(section.protocol)}</p>'
    )
    parts = [head, _lead(section), _results(section)]
    if section.summaries:
        parts += _pictures(section, number_)
    if gram is not None:
        parts.append(_gram(*gram))
    return f"<section>{''.join(parts)}</section>"


def _pictures(section: Section, number_: int) -> list[str]:
    heading, caption, drawn = plots.panels(section, f"roc{number_}")
    panels = f'<h3>{heading}</h3><p class="note">{escape(caption)}</p>{drawn}'
    pairs = _pairs(section) if len(section.summaries) > 1 else ""
    return [_scores(section), panels, pairs, _times(section)]


def _classes(section: Section) -> str:
    if section.regression:
        return "regression · "
    return f"{len(section.first.classes)} classes · "


def _lead(section: Section) -> str:
    """The result in a sentence or two, and what it is worth."""
    if not section.summaries:
        return '<p class="lead">No method could be run.</p>'
    best = [s for s in section.summaries if is_best(section, s)]
    names = _listed([f"<b>{escape(s.label)}</b>" for s in best])
    unit = f"{TIED}%" if not section.regression else ""
    value = " ".join(number(best[0], section.score, section.score).split()).replace(" ", TIED) + unit
    leading = WORDS[section.score]
    if len(section.summaries) == 1:
        told = f"{names} reaches {leading} {value}."
    elif len(best) > 1:
        told = f"{names} share the highest {leading}, {value.split(TIED)[0]}{unit}; {_others(section)}."
    else:
        told = f"{names} has the highest {leading}, {value}; {_others(section)}."
    return f'<p class="lead">{told}{_worth(section)}</p>'


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _others(section: Section) -> str:
    """How many methods differ from the first."""
    best, others = section.summaries[0], [s for s in section.summaries if not is_best(section, s)]
    worse = sum(significant(corrected_ttest(best, s, section.score)[1]) for s in others)
    told = f"{worse} of {len(others)} other methods {'is' if worse == 1 else 'are'} significantly worse"
    told = told if worse else "no other method differs significantly"
    return f'{told} <span class="soft">(corrected resampled t-test, {100 * LEVEL:.0f} %)</span>'


def _worth(section: Section) -> str:
    """What guessing gives, and how many methods are no better."""
    base = section.baseline
    if base is None:
        return ""
    reached = base.mean(section.score)
    value = f"{reached:.3f}".replace("-", "−") if section.regression else f"{100 * reached:.1f}{TIED}%"
    below = sum(not s.mean(section.score) > reached for s in section.summaries)
    told = f" Guessing the {escape(base.method)} gives {value}"
    if below:
        told += f"; {below} of {len(section.summaries)} methods {'do' if below > 1 else 'does'} no better"
    return told + "."


def _results(section: Section) -> str:
    letters = source_letters(section)
    scores = shown_scores(section)
    head = "<th>method</th>" + "".join(f'<th class="{s}">{NAMES[s]}</th>' for s in scores)
    head += '<th class="less">fit</th><th class="less">predict</th>'
    if letters:
        head += '<th>published</th><th class="diff" title="ours minus the published figure">diff.</th>'
    rows = "".join(_row(section, s, scores, letters) for s in section.rows)
    rows += "".join(_failed_row(s, head.count("<th") - 1) for s in section.failed)
    notes = " · ".join(f"<sup>{letter}</sup> {escape(source)}" for source, letter in letters.items())
    sources = f'<p class="note">Published: {notes}.</p>' if notes else ""
    css = "results figured" if letters else "results"
    table = f"<table class='{css}'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="wide">{table}</div><p class="note">{_told(section)}</p>{sources}'


def _told(section: Section) -> str:
    """How to read the table."""
    told = "Mean ± standard deviation over folds; median seconds per fold, after compiling."
    if not section.regression:
        told += " Balanced: mean over classes of the share of bags found."
    if "auc" in shown_scores(section) and not section.binary:
        told += " AUC: mean over classes, each against the rest."
    return told


def _row(section: Section, s: Summary, scores, letters) -> str:
    guess = s is section.baseline
    about = "guessing, without a look at the bags" if guess else section.unfinished(s) or s.paper
    cells = f'<td>{escape(s.label)}<span class="paper">{escape(about)}</span></td>'
    for score in scores:
        mean, _, sd = number(s, score, section.score).partition(" ± ")
        spread = f' <span class="soft">± {sd.strip()}</span>' if sd else ""
        cells += f'<td class="{score}">{mean.replace("-", "−")}{spread}</td>'
    for value in (s.fit_seconds, s.predict_seconds):
        cells += f'<td class="less">{"" if guess else seconds(value)}</td>'
    if letters:
        figures = "".join(f"<div>{f.accuracy:.1f}<sup>{letters[f.source]}</sup></div>" for f in s.figures)
        gaps = "".join(_gap(100 * s.mean("accuracy") - f.accuracy, f) for f in s.figures)
        cells += f'<td class="fig">{figures}</td><td class="fig diff">{gaps}</td>'
    css = " class=guess" if guess else " class=best" if is_best(section, s) else ""
    return f"<tr{css}>{cells}</tr>"


def _failed_row(s: Summary, columns: int) -> str:
    name = f'<td>{escape(s.label)}<span class="paper">{escape(s.paper)}</span></td>'
    return (
        f'<tr class="failed">{name}<td colspan="{columns}"><b>failed</b> {escape(s.error or "")}</td></tr>'
    )


def _gap(difference: float, figure) -> str:
    css = "up" if difference >= 0 else "down"
    said = escape(f"{figure.source}; {figure.protocol}")
    shown = f"{difference:+.1f}".replace("-", "−")
    return f'<div class="{css}" title="{said}">{shown}</div>'


def _scores(section: Section) -> str:
    name = WORDS[section.score]
    told = "Dot: mean over folds. Bar: 95 % interval, corrected for overlapping training parts."
    if section.score == "accuracy" and any(s.figures for s in section.summaries):
        mark = f'<svg class="key"><g class="pub">{plots.diamond(50)}</g></svg>'
        told += f" {mark} published figure."
    if section.baseline is not None:
        told += f" Dashed: {section.baseline.method}."
    return f'<h3>{name[0].upper() + name[1:]}</h3><p class="note">{told}</p>{plots.score_strip(section)}'


def _times(section: Section) -> str:
    return (
        '<h3>Time</h3><p class="note">Disc: median seconds to fit. Ring: to predict a test fold.</p>'
        f"{plots.time_strip(section)}"
    )


def _pairs(section: Section) -> str:
    """Win, tie or loss of each method against each other one."""
    found = section.summaries
    head = "<th></th>" + "".join(f"<th class='sum'>{w}</th>" for w in ("wins", "ties", "losses"))
    head += "".join(f'<th class="pair" title="{escape(s.label)}">{k}</th>' for k, s in enumerate(found, 1))
    rows = []
    for k, a in enumerate(found, 1):
        tested = [None if a is b else corrected_ttest(a, b, section.score) for b in found]
        kinds = [None if t is None else _kind(*t) for t in tested]
        counts = "".join(f'<td class="sum">{kinds.count(w)}</td>' for w in ("win", "tie", "loss"))
        cells = "".join(
            '<td class="pair self"></td>' if t is None else _pair_cell(section, a, b, t)
            for b, t in zip(found, tested, strict=True)
        )
        name = f'<th class="row" scope="row"><span class="soft">{k}</span> {escape(a.label)}</th>'
        rows.append(f"<tr>{name}{counts}{cells}</tr>")
    unit = "R²" if section.regression else "percentage points"
    shown = f"Row minus column in {unit}; coloured" if len(found) <= MANY else "Row against column: + or −"
    told = (
        f"{shown} where the corrected resampled t-test (Nadeau and Bengio 2003) finds a difference at "
        f"{100 * LEVEL:.0f} %, each pair on its own."
    )
    css = "pairs many signs" if len(found) > MANY else "pairs many" if len(found) > 4 else "pairs"
    table = f"<table class='{css}'><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<h3>Wins, ties, losses</h3><p class="note">{told}</p><div class="wide">{table}</div>'


def _kind(difference: float, p: float | None) -> str:
    return "tie" if not significant(p) else "win" if difference > 0 else "loss"


def _tested(p: float | None) -> str:
    return "the same in every fold, no test" if p is None else f"p = {p:.3f}"


def _pair_cell(section: Section, a: Summary, b: Summary, tested: tuple[float, float | None]) -> str:
    difference, p = tested
    kind = _kind(difference, p)
    shown = f"{difference:+.2f}" if section.regression else f"{100 * difference:+.1f}"
    said = f"{a.label} against {b.label}: {shown}, {_tested(p)}, {kind}"
    if len(section.summaries) > MANY:
        shown = {"win": "+", "tie": "", "loss": "−"}[kind]
    return f'<td class="pair {kind}" title="{escape(said)}">{shown.replace("-", "−")}</td>'


def _gram(name: str, K: np.ndarray, y) -> str:
    told = f"{escape(name)} fitted on all bags, which are ordered by class; entries are cosines."
    return f'<h3>Gram matrix</h3><p class="note">{told}</p>{plots.gram_map(K, np.asarray(y), name)}'


def _footer(records: Sequence[Record]) -> str:
    versions = sorted({", ".join(f"{k} {v}" for k, v in r.versions.items()) for r in records})
    return (
        "<footer><div>Scaling, discretising and parameter search are fitted inside each fold. "
        f"{escape('; '.join(versions))}.</div></footer>"
    )
