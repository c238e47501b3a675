"""The table of a section: cells for the terminal and for plain text."""

from collections.abc import Sequence

from skmil.records import Record
from skmil.report.summary import Section, Summary, sections

NAMES = {
    "accuracy": "accuracy %",
    "balanced_accuracy": "balanced %",
    "auc": "AUC",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "MAE",
}
WORDS = NAMES | {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}


def to_text(records: Sequence[Record]) -> str:
    """Records as plain text: one table per data set, the published figures beside ours.

    Examples
    --------
    >>> from skmil.datasets import load_musk1
    >>> from skmil.evaluation import cross_validate_bags
    >>> from skmil.report import to_text
    >>> X, y = load_musk1(return_X_y=True)
    >>> print(to_text(cross_validate_bags("Simple-MI", X, y, data="musk1", folds=2)))
    musk1: 92 bags, 2-fold cross-validation, seed 0
    method ...
    """
    return "\n\n".join(_section_text(s) for s in sections(records))


def _section_text(section: Section) -> str:
    header, rows, notes = cells(section)
    widths = [max(len(r[k]) for r in [header, *rows]) for k in range(len(header))]
    lines = [
        "  ".join(
            c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(r, widths, strict=True))
        )
        for r in [header, *rows]
    ]
    return "\n".join([title(section), *(line.rstrip() for line in lines), *notes])


def title(section: Section) -> str:
    """Data set and protocol in one line."""
    return f"{section.first.data}: {section.n_bags} bags, {section.protocol}"


def cells(section: Section) -> tuple[list[str], list[list[str]], list[str]]:
    """Header, one row of texts per method, and notes: sources, and what is not as it seems."""
    letters = source_letters(section)
    scores = shown_scores(section)
    header = ["method", *(NAMES[s] for s in scores), "fit", "predict"] + ["published"] * bool(letters)
    rows = []
    for s in section.rows:
        row = [_name(section, s), *(number(s, score, section.score) for score in scores)]
        guess = s is section.baseline
        row += ["", ""] if guess else [seconds(s.fit_seconds), seconds(s.predict_seconds)]
        if letters:
            row.append(" ".join(f"{f.accuracy:.1f}{letters[f.source]}" for f in s.figures))
        rows.append(row)
    for s in section.failed:
        rows.append([s.label, "failed", *[""] * (len(header) - 2)])
    return header, rows, notes(section)


def _name(section: Section, s: Summary) -> str:
    if s is section.baseline:
        return f"({s.label})"
    return s.label + ("*" if section.unfinished(s) else "")


def notes(section: Section) -> list[str]:
    """Sources of figures, methods that have not all folds, and why methods failed."""
    told = [f"{letter}: {source}" for source, letter in source_letters(section).items()]
    told += [f"* {s.label}: {w}" for s in section.summaries if (w := section.unfinished(s))]
    return told + [f"{s.label} failed: {s.error}" for s in section.failed]


def shown_scores(section: Section) -> list[str]:
    """The scores that have a column, the leading one first."""
    if section.regression:
        return ["r2", "rmse", "mae"]
    known = any(len(s.values("auc")) for s in section.summaries)
    both = sorted(("accuracy", "balanced_accuracy"), key=lambda s: s != section.score)
    return [*both, *(["auc"] if known or section.binary else [])]


def number(summary: Summary, score: str, leading: str) -> str:
    """A mean as text, with the standard deviation for the leading score."""
    mean, sd = summary.mean(score), summary.sd(score)
    if mean != mean:
        return "–"
    percent = score in ("accuracy", "balanced_accuracy")
    if score == leading:
        return f"{100 * mean:.1f} ± {100 * sd:4.1f}" if percent else f"{mean:.3f} ± {sd:.3f}"
    return f"{100 * mean:.1f}" if percent else f"{mean:.3f}" if score == "auc" else f"{mean:.3g}"


def is_best(section: Section, summary: Summary) -> bool:
    """Whether a method shows the highest leading score; several may."""
    shown = [_shown(s, section.score) for s in (section.summaries[0], summary)]
    return summary is not section.baseline and shown[0] == shown[1]


def _shown(summary: Summary, score: str) -> str:
    return number(summary, score, score).split(" ")[0]


def seconds(value: float) -> str:
    """A time for people: 12 ms, 3.4 s, 2 min."""
    if value < 0.9995:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 99.5 else f"{value / 60:.3g} min"


def source_letters(section: Section) -> dict[str, str]:
    """A letter for each source of published figures: a, b, c, ..."""
    sources = sorted({f.source for s in section.summaries for f in s.figures})
    return {source: chr(ord("a") + k) for k, source in enumerate(sources)}
