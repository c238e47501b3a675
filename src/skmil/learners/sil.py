"""Single-instance learning: every instance inherits the label of its bag."""

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from skmil.learners.base import BinaryBagClassifier

_POOLING = {"max": np.maximum.reduceat, "mean": np.add.reduceat}


class SIL(BinaryBagClassifier):
    """Any scikit-learn classifier of instances, made to classify bags.

    Parameters
    ----------
    estimator : classifier, optional
        Of instances, with ``decision_function`` or ``predict_proba``; an RBF ``SVC`` where not given.
    pooling : "max" or "mean"
        How the scores of the instances of a bag become one.
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    estimator_ : the classifier fitted on all instances

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmil.learners import SIL
    >>> model = SIL(LogisticRegression()).fit([[[0.0]], [[0.0], [3.0]], [[0.5]], [[3.5]]], [0, 1, 0, 1])
    >>> model.predict([[[0.1], [3.1]], [[0.2]]])
    array([1, 0])
    """

    def __init__(self, estimator=None, pooling="max", class_weight=None):
        self.estimator = estimator
        self.pooling = pooling
        self.class_weight = class_weight

    @property
    def has_witness(self) -> bool:
        """Whether the instance of largest score decides alone."""
        return self.pooling == "max"

    def _fit(self, bags, y, w):
        if self.pooling not in _POOLING:
            raise ValueError(f"pooling is {self.pooling!r}; use 'max' or 'mean'")
        estimator = SVC() if self.estimator is None else self.estimator
        weights = {} if np.all(w == w[0]) else {"sample_weight": np.repeat(w, bags.sizes)}
        self.estimator_ = clone(estimator).fit(bags.instances, np.repeat(y, bags.sizes), **weights)

    def _decision(self, bags):
        pooled = _POOLING[self.pooling](self._instances(bags), bags.offsets[:-1])
        return pooled if self.pooling == "max" else pooled / bags.sizes

    def _instances(self, bags):
        """The classifier's own score of each instance, positive for the positive class."""
        if hasattr(self.estimator_, "decision_function"):
            return self.estimator_.decision_function(bags.instances)
        return self.estimator_.predict_proba(bags.instances)[:, 1] - 0.5
