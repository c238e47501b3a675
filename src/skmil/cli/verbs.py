"""The verbs of the command line; the work is done elsewhere."""

import csv
from typing import Annotated

import numpy as np
import typer

from skmil._folds import task_of
from skmil.cli import new_app
from skmil.cli.bench import bench
from skmil.cli.find import search
from skmil.cli.learn import explain, fit, predict
from skmil.cli.models import show
from skmil.cli.options import Data, Name, Reading, Settings, Target, reads
from skmil.cli.scale import Cluster, folder_to_store, gram_to_store, holds_bags
from skmil.cli.support import (
    SHIPPED,
    check_folder,
    err,
    histogram,
    known_sets,
    load,
    out,
    plain_table,
    plural,
    say,
    settings,
)
from skmil.cli.things import only_source, split_settings
from skmil.cli.warm import warm_up
from skmil.formats import write_bags
from skmil.formats._files import is_screen, replacing
from skmil.inspection import method_gram
from skmil.registry import REGISTRY, method, published
from skmil.store import write_bags as write_store

app = new_app()


for verb in (bench, fit, predict, explain, show, search):
    app.command()(verb)


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
        caption="figures: accuracies that papers report for the method; where the data is theirs, "
        "bench shows them beside yours",
    )
    for m in REGISTRY.values():
        table.add_row(m.name, m.paper, ", ".join(m.tasks), m.assumes, str(len(published(m.name))))
    out.print(table)


@app.command("data")
@reads
def show_data(
    read: Reading,
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="A file or a name; without it, what is known.")
    ] = None,
) -> None:
    """Describe a data set, or list those that are known by name."""
    if data is None:
        out.print("in the package: " + ", ".join(SHIPPED), highlight=False)
        names = known_sets()
        hint = ", ".join(names) or "nothing; set it to a folder of .npz files"
        out.print(f"in $SKMIL_DATA: {hint}", highlight=False)
        return
    bunch = load(data, read, labelled=False, missing=True)
    bags, y = bunch.data, bunch.target
    kind = " (sparse)" if bags.is_sparse else ""
    counts = {"bag": len(bags), "instance": int(bags.sizes.sum()), "feature": bags.n_features}
    told = ", ".join(plural(n, what) for what, n in counts.items())
    out.print(f"[bold]{bunch.name}[/bold]: {told}{kind}", highlight=False)
    _show_labels(y)
    if bags.has_missing:
        gone = int(np.isnan(bags.to_dense().instances).sum())
        told = (
            f"{plural(gone, 'value')} missing; --impute median fills in what is missing, in fit and bench"
        )
        out.print(told, highlight=False)
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
        out.print(f"{plural(len(labels), 'class')}: {shown}", highlight=False, markup=False)


@app.command()
@reads
def convert(
    data: Data,
    target: Target,
    read: Reading,
    set_: Settings = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="For a folder: name of the table in a file.")
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="TYPE", help="For a folder: float32 or float64.")
    ] = "float32",
) -> None:
    """Write bags, or things as bags, in another format.

    A folder with one file of features per bag (.npy, .h5, ...) becomes a store: a name that ends in .zarr.
    """
    if holds_bags(data):
        columns = {"labels": read.labels, "bag": read.bag, "label": read.label}
        folder_to_store(data, target, {"dataset": dataset, "dtype": dtype, **columns})
        return
    check_folder(target)
    own = only_source(settings(set_ or []))
    bunch = load(data, read, labelled=False, of_source=own, impute="to be filled in first")
    skipped = ("data", "target", "ids", "name", "things", "source", "stored")
    extras = {k: v for k, v in bunch.items() if k not in skipped}
    write = write_store if target.suffix == ".zarr" else write_bags
    lost = write(target, bunch.data, bunch.target, **extras)
    note = f" (without {', '.join(lost)}, which this format cannot hold)" if lost else ""
    say(f"{target}: {bunch.data!r}{note}", target)


@app.command()
@reads
def gram(
    data: Data,
    target: Target,
    read: Reading,
    name: Name = "MI-Kernel",
    set_: Settings = None,
    tile: Annotated[
        int | None, typer.Option(metavar="N", help="Bags on one side of a tile of a .zarr.")
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Write the Gram matrix of a kernel to .npy, .csv or .zarr."""
    if target.suffix not in (".npy", ".csv", ".zarr") and not is_screen(target):
        raise ValueError(f"{target}: give a name that ends in .zarr, .npy or .csv")
    check_folder(target)
    of_source, of_method = split_settings(settings(set_ or []))
    bunch = load(data, read, labelled=False, of_source=of_source, impute="to be filled in first")
    task = "classification" if bunch.target is None else task_of(bunch.target)
    if target.suffix == ".zarr":
        gram_to_store(method(name, task, **of_method), name, bunch, target, tile)
        return
    K = method_gram(method(name, task, **of_method), bunch.data, bunch.target)
    if K is None:
        raise ValueError(f"{name} has no kernel on bags; MI-Kernel is one that has")
    with replacing(target, "wb" if target.suffix == ".npy" else "w") as file:
        if target.suffix == ".npy":
            np.save(file, K)
        else:
            rows = ([i, *map(repr, row)] for i, row in zip(bunch.data.ids, K.tolist(), strict=True))
            csv.writer(file).writerows([["bag", *bunch.data.ids], *rows])
    say(f"{target}: {len(K)} x {len(K)}, {K.min():.4g} to {K.max():.4g}", target)


@app.command()
def warm() -> None:
    """Compile everything once, so that nothing waits for it later."""
    warm_up(lambda done, total, name: err.print(f"compiled {done} of {total}: {name}", highlight=False))
