"""The machines that give labels to instances, or choose witnesses among them."""

from functools import partial

from skmil.learners import MICA, AnnealedSVM, InstanceLabelSVM, MissSVM, WitnessSVM
from skmil.registry.entry import Method
from skmil.registry.pipelines import scaled_unless_zero

# Andrews et al. tried linear and Gaussian kernels and name no width: molecules want a narrow one.
_HEURISTIC_GRID: list[dict[str, list]] = [
    {"svm__kernel": ["linear"], "svm__C": [0.1, 1.0, 10.0]},
    {"svm__C": [1.0, 10.0, 100.0], "svm__gamma_factor": [0.125, 0.5, 2.0, 8.0]},
]
# Gehler and Chapelle: C of 1 or 10; sigma of twice, once and half the median distance.
_ANNEALING_GRID: dict[str, list] = {"svm__C": [1.0, 10.0], "svm__gamma_factor": [0.125, 0.5, 2.0]}
# They found the median width almost always best, so that most of the search is for the share and its price;
# where nearly all instances of a positive bag are positive, as in Musk, their mean says more than the
# largest.
_SHARE_GRID: list[dict[str, list]] = [
    {
        "svm__C": [1.0, 10.0],
        "svm__positive_share": [0.2, 0.4, 0.6, 0.8, 1.0],
        "svm__share_cost": [1.0, 10.0],
        "svm__pooling": ["max", "mean"],
    },
    {
        "svm__gamma_factor": [0.125, 2.0],
        "svm__positive_share": [0.4, 0.8],
        "svm__pooling": ["max", "mean"],
    },
]

_scaled = partial(scaled_unless_zero, "standard")
_annealed = partial(AnnealedSVM, kernel="auto", gamma_factor=0.5, threshold="train")

INSTANCE_SVMS = [
    Method(
        "MissSVM",
        "Zhou and Xu 2007",
        "a bag is positive if an instance is; its instances lie away from the border",
        lambda: _scaled(miss=MissSVM("auto", gamma_factor=2.0, C=100.0, beta=0.1, class_weight="balanced")),
        grid={
            "miss__C": [10.0, 100.0],
            "miss__beta": [0.1, 1.0],
            "miss__gamma_factor": [0.5, 2.0, 8.0],
        },
        revision=2,
    ),
    Method(
        "mi-SVM",
        "Andrews et al. 2002",
        "at least one instance is positive; all have labels",
        lambda: _scaled(svm=InstanceLabelSVM(C=10.0, kernel="auto", gamma_factor=2.0, threshold="train")),
        grid=_HEURISTIC_GRID,
    ),
    Method(
        "MI-SVM",
        "Andrews et al. 2002",
        "one instance, the witness, is positive; the others do not count",
        lambda: _scaled(svm=WitnessSVM(C=10.0, kernel="auto", gamma_factor=2.0)),
        grid=_HEURISTIC_GRID,
    ),
    Method(
        "MICA",
        "Mangasarian and Wild 2005",
        "a convex combination of instances is positive",
        lambda: _scaled(svm=MICA(C=10.0, kernel="auto", gamma_factor=2.0)),
        grid=_HEURISTIC_GRID,
    ),
    Method(
        "AL-SVM",
        "Gehler and Chapelle 2007",
        "at least one instance is positive; all have labels",
        lambda: _scaled(svm=_annealed("labels", C=10.0)),
        grid=_ANNEALING_GRID,
    ),
    Method(
        "AW-SVM",
        "Gehler and Chapelle 2007",
        "one instance, the witness, is positive; the others do not count",
        lambda: _scaled(svm=_annealed("witness", C=1.0)),
        grid=_ANNEALING_GRID,
    ),
    Method(
        "ALP-SVM",
        "Gehler and Chapelle 2007",
        "a certain share of the instances is positive",
        lambda: _scaled(
            svm=_annealed("labels", C=10.0, positive_share="auto", share_cost=10.0, pooling="auto"),
        ),
        grid=_SHARE_GRID,
    ),
]
