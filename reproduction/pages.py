"""Records -> pages: ours beside the published figure, the difference, and whether it is by chance."""

import json
from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

from reproduction.cells import current
from reproduction.experiments import EXPERIMENTS
from reproduction.ledger import current_results
from reproduction.plots import accuracy_plot
from reproduction.summary import TIED, Cell, overview, summary
from reproduction.tasks import Table, load_tables
from skmil._journal import Journal
from skmil.records import Record
from skmil.registry import Grid, data_known_as, figures
from skmil.report import write_html
from skmil.report.summary import corrected_error

HEAD = """# Results

Written by `make results` from the records in `records/`. Accuracies are means over cross-validation
folds; parameters are chosen by inner cross-validation on training bags only, and scalers, grids,
partitions and mixtures are fitted inside the fold. What was chosen after looking at these sets is listed
at the end. Tables that are not complete show what has been run.

"""

SEEN = """## Chosen after looking

Some defaults and grids were revised after cross-validation on the very sets of these tables. Figures there
are optimistic to that extent.

On whole sets:

- DD, EM-DD, APR, TLC, MILES, the power of the box kernels: Musk1. Boost: Musk1 and Musk2
- ISK: Musk1, Elephant, Tiger, Fox
- PPMM, MI-Kernel, Simple-MI, Minimax: Musk1, Elephant, Tiger
- miGraph: Musk1, Elephant, Tiger, news_rec_sport_hockey
- MissSVM, and leaving sparse features as they are: TREC1, TREC2; instances of length 1 instead: TREC1
- leaving the weights of terms as they are: news_sci_med, news_sci_electronics, news_rec_autos

On inner folds of one training part:

- CCE: Elephant, Tiger, corel1000, corel2000
- the annealed SVMs: Elephant, Tiger, Fox
- widths of mi-SVM, MI-SVM and MICA, components of PPMM: Musk1, Tiger
- widths of MissSVM: Musk1
- kernels of mi-SVM, distance and neighbours of Citation-kNN on texts: TREC1, TREC2
- scaling and components of miFV: corel1000, corel2000, Fox

The registered defaults of today, where they are not those of the papers' tables, which keep their own:

- Simple-MI, miGraph, Minimax, ISK, MILES, CCE, SIL, mi-SVM, MI-SVM, AL-SVM, AW-SVM, ALP-SVM: the design
  sets of [defaults](defaults.md)

Outer folds that were run with more than one grid, of which the last was kept:

- mi-SVM, MI-SVM, MICA (three grids): Musk1, Elephant, Tiger, Fox
- mi-SVM, Citation-kNN: TREC1, TREC2
- MissSVM: Musk1
- APR (four grids): Musk1, Musk2; features scaled to ranges, as they are, or both; at last with
  `reconsider`, an expansion by more instances, and two ways to stop
- miFV: all of xu-3. CCE: corel2000

In wang-figure1 some fifty combinations of mixture, components, spread of the data and number of mixtures
were looked at before one mixture of round Gaussians, fitted without labels, was kept.
"""

REPORT = "\nFold by fold, with the tests between methods: {download}`report.html <report.html>`.\n"

NOTE = """Each cell: our accuracy in % ± standard deviation over folds; below it the published figure and
the difference; * marks a difference with p < 0.05 by the corrected resampled t-test.
"""


def write_pages(out: Path) -> Path:
    """Write a page for each table with records, a report and an index; returns the index."""
    cells: list[Cell] = []
    used: dict[tuple, Record] = {}
    links = []
    for table in load_tables():
        rows = [row for _, row in Journal(out / "records" / f"{table.name}.jsonl").entries()]
        if not rows:
            continue
        links.append(f"| [{table.name}]({table.name}.md) | {table.paper} | {table.title} |")
        if table.kind == "accuracy":
            records = [Record.from_dict(r) for r in rows]
            chosen = whole_cells(table, records) or whole_cells(table.quickly(), records)
            own = [_cell(table, m, d, rs) for (m, d), rs in chosen.items()]
            cells += own
            used |= {(r.method, r.data, r.repeat, r.fold): r for rs in chosen.values() for r in rs}
            text = accuracy_page(table, own, _causes(out)) + accuracy_plot(table, own, out)
        else:
            results = _results(table, rows) or _results(table.quickly(), rows)
            text = _head(table) + EXPERIMENTS[table.kind].page(table, results, out)
        (out / f"{table.name}.md").write_text(text, "utf-8")
    if used:
        write_html(list(used.values()), out / "report.html")
    text = summary(cells, load_tables())
    (out / "summary.md").write_text(text, "utf-8")
    (out / "overview.md").write_text(overview(cells), "utf-8")
    return _write_index(out, text + _effort(used.values()), links)


def _results(table: Table, rows: list[dict]) -> list[dict]:
    experiment = EXPERIMENTS[table.kind]
    return list(current_results(rows, experiment.tasks(table, list(table.data)), experiment.stamp).values())


def _write_index(out: Path, text: str, links: list[str]) -> Path:
    names = "\n".join(line.split("]")[0].split("[")[1] for line in links)
    table = "| table | paper | what |\n|---|---|---|\n" + "\n".join(links)
    report = REPORT if (out / "report.html").exists() else ""
    toc = f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    index = out / "index.md"
    index.write_text(f"{HEAD}{text}{report}\n{table}\n\n{SEEN}\n{toc}", "utf-8")
    return index


