r"""MissSVM: multi-instance learning as semi-supervised learning (Zhou & Xu, ICML 2007)."""

import numpy as np
from scipy import sparse
from sklearn.svm import SVC

from skmil._engines.pairs import InstanceKernel, instance_sums
from skmil._engines.widths import resolve_gamma
from skmil._parameters import CLASS_WEIGHT, COUNT, GAMMA, NOT_NEGATIVE, POSITIVE, one_of
from skmil.bags import Bags
from skmil.learners.base import BinaryBagClassifier


class MissSVM(BinaryBagClassifier):
    r"""Negative instances are labelled, those of positive bags are not; one of each bag is positive [1]_.

    .. math::
        \min_f\ \tfrac{1}{2} \lVert f \rVert^2 + C \sum_{Y_i = -1} \frac{c_i}{\bar m_-} \sum_j \ell(-f_{ij})
        + C \sum_{Y_i = 1} c_i\, \ell(\max_j f_{ij})
        + \beta C \sum_{Y_i = 1} \frac{c_i}{\bar m_+} \sum_j \min(\ell(f_{ij}), \ell(-f_{ij}))

    with the hinge :math:`\ell(t) = \max(0, 1 - t)`, bag weights :math:`c_i` and the mean sizes
    :math:`\bar m_\pm` of the bags of each class. With :math:`\beta = 1` and balanced classes the three
    sums have the same weight, as in the paper.

    Concave parts are replaced by what touches them at the present f: the maximum by its largest
    member (the witness), the minimum by the side that an instance is on. Each step is an SVM with a
    price per instance, and the objective never rises.

    ``score_instances`` is f itself; a bag's decision value is that of its highest instance.

    Cost: an SVM on all N instances per step.

    Parameters
    ----------
    kernel : "rbf", "linear" or "poly"
    gamma : float, "scale" or "median"
    gamma_factor : float
        Multiplies gamma; to search widths around the median distance.
    C : float
        Price of a bag that is wrong by one margin.
    beta : float
        Weight of the unlabelled instances.
    class_weight : dict, "balanced" or None
    max_iter : int
        Most steps.
    tol : float
        Stop where a step lowers the objective by less than this part of it.

    Attributes
    ----------
    svm_ : the fitted ``sklearn.svm.SVC`` of instances, with its intercept
    objective_ : array
        The objective after each step.
    gamma_ : float

    References
    ----------
    .. [1] Z.-H. Zhou, J.-M. Xu, "On the relation between multi-instance learning and semi-supervised
       learning", ICML 2007.

    Examples
    --------
    >>> from skmil.learners import MissSVM
    >>> X = [[[0.0], [5.0]], [[0.1]], [[0.2], [5.1]], [[0.3]]]
    >>> model = MissSVM(kernel="linear", C=10.0).fit(X, [1, 0, 1, 0])
    >>> model.predict([[[4.9]], [[0.0], [0.2]]]), model.score_instances(X)[0] > 0
    (array([1, 0]), array([False,  True]))
    """

    _parameter_constraints: dict = {
        "kernel": [one_of("rbf", "linear", "poly")],
        "gamma": GAMMA,
        "gamma_factor": [POSITIVE],
        "C": [POSITIVE],
        "beta": [NOT_NEGATIVE],
        "class_weight": CLASS_WEIGHT,
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        kernel="rbf",
        gamma="median",
        gamma_factor=1.0,
        C=1.0,
        beta=1.0,
        class_weight=None,
        max_iter=50,
        tol=1e-4,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.gamma_factor = gamma_factor
        self.C = C
        self.beta = beta
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol

    @property
    def n_iter_(self) -> int:
        """Number of steps (the most of any class, if there are more than two)."""
        if hasattr(self, "estimators_"):
            return max(e.n_iter_ for e in self.estimators_)
        return len(self.objective_)

    @property
    def has_witness(self) -> bool:
        """Whether the instance of largest score decides alone."""
        return True

    def _fit(self, bags, y, w):
        self.gamma_ = self.gamma_factor * resolve_gamma(self.gamma, bags, w)
        problem = _Problem(bags, y, w, self.beta)
        self.svm_ = self._machine(bags, *problem.start())
        f = self._instances(bags)
        trace: list[float] = []
        for _ in range(self.max_iter):
            rows, labels, prices = problem.majorised(f)
            before, self.svm_ = self.svm_, self._machine(bags, rows, labels, prices)
            f = self._instances(bags)
            # |f|^2 = sum_s alpha_s (f(x_s) - b) over the support vectors x_s.
            norm = _dual(self.svm_) @ (f[rows[self.svm_.support_]] - self.svm_.intercept_)
            objective = float(norm / 2 + self.C * problem.loss(f))
            if trace and objective > trace[-1] - self.tol * abs(trace[-1]):
                self.svm_ = before
                break
            trace.append(objective)
        self.objective_ = np.array(trace)

    def _machine(self, bags, rows, labels, prices) -> SVC:
        svm = SVC(C=self.C, kernel=self.kernel, gamma=self.gamma_, tol=min(1e-4, self.tol), cache_size=500)
        return svm.fit(bags.instances[rows], labels, sample_weight=prices)

    def _decision(self, bags):
        return np.maximum.reduceat(self._instances(bags), bags.offsets[:-1])

    def _instances(self, bags):
        """F itself, exactly: a bag's decision value is that of its highest instance."""
        # Not svm_.decision_function, which takes the pairs one by one and most of the time of a fit.
        kernel = InstanceKernel(self.kernel, self.gamma_, degree=self.svm_.degree, coef0=self.svm_.coef0)
        support = Bags(self.svm_.support_vectors_, [0, len(self.svm_.support_)])
        return (
            instance_sums(bags, support, kernel, v=_dual(self.svm_)[:, None])[:, 0] + self.svm_.intercept_
        )


class _Problem:
    """Which instances count how much: labelled ones, witnesses and unlabelled ones."""

    def __init__(self, bags, y, w, beta):
        self.bags, self.w, self.positive = bags, w, y > 0
        price = w * np.where(self.positive, beta / _mean(bags, w, y > 0), 1.0 / _mean(bags, w, y < 0))
        self.price = np.repeat(price, bags.sizes)
        self.hidden = np.repeat(self.positive, bags.sizes)

    def start(self):
        """Half of each unlabelled instance on either side; all of a positive bag is its witness."""
        rows, u = np.arange(len(self.price)), np.flatnonzero(self.hidden)
        share = np.repeat(self.w / self.bags.sizes, self.bags.sizes)
        labels = np.where(self.hidden, 1.0, -1.0)
        prices = np.where(self.hidden, share + self.price / 2, self.price)
        return _merge([rows, u], [labels, -np.ones(len(u))], [prices, self.price[u] / 2])

    def majorised(self, f):
        """Each instance on the side where it is now, and the witnesses on the positive one."""
        rows = np.arange(len(f))
        labels = np.where(self.hidden & (f > 0), 1.0, -1.0)
        j = self._witnesses(f)
        return _merge([rows, j], [labels, np.ones(len(j))], [self.price, self.w[self.positive]])

    def loss(self, f) -> float:
        """The three sums of the objective, without C."""
        up, down = np.maximum(0, 1 - f), np.maximum(0, 1 + f)
        instances = self.price @ np.where(self.hidden, np.minimum(up, down), down)
        return float(instances + self.w[self.positive] @ up[self._witnesses(f)])

    def _witnesses(self, f):
        """The highest instance of each positive bag."""
        ends = zip(self.bags.offsets[:-1], self.bags.offsets[1:], self.positive, strict=True)
        return np.array([s + np.argmax(f[s:e]) for s, e, positive in ends if positive])


def _dual(svm) -> np.ndarray:
    """Coefficients of the support vectors, with the sign of their labels."""
    alpha = svm.dual_coef_
    return (alpha.toarray() if sparse.issparse(alpha) else alpha)[0]


def _merge(rows, labels, prices):
    """One row for each instance, label and price above zero."""
    rows, labels, prices = np.concatenate(rows), np.concatenate(labels), np.concatenate(prices)
    keep = prices > 0
    return rows[keep], labels[keep], prices[keep]


def _mean(bags, w, chosen) -> float:
    """Mean size of the chosen bags."""
    return float(np.average(bags.sizes[chosen], weights=w[chosen]))
