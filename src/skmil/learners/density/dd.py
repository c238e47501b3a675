r"""Diverse Density (Maron & Lozano-Pérez, NIPS 1998) and EM-DD (Zhang & Goldman, NIPS 2001)."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmil._engines.density import Search, unit_targets
from skmil._engines.widths import resolve_gamma
from skmil._parameters import CLASS_WEIGHT, COUNT, GAMMA, NOT_NEGATIVE, SEED, one_of, real
from skmil._schema import check_bags
from skmil.learners.base import BagEstimator, BagRegressor, BinaryBagClassifier, best_of_cuts


class _Density(BagEstimator):
    """What the four learners share: the search for hypotheses, and the best one of them."""

    _pooling, _em = "noisy-or", False
    _parameter_constraints: dict = {
        "gamma": GAMMA,
        "feature_scaling": ["boolean"],
        "max_starts": [COUNT, one_of("auto"), None],
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
        "verbose": ["verbose", callable],
        "random_state": SEED,
    }
    gamma: Any
    feature_scaling: bool
    max_starts: int | str | None
    max_iter: int
    tol: float
    verbose: Any
    random_state: Any

    def _search(self, bags, y, w) -> None:
        search = Search(
            pooling=self._pooling,
            em=self._em,
            free=self.feature_scaling,
            gamma=resolve_gamma(self.gamma, bags),
            max_starts=self.max_starts,
            race=True,
            max_iter=self.max_iter,
            tol=self.tol,
            verbose=self.verbose,
            random_state=self.random_state,
        )
        self.optima_ = search(bags, y, w)
        self.hypothesis_, self.scales_ = self.optima_.points[0], self.optima_.scales[0]
        self.objective_ = float(self.optima_.cost[0])

    @property
    def n_iter_(self) -> int:
        """Most iterations of a start."""
        if hasattr(self, "estimators_"):
            return max(e.n_iter_ for e in self.estimators_)
        return max(1, int(self.optima_.n_iter.max()))

    @property
    def has_witness(self) -> bool:
        """Whether the instance of largest score decides alone."""
        return True

    def _probability(self, bags) -> np.ndarray:
        """e^-d of each instance under the best hypothesis."""
        return self.optima_[:1].instance_probability(bags.flat.instances).ravel()

    def _bag_probability(self, bags) -> np.ndarray:
        return np.maximum.reduceat(self._probability(bags), bags.offsets[:-1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class DD(_Density, BinaryBagClassifier):
    r"""Find the point that is near an instance of every positive bag and far from all negative ones [1]_.

    .. math::
        DD(h, s) = \prod_{i+} \Big[1 - \prod_j (1 - e^{-d(x_{ij})})\Big]
        \prod_{i-} \prod_j (1 - e^{-d(x_{ij})}), \quad d(x) = \sum_k s_k^2 (x_k - h_k)^2

    is maximised from every instance of the positive bags; a bag is positive where
    :math:`\max_j e^{-d(x_j)}` at the best maximum is above a threshold. Scale the features first.

    Cost: :math:`O(N d)` per step of each start; the starts advance together in matrix products, in threads.
    Memory: three times the instances, and 28 numbers per feature for each start.

    Parameters
    ----------
    gamma : float, "median" or "scale"
        First :math:`s_k^2` of every feature. "median" makes the typical distance of two instances one, in
        any number of dimensions; with 1, the value of the first papers, nothing is near in 166.
    feature_scaling : bool
        Learn s; else it stays.
    threshold : "train" or float
        "train" is the cut that puts most training bags (by weight) on the right side, the one nearest 1/2
        if there are several.
    max_starts : "auto", int or None
        Draw so many starts from the instances of the positive bags; ``None`` takes all. "auto" takes all up
        to 1200; of more it draws so many and goes on from the 100 that are best after five iterations.
        Of 100 or more, 70 % go on after 15 iterations, 45 % after 30, 25 % after 60, and 12 % after 100 are
        followed to their ends.
    max_iter, tol : of L-BFGS
    verbose : bool or function (done, total, best -log DD)
    random_state : int, RandomState or None, for drawing starts
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    hypothesis_, scales_ : h and s of the best maximum
    threshold_ : float
    objective_ : float, its -log DD
    n_iter_ : int, most iterations of a start
    optima_ : distinct maxima (``points``, ``scales``, ``cost``) of the starts followed to their ends, best
        first

    References
    ----------
    .. [1] O. Maron, T. Lozano-Pérez, "A framework for multiple-instance learning", NIPS 1998.

    Examples
    --------
    >>> from skmil.learners import DD
    >>> X = [[[0.0], [3.0]], [[5.0], [3.1]], [[0.1]], [[0.2], [5.1]]]
    >>> DD().fit(X, [1, 1, 0, 0]).hypothesis_.round(1)
    array([3.])
    """

    _parameter_constraints: dict = {
        **_Density._parameter_constraints,
        "threshold": [one_of("train"), real(0, 1, "both")],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        gamma="median",
        feature_scaling=True,
        threshold="train",
        max_starts="auto",
        max_iter=200,
        tol=1e-6,
        verbose=False,
        random_state=None,
        class_weight=None,
    ):
        self.gamma = gamma
        self.feature_scaling = feature_scaling
        self.threshold = threshold
        self.max_starts = max_starts
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight

    def _fit(self, bags, y, w):
        self._search(bags, (y > 0).astype(float), w)
        trained = isinstance(self.threshold, str)
        self.threshold_ = best_cut(self._bag_probability(bags), y, w) if trained else self.threshold

    def _decision(self, bags):
        return self._bag_probability(bags) - self.threshold_

    def _instances(self, bags):
        """P(c = 1 | x) = e^-d."""
        return self._probability(bags)


class EMDD(DD):
    r"""Diverse Density by expectation-maximisation [1]_.

    Alternate between choosing the most likely instance of each bag and maximising the density of those,
    :math:`\prod_i (1 - |y_i - e^{-d(x_i)}|)`, as long as
    :math:`\prod_i (1 - |y_i - \max_j e^{-d(x_{ij})}|)` grows. Parameters and attributes are those of
    ``DD``; no start is given up on the way.

    References
    ----------
    .. [1] Q. Zhang, S. A. Goldman, "EM-DD: an improved multiple-instance learning technique", NIPS 2001.

    Examples
    --------
    >>> from skmil.learners import EMDD
    >>> X = [[[0.0], [3.0]], [[5.0], [3.1]], [[0.1]], [[0.2], [5.1]]]
    >>> EMDD().fit(X, [1, 1, 0, 0]).predict([[[3.0], [9.0]], [[5.0]]])
    array([1, 0])
    """

    _em = True


def best_cut(P, y, w) -> float:
    """The number above which most of the weight is of y = +1 and below which it is of y = -1."""
    values = np.unique(P)
    middles = np.sqrt(values[:-1] * values[1:])  # of two distances
    return best_of_cuts(P, np.concatenate([[0.5], middles]), y, w)


class DDRegressor(_Density, BagRegressor):
    r"""Diverse Density for targets [1]_: the best instance of a bag decides how strong it is.

    .. math:: \max_{h, s} \prod_i \big(1 - |y_i - \max_j e^{-d(x_{ij})}|\big)

    with the targets moved to [0, 1], from every instance of the bags in the upper half of that range. A
    prediction is :math:`\max_j e^{-d(x_j)}`, moved back to the scale of y.

    Parameters
    ----------
    gamma, feature_scaling, max_starts, max_iter, tol, verbose, random_state : as in ``DD``

    Attributes
    ----------
    hypothesis_, scales_, objective_, optima_ : as in ``DD``

    References
    ----------
    .. [1] R. A. Amar, D. R. Dooly, S. A. Goldman, Q. Zhang, "Multiple-instance learning of real-valued
       data", ICML 2001.

    Examples
    --------
    >>> from skmil.learners import DDRegressor
    >>> X = [[[0.0], [3.0]], [[4.0]], [[9.0]], [[8.0], [3.5]]]
    >>> DDRegressor().fit(X, [70.0, 30.0, 0.0, 60.0]).predict([[[3.0]], [[12.0]]]).round(-1)
    array([70.,  0.])
    """

    _pooling = "max"

    def __init__(
        self,
        gamma="median",
        feature_scaling=True,
        max_starts="auto",
        max_iter=200,
        tol=1e-6,
        verbose=False,
        random_state=None,
    ):
        self.gamma = gamma
        self.feature_scaling = feature_scaling
        self.max_starts = max_starts
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def score_instances(self, X):
        """The prediction for each instance alone; a bag's prediction is the largest of them."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)
        return bags.split(self._moved_back(self._probability(bags)))

    def _fit(self, bags, y, w):
        unit, self.low_, self.range_ = unit_targets(y)
        self._search(bags, unit, w)

    def _predict(self, bags):
        return self._moved_back(self._bag_probability(bags))

    def _moved_back(self, probability):
        return self.low_ + self.range_ * probability


class EMDDRegressor(DDRegressor):
    r"""EM-DD for targets: ``DDRegressor`` by the alternation of ``EMDD`` [1]_.

    References
    ----------
    .. [1] D. R. Dooly, Q. Zhang, S. A. Goldman, R. A. Amar, "Multiple-instance learning of real-valued
       data", JMLR 3, 2002.
    """

    _em = True
