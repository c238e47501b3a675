"""Which of two classes is the positive one: by its name, or as the caller says."""

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from skmil._parameters import ANY
from skmil._schema import check_bags, check_bags_y
from skmil.learners.base import BagEstimator, forwarded, winners


class PositiveClass(ClassifierMixin, BagEstimator):
    """A classifier of two classes that is told which one is positive.

    Most methods ask for what a positive bag has and a negative one lacks, so that it matters which class is
    which. Left alone, they take ``classes_[1]``, the last in order, unless its name denies the other's:
    of "active" and "inactive", "musk" and "non-musk" the first is positive.

    Parameters
    ----------
    estimator : classifier of bags
    positive : label of the positive class

    Attributes
    ----------
    estimator_ : the fitted classifier, whose classes are False and True

    Examples
    --------
    >>> import skmil
    >>> X, y = [[[0.0]], [[0.1], [5.0]], [[0.2]], [[5.1]]], ["safe", "danger", "safe", "danger"]
    >>> model = skmil.method("MI-SVM", positive="danger").fit(X, y)
    >>> model.predict([[[0.0], [5.0]]]).tolist()
    ['danger']
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods("fit")],
        "positive": [str, ANY, "boolean"],
    }

    def __init__(self, estimator, positive):
        self.estimator = estimator
        self.positive = positive

    def fit(self, X, y, sample_weight=None):
        """Fit the classifier on whether a bag is positive."""
        bags, codes, self.classes_ = check_bags_y(self, X, y, classification=True)
        found = np.flatnonzero(self.classes_ == self.positive)
        if len(self.classes_) != 2 or len(found) != 1:
            known = ", ".join(map(str, self.classes_))
            raise ValueError(f"positive is {self.positive!r}; give one of two classes, here {known}")
        self.positive_ = int(found[0])
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(bags, codes == self.positive_, **weights)
        return self

    def decision_function(self, X) -> np.ndarray:
        """One number per bag, positive for ``classes_[1]``."""
        return self._sign() * self.estimator_.decision_function(self._checked(X))

    def predict(self, X) -> np.ndarray:
        """The label of each bag."""
        return self.classes_[winners(self.decision_function(X))]

    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance, for ``classes_[1]``."""
        return [self._sign() * s for s in self.estimator_.score_instances(self._checked(X))]

    @property
    def has_witness(self) -> bool:
        """Whether one instance decides alone."""
        return getattr(self.estimator_, "has_witness", False)

    def _sign(self) -> int:
        return 2 * self.positive_ - 1

    def _output(self, bags):
        return self.decision_function(bags)

    def _checked(self, X):
        check_is_fitted(self)
        return check_bags(self, X, reset=False)

    def __getattr__(self, name):
        return forwarded(self, name, "estimator_")
