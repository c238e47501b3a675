r"""What a machine decides about a bag that it has not seen, as a kernel."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from skmil._parameters import ANY
from skmil.bags import Bags
from skmil.kernels.base import BagKernel
from skmil.learners.base import BagEstimator

FOLDS = 3


class DecisionKernel(BagKernel):
    r"""The product of two decisions.

    .. math:: k(A, B) = z(A)\, z(B)

    with z the standardised decision value of a classifier, or the prediction of a regressor. Training bags
    have those of machines that were fitted without them, in three folds, so that the kernel shows what the
    machine knows about new bags; new ones have that of a machine on all. So ``fit_transform(X)`` is not
    ``fit(X).transform(X)``. Where it knows nothing, and its decisions fall as the labels rise, all are 0.

    Parameters
    ----------
    estimator : BagEstimator
    positive : label, optional
        The label of two that the classifier takes for the positive one; without it ``y`` is a target.

    Attributes
    ----------
    machine_ : the estimator fitted on all training bags
    values_ : z of the training bags

    Examples
    --------
    >>> from skmil.learners import DD
    >>> from skmil.learners.auto.decision import DecisionKernel
    >>> X = [[[0.0], [v]] for v in (5.0, 1.0, 5.1, 2.0, 4.9, 9.0, 5.0, 7.0, 5.1, 3.0, 4.9, 1.0)]
    >>> K = DecisionKernel(DD(), positive=1).fit_transform(X, [1, 0] * 6)
    >>> bool(K[0, 2] > 0), bool(K[0, 1] < 0)
    (True, True)
    """

    values_: np.ndarray

    _parameter_constraints: dict = {
        "estimator": [BagEstimator],
        "positive": [str, ANY, "boolean", None],
    }

    def __init__(self, estimator, positive=None):
        self.estimator = estimator
        self.positive = positive

    def fit_transform(self, X, y=None, **fit_params):
        """``fit``, then the Gram matrix of the training bags."""
        self.fit(X, y, **fit_params)
        return np.outer(self.values_, self.values_)

    def transform(self, X):
        """K(X, training bags)."""
        check_is_fitted(self)
        return np.outer(self._values(self._check(X, tables=False)), self.values_)

    def restrict(self, rows):
        """Forget all training bags but those in ``rows``, and their values."""
        super().restrict(rows)
        self.values_ = self.values_[rows]

    def _fit(self, bags, y):
        y = np.asarray(y) if self.positive is None else np.asarray(y) == self.positive
        if self.positive is not None and not np.any(y):
            raise ValueError(f"positive is {self.positive!r}, a label that no bag has")
        told, split = np.empty(len(y)), KFold if self.positive is None else StratifiedKFold
        for a, b in split(FOLDS, shuffle=True, random_state=0).split(y, y):
            told[b] = _decisions(clone(self.estimator).fit(bags[a], y[a]), bags[b])
        self.machine_ = clone(self.estimator).fit(bags, y)
        self.center_, spread = float(told.mean()), float(told.std())
        known = spread > 0 and (told - self.center_) @ (y - y.mean()) > 0
        self.scale_ = 1.0 / spread if known else 0.0
        self.values_ = (told - self.center_) * self.scale_
        self.ends_ = float(self.values_.min()), float(self.values_.max())

    def _values(self, bags: Bags) -> np.ndarray:
        """Those of bags, not beyond those of training bags: far from all of them a density says nothing."""
        return np.clip((_decisions(self.machine_, bags) - self.center_) * self.scale_, *self.ends_)

    def _gram(self, A, B):
        check_is_fitted(self)
        a = self._values(A)
        return np.outer(a, a if A is B else self._values(B))


def _decisions(machine, bags: Bags) -> np.ndarray:
    return (machine.decision_function if hasattr(machine, "decision_function") else machine.predict)(bags)
