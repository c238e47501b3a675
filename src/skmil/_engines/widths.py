"""How wide a kernel on instances is: the numbers behind ``gamma``."""

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skmil._engines.pairs import _product, _squares
from skmil.bags import Bags, as_bags


def resolve_gamma(gamma, bags: Bags, w=None) -> float:
    """The number behind ``gamma``: itself, "scale" (1 / (d var)) or "median" (1 / median |x-y|^2).

    ``w`` are weights of the bags: one of weight k counts as k bags.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    w = None if w is None or (w == 1).all() else np.repeat(w, bags.sizes)
    if gamma == "scale":
        variance = _variance(as_bags(bags).instances.astype(np.float64, copy=False), w)
        return 1.0 / (bags.n_features * variance) if variance > 0 else 1.0
    typical = _median_distance(bags, w)
    return 1.0 / typical if typical > 0 else 1.0


def _variance(X, w) -> float:
    """Variance of all entries, in two passes: the mean square less the squared mean drowns far from 0."""
    mean = _mean(X, w)
    if not sparse.issparse(X):
        return _mean(np.square(X - mean), w)
    there = X.copy()
    there.data = np.square(X.data - mean)
    zeros = X.shape[1] - np.diff(X.indptr)[:, None]  # counted, since one too many would drown the rest
    return _mean(there, w) + _mean(zeros, w) / X.shape[1] * mean**2


def gamma_of(estimator) -> float:
    """``gamma_`` where ``fit`` has learned it, ``gamma`` where it is a number."""
    gamma = getattr(estimator, "gamma_", estimator.gamma)
    if isinstance(gamma, str):
        raise NotFittedError(
            f"{type(estimator).__name__}(gamma={gamma!r}) learns its width from bags: "
            "call fit first, or give a number"
        )
    return float(gamma)


def _mean(X, w) -> float:
    """Mean of all entries of a table, its rows weighted."""
    return float(X.mean() if w is None else (w @ X).sum() / (w.sum() * X.shape[1]))


def _median_distance(bags: Bags, w=None, most: int = 1500) -> float:
    """Median squared distance of an evenly spaced sample of instances (all of them if few)."""
    N = int(bags.sizes.sum())
    rows = np.unique(np.linspace(0, N - 1, min(N, most)).astype(int))
    X = bags.rows(rows).astype(np.float64, copy=False)
    X = X if bags.is_sparse else X - X.mean(axis=0)
    square = _squares(X)
    D = np.maximum(square[:, None] + square[None, :] - 2 * _product(X, X), 0)
    pairs = ~np.tri(len(rows), dtype=bool)
    if w is not None:
        return _weighted_median(D[pairs], np.outer(w[rows], w[rows])[pairs], w[rows])
    D = D[pairs]
    if len(D) == 0:
        return 0.0
    middle = float(np.median(D))
    return middle if middle > 0 else float(D.mean())


def _weighted_median(D, weight, w) -> float:
    """Median of distances that count ``weight`` times, and of copies to each other, which is zero."""
    copies = (w * np.maximum(w - 1, 0)).sum() / 2
    D, weight = np.append(D, 0.0), np.append(weight, copies)
    order = np.argsort(D, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum() if weight.sum() > 0 else np.ones(len(D))
    # The middle two where one half ends between them.
    low, high = np.searchsorted(share, [0.5 - 1e-12, 0.5 + 1e-12])
    middle = float(D[order[[low, high]]].mean())
    return middle if middle > 0 or not weight.any() else float(np.average(D, weights=weight))
