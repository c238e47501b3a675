"""The methods that count boxes, or look for the boxes that matter (Tao et al. 2008; Scott et al. 2005)."""

from functools import partial

from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from skmil.embeddings import BoxEmbedding
from skmil.kernels import BoxKernel, EmpiricalMap
from skmil.learners import GMIL1, GMIL2, BagPipeline, BagSVC, BoxWinnow, WideLinearSVC
from skmil.registry.entry import Method

_REGIONS = "enough regions are hit, or missed, by some instance"
# Which boxes: short or long sides, few features or all of them.
_SUBSET_GRID: dict[str, list] = {
    "boxes__max_side": [0.25, 0.5, 1.0],
    "boxes__max_features": [2, 4, None],
}


def _counts(kind: str, empirical: bool = False, unlabeled=None):
    """A hard-margin machine on the 50th roots of box counts, or on their empirical map."""
    kernel = BoxKernel(kind, power=1 / 50, random_state=0)
    kernel = EmpiricalMap(kernel, unlabeled=unlabeled) if empirical else kernel
    return BagSVC(kernel, C=1e10, max_iter=10_000_000)


def _subset(kind: str):
    """A linear machine on 3000 boxes around instances, small and bounded in a few features."""
    boxes = BoxEmbedding(kind, 3000, around="instances", max_side=0.5, max_features=4, random_state=0)
    return BagPipeline([("boxes", boxes), ("svm", WideLinearSVC(C=1000.0))])


def _sparse():
    """The same boxes under a machine that keeps few of them."""
    boxes = BoxEmbedding("and", 3000, around="instances", max_side=0.5, max_features=4, random_state=0)
    machine = LinearSVC(C=0.3, penalty="l1", dual=False, max_iter=10_000, random_state=0)
    return BagPipeline([("boxes", boxes), ("unit", MaxAbsScaler()), ("svm", machine)])


BOX_METHODS = [
    *[
        Method(
            f"k_{kind}{suffix}",
            "Tao et al. 2008",
            assumes,
            partial(_counts, kind, bool(suffix), "test" if "transduction" in suffix else None),
            grid={"kernel__kernel__power" if suffix else "kernel__power": [1.0, 0.1, 0.02]},
            revision=2 if kind == "min" else 1,  # small bags are counted exactly
            transductive="transduction" in suffix,
        )
        for suffix in ("", " emp", " emp (transduction)")
        for kind, assumes in [
            ("and", _REGIONS),
            ("and/or", "enough regions are hit, or missed, whatever the size of the bag"),
            ("min", "enough regions hold the right number of instances"),
        ]
    ],
    Method(
        "k_and subset",
        "Tao et al. 2008, section 8.3",
        "enough small regions are hit, or missed, by some instance",
        partial(_subset, "and"),
        grid={**_SUBSET_GRID, "svm__C": [1.0, 1000.0]},
    ),
    Method(
        "k_min subset",
        "Tao et al. 2008, section 8.3",
        "enough small regions hold the right number of instances",
        partial(_subset, "min"),
        grid={**_SUBSET_GRID, "svm__C": [1.0, 1000.0]},
    ),
    Method(
        "Sparse boxes",
        "Tao et al. 2008, section 8.3",
        "one of a few regions is hit, or missed, by some instance",
        _sparse,
        grid={**_SUBSET_GRID, "svm__C": [0.1, 0.3, 1.0]},
    ),
    Method(
        "Winnow",
        "Scott et al. 2005; Tao et al. 2008",
        _REGIONS,
        lambda: BoxWinnow(random_state=0),
        grid={"max_side": [0.25, 0.5, 1.0], "max_features": [2, 4, None]},
    ),
    Method(
        "GMIL-1",
        "Scott et al. 2005",
        _REGIONS,
        lambda: GMIL1(n_clusters=20, random_state=0),
        grid={"n_clusters": [10, 20], "alpha": [1.1, 1.5]},
    ),
    Method(
        "GMIL-2",
        "Tao and Scott 2004",
        _REGIONS,
        lambda: GMIL2(random_state=0),
        grid={"n_cuts": [4, 8], "alpha": [1.1, 1.5]},
    ),
]