def _effort(records: Iterable[Record]) -> str:
    """How long the accuracy tables take from scratch."""
    hours = sum(r.fit_seconds + r.predict_seconds for r in records) / 3600
    return f"\nAll accuracy folds took {hours:.1f} hours of one core.\n" if hours > 0.1 else ""


def whole_cells(table: Table, records: list[Record]) -> dict[tuple[str, str], list[Record]]:
    """Records of each method and data set of a table, with the settings of today and all folds done."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for r in current(table, records):
        groups[r.method, r.data].append(r)
    places = product(table.methods, table.data)
    return {p: groups[p] for p in places if len(groups[p]) == table.folds * table.repeats}


def accuracy_page(table: Table, cells: list[Cell], causes: dict[str, str]) -> str:
    """Markdown of a table of accuracies."""
    by_place = {(c.method, c.data): c for c in cells}
    data = [d for d in table.data if any(c.data == d for c in cells)]
    head = "| method | " + " | ".join(data) + " |\n|---|" + "---|" * len(data)
    rows = [
        f"| {m} | " + " | ".join(_show(by_place.get((m, d))) for d in data) + " |"
        for m in table.methods
        if any(c.method == m for c in cells)
    ]
    short = [c for c in cells if c.difference is not None and c.difference < -3]
    changed = [f"- {cell}: {_settings(values)}" for cell, values in table.overrides.items()]
    searched = [f"- {cell}: {grid_text(grid)}" for cell, grid in table.grids.items()]
    return (
        _head(table)
        + "\n".join([head, *rows])
        + "\n\n"
        + NOTE
        + _section("More than three points below", _reasons(short, causes))
        + _section("Run with other parameters, for time", changed)
        + _section("Search another grid than the registered one", searched)
        + _section("Left out", _missing(table))
        + _section("Published for other bags, and not to be compared", _elsewhere(table))
    )


def _missing(table: Table) -> list[str]:
    """The cells that are left out, those with the same reason in one line."""
    reasons = dict.fromkeys(table.leave_out.values())
    return [f"- {', '.join(c for c, w in table.leave_out.items() if w == why)}: {why}" for why in reasons]


def _elsewhere(table: Table) -> list[str]:
    """The paper's figures for sets of its own that nobody else has, a line for each."""
    return [
        f"- {data}: {', '.join(f'{m} {v:.1f}' for m in table.methods if (v := _published(table, m, data)))}"
        for data in table.settings.get("elsewhere", [])
    ]


def _section(title: str, lines: list[str]) -> str:
    return f"\n## {title}\n\n" + "\n".join(lines) + "\n" if lines else ""


def grid_text(grid: Grid) -> str:
    """A grid in one line, alternatives with "or" between them."""
    return "; or ".join(map(_settings, grid if isinstance(grid, list) else [grid]))


def _settings(values: dict) -> str:
    return ", ".join(f"`{k}={v!r}`" for k, v in values.items())


def chance(values: np.ndarray, against: float, test_ratio: float) -> float | None:
    """Two-sided p-value, by the corrected resampled t-test, that folds have a mean of ``against``."""
    error = corrected_error(values, test_ratio) if len(values) > 1 else 0.0
    if error <= 0:
        return None
    return float(2 * stats.t.sf(abs(np.mean(values) - against) / error, len(values) - 1))


def _cell(table: Table, method: str, data: str, records: list[Record]) -> Cell:
    values = np.array([100 * (r.scores["accuracy"] or 0) for r in records])
    ratio = float(np.mean([r.n_test / r.n_train for r in records]))
    # A figure belongs to the bags that the paper had, not to whatever has the same name.
    known = all(data_known_as(r.fingerprint) == data for r in records)
    published = _published(table, method, data) if known else None
    return Cell(
        table=table.name,
        method=method,
        data=data,
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        error=corrected_error(values, ratio) if len(values) > 1 else 0.0,
        folds=len(values),
        published=published,
        p_value=None if published is None else chance(values, published, ratio),
        fit_seconds=float(np.mean([r.fit_seconds for r in records])),
    )


def _published(table: Table, method: str, data: str) -> float | None:
    found = [
        f for f in figures() if f.method == method and f.data == data and f.source.startswith(table.paper)
    ]
    return found[0].accuracy if found else None


def _show(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    ours = f"**{cell.mean:.1f}**{TIED}±{TIED}{cell.sd:.1f}"
    if cell.published is None:
        return ours
    star = "*" if cell.differs else ""
    return f"{ours}<br>{cell.published:.1f}{TIED}({cell.difference:+.1f}{star})"


def _reasons(cells: list[Cell], causes: dict[str, str]) -> list[str]:
    """Why cells fall short, those of a method with the same cause in one line."""
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for c in cells:
        why = causes.get(f"{c.table} / {c.method} / {c.data}") or causes.get(f"{c.table} / {c.method}")
        groups[c.method, why or "the cause is not known yet."].append(c)
    return [
        f"- {method} on {', '.join(f'{c.data} ({c.difference:+.1f})' for c in group)}: {why}"
        for (method, why), group in groups.items()
    ]


def _causes(out: Path) -> dict[str, str]:
    """Causes found for figures that fall short, from ``causes.json`` beside the pages."""
    path = out / "causes.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def _head(table: Table) -> str:
    return f"# {table.name}: {table.title}\n\n*{table.paper}.* {table.settings.get('note', '')}\n\n"
