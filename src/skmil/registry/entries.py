"""The registry's table: one entry per method, with its defaults, scaling included."""

from sklearn.svm import SVC, SVR

from skmil.embeddings import FisherEmbedding, IsolationEmbedding, MeanEmbedding, PosteriorEmbedding
from skmil.kernels import GraphKernel, MinimaxKernel, SetKernel
from skmil.learners import (
    APR,
    CCE,
    MILES,
    SIL,
    TLC,
    AutoClassifier,
    AutoRegressor,
    BagPipeline,
    BagSVC,
    BagSVR,
    BallBoost,
    CitationKNN,
    CitationKNNRegressor,
    MILBoost,
    WideLinearSVC,
)
from skmil.preprocessing import BagScaler
from skmil.registry.boxes import BOX_METHODS
from skmil.registry.densities import DENSITY_METHODS
from skmil.registry.entry import TASKS, Grid, Method
from skmil.registry.pipelines import C_GRID, SVM_GRID, in_unit_cube, scaled, scaled_unless_zero
from skmil.registry.svms import INSTANCE_SVMS

__all__ = ["REGISTRY", "TASKS", "Grid", "Method"]

# Dividing by standard deviations lets features that are nearly always zero, as those of the image sets,
# decide every distance; dividing by ranges does not.
_SCALES = ["standard", "minmax"]
_MEAN_GRID: dict[str, list] = {"scale__method": _SCALES, **SVM_GRID}
# The p-th power of an RBF kernel is one of another width.
_SET_GRID: dict[str, list] = {**_MEAN_GRID, "svm__kernel__power": [0.25, 1.0, 4.0]}
# Its paper measured distances of raw features, which is right where all have one unit, as in Musk.
_CITATION_GRID: dict[str, list] = {
    "scale__method": ["standard", "none"],
    "knn__n_references": [2, 4],
    "knn__n_citers": [2, 4],
}
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


def _isolation():
    """A linear machine on isolation features; the papers' tables have 256 cells and weights by bag."""
    embedding = IsolationEmbedding(
        200, "auto", similarity_threshold=0.7, metric="auto", random_state=0, weights="presence"
    )
    return scaled_unless_zero("minmax", isolation=embedding, svm=WideLinearSVC(C=100.0))


def _isolation_of_targets():
    """The same for targets, with the weights of its paper."""
    embedding = IsolationEmbedding(200, 256, similarity_threshold=0.7, metric="auto", random_state=0)
    return in_unit_cube(isolation=embedding, svm=SVR(kernel="linear", C=10.0, epsilon=0.05))


REGISTRY: dict[str, Method] = {
    m.name: m
    for m in [
        Method(
            "auto",
            "this library",
            "learned: several views of a bag, weighted by how well they predict the labels",
            lambda: AutoClassifier(),
            lambda: AutoRegressor(),
            revision=8,
        ),
        Method(
            "MI-Kernel",
            "Gärtner et al. 2002",
            "bags with similar instances have the same label",
            lambda: scaled(svm=BagSVC(SetKernel(normalization="cosine"), C=10.0)),
            lambda: scaled(svm=BagSVR(SetKernel(normalization="cosine"), C=10.0, epsilon=0.05)),
            grid=_SET_GRID,
            regression_grid=_SET_GRID,
        ),
        Method(
            "Minimax",
            "Gärtner et al. 2002",
            "the extremes of each feature decide",
            lambda: scaled(svm=BagSVC(MinimaxKernel(degree=1, gamma="length"), C=10.0)),
            grid={**_MEAN_GRID, "svm__kernel__degree": [1, 2, 4]},
        ),
        Method(
            "Simple-MI",
            "Dong 2006",
            "the mean instance decides",
            lambda: scaled_unless_zero("standard", mean=MeanEmbedding(), svm=SVC(C=10.0)),
            lambda: scaled(mean=MeanEmbedding(), svm=SVR(C=10.0, epsilon=0.05)),
            grid=_MEAN_GRID,
            regression_grid=_MEAN_GRID,
        ),
        Method(
            "SIL",
            "Ray and Craven 2005",
            "all instances share the label of their bag",
            lambda: scaled_unless_zero("minmax", sil=SIL(SVC())),
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
            lambda: scaled_unless_zero("standard", svm=BagSVC(GraphKernel(gamma="scale"), C=10.0)),
            lambda: in_unit_cube(svm=BagSVR(GraphKernel(gamma="scale"), C=10.0, epsilon=0.05)),
            grid=_GRAPH_GRID,
            regression_grid=_GRAPH_GRID,
        ),
        Method(
            "miFV",
            "Wei, Wu and Zhou 2014",
            "how the instances of a bag differ from the average decides",
            lambda: scaled(fisher=FisherEmbedding(random_state=0), svm=SVC(kernel="linear", C=1.0)),
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
            lambda: scaled(cce=CCE(estimator=SVC(kernel="linear"), random_state=0)),
            grid={"scale__method": _SCALES, "cce__estimator__C": [0.1, 1.0, 10.0]},
        ),
        Method(
            "PPMM",
            "Wang, Yang and Zha 2008",
            "learned: from one witness (small p) to the majority (large p)",
            lambda: scaled_unless_zero(
                "minmax", ppmm=PosteriorEmbedding(random_state=0), svm=SVC(C=10.0, kernel="poly", degree=1)
            ),
            lambda: scaled(
                ppmm=PosteriorEmbedding(random_state=0), svm=SVR(C=10.0, kernel="linear", epsilon=0.05)
            ),
            grid=_POSTERIOR_GRID,
            regression_grid=_POSTERIOR_GRID,
        ),
        Method(
            "PPMM all",
            "Wang, Yang and Zha 2008",
            "learned: from one witness (small p) to the majority (large p)",
            lambda: scaled(
                ppmm=PosteriorEmbedding(n_init=20, combine="all", random_state=0),
                svm=SVC(C=10.0, kernel="poly", degree=1),
            ),
            lambda: scaled(
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
            lambda: BagPipeline([("scale", BagScaler("minmax")), ("apr", APR(tau=0.99, margin=0.25))]),
            grid={"apr__tau": [0.99, 0.999], "apr__epsilon": [0.01, 0.001], "apr__margin": [0.15, 0.25]},
        ),
        Method(
            "Citation-kNN",
            "Wang and Zucker 2000",
            "bags that come close to each other have the same label",
            lambda: scaled(knn=CitationKNN()),
            lambda: scaled(knn=CitationKNNRegressor()),
            grid=_CITATION_GRID,
            regression_grid=_CITATION_GRID,
        ),
        Method(
            "MILES",
            "Chen, Bi and Wang 2006",
            "similarity to, or distance from, a few training instances decides",
            lambda: scaled("minmax", miles=MILES(C=10.0)),
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
            lambda: scaled("minmax", boost=BallBoost("auto")),
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
        *INSTANCE_SVMS,
        *DENSITY_METHODS,
        *BOX_METHODS,
    ]
}
