r"""The space that boxes live in: a point becomes 2d lengths, and every count a product of them.

A box [l, u] contains p in feature k iff the lower corner lies in the stretch of length p - low below p
and the upper corner in the stretch of length high - p above it. With ``z(p) = (p - low, high - p)``,
one entry per feature and side,

    |B(p)| = prod_j z_j(p),    |B(p ^ q)| = prod_j min(z_j(p), z_j(q)),

and a box uniform in B(p ^ q) is a vector t of thresholds, t_j uniform on (0, min(z_j(p), z_j(q))];
it contains r iff z_j(r) >= t_j for all j. On the grid {0, ..., s} the corners are integers, and a real
corner rounded away from the box is one: with low = -1 and high = s + 1 the volumes are the counts, exactly.
The continuous limit is the same space with other ends.
"""

from collections import namedtuple
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from skmil import _state as state
from skmil._jit import njit
from skmil._random import mix
from skmil.bags import Bags
from skmil.preprocessing import MOST_STEPS, BagGrid

MARGIN = 0.05  # of the range of a feature, on both sides, in the continuous limit
LEVELS = 100  # steps of the default grid where features are not integers

Table = namedtuple("Table", ["z", "logz", "volume", "offsets", "key"])
Table.__doc__ = """Bags as the counting engine sees them.

z, logz : (N, 2d) lengths and their logarithms, the most selective columns first
volume : (N,) log |B(p)|
offsets : (n + 1,) where bags are cut
key : (n,) one 64-bit fingerprint per bag that knows its points but not their order
"""


@dataclass(frozen=True)
class Space:
    """Where corners of boxes may lie, and the way of bags into it.

    Parameters
    ----------
    grid : BagGrid or None
        The fitted discretisation; None in the continuous limit, where instances are clipped to ``ends``.
    low, high : ends of the space of corners, per feature
    ends : (smallest, largest) training values, per feature; None on a grid
    order : of the 2d coordinates
    """

    grid: BagGrid | None
    low: np.ndarray
    high: np.ndarray
    ends: tuple[np.ndarray, np.ndarray] | None
    order: np.ndarray

    def _check_state(self) -> None:
        d = len(state.finite(self, "low", (None,)))
        state.finite(self, "high", (d,))
        order = state.places(self, "order", (2 * d,), 2 * d)
        if len(np.unique(order)) < 2 * d or not (self.low < self.high).all():
            raise state.damaged(self, "order, low and high do not span a space")
        grid = state.kept(self, "grid", BagGrid, type(None))
        if grid is not None and not ((self.low == -1).all() and np.array_equal(self.high, grid.s_ + 1.0)):
            raise state.damaged(self, "low and high are not the ends of the grid")
        if grid is None and (self.ends is None or np.asarray(self.ends).shape != (2, d)):
            raise state.damaged(self, "neither a grid nor ends")

    @classmethod
    def over(cls, bags: Bags, grid) -> "Space":
        """The space of dense bags; ``grid`` is "auto", a BagGrid or None, as in ``BoxKernel``."""
        order = np.arange(2 * bags.n_features)
        if grid is None:
            low, high = bags.instances.min(axis=0), bags.instances.max(axis=0)
            with np.errstate(over="ignore"):
                margin = MARGIN * np.where(high > low, high - low, 1.0)
                fits = np.isfinite((high + margin) - (low - margin))
            if not fits.all():
                k = int(np.argmin(fits))
                told = f"feature {k} runs from {low[k]:.3g} to {high[k]:.3g}"
                raise ValueError(f"{told}, too far for volumes; scale it")
            return cls(None, low - margin, high + margin, (low, high), order)
        fitted = clone(default_grid(bags) if isinstance(grid, str) else grid).fit(bags)
        return cls(fitted, -np.ones(bags.n_features), fitted.s_ + 1.0, None, order)

    def table(self, bags: Bags) -> Table:
        """The bags as the engine sees them."""
        if self.ends is not None:
            bags = bags.with_instances(np.clip(bags.instances, *self.ends))
        elif self.grid is not None:
            bags = self.grid.transform(bags)
        return table(bags, self.low, self.high, self.order)

    def corners(self, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corners of boxes, in the units of the bags; infinite where they bound nothing."""
        lower, upper = self.cells(thresholds)
        if self.grid is not None:
            return self.grid.edges(lower, upper)
        assert self.ends is not None, "either a grid or ends"
        smallest, largest = self.ends
        return np.where(lower <= smallest, -np.inf, lower), np.where(upper >= largest, np.inf, upper)

    def cells(self, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corners of boxes in this space: cells of the grid where there is one."""
        d = len(self.low)
        t = np.empty_like(thresholds)
        t[:, self.order] = thresholds
        lower, upper = self.low + t[:, :d], self.high - t[:, d:]
        return (lower, upper) if self.grid is None else (np.ceil(lower), np.floor(upper))

    def ordered(self, T: Table) -> "Space":
        """The same space with the most selective coordinates first; ``T`` is a table of it as it is."""
        return replace(self, order=selective_first(T.z))


def default_grid(bags: Bags) -> BagGrid:
    """Integers as they are; the range of other features in 100 steps."""
    X = bags.instances
    whole = (X == np.rint(X)).all() and np.abs(X).max() < MOST_STEPS  # beyond, every number is whole
    return BagGrid(factor=1.0) if whole else BagGrid(levels=LEVELS)


def lengths(X: np.ndarray, low, high) -> np.ndarray:
    """z(p) for each row p of X."""
    return np.hstack([X - low, high - X])


def selective_first(z: np.ndarray) -> np.ndarray:
    """Order of columns by spread of log z: a threshold there excludes most other points."""
    return np.argsort(-np.log(z).std(axis=0), kind="stable")


def table(bags: Bags, low: np.ndarray, high: np.ndarray, order: np.ndarray) -> Table:
    """Prepare bags: lengths, logarithms, fingerprints; the points of a bag in canonical order.

    The order of points in a bag and the stream of random numbers of a pair of bags only depend on the
    points themselves, so any block of a Gram matrix has the bits of the whole.
    """
    z = np.ascontiguousarray(lengths(bags.instances, low, high)[:, order])
    if not ((z > 0) & (z < np.inf)).all() or z.shape[1] != 2 * bags.n_features:
        raise ValueError("the bags lie outside the space of boxes")
    prints = _fingerprints(z)
    rows = np.lexsort((prints, bags.owner))
    z = z[rows]
    logz = np.log(z)
    key = np.add.reduceat(_fingerprints(prints[:, None].view(np.float64)), bags.offsets[:-1])
    return Table(z, logz, logz.sum(axis=1), np.array(bags.offsets), key)


@njit
def _fingerprints(z):
    """A 64-bit hash of each row."""
    out = np.zeros(z.shape[0], np.uint64)
    bits = z.view(np.uint64)
    for i in range(z.shape[0]):
        h = np.uint64(0)
        for j in range(z.shape[1]):
            h = mix(bits[i, j], h)
        out[i] = h
    return out
