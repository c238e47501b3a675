"""A picture of an accuracy table: ours with its error beside the published figure, one panel per set."""

from pathlib import Path

from reproduction.experiments.base import save
from reproduction.tasks import Table

COLUMNS = 5
OURS, PAPER = "#1f6fb2", "#c8500a"


def accuracy_plot(table: Table, cells, out: Path) -> str:
    """Draw the cells of a table beside its page; returns the Markdown that shows the picture."""
    data = [d for d in table.data if any(c.data == d for c in cells)]
    if not data:
        return ""
    methods = [m for m in table.methods if any(c.method == m for c in cells)]
    figure, grid = _panels(len(data), len(methods))
    for axis, name in zip(grid.flat, data, strict=False):
        _panel(axis, name, methods, [c for c in cells if c.data == name])
    for axis in list(grid.flat)[len(data) :]:
        axis.set_visible(False)
    marks = grid[0, 0].get_legend_handles_labels()
    figure.legend(*marks, loc="outside lower right", ncols=2, fontsize=7)  # inside it would hide a bar
    return save(figure, out, table.name)


def _panels(n_data: int, n_methods: int):
    from matplotlib.figure import Figure

    columns = min(n_data, COLUMNS)
    rows = -(-n_data // columns)
    size = (1.6 + 2.2 * columns, rows * (0.9 + 0.26 * n_methods))
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, sharey=True, squeeze=False)


def _panel(axis, name: str, methods: list[str], cells) -> None:
    """Dots are ours, bars one standard error of the mean of folds; diamonds are published."""
    place = {m: i for i, m in enumerate(methods)}
    rows, means = [place[c.method] for c in cells], [c.mean for c in cells]
    axis.errorbar(means, rows, xerr=[c.error for c in cells], fmt="o", ms=4, color=OURS, label="ours")
    known = [c for c in cells if c.published is not None]
    axis.plot(
        [c.published for c in known], [place[c.method] for c in known], "D", ms=4,
        mfc="none", color=PAPER, label="published",
    )  # fmt: skip
    axis.set_yticks(range(len(methods)), methods, fontsize=8)
    axis.set_ylim(len(methods) - 0.5, -0.5)
    axis.set_title(name.removeprefix("news_"), fontsize=8)
    axis.tick_params(axis="x", labelsize=7)
    axis.grid(axis="x", alpha=0.3)
    axis.set_xlabel("accuracy (%)", fontsize=7)
