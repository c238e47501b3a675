"""Probabilities for any classifier of bags, by Platt's sigmoid on inner folds (Platt 1999)."""

from numbers import Integral

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from skmil._parameters import SEED, naming, one_of, whole
from skmil._schema import check_bags, check_bags_y, check_weights
from skmil.learners.base import BagEstimator, forwarded, positive_weights, renumber


class CalibratedBagClassifier(ClassifierMixin, BagEstimator):
    r"""A classifier of bags with calibrated probabilities [1]_.

    .. math:: P(y = 1 | B) = 1 / (1 + e^{a f(B) + b})

    with the decision values f of bags that were left out: the whole method, scaling included, is fitted
    again in each of ``cv`` inner folds. More than two classes have a sigmoid each, normalised. The label
    predicted is that of the largest probability; instance scores and learned attributes are those of the
    method fitted on all bags.

    Cost: ``cv`` + 1 fits.

    Parameters
    ----------
    estimator : classifier of bags, or a pipeline that ends in a classifier
    method : "sigmoid" or "isotonic"
        Of the calibration; isotonic regression wants a thousand bags or more.
    cv : int, splitter or list of (train, test)
        Inner folds; of a number, fewer where a class has fewer bags.
    random_state : int, RandomState or None
        Draws the inner folds.

    Attributes
    ----------
    estimator_ : the method fitted on all bags
    calibrated_ : the fitted ``sklearn.calibration.CalibratedClassifierCV``

    References
    ----------
    .. [1] J. C. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
       likelihood methods", Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> import skmil
    >>> from skmil.datasets import load_musk1
    >>> X, y = load_musk1(return_X_y=True)
    >>> model = skmil.method("MI-Kernel", probability=True).fit(X[::2], y[::2])
    >>> model.predict_proba(X[1:4:2]).shape, type(model).__name__
    ((2, 2), 'CalibratedBagClassifier')
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods("fit")],
        "method": [one_of("sigmoid", "isotonic")],
        "cv": [whole(2), HasMethods(["split", "get_n_splits"]), list, tuple],
        "random_state": SEED,
    }

    _streams = _keeps_float32 = True  # the method itself decides

    def __init__(self, estimator, method="sigmoid", cv=5, random_state=0):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit the method on all bags, and the sigmoid on bags that were left out."""
        bags, codes, self.classes_ = check_bags_y(self, X, y, classification=True)
        w = check_weights(sample_weight, bags)
        if isinstance(self.cv, Integral):  # given folds count all bags
            given, rows = bags, np.flatnonzero(w)
            bags, codes, w = positive_weights(bags, codes, w, self.classes_)
        weights = {} if sample_weight is None else {"sample_weight": w}
        inner = CalibratedClassifierCV(
            clone(self.estimator), method=self.method, cv=self._folds(codes), ensemble=False
        )
        self.calibrated_ = inner.fit(bags, self.classes_[codes], **weights)
        self.estimator_ = inner.calibrated_classifiers_[0].estimator
        if isinstance(self.cv, Integral):
            renumber(self.estimator_, given, rows)
        return self

    def predict_proba(self, X) -> np.ndarray:
        """Calibrated probability of each class, in the order of ``classes_``."""
        bags = self._checked(X)
        return self.calibrated_.predict_proba(bags)

    def predict(self, X) -> np.ndarray:
        """The most probable label of each bag."""
        won = self.predict_proba(X).argmax(axis=1)
        return self.classes_[won]

    def decision_function(self, X) -> np.ndarray:
        """Log-odds of ``classes_[1]``; logarithms of the probabilities if there are more classes."""
        P = np.clip(self.predict_proba(X), 1e-12, 1.0)
        return np.log(P[:, 1] / P[:, 0]) if P.shape[1] == 2 else np.log(P)

    def score_instances(self, X) -> list[np.ndarray]:
        """Instance scores of the method fitted on all bags."""
        bags = self._checked(X)
        return self.estimator_.score_instances(bags)

    @property
    def has_witness(self) -> bool:
        """Whether the instance of largest score decides alone, before calibration."""
        return getattr(self.estimator_, "has_witness", False)

    def _output(self, bags):
        return self.estimator_.decision_function(bags)

    def _checked(self, X):
        check_is_fitted(self)
        return check_bags(self, X, reset=False)

    def _folds(self, codes):
        if not isinstance(self.cv, Integral):
            with naming("cv"):
                folds = check_cv(self.cv, codes, classifier=True)
                if not [(len(train), len(test)) for train, test in folds.split(codes, codes)]:
                    raise ValueError("there are no folds")
            return folds
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            name = str(self.classes_[np.bincount(codes).argmin()])
            raise ValueError(f"class {name!r} has {fewest} bag; probabilities need two bags of each class")
        return StratifiedKFold(min(self.cv, fewest), shuffle=True, random_state=self.random_state)

    def __getattr__(self, name):
        return forwarded(self, name, "estimator_")
