"""Support vector machines on the marginalized kernel (Kwok & Cheung, IJCAI 2007): MG-ACC and MG-DDV."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skmil._engines.density import unit_targets
from skmil._parameters import CLASS_WEIGHT, NOT_NEGATIVE, POSITIVE
from skmil._schema import check_bags
from skmil.kernels.marginalized import MarginalizedKernel
from skmil.learners.base import BagEstimator, BagRegressor, BinaryBagClassifier
from skmil.learners.svm import BagSVC, BagSVR


class _Marginalized(BagEstimator):
    kernel: MarginalizedKernel | None

    def _kernel_for(self, task: str):
        kernel = MarginalizedKernel() if self.kernel is None else clone(self.kernel)
        return kernel.set_params(task=task)

    def _renumber(self, bags, rows):
        super()._renumber(bags, rows)
        if hasattr(self, "svm_"):
            self.svm_._renumber(bags, rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class MarginalizedSVC(_Marginalized, BinaryBagClassifier):
    """``BagSVC`` on a marginalized kernel; the instance scores are P(c = 1 | x), not shares of the margin.

    More than two classes go one against the rest, each with hypotheses and a kernel of its own, as in
    the paper. For exact shares of the decision value use ``BagSVC(MarginalizedKernel())``.

    Parameters
    ----------
    kernel : MarginalizedKernel, optional
    C : float
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    svm_ : the fitted ``BagSVC``

    Examples
    --------
    >>> from skmil.learners import MarginalizedSVC
    >>> X = [[[0.0], [3.0]], [[5.0], [3.1]], [[0.1]], [[0.2], [5.1]]]
    >>> MarginalizedSVC().fit(X, [1, 1, 0, 0]).score_instances([[[5.0], [3.0]]])[0].argmax()
    np.int64(1)
    """

    _parameter_constraints: dict = {
        "kernel": [MarginalizedKernel, None],
        "C": [POSITIVE],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(self, kernel=None, C=10.0, class_weight=None):
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight

    def _fit(self, bags, y, w):
        self.svm_ = BagSVC(self._kernel_for("classification"), C=self.C).fit(bags, y, sample_weight=w)

    def _decision(self, bags):
        return self.svm_.decision_function(bags)

    def _instances(self, bags):
        return np.concatenate(self.svm_.kernel_.instance_probability(bags))


class MarginalizedSVR(_Marginalized, BagRegressor):
    """``BagSVR`` on a marginalized kernel, with targets moved to [0, 1] and predictions moved back.

    Parameters
    ----------
    kernel : MarginalizedKernel, optional
    C, epsilon : float
        On targets in [0, 1].

    Attributes
    ----------
    svm_ : the fitted ``BagSVR``
    """

    _parameter_constraints: dict = {
        "kernel": [MarginalizedKernel, None],
        "C": [POSITIVE],
        "epsilon": [NOT_NEGATIVE],
    }

    def __init__(self, kernel=None, C=10.0, epsilon=0.05):
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon

    def score_instances(self, X):
        """Expected label of each instance, E[c | x], on the scale of y (see ``label_density``)."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)
        P = self.svm_.kernel_.expected_label(bags)
        return [self.low_ + self.range_ * p for p in P]

    def _fit(self, bags, y, w):
        unit, self.low_, self.range_ = unit_targets(y)
        self.svm_ = BagSVR(self._kernel_for("regression"), C=self.C, epsilon=self.epsilon)
        self.svm_.fit(bags, unit, sample_weight=w)

    def _predict(self, bags):
        return self.low_ + self.range_ * self.svm_.predict(bags)
