"""Exact counts of boxes as Python integers, however large."""

import numpy as np

from skmil._engines.boxes.exact import hypervolume, sweep
from skmil._engines.boxes.space import lengths


def count(P, Q=None, s=None, kind="and", method="exact") -> int:
    r"""Count boxes of :math:`\prod_k \{0, ..., s_k\}` exactly: a Python integer, however large.

    Parameters
    ----------
    P, Q : arrays (points, d) of integers
        Bags; without Q the boxes that contain a point of P, whatever the kind but "min" (where Q is P).
    s : int or array of d ints, optional
        Largest value of each feature; the largest seen where not given.
    kind : "and", "or" or "min"
    method : "exact" or "hypervolume"
        The sweep over subsets of points; or ``moocore`` (not for "min"), where counts fit in a float.

    Examples
    --------
    >>> from skmil.kernels.box import count
    >>> count([[0], [2]], [[1]], s=4), count([[0], [2]], [[1]], s=4, kind="or")
    (7, 12)
    """
    P, Q = _points(P, "P"), _points(P if Q is None else Q, "Q")
    _one_of("kind", kind, ("and", "or", "min"))
    _one_of("method", method, ("exact", "hypervolume"))
    if P.shape[1] != Q.shape[1]:
        raise ValueError(f"P has {P.shape[1]} features and Q has {Q.shape[1]}")
    top = np.maximum(P.max(axis=0), Q.max(axis=0))
    s = top if s is None else np.broadcast_to(np.asarray(s, np.int64), top.shape)
    if (top > s).any():
        k = int(np.argmax(top > s))
        raise ValueError(f"feature {k} has the value {top[k]}; the grid ends at s = {s[k]}")
    z_p, z_q = lengths(P, -1, s + 1), lengths(Q, -1, s + 1)
    return (
        _hypervolume_count(z_p, z_q, kind)
        if method == "hypervolume"
        else sweep(z_p.tolist(), z_q.tolist())[kind]
    )


def _hypervolume_count(z_p, z_q, kind) -> int:
    if kind == "min":
        raise ValueError("k_min is not a hypervolume; use method='exact'")
    both = hypervolume(np.vstack([z_p, z_q]))
    if both > 32:
        raise ValueError(
            f"the count is about e^{both:.0f}, too large to be exact as a float; use method='exact'"
        )
    p, q = (round(np.exp(hypervolume(z))) for z in (z_p, z_q))
    return round(np.exp(both)) if kind == "or" else p + q - round(np.exp(both))


def _points(X, name: str) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name} has shape {X.shape}; expected (points >= 1, features >= 1)")
    if not np.array_equal(X, np.rint(X)) or X.min() < 0:
        raise ValueError(f"{name} must hold integers >= 0; use BagGrid to get there")
    return X.astype(np.int64)


def _one_of(name: str, value, allowed) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; use one of {', '.join(allowed)}")
