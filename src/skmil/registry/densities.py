"""The methods that look for points where positive bags meet, and the kernels built on them."""

from skmil.kernels import MarginalizedKernel
from skmil.learners import DD, DDSVM, EMDD, DDRegressor, EMDDRegressor, MarginalizedSVC, MarginalizedSVR
from skmil.registry.entry import Method
from skmil.registry.pipelines import SVM_GRID, scaled

# The width of the marginalized kernels is searched like that of the set kernel they are compared with.
_MARGINALIZED_GRID: dict[str, list] = {**SVM_GRID, "svm__kernel__power": [0.25, 1.0, 4.0]}
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

DENSITY_METHODS = [
    Method(
        "MG-ACC",
        "Kwok and Cheung 2007",
        "bags with similar instances of the same hidden label have the same label",
        lambda: scaled("minmax", svm=MarginalizedSVC(MarginalizedKernel("accuracy", power=4.0), C=10.0)),
        lambda: scaled(svm=MarginalizedSVR(MarginalizedKernel("accuracy"), C=10.0, epsilon=0.05)),
        grid=_MARGINALIZED_GRID,
        regression_grid=_MARGINALIZED_TARGETS,
    ),
    Method(
        "MG-DDV",
        "Kwok and Cheung 2007",
        "bags with similar instances of the same hidden label have the same label",
        lambda: scaled("minmax", svm=MarginalizedSVC(MarginalizedKernel("density", power=4.0), C=10.0)),
        lambda: scaled(svm=MarginalizedSVR(MarginalizedKernel("density"), C=10.0, epsilon=0.05)),
        grid=_MARGINALIZED_GRID,
        regression_grid=_MARGINALIZED_TARGETS,
    ),
    Method(
        "DD",
        "Maron and Lozano-Pérez 1998",
        "at least one instance is near one target point",
        lambda: scaled(dd=DD()),
        lambda: scaled(dd=DDRegressor()),
        revision=3,
    ),
    Method(
        "EM-DD",
        "Zhang and Goldman 2001",
        "at least one instance is near one target point",
        lambda: scaled(dd=EMDD()),
        lambda: scaled(dd=EMDDRegressor()),
    ),
    Method(
        "DD-SVM",
        "Chen and Wang 2004",
        "the distances to several target points decide",
        lambda: scaled(svm=DDSVM(C=100.0)),
        grid=SVM_GRID,
    ),
]
