"""`skmil show`: what a model file says of itself."""

from pathlib import Path
from typing import Any

from skmil._checks import some
from skmil.cli.options import Model
from skmil.persistence import read_about


def show(model: Model) -> None:
    """Print what a model holds: method, classes, features, version."""
    for name, text in describe(read_about(model)).items():
        print(f"{name + ':':<12} {text}")


def columns_of(model: Path) -> dict[str, str | list[str]]:
    """The columns that were named when a model was fitted: ``bag``, ``label``, ``instance``, ``ignore``."""
    try:
        about = read_about(model)
    except ValueError:  # written by an earlier version
        return {}
    found = {k: about[k] for k in ("bag", "label", "instance") if isinstance(about.get(k), str)}
    left_out = about.get("ignore")
    if isinstance(left_out, list) and all(isinstance(c, str) for c in left_out):
        found["ignore"] = left_out
    return found


def describe(about: dict[str, Any]) -> dict[str, str]:
    """The description of a model in words, without what is not there."""
    known = dict(about)
    lines = {
        "method": _text(known.pop("method", None) or known.get("estimator")),
        "task": _text(known.pop("task", None)),
        "classes": _list(known.pop("classes", None)),
        "positive": _text(known.pop("positive", None)),
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
    if isinstance(value, float):
        return f"{value:g}"
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
            spread = f"; sizes {_text(least)} to {_text(most)}, median {_text(median)}"
    return f"{training.get('bags')} bags, {training.get('instances')} instances{spread}"
