"""Verbs about models: fit, predict, explain."""

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from skmil._folds import task_of
from skmil._memo import searching
from skmil._scores import decision_values
from skmil.cli import Interrupted
from skmil.cli.models import columns_of
from skmil.cli.options import Data, Impute, Model, Name, Reading, Settings, Task, reads
from skmil.cli.scale import Cluster
from skmil.cli.support import (
    check_folder,
    err,
    load,
    out,
    plain_table,
    say,
    settings,
    standard_input,
    tell_missing,
)
from skmil.cli.things import fitted_with_source, load_like, position, split_model, split_settings
from skmil.formats._files import NoColumn, is_screen, replacing
from skmil.inspection import explain as explain_bag
from skmil.inspection import explain_all, explain_parts, page, plot_instances
from skmil.inspection.drawings import part_labels
from skmil.learners import BagPipeline
from skmil.learners.base import positive_class
from skmil.persistence import load_model, save_model
from skmil.preprocessing import BagImputer
from skmil.registry import method

PICTURES = (".png", ".svg", ".pdf")
Output = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="CSV file; the screen without it, or for -.")
]


@reads
def fit(
    data: Data,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Where to write the model.")],
    read: Reading,
    name: Name = "auto",
    set_: Settings = None,
    task: Task = None,
    proba: Annotated[bool, typer.Option("--proba", help="Calibrate probabilities.")] = False,
    impute: Impute = None,
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The positive one of two classes.")
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Fit a method on all bags or things and write the model.

    `--set source__key=value` sets a parameter of what turns things into bags; the model holds it.
    """
    check_folder(model)
    of_source, of_method = split_settings(settings(set_ or []))
    bunch = load(data, read, missing=impute is not None, of_source=of_source)
    options = {"probability": proba, "positive": _label(bunch.target, positive), **of_method}
    estimator = method(name, task or task_of(bunch.target), **options)
    if impute is not None:
        estimator = BagPipeline([("impute", BagImputer(impute)), ("method", estimator)])
        tell_missing(bunch.data, impute)
    with _working(f"fitting {name} on {len(bunch.data)} bags", f"{model} was not written"):
        fitted = fitted_with_source(bunch, estimator)
    about = {"method": name, "data": bunch.name, **read.columns}
    known = list(getattr(fitted, "classes_", []))
    if len(known) == 2 and hasattr(fitted, "positive_"):
        about["positive"] = str(known[fitted.positive_])
    save_model(fitted, model, bags=bunch.data, **about)
    note = f"; the positive class is {about['positive']}" if "positive" in about else ""
    say(f"{model}: {name}, fitted on {len(bunch.data)} bags{note}", model)
    if hasattr(estimator, "leaderboard_") and not is_screen(model):
        _show_leaderboard(estimator.leaderboard_)


@reads
def predict(
    model: Model,
    data: Data,
    read: Reading,
    target: Output = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also the probability of each class.")] = False,
    cluster: Cluster = None,
) -> None:
    """Predict the label of each bag: id, prediction and score, as CSV.

    Of two classes the score speaks for the one that its column names, where it is above 0; of more, for the
    predicted one.
    """
    if target not in (None, "-"):
        check_folder(Path(target))
    source, fitted = split_model(load_model(model))
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{model} has no probabilities; fit it again with --proba")
    bags = _new_bags(model, source, fitted, data, read).data
    with searching():  # one Gram matrix for all three
        columns = {"bag": bags.ids, "prediction": fitted.predict(bags)}
        scores = decision_values(fitted, bags)
        P = fitted.predict_proba(bags) if proba else None
        name, sign = _sided(fitted)
    if scores is not None:
        columns[name] = [f"{sign * v:.6g}" for v in scores]
    if P is not None:
        columns |= {f"P({c})": [f"{p:.4f}" for p in P[:, k]] for k, c in enumerate(fitted.classes_)}
    with replacing(Path(target or "-")) as file:
        rows = zip(*columns.values(), strict=True)
        csv.writer(file, lineterminator="\n").writerows([list(columns), *rows])
    if target is not None and not is_screen(target):
        say(f"{target}: {len(bags)} predictions", target)


@reads
def explain(
    model: Model,
    data: Data,
    read: Reading,
    bag_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Id of one bag; all without it.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Picture (.png, .svg, .pdf) of this bag.")
    ] = None,
    top: Annotated[
        int, typer.Option(metavar="N", help="How many instances to list, from both ends.", min=1)
    ] = 10,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Page with all of it; of things, with the things themselves."),
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Say which instances speak for a prediction, and which against.

    Those that speak most for it come first; a method that decides by one instance marks its witness.
    """
    if plot is not None:
        check_folder(plot)
        if plot.suffix.lower() not in PICTURES:
            raise ValueError(f"{plot}: give a name that ends in {', '.join(PICTURES)}")
        if bag_id is None:
            raise ValueError("--plot draws one bag; name it with --id")
    if html is not None:
        check_folder(html)
    source, fitted = split_model(load_model(model))
    if source is not None:
        bunch = load_like(source, data, bag_id, with_parts=bool(html or bag_id))
    else:
        bunch = _new_bags(model, None, fitted, data, read)
    names = bunch.get("instance_names")
    i = None if bag_id is None else position(bunch.data.ids.astype(str).tolist(), bag_id)
    if html is not None:
        _save_page(fitted, bunch, i, html)
        return
    if i is None:
        _explain_all(fitted, bunch.data, names)
        return
    if bunch.get("parts"):
        names = part_labels(bunch.parts[0])
    print(explain_bag(fitted, bunch.data, i, names=names).to_text(top))
    if plot is not None:
        _save_plot(fitted, bunch.data, i, names, plot)


def _show_leaderboard(rows: list[dict]) -> None:
    """What was tried, and what it weighs."""
    table = plain_table("part", "weight", "seconds", "", left=("",))
    for row in rows:
        table.add_row(row["part"], f"{row['weight']:.2f}", f"{row['seconds']:.2f}", row["note"])
    out.print(table)


def _label(y, text: str | None):
    """The label that is written so; None where none was named."""
    if text is None:
        return None
    found = [c for c in np.unique(y) if str(c) == text]
    if not found:
        raise ValueError(
            f"--positive {text}: there is no such class; there are {', '.join(map(str, np.unique(y)))}"
        )
    return found[0]


def _new_bags(model: Path, source, fitted, data: str, read: Reading):
    """Bags to predict: labels do not matter, missing values do not where the model fills them in.

    Columns that are not named are those of the training data, as far as this file has them.
    """
    if source is not None:
        return load_like(source, data)
    first = fitted.steps[0][1] if hasattr(fitted, "steps") else fitted
    again = partial(
        load,
        labelled=False,
        labels=False,
        missing=isinstance(first, BagImputer),
        impute="a model fitted with --impute",
    )
    known = columns_of(model)
    with standard_input(data) as file:
        while True:
            try:
                return again(file, read.completed(known))
            except NoColumn as error:
                known, before = _without(known, error.column), known
                if known == before:
                    raise


def _without(known: dict, column) -> dict:
    """The columns that a model remembers, without one that a new file lacks; by default the label."""
    column = known.get("label", known.get("bag")) if column is None else column
    left = {k: v for k, v in known.items() if v != column}
    return left | {k: [c for c in v if c != column] for k, v in left.items() if isinstance(v, list)}


def _sided(fitted) -> tuple[str, int]:
    """Name of the column of scores, and the sign that turns them towards the class that it names."""
    classes = list(getattr(fitted, "classes_", []))
    if len(classes) != 2:
        return "score", 1
    positive = positive_class(fitted.classes_) if not hasattr(fitted, "positive_") else fitted.positive_
    return f"score({classes[positive]})", 1 if positive == 1 else -1


def _explain_all(fitted, bags, names) -> None:
    """One line per bag: the instance that speaks most for its prediction."""
    told = explain_all(fitted, bags, names=names)
    kind = "raises the prediction most" if told[0].regression else "speaks most for it"
    table = plain_table(
        "bag", "prediction", "decision", "instances", kind, "by", left=("bag", "prediction")
    )
    for e in told:
        k = int(e.order[0])
        mark = " (witness)" if k == e.witness else ""
        decision = "" if e.decision is None else f"{e.decision:.3g}"
        prediction = f"{e.prediction:.4g}" if e.regression else str(e.prediction)
        count = str(len(e.support))
        table.add_row(str(e.bag), prediction, decision, count, e.names[k] + mark, f"{e.support[k]:.3g}")
    out.print(table)


def _save_plot(fitted, bags, i, names, path: Path) -> None:
    os.environ["MPLBACKEND"] = "Agg"  # a file needs no screen
    ax = plot_instances(fitted, bags, i, names=names)
    with replacing(path, "wb") as file:
        ax.figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)
    say(f"plot: {path}", path)


def _save_page(fitted, bunch, i: int | None, path: Path) -> None:
    """The explanations of one bag or of all; things are shown themselves."""
    bags, names = bunch.data, bunch.get("instance_names")
    if i is not None:
        names = None if names is None else names[slice(*bags.offsets[i : i + 2])]
        bags = bags[[i]]
    told = explain_parts(fitted, bags, bunch.get("parts"), names=names)
    last = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    with replacing(path) as file:
        file.write(page(told, leaderboard=getattr(last, "leaderboard_", ())))
    say(f"page: {path}", path)


@contextmanager
def _working(what: str, otherwise: str) -> Iterator[None]:
    """Show that something is under way; Ctrl-C ends it with a word."""
    try:
        if not err.is_terminal:
            yield
            return
        with err.status(f"{what} ..."):
            yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {otherwise}") from None
