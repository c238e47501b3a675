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
    NystroemEmbedding,
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
    Repaired,
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
    BoxWinnow,
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
    IsolationKernel(10, 4, 0.6, weights="data", random_state=0),
    Normalized(SetKernel(gamma=0.5, normalization="sum")),
    Power(SetKernel(gamma=0.5), rho=0.5),
    EmpiricalMap(SetKernel(gamma=0.5)),
    EmbeddingKernel(MeanEmbedding()),
    EmbeddingKernel(MeanEmbedding(), standardized=False, power=2.0),
    SetKernel(gamma=0.5) + MinimaxKernel(),
    SetKernel(gamma=0.5) * MinimaxKernel(),
    GraphKernel(metric="relevant"),
    Normalized(BoxKernel(epsilon=0.3, random_state=0)),
    BoxKernel(
        method="shared", n_boxes=100, around="instances", max_side=0.5, max_features=2, random_state=0
    ),
    Repaired(Power(SetKernel(gamma=0.5), rho=3.0)),
    Repaired(SetKernel(gamma=0.5), "shift"),
]

# Not positive semidefinite by nature, so the eigenvalue law does not apply.
INDEFINITE = (Power,)

EMBEDDINGS = [
    BoxEmbedding(n_boxes=100, random_state=0),
    BoxEmbedding("min", n_boxes=50, random_state=0),
    BoxEmbedding(n_boxes=50, around="instances", max_side=0.5, max_features=2, random_state=0),
    MilesEmbedding(gamma=0.5),
    MeanEmbedding(),
    MinMaxEmbedding(),
    MeanStdEmbedding(),
    IsolationEmbedding(10, 4, random_state=0),
    IsolationEmbedding(10, 4, 0.6, metric="relevant", random_state=0),
    IsolationEmbedding(5, 4, partition="forest", random_state=0),
    IsolationEmbedding(10, 4, weights="presence", random_state=0),
    FisherEmbedding(random_state=0),
    NystroemEmbedding(SetKernel(gamma=0.5), 4, random_state=0),
    PosteriorEmbedding(3, n_init=2, random_state=0),
    PosteriorEmbedding(2, "diag", p=0.5, n_init=1, random_state=0),
    PosteriorEmbedding(3, n_init=2, combine="all", random_state=0),
]

PREPROCESSORS = [BagScaler(), BagScaler("robust", equal_bags=True), BagGrid(factor=10.0)]

CLASSIFIERS = [
    GMIL1(n_clusters=6, random_state=0),
    GMIL2(n_clusters=6, random_state=0),
    BoxWinnow(n_boxes=50, random_state=0),
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
    MILBoost(n_rounds=5),
    MissSVM(gamma=0.5, C=10.0),
    BagSVC(SetKernel(gamma=0.5)),
    CalibratedBagClassifier(BagSVC(SetKernel(gamma=0.5))),
    AutoClassifier(),
    SIL(SVC(gamma=0.5)),
    AnnealedSVM(gamma=0.5, C=10.0),
    AnnealedSVM("witness", gamma=0.5, C=10.0),
    AnnealedSVM("witness", gamma=0.5, C=10.0, n_positive=2),
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

# scikit-learn's own checks that an estimator does not pass, each with the reason. The checks of weights run
# with solvers that are asked for all digits, see test_sklearn.py.
_WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
_START = "k-means draws its first centres among the rows of a table, and copies are other rows"
_RATIOS = "only ratios of weights matter: leaves and the price of a cut count average instances"
_TWINS = "a bag given twice has itself as a neighbour"
_ABSENT = "only neighbours vote: the weight of a class that is not among them cannot count"
_ENCLOSED = "the box holds all positive bags and ends near them, however heavy they are"
_ONLINE = "Winnow goes through the bags one by one, so a bag twice is not a bag of weight two; and k-means"
_VIEWS = "scalings, mixtures and partitions of the views see each bag once, whatever its weight"
EXPECTED_FAILURES = {
    **dict.fromkeys(("AutoClassifier", "AutoRegressor"), dict.fromkeys(_WEIGHTS, _VIEWS)),
    "APR": {"check_class_weight_classifiers": _ENCLOSED},
    "CCE": dict.fromkeys(_WEIGHTS, _START),
    "CitationKNN": {**dict.fromkeys(_WEIGHTS, _TWINS), "check_class_weight_classifiers": _ABSENT},
    "CitationKNNRegressor": dict.fromkeys(_WEIGHTS, _TWINS),
    "BoxWinnow": dict.fromkeys(_WEIGHTS, _ONLINE),
    "GMIL1": dict.fromkeys(_WEIGHTS, _ONLINE),
    "GMIL2": dict.fromkeys(_WEIGHTS, _ONLINE),
}
# Descent compares costs, which know the place of a maximum to half of the digits only, and starts that are
# drawn are others among copies; the trees of TLC may be the same on the data that a version of scikit-learn
# draws. A check may pass by luck, so these are not held to fail.
# With all starts they agree to fewer digits: test_a_weight_of_k_is_a_bag_k_times.
NEARLY = {
    **{
        name: dict.fromkeys(_WEIGHTS, "maxima are known to half of the digits, and starts are drawn")
        for name in (
            "DD",
            "EMDD",
            "DDSVM",
            "MarginalizedSVC",
            "DDRegressor",
            "EMDDRegressor",
            "MarginalizedSVR",
        )
    },
    "TLC": dict.fromkeys(_WEIGHTS, _RATIOS),
}
