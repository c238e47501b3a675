"""The registry's table: one entry per method, with its defaults, scaling included."""

from sklearn.svm import SVC, SVR

from skmil.embeddings import FisherEmbedding, IsolationEmbedding, MeanEmbedding, PosteriorEmbedding
from skmil.kernels import (
    GraphKernel,
    MarginalizedKernel,
    MinimaxKernel,
    SetKernel,
)
from skmil.learners import (
    APR,
    CCE,
    DD,
    DDSVM,
    EMDD,
    MICA,
    MILES,
    SIL,
    TLC,
    AnnealedSVM,
    AutoClassifier,
    AutoRegressor,
    BagPipeline,
    BagSVC,
    BagSVR,
    BallBoost,
    CitationKNN,
    CitationKNNRegressor,
    DDRegressor,
    EMDDRegressor,
    InstanceLabelSVM,
    MarginalizedSVC,
    MarginalizedSVR,
    MILBoost,
    MissSVM,
    WideLinearSVC,
    WitnessSVM,
)
from skmil.preprocessing import BagScaler
from skmil.registry.boxes import BOX_METHODS
from skmil.registry.entry import TASKS, Grid, Method

__all__ = ["REGISTRY", "TASKS", "Grid", "Method"]

C_GRID = [0.1, 1.0, 10.0, 100.0]


def _scaled(method: str = "standard", **step):
    """A pipeline that scales features first, and ends in the given step.

    Sparse features, the weights of terms as a rule, stay as they are: standardising ruins texts.
    """
    return BagPipeline([("scale", BagScaler(method, skip_sparse=True)), *step.items()])


def _scaled_unless_zero(method: str, **step):
    """The same for texts that come as plain arrays, too: what is mostly zero stays as it is."""
    return BagPipeline([("scale", BagScaler(method, skip_sparse="zeros")), *step.items()])


_SVM_GRID = {"svm__C": C_GRID}
# Dividing by standard deviations lets features that are nearly always zero, as those of the image sets,
# decide every distance; dividing by ranges does not.
_SCALES = ["standard", "minmax"]
_MEAN_GRID: dict[str, list] = {"scale__method": _SCALES, **_SVM_GRID}
# The p-th power of an RBF kernel is one of another width.
_SET_GRID: dict[str, list] = {**_MEAN_GRID, "svm__kernel__power": [0.25, 1.0, 4.0]}
# Its paper measured distances of raw features, which is right where all have one unit, as in Musk.
_CITATION_GRID: dict[str, list] = {
    "scale__method": ["standard", "none"],
    "knn__n_references": [2, 4],
    "knn__n_citers": [2, 4],
}
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
# The width of the marginalized kernels is searched like that of the set kernel they are compared with.
_MARGINALIZED_GRID: dict[str, list] = {**_SVM_GRID, "svm__kernel__power": [0.25, 1.0, 4.0]}
_MARGINALIZED_TARGETS: list[dict[str, list]] = [
    {
        "svm__C": [10.0, 100.0],
        "svm__epsilon": [0.01, 0.05],
        "svm__kernel__power": [0.25, 1.0, 4.0],
        **kernel,
    }
    for kernel in (
        {},
        {"svm__kernel__label_kernel": ["product"], "svm__kernel__label_density": ["sharp"]},
    )
]

_POSTERIOR_GRID: dict[str, list] = {
    "scale__method": ["standard", "minmax"],
    "ppmm__n_components": [30, 100],
    "svm__C": [1.0, 10.0],
}
_GRAPH_GRID: dict[str, list] = {
    "scale__method": ["minmax", "none"],
    "svm__kernel__power": [0.25, 1.0, 4.0],
    "svm__C": [10.0, 100.0],
}
# A coarse copy of the grid of the paper, as far as a few thousand training instances fill the cells.
_ISOLATION_GRID: dict[str, list] = {
    "scale__method": ["minmax", "standard", "none"],
    "isolation__n_cells": [16, 64, 256],
    "isolation__similarity_threshold": [0.6, 0.75, 0.9],
}


def _in_unit_cube(**step):
    """A pipeline that scales features to [0, 1], where zeros of texts stay zeros."""
    return BagPipeline([("scale", BagScaler("minmax")), *step.items()])


def _isolation():
    """A linear machine on isolation features; the papers' tables have 256 cells and weights by bag."""
    embedding = IsolationEmbedding(
        200, "auto", similarity_threshold=0.7, metric="auto", random_state=0, weights="presence"
    )
    return _scaled_unless_zero("minmax", isolation=embedding, svm=WideLinearSVC(C=100.0))


def _isolation_of_targets():
    """The same for targets, with the weights of its paper."""
    embedding = IsolationEmbedding(200, 256, similarity_threshold=0.7, metric="auto", random_state=0)
    return _in_unit_cube(isolation=embedding, svm=SVR(kernel="linear", C=10.0, epsilon=0.05))


