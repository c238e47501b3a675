"""`skmil show`: what a model file says of itself."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skmil._checks import some
from skmil.persistence import read_about


def show(model: Annotated[Path, typer.Argument(help="A model that `skmil fit` wrote.")]) -> None:
    """Print what a model holds: method, classes, features, training bags, version."""
    for name, text in describe(read_about(model)).items():
        print(f"{name + ':':<12} {text}")


def columns_of(model: Path) -> tuple[str | None, str | None]:
    """Names of the columns with bag ids and labels that a model was fitted with, where they were named."""
    try:
        about = read_about(model)
    except ValueError:  # written by an earlier version
        return None, None
    names = (about.get("bag"), about.get("label"))
    bag, label = (n if isinstance(n, str) else None for n in names)
    return bag, label


def describe(about: dict[str, Any]) -> dict[str, str]:
    """The description of a model in words, without what is not there."""
    known = dict(about)
    lines = {
        "method": _text(known.pop("method", None) or known.get("estimator")),
        "task": _text(known.pop("task", None)),
        "classes": _list(known.pop("classes", None)),
        "features": _features(known.pop("n_features", None), known.pop("feature_names", None)),
        "trained on": _training(known.pop("training", None)),
    }
    if known.pop("sparse", False):
        lines["features"] += ", sparse"
    versions = known.pop("versions", {})
    lines |= {k: _text(v) for k, v in known.items()}
    lines["written by"] = ", ".join(f"{k} {v}" for k, v in versions.items())
    return {k: v for k, v in lines.items() if v}


def _text(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items())
    return "" if value is None else _list(value) if isinstance(value, list) else str(value)


def _list(values) -> str:
    return some(values) if isinstance(values, list) else ""


def _features(n, names) -> str:
    return "" if n is None else f"{n}" if not isinstance(names, list) else f"{n}: {some(names)}"


def _training(training) -> str:
    if not isinstance(training, dict):
        return ""
    spread = ""
    match training.get("sizes"):
        case [least, median, most]:
            spread = f"; sizes {least} to {most}, median {median}"
    return f"{training.get('bags')} bags, {training.get('instances')} instances{spread}"
