"""What decides a result, in plain words: data, estimators with all their parameters, grids, versions."""

import ast
import hashlib
import platform
from functools import cache
from typing import Any

import joblib
import numba
import numpy as np
import sklearn

from skmil._version import __version__
from skmil.bags import Bags

# Parameters that change how long a result takes, or what is printed, and nothing else.
IDLE = ("memory", "n_jobs", "verbose")
# What scikit-learn writes for a parameter that it is about to drop or change, and that was not given.
NOT_GIVEN = ("deprecated", "warn")


def fingerprint(bags, y) -> str:
    """A hash of bags and labels, by which records know their data; a store knows that of its bags."""
    if isinstance(bags, Bags):
        return digest(bags.instances, bags.offsets, y)
    return digest(np.array([bags.fingerprint]), y)


def digest(*arrays) -> str:
    """Sixteen hexadecimal digits that tell arrays apart."""
    found = hashlib.sha256()
    for a in arrays:
        parts = (a.data, a.indices, a.indptr) if hasattr(a, "indptr") else (np.asarray(a),)
        for part in parts:
            part = part.astype(str) if part.dtype == object else part
            found.update(f"{part.dtype.str}{part.shape}".encode())
            found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()[:16]


def text_of(estimator) -> str:
    """An estimator with all parameters that differ from their defaults, in one line."""
    return " ".join(estimator.__repr__(N_CHAR_MAX=10**6).split())


def settings_of(estimator) -> dict[str, Any]:
    """All parameters by their nested names, those at their defaults included, in types that JSON has.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skmil._identity import settings_of
    >>> settings_of(Ridge())["fit_intercept"]
    True
    """
    return deciding({k: _setting(v) for k, v in sorted(estimator.get_params().items())})


def deciding(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that can change a result."""
    return {k: v for k, v in parameters.items() if k.rsplit("__", 1)[-1] not in IDLE and v not in NOT_GIVEN}


def _setting(value):
    """A parameter; of an estimator only its class, as its own parameters have their own names."""
    if hasattr(value, "get_params"):
        return type(value).__name__
    if isinstance(value, (list, tuple)):
        return [_setting(v) for v in value]
    return plain(value)


def agree(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether parameters that both know are the same; one that came later had no say before."""
    return all(b[k] == v for k, v in a.items() if k in b)


def searched(grid) -> frozenset[str]:
    """The parameters that every alternative of a grid sets: what an estimator has there has no say.

    Examples
    --------
    >>> from skmil._identity import searched
    >>> sorted(searched([{"C": [1.0], "kernel": ["linear"]}, {"C": [1.0, 10.0]}]))
    ['C']
    """
    grids = [grid] if isinstance(grid, dict) else grid or [{}]
    return frozenset.intersection(*map(frozenset, grids))


def unsearched(settings: dict[str, Any], grid) -> dict[str, Any]:
    """The settings that a search leaves as they are; of an estimator that it sets, none."""
    names = searched(grid)
    return {k: v for k, v in settings.items() if not names & _owners(k)}


@cache
def unsearched_text(text: str, names: frozenset[str]) -> str:
    """An estimator's text without the parameters of these names; one that is no expression stays."""
    try:
        tree = ast.parse(text, mode="eval") if names else None
    except SyntaxError:
        return text
    return text if tree is None else ast.unparse(_pruned(tree.body, "", names))


def _pruned(node, prefix: str, names: frozenset[str]):
    """The expression of an estimator, or of what a parameter holds, without the parameters named."""
    if isinstance(node, ast.Call):
        node.keywords = [k for k in node.keywords if f"{prefix}{k.arg}" not in names]
        for k in node.keywords:
            steps = isinstance(k.value, ast.List)  # whose parts have names of their own
            _pruned(k.value, prefix if steps else f"{prefix}{k.arg}__", names)
    for pair in getattr(node, "elts", []):
        match pair:
            case ast.Tuple(elts=[ast.Constant(value=str(step)), *_]):
                name = f"{prefix}{step}"
                pair.elts = pair.elts[:1] if name in names else pair.elts
                _pruned(pair.elts[-1], f"{name}__", names)
    return node


def _owners(name: str) -> set[str]:
    """A nested name, and those of the parameters that it is a part of."""
    parts = name.split("__")
    return {"__".join(parts[: i + 1]) for i in range(len(parts))}


def plain(value):
    """The value in types that JSON gives back as they were; text for what JSON does not know."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        if all(isinstance(k, str) for k in value):
            return {k: plain(v) for k, v in value.items()}
        return "{" + ", ".join(sorted(f"{plain(k)!r}: {plain(v)!r}" for k, v in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and value != value:
        return "nan"  # which would differ from itself
    return value if isinstance(value, (str, int, float, bool, type(None))) else _described(value)


def _described(value) -> str:
    """Anything else as text that is the same in another process, for the same content."""
    if isinstance(value, np.ndarray):
        return f"array {digest(value)}"
    if isinstance(value, Bags):
        return f"Bags {digest(value.instances, value.offsets)}"
    if hasattr(value, "get_params"):
        return f"{type(value).__name__}({settings_of(value)})"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{type(value).__qualname__} {joblib.hash(value)}"


def versions() -> dict[str, str]:
    """Of skmil and of what it computes with."""
    return {
        "skmil": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }
