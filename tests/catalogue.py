"""One instance of everything public, for the laws that hold for all of it."""

from sklearn.svm import SVC

from skmil.embeddings import (
    BoxEmbedding,
    FisherEmbedding,
    IsolationEmbedding,
    MeanEmbedding,
    MeanStdEmbedding,
    MilesEmbedding,
    MinMaxEmbedding,
    PosteriorEmbedding,
)
from skmil.kernels import (
    BoxKernel,
    EmpiricalMap,
    GraphKernel,
    IsolationKernel,
    MarginalizedKernel,
    MinimaxKernel,
    Normalized,
    Power,
    SetKernel,
)
from skmil.learners import (
    APR,
    CCE,
    DD,
    DDSVM,
    EMDD,
    GMIL1,
    GMIL2,
    MICA,
    MILES,
    SIL,
    TLC,
    AnnealedSVM,
    AutoClassifier,
    AutoRegressor,
    BagSVC,
    BagSVR,
    BallBoost,
    CalibratedBagClassifier,
    CitationKNN,
    CitationKNNRegressor,
    DDRegressor,
    EmbeddingKernel,
    EMDDRegressor,
    InstanceLabelSVM,
    MarginalizedSVC,
    MarginalizedSVR,
    MILBoost,
    MissSVM,
    WitnessSVM,
)
from skmil.preprocessing import BagGrid, BagScaler

# Kernels that need no fit come fitted to nothing; the laws fit each of them on the same bags.
KERNELS = [
    BoxKernel(method="exact"),
    BoxKernel("min", method="shared", n_boxes=100, random_state=0),
    EmpiricalMap(BoxKernel("and/or", epsilon=0.3, power=0.1, random_state=0)),
    SetKernel(gamma=0.5),
    SetKernel(gamma="median", normalization="cosine"),
    SetKernel("poly", gamma=0.5, normalization="sum"),
    SetKernel("linear", power=2.0),
    MarginalizedKernel(max_starts=10, random_state=0),
    MinimaxKernel(),
    GraphKernel(),
    GraphKernel(1.5, gamma=0.5),
    IsolationKernel(10, 4, random_state=0),
    IsolationKernel(10, 4, 0.6, normalize=False, random_state=0),
    Normalized(SetKernel(gamma=0.5, normalization="sum")),
    Power(SetKernel(gamma=0.5), rho=0.5),
    EmpiricalMap(SetKernel(gamma=0.5)),
    EmbeddingKernel(MeanEmbedding()),
    SetKernel(gamma=0.5) + MinimaxKernel(),
    SetKernel(gamma=0.5) * MinimaxKernel(),
]

# Not positive semidefinite by nature, so the eigenvalue law does not apply.
INDEFINITE = (Power,)

EMBEDDINGS = [
    BoxEmbedding(n_boxes=100, random_state=0),
    BoxEmbedding("min", n_boxes=50, random_state=0),
    MilesEmbedding(gamma=0.5),
    MeanEmbedding(),
    MinMaxEmbedding(),
    MeanStdEmbedding(),
    IsolationEmbedding(10, 4, random_state=0),
    IsolationEmbedding(10, 4, 0.6, metric="relevant", random_state=0),
    IsolationEmbedding(5, 4, partition="forest", random_state=0),
    FisherEmbedding(random_state=0),
    PosteriorEmbedding(3, n_init=2, random_state=0),
    PosteriorEmbedding(2, "diag", p=0.5, n_init=1, random_state=0),
]

PREPROCESSORS = [BagScaler(), BagScaler("robust", equal_bags=True), BagGrid(factor=10.0)]

CLASSIFIERS = [
    GMIL1(n_clusters=6, random_state=0),
    GMIL2(n_clusters=6, random_state=0),
    BagSVC(BoxKernel(epsilon=0.3, power=0.2, random_state=0), C=100.0),
    DD(max_starts=10, random_state=0),
    EMDD(max_starts=10, random_state=0),
    DDSVM(max_starts=10, random_state=0),
    MarginalizedSVC(MarginalizedKernel(max_starts=10, random_state=0)),
    APR(),
    CitationKNN(),
    CitationKNN(n_citers=0, distance="average"),
    MILES(gamma=0.5),
    TLC(),
    BallBoost(),
    BallBoost("box", n_rounds=5),
    MILBoost(n_rounds=5, random_state=0),
    MissSVM(gamma=0.5, C=10.0),
    BagSVC(SetKernel(gamma=0.5)),
    CalibratedBagClassifier(BagSVC(SetKernel(gamma=0.5))),
    AutoClassifier(),
    SIL(SVC()),
    AnnealedSVM(gamma=0.5, C=10.0),
    AnnealedSVM("witness", gamma=0.5, C=10.0),
    InstanceLabelSVM(gamma=0.5, C=10.0),
    WitnessSVM(kernel="linear"),
    MICA(gamma=0.5, C=10.0),
    CCE((3, 5), random_state=0),
]

REGRESSORS = [
    DDRegressor(max_starts=10, random_state=0),
    EMDDRegressor(max_starts=10, random_state=0),
    MarginalizedSVR(MarginalizedKernel(max_starts=10, random_state=0)),
    CitationKNNRegressor(),
    BagSVR(SetKernel(gamma=0.5)),
    AutoRegressor(),
]

# scikit-learn's own checks that an estimator does not pass, each with the reason.
_LIBSVM = "libsvm stops at a tolerance, as sklearn.svm.SVC itself does"
EXPECTED_FAILURES = {
    "BagSVC": {
        "check_sample_weight_equivalence_on_dense_data": _LIBSVM,
        "check_sample_weight_equivalence_on_sparse_data": _LIBSVM,
    },
    "BagSVR": {
        "check_sample_weight_equivalence_on_dense_data": _LIBSVM,
        "check_sample_weight_equivalence_on_sparse_data": _LIBSVM,
    },
}
_WIDTH = "gamma='scale' of the instance SVC does not know weights, as in sklearn.svm.SVC itself"
EXPECTED_FAILURES["SIL"] = {
    "check_sample_weight_equivalence_on_dense_data": _WIDTH,
    "check_sample_weight_equivalence_on_sparse_data": _WIDTH,
}
_START = "k-means starts from random instances, and weights of bags do not repeat instances"
EXPECTED_FAILURES["CCE"] = {
    "check_sample_weight_equivalence_on_dense_data": _START,
    "check_sample_weight_equivalence_on_sparse_data": _START,
}
_COPIES = "equally good splits of a tree are told apart by rounding, and leaves count average instances"
for _name, _reason in {"TLC": _COPIES, "MILBoost": _COPIES, "MissSVM": _LIBSVM}.items():
    EXPECTED_FAILURES[_name] = {
        "check_sample_weight_equivalence_on_dense_data": _reason,
        "check_sample_weight_equivalence_on_sparse_data": _reason,
    }
_TWINS = "a bag given twice has itself as a neighbour"
_ABSENT = "only neighbours vote: the weight of a class that is not among them cannot count"
for _name in ("CitationKNN", "CitationKNNRegressor"):
    EXPECTED_FAILURES[_name] = {
        "check_sample_weight_equivalence_on_dense_data": _TWINS,
        "check_sample_weight_equivalence_on_sparse_data": _TWINS,
    }
EXPECTED_FAILURES["CitationKNN"]["check_class_weight_classifiers"] = _ABSENT
_ENCLOSED = "the box holds all positive bags and ends near them, however heavy they are"
EXPECTED_FAILURES["APR"] = {"check_class_weight_classifiers": _ENCLOSED}
_TOLERANCE = "the SVM of a w-step stops at a tolerance, as sklearn.svm.SVC itself does"
for _name in ("AnnealedSVM", "InstanceLabelSVM", "WitnessSVM", "MICA"):
    EXPECTED_FAILURES[_name] = {
        "check_sample_weight_equivalence_on_dense_data": _TOLERANCE,
        "check_sample_weight_equivalence_on_sparse_data": _TOLERANCE,
    }
# With one width for both and all starts they agree: test_a_weight_of_k_is_a_bag_k_times.
_DENSITY = "width and sampled starts ignore weights of bags, and L-BFGS stops at a tolerance"
for _name in ("DD", "EMDD", "DDSVM", "MarginalizedSVC", "DDRegressor", "EMDDRegressor", "MarginalizedSVR"):
    EXPECTED_FAILURES[_name] = {
        "check_sample_weight_equivalence_on_dense_data": _DENSITY,
    }
_ONLINE = (
    "Winnow goes through the bags one by one, so a bag twice is not a bag of weight two; k-means as above"
)
for _name in ("GMIL1", "GMIL2"):
    EXPECTED_FAILURES[_name] = {
        "check_sample_weight_equivalence_on_dense_data": _ONLINE,
        "check_sample_weight_equivalence_on_sparse_data": _ONLINE,
    }
_FOLDS = "inner folds are drawn bag by bag, so that a bag given twice may be on both sides"
EXPECTED_FAILURES["CalibratedBagClassifier"] = {
    "check_sample_weight_equivalence_on_dense_data": _FOLDS,
    "check_sample_weight_equivalence_on_sparse_data": _FOLDS,
}
_VIEWS = "scalings, mixtures and partitions of the views see each bag once, whatever its weight"
for _name in ("AutoClassifier", "AutoRegressor"):
    EXPECTED_FAILURES[_name] = {
        "check_sample_weight_equivalence_on_dense_data": _VIEWS,
        "check_sample_weight_equivalence_on_sparse_data": _VIEWS,
    }
