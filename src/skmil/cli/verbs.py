"""The verbs of the command line; the work is done elsewhere."""

import csv
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import skmil
from skmil._folds import task_of
from skmil._scores import decision_values
from skmil.cli.bench import bench
from skmil.cli.support import (
    SHIPPED,
    BagColumn,
    Data,
    LabelColumn,
    Name,
    Settings,
    Task,
    check_folder,
    histogram,
    known_sets,
    load,
    out,
    plain_table,
    settings,
)
from skmil.cli.things import (
    Labels,
    Source,
    fitted_with_source,
    load_like,
    only_source,
    split_model,
    split_settings,
)
from skmil.formats import write_bags
from skmil.formats._files import replacing
from skmil.inspection import explain as explain_bag
from skmil.inspection import method_gram, plot_instances
from skmil.persistence import load_model, save_model
from skmil.registry import REGISTRY, method, published

app = typer.Typer(
    help="Multiple-instance learning: bags of instances in, predictions and explanations out.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
PICTURES = (".png", ".svg", ".pdf")


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        print(f"skmil {skmil.__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


app.command()(bench)


@app.command("methods")
def list_methods() -> None:
    """List all methods: paper, tasks, what they assume."""
    table = plain_table(
        "method",
        "paper",
        "tasks",
        "a bag's label",
        "figures",
        left=("paper", "tasks", "a bag's label"),
        caption="figures: accuracies that papers report for the method; bench shows them beside yours where "
        "the data is theirs",
    )
    for m in REGISTRY.values():
        table.add_row(m.name, m.paper, ", ".join(m.tasks), m.assumes, str(len(published(m.name))))
    out.print(table)


@app.command("data")
def show_data(
    data: Annotated[str | None, typer.Argument(help="A file or a name; without it, what is known.")] = None,
    bag: BagColumn = None,
    label: LabelColumn = None,
) -> None:
    """Describe a data set, or list those that are known by name."""
    if data is None:
        out.print("in the package: " + ", ".join(SHIPPED), highlight=False)
        names = known_sets()
        hint = ", ".join(names) or "nothing; set it to a folder of .npz files"
        out.print(f"in $SKMIL_DATA: {hint}", highlight=False)
        return
    bunch = load(data, bag, label, labelled=False)
    bags, y = bunch.data, bunch.target
    kind = " (sparse)" if bags.is_sparse else ""
    out.print(f"[bold]{bunch.name}[/bold]: {len(bags)} bags, {bags.instances.shape[0]} instances, "
              f"{bags.n_features} features{kind}", highlight=False)  # fmt: skip
    _show_labels(y)
    folds = bunch.get("folds")
    if folds is not None:
        out.print(
            f"folds: {len(np.atleast_2d(folds))} x {len(np.unique(folds))}, used with --folds given",
            highlight=False,
        )
    table = plain_table("instances", "bags", "", left=("",), title="bag sizes")
    for row in histogram(bags.sizes):
        table.add_row(row[0], str(row[1]), row[2])
    out.print(table)


def _show_labels(y) -> None:
    if y is None:
        out.print("no labels", highlight=False)
    elif task_of(y) == "regression":
        low, mid, high = np.percentile(y, [0, 50, 100])
        out.print(f"targets: {low:.4g} to {high:.4g}, median {mid:.4g}", highlight=False)
    else:
        labels, counts = np.unique(y, return_counts=True)
        shown = ", ".join(f"{v} ({c})" for v, c in zip(labels, counts, strict=True))
        out.print(f"{len(labels)} classes: {shown}", highlight=False, markup=False)


@app.command()
def convert(
    data: Data, target: Path, bag: BagColumn = None, label: LabelColumn = None, source: Source = None,
    labels: Labels = None, set_: Settings = None,
) -> None:  # fmt: skip
    """Write bags, or things as bags, in the format that the new name's ending says."""
    check_folder(target)
    options = only_source(settings(set_ or []))
    bunch = load(data, bag, label, labelled=False, kind=source, labels=labels, options=options)
    skipped = ("data", "target", "ids", "name", "things", "source")
    extras = {k: v for k, v in bunch.items() if k not in skipped}
    lost = write_bags(target, bunch.data, bunch.target, **extras)
    note = f" (without {', '.join(lost)}, which this format cannot hold)" if lost else ""
    out.print(f"{target}: {bunch.data!r}{note}", highlight=False, markup=False, soft_wrap=True)


@app.command()
def gram(
    data: Data, target: Path, name: Name = "MI-Kernel", set_: Settings = None, bag: BagColumn = None,
    label: LabelColumn = None,
) -> None:  # fmt: skip
    """Write the Gram matrix of a kernel method to .npy or .csv (ids in the first row and column)."""
    if target.suffix not in (".npy", ".csv"):
        raise ValueError(f"{target}: give a name that ends in .npy or .csv")
    check_folder(target)
    bunch = load(data, bag, label, labelled=False)
    task = "classification" if bunch.target is None else task_of(bunch.target)
    K = method_gram(method(name, task, **settings(set_ or [])), bunch.data, bunch.target)
    if K is None:
        raise ValueError(f"{name} has no kernel on bags; MI-Kernel is one that has")
    with replacing(target, "wb" if target.suffix == ".npy" else "w") as file:
        if target.suffix == ".npy":
            np.save(file, K)
        else:
            rows = ([i, *map(repr, row)] for i, row in zip(bunch.data.ids, K.tolist(), strict=True))
            csv.writer(file).writerows([["bag", *bunch.data.ids], *rows])
    out.print(
        f"{target}: {len(K)} x {len(K)}, {K.min():.4g} to {K.max():.4g}", highlight=False, soft_wrap=True
    )


@app.command()
def fit(
    data: Data, model: Path, name: Name = "MI-Kernel", set_: Settings = None, task: Task = None,
    bag: BagColumn = None, label: LabelColumn = None, source: Source = None, labels: Labels = None,
) -> None:  # fmt: skip
    """Fit a method on all bags or things and write the model; `skmil predict` reads it.

    `--set source__key=value` sets a parameter of what turns things into bags; the model holds it.
    """
    check_folder(model)
    of_source, of_method = split_settings(settings(set_ or []))
    bunch = load(data, bag, label, kind=source, labels=labels, options=of_source)
    estimator = method(name, task or task_of(bunch.target), **of_method)
    save_model(fitted_with_source(bunch, estimator), model)
    out.print(f"{model}: {name}, fitted on {len(bunch.data)} bags", highlight=False, soft_wrap=True)


@app.command()
def predict(
    model: Path, data: Data, bag: BagColumn = None, label: LabelColumn = None,
    target: Annotated[Path | None, typer.Option("--out", help="CSV file; the screen without it.")] = None,
) -> None:  # fmt: skip
    """Predict the label of each bag: id, prediction and decision value, as CSV."""
    if target is not None:
        check_folder(target)
    source, fitted = split_model(load_model(model))
    bags = (load_like(source, data) if source else load(data, bag, label, labelled=False)).data
    predicted = fitted.predict(bags)
    scores = decision_values(fitted, bags)
    columns = [bags.ids, predicted] + ([] if scores is None else [[f"{v:.6g}" for v in scores]])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [["bag", "prediction", "score"][: len(columns)], *zip(*columns, strict=True)]
    )
    if target is None:
        sys.stdout.write(text.getvalue())
        return
    with replacing(target) as file:
        file.write(text.getvalue())
    out.print(f"{target}: {len(bags)} predictions", highlight=False, soft_wrap=True)


@app.command()
def explain(
    model: Path, data: Data,
    bag_id: Annotated[str | None, typer.Option("--bag", help="Id of one bag; all without it.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture (.png, .svg, .pdf) of this bag.")] = None,
    top: Annotated[int, typer.Option(help="How many instances to list.")] = 10,
    column: Annotated[str | None, typer.Option("--bag-column", help="Column with the bag ids.")] = None,
    label: LabelColumn = None,
) -> None:  # fmt: skip
    """Say which instances carried a bag."""
    if plot is not None:
        check_folder(plot)
        if plot.suffix.lower() not in PICTURES:
            raise ValueError(f"{plot}: give a name that ends in {', '.join(PICTURES)}")
        if bag_id is None:
            raise ValueError("--plot draws one bag; name it with --bag")
    source, fitted = split_model(load_model(model))
    bunch = load_like(source, data) if source else load(data, column, label, False, "--bag-column")
    names = bunch.get("instance_names")
    if bag_id is None:
        _explain_all(fitted, bunch.data, names)
        return
    i = _find_bag(bunch.data, bag_id)
    print(explain_bag(fitted, bunch.data, i, names=names).to_text(top))
    if plot is not None:
        _save_plot(fitted, bunch.data, i, names, plot)


def _explain_all(fitted, bags, names) -> None:
    """One line per bag: the instance that counts most."""
    table = plain_table("bag", "prediction", "decision", "instances", "strongest", "its score")
    decisions = decision_values(fitted, bags)
    scores = fitted.score_instances(bags)
    for i, (p, s) in enumerate(zip(fitted.predict(bags), scores, strict=True)):
        k = int(np.abs(s).argmax())
        decision = "" if decisions is None else f"{decisions[i]:.3g}"
        name = k if names is None else names[bags.offsets[i] + k]
        table.add_row(str(bags.ids[i]), str(p), decision, str(len(s)), str(name), f"{s[k]:.3g}")
    out.print(table)


def _find_bag(bags, bag_id: str) -> int:
    ids = bags.ids.astype(str).tolist()
    with suppress(ValueError):
        return ids.index(bag_id)
    some = ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
    raise ValueError(f"no bag {bag_id!r}; there are {some}")


def _save_plot(fitted, bags, i, names, path: Path) -> None:
    os.environ["MPLBACKEND"] = "Agg"  # a file needs no screen
    ax = plot_instances(fitted, bags, i, names=names)
    with replacing(path, "wb") as file:
        ax.figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)
    out.print(f"plot: {path}", highlight=False, soft_wrap=True)