REGISTRY: dict[str, Method] = {
    m.name: m
    for m in [
        Method(
            "auto",
            "this library",
            "learned: several views of a bag, weighted by how well they predict the labels",
            lambda: AutoClassifier(),
            lambda: AutoRegressor(),
            revision=2,
        ),
        Method(
            "MI-Kernel",
            "Gärtner et al. 2002",
            "bags with similar instances have the same label",
            lambda: _scaled(svm=BagSVC(SetKernel(normalization="cosine"), C=10.0)),
            lambda: _scaled(svm=BagSVR(SetKernel(normalization="cosine"), C=10.0, epsilon=0.05)),
            grid=_SET_GRID,
            regression_grid=_SET_GRID,
        ),
        Method(
            "Minimax",
            "Gärtner et al. 2002",
            "the extremes of each feature decide",
            lambda: _scaled(svm=BagSVC(MinimaxKernel(degree=1), C=10.0)),
            grid={**_MEAN_GRID, "svm__kernel__degree": [1, 2, 4]},
        ),
        Method(
            "Simple-MI",
            "Dong 2006",
            "the mean instance decides",
            lambda: _scaled_unless_zero("standard", mean=MeanEmbedding(), svm=SVC(C=10.0)),
            lambda: _scaled(mean=MeanEmbedding(), svm=SVR(C=10.0, epsilon=0.05)),
            grid=_MEAN_GRID,
            regression_grid=_MEAN_GRID,
        ),
        Method(
            "SIL",
            "Ray and Craven 2005",
            "all instances share the label of their bag",
            lambda: _scaled_unless_zero("minmax", sil=SIL(SVC())),
            grid={"sil__estimator__C": C_GRID},
        ),
        Method(
            "ISK",
            "Xu, Ting and Zhou 2019",
            "bags with instances in the same dense or sparse regions have the same label",
            _isolation,
            _isolation_of_targets,
            grid=_ISOLATION_GRID,
            regression_grid=_ISOLATION_GRID,
        ),
        Method(
            "miGraph",
            "Zhou, Sun and Li 2009",
            "bags with similar groups of instances have the same label",
            lambda: _scaled_unless_zero("standard", svm=BagSVC(GraphKernel(gamma="scale"), C=10.0)),
            lambda: _in_unit_cube(svm=BagSVR(GraphKernel(gamma="scale"), C=10.0, epsilon=0.05)),
            grid=_GRAPH_GRID,
            regression_grid=_GRAPH_GRID,
        ),
        Method(
            "miFV",
            "Wei, Wu and Zhou 2014",
            "how the instances of a bag differ from the average decides",
            lambda: _scaled(fisher=FisherEmbedding(random_state=0), svm=SVC(kernel="linear", C=1.0)),
            grid={
                "scale__method": _SCALES,
                "fisher__n_components": [1, 2, 8, 32],
                "svm__C": [1.0, 10.0],
            },
        ),
        Method(
            "CCE",
            "Zhou and Zhang 2007",
            "the clusters that the instances of a bag visit decide",
            lambda: _scaled(cce=CCE(estimator=SVC(kernel="linear", C=10.0), random_state=0)),
            grid={"scale__method": _SCALES, "cce__estimator__C": [0.1, 1.0, 10.0]},
        ),
        Method(
            "PPMM",
            "Wang, Yang and Zha 2008",
            "learned: from one witness (small p) to the majority (large p)",
            lambda: _scaled(
                ppmm=PosteriorEmbedding(random_state=0), svm=SVC(C=10.0, kernel="poly", degree=1)
            ),
            lambda: _scaled(
                ppmm=PosteriorEmbedding(random_state=0), svm=SVR(C=10.0, kernel="linear", epsilon=0.05)
            ),
            grid=_POSTERIOR_GRID,
            regression_grid=_POSTERIOR_GRID,
        ),
        Method(
            "PPMM all",
            "Wang, Yang and Zha 2008",
            "learned: from one witness (small p) to the majority (large p)",
            lambda: _scaled(
                ppmm=PosteriorEmbedding(n_init=20, combine="all", random_state=0),
                svm=SVC(C=10.0, kernel="poly", degree=1),
            ),
            lambda: _scaled(
                ppmm=PosteriorEmbedding(n_init=20, combine="all", random_state=0),
                svm=SVR(C=10.0, kernel="linear", epsilon=0.05),
            ),
            grid={**_POSTERIOR_GRID, "ppmm__p": [None, 0.0]},
            regression_grid=_POSTERIOR_GRID,
        ),
        Method(
            "APR",
            "Dietterich, Lathrop and Lozano-Pérez 1997",
            "a bag is positive if one of its instances lies in a box",
            lambda: BagPipeline([("scale", BagScaler("minmax")), ("apr", APR(margin=0.25))]),
            grid={"apr__tau": [0.99, 0.999], "apr__epsilon": [0.01, 0.001], "apr__margin": [0.15, 0.25]},
        ),
        Method(
            "Citation-kNN",
            "Wang and Zucker 2000",
            "bags that come close to each other have the same label",
            lambda: _scaled(knn=CitationKNN()),
            lambda: _scaled(knn=CitationKNNRegressor()),
            grid=_CITATION_GRID,
            regression_grid=_CITATION_GRID,
        ),
        Method(
            "MILES",
            "Chen, Bi and Wang 2006",
            "similarity to, or distance from, a few training instances decides",
            lambda: _scaled("minmax", miles=MILES(C=10.0)),
            grid={"miles__C": [1.0, 3.0, 10.0, 30.0], "miles__gamma": ["median", "scale"]},
        ),
        Method(
            "TLC",
            "Weidmann, Frank and Pfahringer 2003",
            "how many instances lie in which regions decides",
            lambda: TLC(),
            grid={"n_rounds": [10, 30, 100]},
        ),
        Method(
            "Boost",
            "Auer and Ortner 2004",
            "bags that meet one of several balls or boxes are positive, by vote",
            lambda: _scaled(boost=BallBoost()),
            grid={
                "scale__method": ["standard", "none"],
                "boost__shape": ["ball", "cube", "box"],
                "boost__n_rounds": [20, 50, 200],
            },
        ),
        Method(
            "MILBoost",
            "Viola, Platt and Zhang 2005",
            "a bag is positive if an instance is (noisy or)",
            lambda: MILBoost(),
            grid={"max_depth": [1, 3], "n_rounds": [30, 100]},
        ),
        Method(
            "MissSVM",
            "Zhou and Xu 2007",
            "a bag is positive if an instance is; its instances lie away from the border",
            lambda: _scaled(miss=MissSVM(C=100.0, class_weight="balanced")),
            grid={
                "miss__C": [10.0, 100.0],
                "miss__beta": [0.1, 1.0],
                "miss__gamma_factor": [0.5, 2.0, 8.0],
            },
        ),
        Method(
            "mi-SVM",
            "Andrews et al. 2002",
            "at least one instance is positive; all have labels",
            lambda: _scaled(svm=InstanceLabelSVM(C=10.0, gamma_factor=2.0, threshold="train")),
            grid=_HEURISTIC_GRID,
        ),
        Method(
            "MI-SVM",
            "Andrews et al. 2002",
            "one instance, the witness, is positive; the others do not count",
            lambda: _scaled(svm=WitnessSVM(C=10.0, gamma_factor=2.0)),
            grid=_HEURISTIC_GRID,
        ),
        Method(
            "MICA",
            "Mangasarian and Wild 2005",
            "a convex combination of instances is positive",
            lambda: _scaled(svm=MICA(C=10.0, gamma_factor=0.5)),
            grid=_HEURISTIC_GRID,
        ),
        Method(
            "AL-SVM",
            "Gehler and Chapelle 2007",
            "at least one instance is positive; all have labels",
            lambda: _scaled(svm=AnnealedSVM("labels", C=10.0, gamma_factor=0.5, threshold="train")),
            grid=_ANNEALING_GRID,
        ),
        Method(
            "AW-SVM",
            "Gehler and Chapelle 2007",
            "one instance, the witness, is positive; the others do not count",
            lambda: _scaled(svm=AnnealedSVM("witness", C=1.0, gamma_factor=0.5, threshold="train")),
            grid=_ANNEALING_GRID,
        ),
        Method(
            "ALP-SVM",
            "Gehler and Chapelle 2007",
            "a certain share of the instances is positive",
            lambda: _scaled(
                svm=AnnealedSVM(
                    "labels",
                    C=10.0,
                    gamma_factor=0.5,
                    positive_share=0.8,
                    share_cost=10.0,
                    pooling="mean",
                    threshold="train",
                )
            ),
            grid=_SHARE_GRID,
        ),
        Method(
            "MG-ACC",
            "Kwok and Cheung 2007",
            "bags with similar instances of the same hidden label have the same label",
            lambda: _scaled(svm=MarginalizedSVC(MarginalizedKernel("accuracy"), C=10.0)),
            lambda: _scaled(svm=MarginalizedSVR(MarginalizedKernel("accuracy"), C=10.0, epsilon=0.05)),
            grid=_MARGINALIZED_GRID,
            regression_grid=_MARGINALIZED_TARGETS,
        ),
        Method(
            "MG-DDV",
            "Kwok and Cheung 2007",
            "bags with similar instances of the same hidden label have the same label",
            lambda: _scaled(svm=MarginalizedSVC(MarginalizedKernel("density"), C=10.0)),
            lambda: _scaled(svm=MarginalizedSVR(MarginalizedKernel("density"), C=10.0, epsilon=0.05)),
            grid=_MARGINALIZED_GRID,
            regression_grid=_MARGINALIZED_TARGETS,
        ),
        Method(
            "DD",
            "Maron and Lozano-Pérez 1998",
            "at least one instance is near one target point",
            lambda: _scaled(dd=DD()),
            lambda: _scaled(dd=DDRegressor()),
            revision=2,
        ),
        Method(
            "EM-DD",
            "Zhang and Goldman 2001",
            "at least one instance is near one target point",
            lambda: _scaled(dd=EMDD()),
            lambda: _scaled(dd=EMDDRegressor()),
        ),
        Method(
            "DD-SVM",
            "Chen and Wang 2004",
            "the distances to several target points decide",
            lambda: _scaled(svm=DDSVM(C=10.0)),
            grid=_SVM_GRID,
        ),
        *BOX_METHODS,
    ]
}
