r"""MILBoost: boosting the noisy-or likelihood (Viola, Platt & Zhang, NIPS 2005)."""

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from skmil._engines.trees import RegressionTree, sorted_columns
from skmil.learners.base import BinaryBagClassifier

CERTAIN = 30.0  # largest constant: a probability of 1e-13 is as good as none
FURTHEST = 4.0  # longest step: a tree that only meets one class would go to infinity


class MILBoost(BinaryBagClassifier):
    r"""A sum of trees scores each instance; a bag is positive if at least one instance is [1]_.

    .. math::
        p_{ij} = \frac{1}{1 + e^{-f(x_{ij})}}, \qquad p_i = 1 - \prod_j (1 - p_{ij}), \qquad
        L = \sum_{i: Y_i = 1} \log p_i + \sum_{i: Y_i = -1} \log(1 - p_i)

    Each round takes the gradient of L at every instance,

    .. math::
        \frac{\partial L}{\partial f_{ij}} = \frac{t_i - p_i}{p_i}\, p_{ij}, \quad t_i = [Y_i = 1],

    fits a regression tree to it, and goes along the tree as far as L rises, times ``learning_rate``.

    ``score_instances`` is f itself, the log-odds that an instance is positive.

    Cost: one sort of the features, then ``n_rounds`` passes over them for each level of a tree; memory for
    a sorted copy of the instances.

    Parameters
    ----------
    n_rounds : int
    max_depth : int
        Depth of the trees; 1 are the stumps of the paper.
    learning_rate : float
        Part of the step of the line search that is taken.
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    trees_ : list of RegressionTree; of equally good splits they take the first
    steps_ : array, their factors
    intercept_ : float, the best constant f
    log_likelihood_ : array
        L before the first round and after each one; it never falls.

    References
    ----------
    .. [1] P. Viola, J. C. Platt, C. Zhang, "Multiple instance boosting for object detection", NIPS 2005.

    Examples
    --------
    >>> from skmil.learners import MILBoost
    >>> X = [[[0.0], [5.0]], [[0.1]], [[0.2], [5.1]], [[0.3]]]
    >>> model = MILBoost(n_rounds=5).fit(X, [1, 0, 1, 0])
    >>> model.predict([[[4.9]], [[0.0], [0.2]]])
    array([1, 0])
    """

    def __init__(self, n_rounds=100, max_depth=1, learning_rate=0.5, class_weight=None):
        self.n_rounds = n_rounds
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.class_weight = class_weight

    def predict_proba(self, X) -> np.ndarray:
        """Noisy-or probability of each class; one-against-the-rest ones, normalised, if more than two."""
        check_is_fitted(self)
        p = expit(self.decision_function(X))
        if p.ndim == 1:
            return np.column_stack([1 - p, p])
        return p / p.sum(axis=1, keepdims=True)

    def _fit(self, bags, y, w):
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate is {self.learning_rate!r}; give a number in (0, 1]")
        likelihood = _NoisyOr(y, w, bags.offsets[:-1])
        f = np.zeros(bags.offsets[-1])
        self.intercept_ = likelihood.climb(f, np.ones_like(f), -CERTAIN, CERTAIN)
        f += self.intercept_
        columns, v = sorted_columns(bags.instances), np.repeat(w, bags.sizes)
        self.trees_, steps, trace = [], [], [likelihood(f)]
        for _ in range(self.n_rounds):
            tree, h = self._weak(columns, likelihood.gradient(f), v)
            step = self.learning_rate * likelihood.climb(f, h, 0.0, FURTHEST)
            if step == 0:
                break
            f += step * h
            self.trees_.append(tree)
            steps.append(step)
            trace.append(likelihood(f))
        self.steps_, self.log_likelihood_ = np.array(steps), np.array(trace)

    def _weak(self, columns, gradient, w):
        """A tree that points up the gradient, of which the largest value is one."""
        target = gradient / w  # of one copy of an instance that counts w times
        tree = RegressionTree(self.max_depth)
        leaf = tree.grow(columns, target / (np.abs(target).max() or 1.0), w)
        return tree, tree.value_[leaf]

    def _decision(self, bags):
        """Log-odds of the bag: p / (1 - p) = prod_j (1 + e^f_j) - 1."""
        return _log_expm1(np.add.reduceat(_softplus(self._instances(bags)), bags.offsets[:-1]))

    def _instances(self, bags):
        """F itself, the log-odds that the instance is positive."""
        f = np.full(bags.offsets[-1], self.intercept_)
        for step, tree in zip(self.steps_, self.trees_, strict=True):
            f += step * tree.predict(bags.instances)
        return f


class _NoisyOr:
    """The log-likelihood of bags as a function of the scores of their instances."""

    def __init__(self, y, w, starts):
        self.positive, self.w, self.starts = y > 0, w, starts

    def __call__(self, f) -> float:
        s = np.add.reduceat(_softplus(f), self.starts)  # -log(1 - p_i)
        return float(self.w @ np.where(self.positive, _log_expm1(s) - s, -s))

    def gradient(self, f) -> np.ndarray:
        """(t_i - p_i) / p_i = 1 / (e^s_i - 1) in positive bags, -1 in negative ones; times p_ij."""
        s = np.maximum(np.add.reduceat(_softplus(f), self.starts), 1e-300)
        with np.errstate(over="ignore"):
            factor = self.w * np.where(self.positive, 1.0 / np.expm1(s), -1.0)
        sizes = np.diff(np.append(self.starts, len(f)))
        return np.repeat(factor, sizes) * expit(f)

    def climb(self, f, h, least, most) -> float:
        """The step along h, from ``least`` to ``most``, that raises the likelihood most; else 0."""
        best = minimize_scalar(lambda step: -self(f + step * h), bounds=(least, most), method="bounded")
        if -best.fun <= self(f):
            return 0.0
        return _zero(lambda step: self.gradient(f + step * h) @ h, best.x, least, most)


def _zero(slope, near, least, most) -> float:
    """Where a slope turns from up to down, to the last digit: values of L alone say it to half of them."""
    low, high = max(near - 1e-3, least), min(near + 1e-3, most)
    if slope(low) <= 0 or slope(high) >= 0:
        return float(most if high == most and slope(high) > 0 else near)
    return float(brentq(slope, low, high, xtol=1e-14, rtol=1e-14))


def _softplus(f):
    return np.logaddexp(0.0, f)


def _log_expm1(s):
    """log(e^s - 1) for s > 0, without overflow."""
    return s + np.log(-np.expm1(-np.maximum(s, 1e-300)))
