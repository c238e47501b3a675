"""One instance of everything public, for the laws that hold for all of it."""

from sklearn.svm import SVC

from skmil.embeddings import MeanEmbedding, MeanStdEmbedding, MinMaxEmbedding
from skmil.kernels import EmpiricalMap, MinimaxKernel, Normalized, Power, SetKernel
from skmil.learners import SIL, BagSVC, BagSVR
from skmil.preprocessing import BagGrid, BagScaler

# Kernels that need no fit come fitted to nothing; the laws fit each of them on the same bags.
KERNELS = [
    SetKernel(gamma=0.5),
    SetKernel(gamma="median", normalization="cosine"),
    SetKernel("poly", gamma=0.5, normalization="sum"),
    SetKernel("linear", power=2.0),
    MinimaxKernel(),
    Normalized(SetKernel(gamma=0.5, normalization="sum")),
    Power(SetKernel(gamma=0.5), rho=0.5),
    EmpiricalMap(SetKernel(gamma=0.5)),
    SetKernel(gamma=0.5) + MinimaxKernel(),
    SetKernel(gamma=0.5) * MinimaxKernel(),
]

# Not positive semidefinite by nature, so the eigenvalue law does not apply.
INDEFINITE = (Power,)

EMBEDDINGS = [MeanEmbedding(), MinMaxEmbedding(), MeanStdEmbedding()]

PREPROCESSORS = [BagScaler(), BagScaler("robust", equal_bags=True), BagGrid(factor=10.0)]

CLASSIFIERS = [
    BagSVC(SetKernel(gamma=0.5)),
    BagSVC(SetKernel(gamma=0.5), probability=True),
    SIL(SVC()),
]

REGRESSORS = [BagSVR(SetKernel(gamma=0.5))]

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
