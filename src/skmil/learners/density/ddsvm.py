r"""DD-SVM (Chen & Wang, JMLR 2004)."""

import numpy as np
from sklearn.svm import SVC

from skmil._engines.density import Search
from skmil._engines.widths import resolve_gamma
from skmil._parameters import CLASS_WEIGHT, COUNT, NOT_NEGATIVE, POSITIVE, SEED, one_of
from skmil.learners.base import BinaryBagClassifier


class DDSVM(BinaryBagClassifier):
    r"""A bag becomes its smallest distances to prototypes, and an RBF ``SVC`` goes on from there [1]_.

    The prototypes are the distinct maxima (h, s) of Diverse Density for the positive bags and, with labels
    exchanged, for the negative ones, as far as their log density is above the middle between the
    best and the worst:

    .. math::
        \phi(B) = \big(\min_j |x_j - h_1|_{s_1}, ..., \min_j |x_j - h_p|_{s_p}\big), \quad
        |x - h|_s^2 = \sum_k s_k^2 (x_k - h_k)^2

    standardised on the training bags.

    Parameters
    ----------
    C : float, of the SVC
    gamma : float or "scale", of the SVC
    feature_scaling, max_starts, max_iter, tol, verbose, random_state, class_weight : as in ``DD``

    Attributes
    ----------
    prototypes_ : hypotheses (``points``, ``scales``, ``cost``), those of the positive class first
    n_positive_ : int
    svm_ : the fitted ``sklearn.svm.SVC``

    References
    ----------
    .. [1] Y. Chen, J. Z. Wang, "Image categorization by learning and reasoning with regions", JMLR 5, 2004.

    Examples
    --------
    >>> from skmil.learners import DDSVM
    >>> X = [[[0.0], [3.0]], [[5.0], [3.1]], [[0.1]], [[0.2], [5.1]]]
    >>> DDSVM().fit(X, [1, 1, 0, 0]).predict([[[3.0], [5.0]], [[0.1], [5.1]]])
    array([1, 0])
    """

    _parameter_constraints: dict = {
        "C": [POSITIVE],
        "gamma": [POSITIVE, one_of("scale")],
        "feature_scaling": ["boolean"],
        "max_starts": [COUNT, one_of("auto"), None],
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
        "verbose": ["verbose", callable],
        "random_state": SEED,
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        C=10.0,
        gamma="scale",
        feature_scaling=True,
        max_starts="auto",
        max_iter=200,
        tol=1e-6,
        verbose=False,
        random_state=None,
        class_weight=None,
    ):
        self.C = C
        self.gamma = gamma
        self.feature_scaling = feature_scaling
        self.max_starts = max_starts
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight

    @property
    def n_iter_(self) -> int:
        """Most iterations of a start that led to a prototype."""
        if hasattr(self, "estimators_"):
            return max(e.n_iter_ for e in self.estimators_)
        return max(1, int(self.prototypes_.n_iter.max()))

    def _fit(self, bags, y, w):
        positive, negative = self._best(bags, y > 0, w), self._best(bags, y < 0, w)
        self.n_positive_ = len(positive)
        self.prototypes_ = positive + negative
        Z = self._distances(bags)
        self.center_ = np.average(Z, axis=0, weights=w)
        spread = np.sqrt(np.average((Z - self.center_) ** 2, axis=0, weights=w))
        varies = spread > np.finfo(float).eps * len(Z) * self.center_  # what rounding leaves does not count
        self.spread_ = np.where(varies, spread, 1.0)
        # "scale" is 1 / (features x variance), or 1 without variance. That of a standardised feature is 1,
        # that of a constant one 0.
        gamma = 1 / max(1, varies.sum()) if self.gamma == "scale" else self.gamma
        self.svm_ = SVC(C=self.C, gamma=gamma).fit(self._features(bags), y, sample_weight=w)

    def _best(self, bags, is_positive, w):
        search = Search(
            free=self.feature_scaling,
            gamma=resolve_gamma("median", bags, w),
            max_starts=self.max_starts,
            max_iter=self.max_iter,
            tol=self.tol,
            verbose=self.verbose,
            random_state=self.random_state,
        )
        found = search(bags, is_positive.astype(float), w)
        return found[found.cost <= (found.cost.min() + found.cost.max()) / 2]

    def _distances(self, bags):
        return np.sqrt(self.prototypes_.nearest(bags))

    def _features(self, bags):
        return (self._distances(bags) - self.center_) / self.spread_

    def _decision(self, bags):
        return self.svm_.decision_function(self._features(bags))

    def _instances(self, bags):
        """P(c = 1 | x) under the positive prototype that is nearest to x."""
        P = self.prototypes_[: self.n_positive_].instance_probability(bags.flat.instances)
        return P.max(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
