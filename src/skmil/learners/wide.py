"""A linear support vector machine on the features of bags, trained through one Gram matrix."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from skmil import _state as state
from skmil._parameters import CLASS_WEIGHT, POSITIVE, SVM_ITERATIONS, start_fit
from skmil._threads import interruptible
from skmil.learners.base import class_weights, positive_weights


class WideLinearSVC(ClassifierMixin, BaseEstimator):
    """``sklearn.svm.SVC(kernel="linear")`` for few rows with many, sparse features.

    The inner products are one sparse matrix product, O(n^2) numbers of memory. ``SVC`` computes each when
    it is needed, and again for each pair of classes: tens of times as long on the isolation features of ten
    classes (``benchmarks/run.py isolation-gramsvc``). Each class needs a row of positive weight.

    Parameters
    ----------
    C, class_weight, tol, max_iter : as in ``SVC``

    Attributes
    ----------
    svm_ : the fitted ``SVC`` on inner products
    support_, vectors_ : numbers and features of the support vectors
    coef_ : array (1, n_features); only for two classes
    intercept_ : array

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from skmil.learners import WideLinearSVC
    >>> WideLinearSVC().fit(csr_array([[0.0, 1.0], [2.0, 0.0]]), ["a", "b"]).predict([[3.0, 0.0]])
    array(['b'], dtype='<U1')
    """

    _parameter_constraints: dict = {
        "C": [POSITIVE],
        "class_weight": CLASS_WEIGHT,
        "tol": [POSITIVE],
        "max_iter": SVM_ITERATIONS,
    }

    def __init__(self, C=1.0, class_weight=None, tol=1e-3, max_iter=-1):
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X, y, sample_weight=None):
        """Train on the inner products of the rows; more than two classes go one against one."""
        start_fit(self)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        w = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        # libsvm drops rows without weight itself, but then numbers the columns of the matrix anew.
        rows = np.flatnonzero(w)
        self.classes_, codes = np.unique(y, return_inverse=True)
        class_weights(self.class_weight, self.classes_, codes)  # SVC takes them, whatever they are
        X, codes, w = positive_weights(X, codes, w, self.classes_)
        svc = SVC(
            kernel="precomputed",
            C=self.C,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.svm_ = interruptible(svc.fit)(_products(X, X), self.classes_[codes], sample_weight=w)
        self.n_iter_, self.intercept_ = svc.n_iter_, svc.intercept_
        self.support_ = rows[svc.support_]
        self.n_rows_, self.vectors_ = len(rows), X[svc.support_]
        if len(self.classes_) == 2:
            self.coef_ = safe_sparse_dot(svc.dual_coef_, self.vectors_, dense_output=True)
        return self

    def decision_function(self, X) -> np.ndarray:
        """One number per row for two classes, else one per class, as in ``SVC``."""
        K = self._rows(X)
        return self.svm_.decision_function(K)

    def predict(self, X) -> np.ndarray:
        """The label of each row."""
        K = self._rows(X)
        return self.svm_.predict(K)

    def _check_state(self) -> None:
        n = state.kept(self, "svm_", SVC).shape_fit_[0]
        state.count(self, "n_rows_", n, n)

    def _rows(self, X) -> np.ndarray:
        """Inner products with the training rows; 0 where libsvm does not look."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        K = np.zeros((X.shape[0], self.n_rows_))
        K[:, self.svm_.support_] = _products(X, self.vectors_)
        return K

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _products(X, Y) -> np.ndarray:
    return np.asarray(safe_sparse_dot(X, Y.T, dense_output=True))
