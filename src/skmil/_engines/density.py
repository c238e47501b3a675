r"""Diverse Density (Maron & Lozano-Pérez, NIPS 1998; Amar et al., ICML 2001): objective and optimiser.

A hypothesis is a point h with feature scales s. An instance belongs to it with probability
:math:`e^{-d(x)}`, :math:`d(x) = \sum_k s_k^2 (x_k - h_k)^2`, and a bag with the probability

.. math:: P_i = 1 - \prod_j (1 - e^{-d(x_{ij})}) \quad or \quad P_i = \max_j e^{-d(x_{ij})}

("noisy-or" and "max").

Both kinds of target are one cost, :math:`-\sum_i w_i \log(1 - |y_i - P_i|)` with y in [0, 1]: for y in
{0, 1} and noisy-or it is minus the logarithm of Diverse Density. Everything stays in the log domain, so
distances of thousands, where :math:`e^{-d}` is zero, still have a gradient. The cost is minimised
from many starts by a compiled L-BFGS, one start per task, so that no Python runs in the loop.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from skmil import _state as state
from skmil._engines.descent import (
    COST,
    ITERATION,
    Problem,
    distances,
    expectation_maximisation,
    minimise_together,
    new_slots,
)
from skmil._jit import njit
from skmil._memo import once
from skmil._random import random_key
from skmil._threads import map_blocks, slices, stop_flag
from skmil.bags import Bags

UNEVEN = 1e3  # features whose spreads differ by more than this drown each other
OUT_OF_REACH = 1e4  # typical distance from which nothing can be learned
MANY, FIRST, BEST = 1200, 5, 100  # starts from which "auto" chooses, after how many iterations, how many
CROWD = 100  # starts from which some are given up on the way, where only the best maximum is wanted
# After so many iterations this share of the starts goes on.
HEATS = ((15, 0.7), (30, 0.45), (60, 0.25), (100, 0.12))
BLOCK, EM_BLOCK = 104, 4  # starts in one task, after which progress is shown
# Starts that advance in step (products of few take longer for each), and numbers in their distances.
TOGETHER, LARGEST = 104, 2**23


@dataclass(frozen=True)
class Hypotheses:
    """Local optima of the cost, best first, near-identical ones merged.

    Parameters
    ----------
    points, scales : arrays (n_hypotheses, n_features)
        h and s of each.
    cost : array (n_hypotheses,)
        -log Diverse Density.
    n_iter : array of int (n_hypotheses,)
        Iterations of L-BFGS, or rounds of EM-DD.
    """

    points: np.ndarray
    scales: np.ndarray
    cost: np.ndarray
    n_iter: np.ndarray

    def __len__(self) -> int:
        return len(self.cost)

    def _check_state(self) -> None:
        h, d = state.array(self, "points", (None, None)).shape
        state.array(self, "scales", (h, d))
        state.array(self, "cost", (h,))
        state.array(self, "n_iter", (h,), np.integer)
        if not h:
            raise state.damaged(self, "no points")

    def __getitem__(self, key) -> "Hypotheses":
        return Hypotheses(*(part[key] for part in vars(self).values()))

    def __add__(self, other: "Hypotheses") -> "Hypotheses":
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Hypotheses(*(np.concatenate(p) for p in pairs))

    def distances(self, instances) -> np.ndarray:
        """d(x) of each instance (rows) to each hypothesis (columns)."""
        if instances.shape[1] != self.points.shape[1]:
            raise ValueError(
                f"the instances have {instances.shape[1]} features and the points {self.points.shape[1]}"
            )
        out = np.empty((instances.shape[0], len(self)))

        def fill(rows):
            _all_distances(instances[rows], self.points, self.scales, out[rows])

        map_blocks(fill, slices(len(out), 256))
        return out

    def instance_probability(self, instances) -> np.ndarray:
        """e^-d of each instance (rows) under each hypothesis (columns)."""
        return np.exp(-self.distances(instances))

    def nearest(self, bags: Bags) -> np.ndarray:
        """Smallest d in each bag (rows) to each hypothesis (columns)."""
        return np.minimum.reduceat(self.distances(bags.flat.instances), bags.offsets[:-1])

    def bag_probability(self, bags: Bags) -> np.ndarray:
        """Probability of the most likely instance of each bag (rows) under each hypothesis."""
        return np.exp(-self.nearest(bags))


@dataclass(frozen=True)
class Search:
    """How to look for hypotheses.

    Parameters
    ----------
    pooling : "noisy-or" or "max"
    em : bool
        EM-DD: alternate between choosing the most likely instance of each bag and fitting those.
    free : bool
        Learn the scales of the features too.
    gamma : float
        First :math:`s_k^2` of every feature, and the last where they are not learned.
    max_starts, random_state :
        At most so many starts, drawn without replacement, or ``None`` for all. "auto" is all up to
        ``MANY``; of more, so many are drawn and only ``BEST`` of them go on, see ``promising``.
    race : bool
        Only the best optimum is wanted: with "auto" and many starts, give up those that stay behind.
    max_iter, tol : of L-BFGS; it stops where the cost falls by less than ``tol``, relatively
    verbose : bool or function (done, total, best cost)
    """

    pooling: str = "noisy-or"
    em: bool = False
    free: bool = True
    gamma: float = 1.0
    max_starts: int | str | None = None
    race: bool = False
    max_iter: int = 200
    tol: float = 1e-6
    verbose: bool | Callable = False
    random_state: object = None

    def __call__(self, bags: Bags, y: np.ndarray, w: np.ndarray) -> Hypotheses:
        """Hypotheses found from the instances of the bags with y >= 1/2, y in [0, 1]."""
        return once(Search._search, self, bags, y, w)

    def _search(self, bags: Bags, y: np.ndarray, w: np.ndarray) -> Hypotheses:
        warn_scale(bags, self.gamma)
        # L-BFGS sees instances around 0 with a spread of 1, so that units of measure do not matter.
        shares = np.repeat(w, bags.sizes)
        centre = np.average(bags.instances, axis=0, weights=shares)
        unit = np.sqrt(np.average((bags.instances - centre) ** 2, axis=0, weights=shares).mean()) or 1.0
        moved = bags.with_instances((bags.instances - centre) / unit)
        search = replace(self, gamma=self.gamma * unit**2)
        problem = self.problem(moved, y, w)
        found = search.followed(problem, search.promising(problem, self.starts(bags, y)))
        return merged(replace(found, points=found.points * unit + centre, scales=found.scales / unit))

    def problem(self, bags: Bags, y, w) -> Problem:
        """The arrays for compiled code."""
        X, noisy = bags.flat.instances, self.pooling == "noisy-or" and not self.em
        y, w = np.array(y, dtype=np.float64), np.array(w, dtype=np.float64)
        rows = np.arange(len(X))
        return Problem(X, rows, np.array(bags.offsets), y, w, noisy, self.free, stop_flag())

    def starts(self, bags: Bags, y) -> np.ndarray:
        """Numbers of the instances to start from."""
        rows = np.flatnonzero(np.repeat(np.asarray(y) >= 0.5, bags.sizes))
        most = MANY if isinstance(self.max_starts, str) else self.max_starts
        if most is None or len(rows) <= most:
            return rows
        rng = np.random.default_rng(random_key(self.random_state))
        return np.sort(rng.choice(rows, most, replace=False))

    def promising(self, problem: Problem, rows: np.ndarray) -> np.ndarray:
        """The starts to go on from, where there are too many for all: the lowest after some iterations.

        That is little work beside the hundred iterations of a start, and foretells where it leads: in the
        mean over ten seeds the optimum is below that of as many starts drawn at random.
        """
        if self.max_starts != "auto" or len(rows) < MANY:
            return rows
        soon = replace(self, em=False, max_iter=FIRST, verbose=False).from_starts(problem, rows)
        return np.sort(rows[np.argsort(soon.cost, kind="stable")[:BEST]])

    def followed(self, problem: Problem, rows: np.ndarray) -> Hypotheses:
        """The optima of the starts that are followed to their ends: all, or the winners of ``HEATS``.

        The cost after 15 of a hundred iterations foretells the last one roughly, after 100 well. In the
        mean over ten seeds the best optimum is no worse than that of all starts.
        """
        crowd = self.race and self.max_starts == "auto" and len(rows) >= CROWD
        return self.from_starts(problem, rows, HEATS if crowd and not self.em else ())

    def from_starts(self, problem: Problem, rows: np.ndarray, heats=()) -> Hypotheses:
        """The optimum reached from each start that every heat lets go on, in the order of the starts."""
        rows, s = np.ascontiguousarray(rows), np.full(problem.instances.shape[1], np.sqrt(self.gamma))
        if self.em:
            return self._alternated(problem, rows, s)
        X = problem.instances
        slots, squares = new_slots(X, rows, s), np.hstack([X * X, X])
        width = max(1, min(TOGETHER, LARGEST // len(X)))
        going = np.arange(len(rows))
        for until, share in (*heats, (self.max_iter, 1.0)):
            report = _Progress(len(going), self.verbose)

            def task(block, going=going, until=until, report=report):
                part = going[block]
                minimise_together(problem, squares, slots, part, width, until, self.max_iter, self.tol)
                report(slots.number[part, COST])

            map_blocks(task, slices(len(going), BLOCK))
            order = np.argsort(slots.number[going, COST], kind="stable")
            going = np.sort(going[order[: max(1, round(share * len(rows)))]])
        return _optima(slots.theta[going], slots.number[going, COST], slots.count[going, ITERATION])

    def _alternated(self, problem: Problem, rows: np.ndarray, s: np.ndarray) -> Hypotheses:
        """EM-DD from each start."""
        report = _Progress(len(rows), self.verbose)

        def task(block):
            found = [expectation_maximisation(problem, r, s, self.max_iter, self.tol) for r in rows[block]]
            result = tuple(np.array(part) for part in zip(*found, strict=True))
            report(result[1])
            return result

        done = map_blocks(task, slices(len(rows), EM_BLOCK))
        return _optima(*(np.concatenate(part) for part in zip(*done, strict=True)))


def _optima(thetas, costs, n_iter) -> Hypotheses:
    points, scales = np.split(thetas, 2, axis=1)
    return Hypotheses(points, np.abs(scales), costs, n_iter)


class _Progress:
    """Counts finished starts; called from any thread."""

    def __init__(self, total: int, verbose):
        self.done, self.total, self.best = 0, total, np.inf
        self.show = verbose if callable(verbose) else _print if verbose else None

    def __call__(self, costs: np.ndarray) -> None:
        self.done += len(costs)
        self.best = min(self.best, costs.min())
        if self.show:
            self.show(self.done, self.total, self.best)


def _print(done: int, total: int, best: float) -> None:
    end = "\n" if done == total else ""
    print(f"\rstart {done} of {total}, best -log DD {best:.6g}", end=end, file=sys.stderr, flush=True)


def merged(found: Hypotheses, tol: float = 1e-2) -> Hypotheses:
    """The distinct ones, best first: two are one where each lies at the other, seen with its scales.

    That is, where d of one point to the other and the relative squared difference of their squared scales
    are both below ``tol``.
    """
    order = np.argsort(found.cost, kind="stable")
    found = found[order[np.isfinite(found.cost[order])]]
    return found[_distinct(found.points, found.scales, tol)]


def warn_scale(bags: Bags, gamma: float) -> None:
    """Warn where a few features decide every distance, or where every distance is out of reach."""
    spread = bags.flat.instances.std(axis=0)
    varying = spread[spread > 0]
    if len(varying) > 1 and varying.max() > UNEVEN * np.median(varying):
        k = int(np.argmax(spread))
        warnings.warn(
            f"feature {k} has a standard deviation of {spread[k]:.3g} and the median feature one of "
            f"{np.median(varying):.3g}: distances see little else; put a BagScaler in front",
            stacklevel=2,
        )
    typical = 2 * gamma * np.sum(spread**2)
    if typical > OUT_OF_REACH:
        warnings.warn(
            f"the typical distance of two instances is {typical:.3g}, so that e^-distance is 0; "
            "put a BagScaler in front, or leave gamma='median'",
            stacklevel=2,
        )


def unit_targets(y: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Targets moved to [0, 1], and the smallest and the range that bring them back."""
    low, spread = float(y.min()), float(np.ptp(y))
    return (y - low) / spread if spread > 0 else np.ones(len(y)), low, spread


@njit
def _all_distances(X, points, scales, out):
    rows, column = np.arange(len(X)), np.empty(len(X))
    for i in range(len(points)):
        distances(X, rows, points[i], scales[i] * scales[i], column)
        out[:, i] = column


@njit
def _distinct(points, scales, tol):
    """Mask of the rows that are not near an earlier kept one."""
    keep = np.zeros(len(points), dtype=np.bool_)
    for i in range(len(points)):
        s2 = scales[i] ** 2
        keep[i] = True
        for j in range(i):
            if keep[j]:
                apart = np.sum(np.maximum(s2, scales[j] ** 2) * (points[i] - points[j]) ** 2)
                change = np.sum((s2 - scales[j] ** 2) ** 2) / np.sum(s2**2)
                if apart < tol and change < tol:
                    keep[i] = False
                    break
    return keep
