r"""MissSVM: multi-instance learning as semi-supervised learning (Zhou & Xu, ICML 2007)."""

import numpy as np

from skmil._parameters import ANY, CLASS_WEIGHT, COUNT, GAMMA, NOT_NEGATIVE, POSITIVE, SEED, one_of
from skmil._threads import one_blas_thread
from skmil.learners.annealing.expansion import InstanceExpansion
from skmil.learners.annealing.losses import losses

ACCURACY = 1e-4  # of each machine: ``tol`` where smaller


class MissSVM(InstanceExpansion):
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

    Cost: an SVM on all N instances per step, each from the last one; :math:`8 N^2` bytes for the Gram
    matrix, or :math:`16 N r` for r features (``n_components``).

    Parameters
    ----------
    kernel : "rbf", "linear", "poly" or "auto"
        "auto" is linear where more than nine in ten values are zero, as in texts, and else "rbf".
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
    degree : int
    coef0 : float
        Of "poly".
    n_components : "auto", int or None
        Nystroem features from so many random instances instead of the exact kernel. "auto" keeps the exact
        kernel up to 7,000 instances and uses 500 features above; ``kernel_error_`` says how good they are.
    random_state : int, RandomState or None
        Draws the instances of ``n_components``.

    Attributes
    ----------
    objective_ : array
        The objective after each step.
    kernel_ : the instance kernel
    kernel_error_ : float
        The share of the trace of the Gram matrix that the features leave out; 0 where it is exact.
    support_instances_, coef_, intercept_ :
        ``f(x) = sum of coef_ k(x, support_instances_) + intercept_``; where there are none, ``coef_``
        are the weights of the features.

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
        "kernel": [one_of("rbf", "linear", "poly", "auto")],
        "gamma": GAMMA,
        "gamma_factor": [POSITIVE],
        "C": [POSITIVE],
        "beta": [NOT_NEGATIVE],
        "class_weight": CLASS_WEIGHT,
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
        "degree": [COUNT],
        "coef0": [ANY],
        "n_components": [COUNT, one_of("auto"), None],
        "random_state": SEED,
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
        degree=3,
        coef0=0.0,
        n_components="auto",
        random_state=0,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.gamma_factor = gamma_factor
        self.C = C
        self.beta = beta
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.random_state = random_state

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
        problem = _Problem(bags, y, w, self.beta)
        trace: list[float] = []
        with one_blas_thread():
            machine, landmarks = self._machine(bags, w, "hinge", min(ACCURACY, self.tol) or ACCURACY)
            machine.fit(self.C * problem.start())
            while len(trace) < self.max_iter:
                costs = self.C * problem.majorised(machine.values)
                objective = machine.fit(costs) - float((costs * losses(machine.values, "hinge")).sum())
                objective += self.C * problem.loss(machine.values)
                if trace and objective > trace[-1] - self.tol * abs(trace[-1]):
                    break
                trace.append(objective)
                self._keep_machine(bags, machine, landmarks)
        self.objective_ = np.array(trace)
        self._warn_unsolved(machine)

    def _decision(self, bags):
        return np.maximum.reduceat(self._instances(bags), bags.offsets[:-1])


class _Problem:
    """Which instances count how much: labelled ones, witnesses and unlabelled ones.

    Costs are two rows: the price of f below 1 of each instance, and that of f above -1.
    """

    def __init__(self, bags, y, w, beta):
        self.bags, self.w, self.positive = bags, w, y > 0
        price = w * np.where(self.positive, beta / _mean(bags, w, y > 0), 1.0 / _mean(bags, w, y < 0))
        self.price = np.repeat(price, bags.sizes)
        self.hidden = np.repeat(self.positive, bags.sizes)

    def start(self):
        """Half of each unlabelled instance on either side; all of a positive bag is its witness."""
        share = np.repeat(self.w / self.bags.sizes, self.bags.sizes)
        half = self.price / 2
        return np.where(self.hidden, [share + half, half], [np.zeros_like(half), self.price])

    def majorised(self, f):
        """Costs of each instance on the side where it is now, and of the witnesses on the positive one."""
        above = self.hidden & (f > 0)
        costs = np.where(above, [self.price, np.zeros_like(f)], [np.zeros_like(f), self.price])
        costs[0, self._witnesses(f)] += self.w[self.positive]
        return costs

    def loss(self, f) -> float:
        """The three sums of the objective, without C."""
        up, down = np.maximum(0, 1 - f), np.maximum(0, 1 + f)
        instances = self.price @ np.where(self.hidden, np.minimum(up, down), down)
        return float(instances + self.w[self.positive] @ up[self._witnesses(f)])

    def _witnesses(self, f):
        """The highest instance of each positive bag."""
        ends = zip(self.bags.offsets[:-1], self.bags.offsets[1:], self.positive, strict=True)
        return np.array([s + np.argmax(f[s:e]) for s, e, positive in ends if positive])


def _mean(bags, w, chosen) -> float:
    """Mean size of the chosen bags."""
    return float(np.average(bags.sizes[chosen], weights=w[chosen]))
