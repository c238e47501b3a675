"""The parts of a blend: kernels that see different things in a bag, and what each costs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skmil._moments import mostly_zero
from skmil.bags import Bags
from skmil.embeddings import (
    BoxEmbedding,
    FisherEmbedding,
    IsolationEmbedding,
    MeanEmbedding,
    MeanStdEmbedding,
    MilesEmbedding,
    MinMaxEmbedding,
)
from skmil.kernels import BagKernel, GraphKernel, SetKernel
from skmil.learners.annealing import MICA, AnnealedSVM
from skmil.learners.auto.decision import DecisionKernel
from skmil.learners.auto.embedded import EmbeddingKernel
from skmil.learners.auto.whitening import BagWhitener
from skmil.learners.boost import BallBoost
from skmil.learners.density import DD, DDRegressor
from skmil.preprocessing import BagScaler

# Seconds for one unit of work on a slow core; an estimate that is too high leaves a part out, no more.
PER_PAIR, PER_CELL, PER_VALUE, PER_PRODUCT = 1.2e-10, 2e-10, 4e-8, 1.5e-10
PER_TARGET, PER_STEP, PER_REGION = 8e-6, 4e-7, 1.5e-9
SPREAD = 4e-9  # for a product of sparse vectors, by the numbers that both have
PARTITIONS, BOXES = 200, 3000
EXACT, FEATURES = 2000, 300  # instances up to which a machine is exact, and its features beyond
DECIDING = 0.1  # of the seconds that a machine needs to learn, until it has decided about as many bags
ONE_DIRECTION = 0.5  # share of a kernel that has its whole variance there, where others have some tenth
WIDTHS = {"wide": 0.25, "middle": 1.0, "narrow": 4.0}  # powers of the kernel of the typical distance
STARTS, STEPS = 20, 60  # of the search for a point, which need not be the best one
FEW_BAGS = 12  # up to which nothing can be said about bags left out
MOST_CLASSES = 10  # up to which machines look for instances of each


@dataclass(frozen=True)
class Part:
    """One kernel of a blend.

    Parameters
    ----------
    name : what the leaderboard calls it
    kernel : unfitted
    scaling : of the instances, as in ``BagScaler``; or "whitened"
    seconds : (bags, instances, numbers in an instance) -> what it costs to fit, roughly
    share : of the weight that others of the same merit have
    again : of those seconds, to map as many other bags
    """

    name: str
    kernel: BagKernel
    scaling: str
    seconds: Callable[[int, int, int], float]
    share: float = 1.0
    again: float = 1.0


def parts_for(bags: Bags, y, seed: int) -> list[Part]:
    """The parts that suit the bags, cheap ones first."""
    n, N, texts = len(bags), int(bags.offsets[-1]), mostly_zero(bags)
    found = [
        *_of_pairs(bags.is_sparse, texts),
        *_of_cells(seed, texts),
        *_of_vectors(bags.is_sparse, texts, seed),
        *([] if bags.is_sparse else _of_boxes(seed)),
        *_of_decisions(y, N, texts, seed),
    ]
    return sorted(found, key=lambda p: p.seconds(n, N, width(bags)))


def scaler(scaling: str) -> BagScaler | BagWhitener:
    """What brings the instances of a part to its scaling."""
    return BagWhitener() if scaling == "whitened" else BagScaler(scaling, skip_sparse=True)


def width(bags: Bags) -> int:
    """Numbers that an instance holds, on average: what work on it is in proportion to."""
    if not bags.is_sparse:
        return bags.n_features
    return 1 + int(bags.instances.nnz // bags.offsets[-1])


def _pairs(n: int, N: int, d: int) -> float:
    """Seconds for all pairs of instances."""
    return PER_PAIR * N**2 * (d + 85)


def _graphs(n: int, N: int, d: int) -> float:
    """The same, and pairs within each bag."""
    return 1.5 * _pairs(n, N, d)


def _rotated(n: int, N: int, d: int) -> float:
    """The same, of instances that are rotated into the directions of their covariance."""
    return _pairs(n, N, d) + PER_PRODUCT * (3 * N + 10 * d) * d**2


def _nearest(n: int, N: int, d: int) -> float:
    """The same, and products of rows as long as there are instances."""
    return _pairs(n, N, d) + PER_PRODUCT * n**2 * N


def _regions(n: int, N: int, d: int) -> float:
    """Seconds for boxes that are widened face by face, around instances that are sorted by distance."""
    return PER_REGION * N**2 * (d + 30)


def _of_pairs(sparse: bool, texts: bool) -> list[Part]:
    """Pairs of instances: what a bag has in common with another, at several widths, or comes near to.

    Weights of terms stay as they are: scaled, a rare term would decide every distance. Elsewhere what is
    small beside features that go together is seen by distances in units of what varies inside a bag.
    """
    scaling, ranges = "none" if texts else "standard", "unit" if sparse else "minmax"
    widths = [
        Part(f"set kernel, {w}", SetKernel(normalization="cosine", power=p), scaling, _pairs)
        for w, p in WIDTHS.items()
    ]
    whitened = Part("set kernel, whitened", SetKernel(normalization="cosine"), "whitened", _rotated)
    of_graphs = "none" if texts and not sparse else ranges
    graphs = [
        Part(f"graph, {w}", GraphKernel(gamma="scale", power=p), of_graphs, _graphs)
        for w, p in WIDTHS.items()
    ]
    return [
        *widths,
        *([] if texts or sparse else [whitened]),
        *graphs,
        Part("set kernel, ranges", SetKernel(normalization="cosine"), ranges, _pairs),
        Part("MILES", EmbeddingKernel(MilesEmbedding()), scaling, _nearest),
    ]


def _of_cells(seed: int, texts: bool) -> list[Part]:
    """Shares of instances in random cells, few or many, and which cells are visited at all.

    Weights of terms stay as they are: their size says which texts are long.
    """

    def part(name, cells, weights):
        embedding = IsolationEmbedding(PARTITIONS, cells, metric="auto", random_state=seed, weights=weights)
        raw = texts and weights == "presence"
        return Part(
            f"{name}, {cells} cells",
            EmbeddingKernel(embedding, linear=True),
            "none" if raw else "minmax",
            lambda n, N, d: PER_CELL * N * PARTITIONS * cells * (d + 10) + SPREAD * n**2 * PARTITIONS,
        )

    return [
        *[part("isolation", cells, "bag") for cells in (16, 64, 256)],
        *[part("presence", cells, "presence") for cells in (8, 32)],
    ]


def _of_boxes(seed: int) -> list[Part]:
    """Boxes around instances, bounded in a few features: which are hit, and how often."""

    def part(name, kind, slow):
        embedding = BoxEmbedding(
            kind, BOXES, around="instances", max_side=0.5, max_features=4, random_state=seed
        )
        return Part(
            f"boxes, {name}",
            EmbeddingKernel(embedding, linear=True),
            "none",
            lambda n, N, d: slow * BOXES * (2e-8 * N + 3e-10 * n**2),
        )

    return [part("hit", "and", 1.0), part("counts", "min", 2.0)]


def _of_decisions(y, N: int, texts: bool, seed: int) -> list[Part]:
    """What machines decide that look for instances: for each class, or as a target demands."""
    if y is None:
        return []
    if np.asarray(y).dtype.kind == "f":
        if len(y) < FEW_BAGS or texts:
            return []
        point = DecisionKernel(DDRegressor(**_starts(seed)))
        return [Part("target point", point, "standard", _points, ONE_DIRECTION, DECIDING)]
    classes, sizes = np.unique(y, return_counts=True)
    two = len(classes) == 2
    if (sizes.min() < FEW_BAGS // 2 and two) or len(classes) > MOST_CLASSES:
        return []
    return [
        Part(
            f"{name} of class {classes[k]}",
            DecisionKernel(machine, classes[k].item()),
            scaling,
            seconds,
            ONE_DIRECTION,
            DECIDING,
        )
        for k in np.flatnonzero(sizes >= FEW_BAGS // 2)
        for name, machine, scaling, seconds in _machines(N, texts, two, seed)
    ]


def _machines(N: int, texts: bool, two: bool, seed: int) -> list[tuple]:
    """Witnesses; of two classes, points and boxes, too, where the features of an instance are dense."""
    how = {"kernel": "auto", "n_components": None if N <= EXACT else FEATURES, "random_state": seed}
    scaling = "none" if texts else "standard"
    witness = AnnealedSVM("witness", gamma_factor=0.5, cooling=4.0, tol=0.02, **how)
    found: list[tuple] = [
        ("AW-SVM", witness, scaling, _steps),
        ("MICA", MICA(C=10.0, gamma_factor=2.0, max_iter=5, **how), scaling, _steps),
    ]
    if texts or not two:
        return found
    return [
        *found,
        ("point", DD(**_starts(seed)), "standard", _points),
        ("boosted boxes", BallBoost("auto"), "minmax", _regions),
    ]


def _starts(seed: int) -> dict:
    return {"max_starts": STARTS, "max_iter": STEPS, "random_state": seed}


def _steps(n: int, N: int, d: int) -> float:
    """Seconds for a machine that labels instances in many steps."""
    return PER_STEP * N * min(N, EXACT)


def _points(n: int, N: int, d: int) -> float:
    """Seconds for the steps from all starts."""
    return PER_TARGET * N * d


def _of_vectors(sparse: bool, texts: bool, seed: int) -> list[Part]:
    """A bag as one vector: its mean, its extremes, how it differs from all.

    Weights of terms stay as they are in the mean, which is then seen at three widths, too, as a few long
    texts decide inner products; what is standardised is not for them.
    """

    def passes(factor):
        return lambda n, N, d: PER_VALUE * factor * N * d

    bare = sparse or texts
    mean = Part(
        "mean", EmbeddingKernel(MeanEmbedding(), linear=bare), "none" if bare else "standard", passes(1)
    )
    near = [
        Part(f"mean, {w}", EmbeddingKernel(MeanEmbedding(), standardized=False, power=p), "none", passes(1))
        for w, p in WIDTHS.items()
    ]
    means = [mean, *(near if texts else [])]
    if sparse:
        return means
    ends = EmbeddingKernel(MinMaxEmbedding())
    spread = EmbeddingKernel(MeanStdEmbedding())
    standardised = [
        Part("minimum and maximum", ends, "standard", passes(1)),
        Part("mean and spread", spread, "minmax", passes(2)),
    ]
    return [
        *means,
        *([] if texts else standardised),
        *[
            Part(
                f"Fisher, {k} components",
                EmbeddingKernel(FisherEmbedding(k, random_state=seed), linear=True),
                scaling,
                passes(10 * k),
            )
            for k, scaling in ((2, "standard"), (8, "minmax"))
        ],
    ]
