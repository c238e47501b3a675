"""What a fitted object may hold: compiled code trusts its arrays, and files do not deserve it.

A class whose arrays end up in compiled code writes ``_check_state()`` with the words below. A model that is
read from a file is asked to check each of its parts before anything is computed with them.
"""

from numbers import Integral

import numpy as np


def damaged(owner, what: str) -> ValueError:
    """The error to raise: which class says what cannot be."""
    return ValueError(f"{type(owner).__name__}: {what}")


def attribute(owner, name: str):
    """A learned attribute, which may be missing from a file."""
    try:
        return getattr(owner, name)
    except AttributeError:
        raise damaged(owner, f"no {name}") from None


def array(owner, name: str, shape: tuple, dtype: type = np.float64) -> np.ndarray:
    """An array of this shape (None: any length) and type."""
    value = attribute(owner, name)
    fits = isinstance(value, np.ndarray) and value.ndim == len(shape)
    if not fits or any(n is not None and n != m for n, m in zip(shape, value.shape, strict=True)):
        found = getattr(value, "shape", type(value).__name__)
        raise damaged(owner, f"{name} has shape {found}, expected {shape}".replace("None", "n"))
    if not np.issubdtype(value.dtype, dtype):
        raise damaged(owner, f"{name} holds {value.dtype}, expected {dtype.__name__}")
    return value


def finite(owner, name: str, shape: tuple) -> np.ndarray:
    """An array of finite numbers, float64 or float32."""
    value = array(owner, name, shape, np.floating)
    if not np.isfinite(value).all():
        raise damaged(owner, f"{name} holds NaN or infinity")
    return value


def places(owner, name: str, shape: tuple, below: int, dtype: type = np.integer) -> np.ndarray:
    """An array of numbers from 0, all ``below`` a length: what compiled code uses as an index."""
    value = array(owner, name, shape, dtype)
    if value.size and (value.min() < 0 or value.max() >= below):
        raise damaged(owner, f"{name} points outside its table of {below}")
    return value


def cuts(owner, name: str, end: int) -> np.ndarray:
    """Ascending int64 numbers from 0 to ``end``: where parts of a table begin and end."""
    value = array(owner, name, (None,), np.int64)
    if len(value) < 2 or value[0] != 0 or value[-1] != end or (np.diff(value) < 1).any():
        raise damaged(owner, f"{name} does not ascend from 0 to {end}")
    return value


def count(owner, name: str, least: int, most: int) -> int:
    """A whole number between two ends."""
    value = attribute(owner, name)
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(value) <= most:
        raise damaged(owner, f"{name} is {str(value)[:40]}, expected an int from {least} to {most}")
    return int(value)


def nodes(owner) -> int:
    """Number of nodes of a binary tree: each a leaf, or with a feature and two children of its own."""
    n = len(array(owner, "feature_", (None,), np.integer))
    array(owner, "threshold_", (n,))
    inner = np.flatnonzero(owner.feature_ >= 0)
    children = [array(owner, name, (n,), np.integer)[inner] for name in ("left_", "right_")]
    later = all((c > inner).all() for c in children)
    if not later or not np.array_equal(np.sort(np.concatenate(children)), np.arange(1, n)):
        raise damaged(owner, "a node points outside the tree")
    return n


def kept(owner, name: str, *kinds: type):
    """An attribute of one of these types."""
    value = attribute(owner, name)
    if not isinstance(value, kinds):
        expected = " or ".join(k.__name__ for k in kinds)
        raise damaged(owner, f"{name} is {type(value).__name__}, expected {expected}")
    return value
