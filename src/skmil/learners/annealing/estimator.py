"""Annealed support vector machines for bags (Gehler & Chapelle, AISTATS 2007)."""

import warnings

import numpy as np
from scipy.special import rel_entr
from sklearn.exceptions import ConvergenceWarning

from skmil._engines.pairs import InstanceKernel
from skmil._parameters import ANY, CLASS_WEIGHT, COUNT, GAMMA, POSITIVE, SEED, one_of, real
from skmil._threads import one_blas_thread
from skmil.learners.annealing.assumptions import AllLabels, Assumption, ConvexWitness, Witness
from skmil.learners.annealing.expansion import InstanceExpansion
from skmil.learners.annealing.losses import LOSSES
from skmil.learners.annealing.share import expected_share, pooling_for
from skmil.learners.base import best_of_cuts

ASSUMPTIONS = {"labels": AllLabels, "witness": Witness, "convex": ConvexWitness}
COLDEST = 1e-6  # temperature, in units of C, at which the schedule ends whatever the entropy
LOOSE, TIGHT = 0.03, 1e-3  # accuracy of the w-steps while it is warm, and at the end: ``tol`` where smaller
POOLING = ("max", "mean", "auto")


class AnnealedSVM(InstanceExpansion):
    r"""SVM on instances whose hidden labels are found by deterministic annealing [1]_.

    It alternates between an SVM given beliefs p about the instances (w-step) and the best beliefs given
    the SVM (p-step), for

    .. math:: \min_{w, b, p} \tfrac12 |w|^2 + C \sum \text{expected loss} - T \cdot \text{entropy of } p

    while the temperature T falls from ``start_temperature`` C by ``cooling`` to 0. Without annealing it is
    the heuristic that starts, and stays, at T = 0. A bag's decision value is the largest of its
    instances', or their mean (``pooling``).

    =============  ====================================================  ===================
    assumption     what is hidden in a positive bag                      annealed / at T = 0
    =============  ====================================================  ===================
    "labels"       a label for each instance, at least one positive      AL-SVM / mi-SVM
    "labels"       the same, about ``positive_share`` of them positive   ALP-SVM
    "witness"      which instance is positive; the others do not count   AW-SVM / MI-SVM
    "convex"       a convex combination of instances that is positive    MICA at T = 0
    =============  ====================================================  ===================

    Annealing ends no higher than the heuristic as a rule, not by law: on Musk1, Tiger, Elephant and Fox it
    did for each assumption, both losses and C of 1 and 10; for C = 100 the heuristic was lower in 2 of 48
    cases, once by half ("labels" on Musk1, where it calls all instances of positive bags positive).

    Cost: with N instances, :math:`O(N^2 d)` time once and :math:`8 N^2` bytes for the Gram matrix; each
    w-step starts from the last one. Features (``kernel="linear"``, ``n_components``) instead take
    :math:`O(N r^2)` time a step and :math:`16 N r` bytes.

    Parameters
    ----------
    assumption : "labels", "witness" or "convex"
    loss : "squared_hinge" or "hinge"
    C : float
    kernel : "rbf", "linear", "poly", "auto", an ``InstanceKernel`` or a function (X, Y) -> matrix
        "auto" is linear where more than nine in ten values are zero, as in texts, and else "rbf".
        "linear" works on the features themselves if there are fewer of them than instances.
    gamma : float, "median" or "scale"
        Of "rbf" and "poly". "median" is 1 / the median squared distance of instances.
    gamma_factor : float
        Multiplies ``gamma``. With "median", 0.5 is the width of [1]_: :math:`\exp(-d^2 / 2 \sigma^2)` where
        :math:`\sigma` is the median distance; 0.125 and 2 are twice and half that width.
    degree : int
    coef0 : float
        Of "poly".
    start_temperature : float or None
        In units of C. ``None`` is the heuristic without annealing.
    cooling : float
        The temperature is divided by this, more than 1.
    positive_share : float, array, function, "cv", "auto" or None
        Only for "labels". The share of positive instances to expect in a positive bag; one for each
        training bag, as an array or as a function of a bag (an array of instances), which also serves
        where a search splits the bags; "cv" chooses one among 0.1, ..., 1 by three-fold cross-validation
        on them; "auto" is 0.2 where more than nine in ten values are zero, as in texts, and else 0.8.
    share_cost : float
        C_y, the price of another share than the expected one.
    n_positive : int
        Instances of a positive bag that are positive at least, or its witnesses; all of a smaller bag.
        Not for "convex".
    pooling : "max", "mean" or "auto"
        What becomes of the numbers of the instances of a bag. The mean is for bags most of which is
        positive: then the largest of many numbers says little. "auto" is the mean where more than half
        of a positive bag is expected to be positive.
    n_components : "auto", int or None
        Nystroem features from so many random instances instead of the exact kernel. "auto" keeps the exact
        kernel up to 7,000 instances and uses 500 features above; ``kernel_error_`` says how good they are.
    class_weight : dict, "balanced" or None
    tol : float
        The alternation at one temperature ends when p moves less (mean Kullback-Leibler divergence),
        the schedule when the mean entropy is less. Below 0.001 it is also the accuracy of each SVM.
    max_iter : int
        Alternations at one temperature. Reaching it warns.
    random_state : int, RandomState or None
        Draws the instances of ``n_components`` and shuffles the folds of "cv".
    threshold : "zero" or "train"
        Where a bag becomes positive. "zero" is the papers' rule: where the machine says so. "train" is the
        cut that puts most training bags (by weight) on the right side, the one nearest zero if there are
        several: where the assumption does not hold, the largest of many numbers is above zero for most
        bags. With more than two classes the largest number decides, and there is no threshold.

    Attributes
    ----------
    objective_ : float
        What was reached, without the entropy term.
    history_ : dict of arrays
        One entry per alternation: temperature; objective and entropy of the p that the w-step was made
        for, so that the free energy ``objective - temperature * entropy * m`` (m the instances of
        positive bags) never rises at one temperature, up to the accuracy of the w-step; changes
        (instances whose label turned).
    instance_probability_ : list of arrays
        p for each training bag; zeros in negative ones and in those without weight.
    witness_ : array
        The most probable instance of each positive training bag, of largest f among equals; -1 for
        negative bags and for those without weight.
    positive_share_ : float, array or None
        The share that was expected, given or chosen.
    pooling_ : "max" or "mean"
    found_share_ : float
        The share of p > 0.5 that was found among the instances of positive bags.
    n_iter_ : int
        Number of alternations; the largest of the machines where there are more than two classes.
    threshold_ : float
        What "train" has taken off ``intercept_``, and so off every f; 0 where it is "zero".
    kernel_ : the instance kernel
    kernel_error_ : float
        The share of the trace of the Gram matrix that the features leave out; 0 where it is exact.
    support_instances_, coef_, intercept_ :
        ``f(x) = sum of coef_ k(x, support_instances_) + intercept_``; where there are none, ``coef_``
        are the weights of the features.

    References
    ----------
    .. [1] P. Gehler and O. Chapelle, "Deterministic annealing for multiple-instance learning",
       AISTATS 2007.

    Examples
    --------
    >>> from skmil.datasets import make_annealing_toy
    >>> from skmil.learners import AnnealedSVM
    >>> X, y = make_annealing_toy(60, fraction=0.3, random_state=0, return_X_y=True)
    >>> model = AnnealedSVM(C=100, gamma=0.5).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> heuristic = AnnealedSVM(C=100, gamma=0.5, start_temperature=None).fit(X, y)
    >>> model.objective_ < heuristic.objective_
    True
    """

    _parameter_constraints: dict = {
        "assumption": [one_of(*ASSUMPTIONS)],
        "loss": [one_of(*LOSSES)],
        "C": [POSITIVE],
        "kernel": [one_of("rbf", "linear", "poly", "auto"), InstanceKernel, callable],
        "gamma": GAMMA,
        "gamma_factor": [POSITIVE],
        "degree": [COUNT],
        "coef0": [ANY],
        "start_temperature": [POSITIVE, None],
        "cooling": [real(1, None)],
        "positive_share": [real(0, 1, "right"), one_of("cv", "auto"), "array-like", callable, None],
        "share_cost": [POSITIVE],
        "n_positive": [COUNT],
        "pooling": [one_of(*POOLING)],
        "n_components": [COUNT, one_of("auto"), None],
        "class_weight": CLASS_WEIGHT,
        "tol": [POSITIVE],
        "max_iter": [COUNT],
        "random_state": SEED,
        "threshold": [one_of("zero", "train")],
    }

    def __init__(
        self,
        assumption="labels",
        loss="squared_hinge",
        C=1.0,
        kernel="rbf",
        gamma="median",
        gamma_factor=1.0,
        degree=3,
        coef0=1.0,
        start_temperature=10.0,
        cooling=1.5,
        positive_share=None,
        share_cost=1.0,
        n_positive=1,
        pooling="max",
        n_components="auto",
        class_weight=None,
        tol=2e-3,
        max_iter=100,
        random_state=0,
        threshold="zero",
    ):
        self.assumption = assumption
        self.loss = loss
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.gamma_factor = gamma_factor
        self.degree = degree
        self.coef0 = coef0
        self.start_temperature = start_temperature
        self.cooling = cooling
        self.positive_share = positive_share
        self.share_cost = share_cost
        self.n_positive = n_positive
        self.pooling = pooling
        self.n_components = n_components
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.threshold = threshold

    @property
    def n_iter_(self) -> int:
        """Number of alternations."""
        if hasattr(self, "estimators_"):
            return max(e.n_iter_ for e in self.estimators_)
        return len(self.history_["objective"])

    def _fit(self, bags, y, w):
        if self.n_positive > 1 and self.assumption == "convex":
            raise ValueError(f"n_positive is {self.n_positive!r}; give 1 for 'convex'")
        if self.positive_share is not None and self.assumption != "labels":
            raise ValueError(f"positive_share needs assumption='labels', not {self.assumption!r}")
        self.positive_share_ = expected_share(self, bags, y, w)
        self.pooling_ = pooling_for(self.positive_share_, y) if self.pooling == "auto" else self.pooling
        with one_blas_thread():
            problem = self._problem(bags, y, w)
            machine, landmarks = self._machine(bags, w, self.loss, TIGHT)
            p = self._anneal(problem, machine)
        self._keep_beliefs(bags, problem, machine.values, p)
        self._keep_machine(bags, machine, landmarks)
        self.threshold_ = 0.0
        if self.threshold == "train":
            self.threshold_ = _trained(self._pooled(machine.values, bags), y, w)
            self.intercept_ -= self.threshold_

    def _part(self):
        return super()._part().set_params(threshold="zero")

    @property
    def has_witness(self) -> bool:
        """Whether the instance of largest score decides alone."""
        return all(part.pooling_ == "max" for part in getattr(self, "estimators_", [self]))

    def _decision(self, bags):
        return self._pooled(self._instances(bags), bags)

    def _pooled(self, f, bags) -> np.ndarray:
        if self.pooling_ == "mean":
            return np.add.reduceat(f, bags.offsets[:-1]) / bags.sizes
        return np.maximum.reduceat(f, bags.offsets[:-1])

    def _problem(self, bags, y, w) -> Assumption:
        arguments = (bags, y, w, float(self.C), self.loss, self.n_positive)
        if self.assumption == "labels":
            return AllLabels(*arguments, self.positive_share_, self.share_cost)
        return ASSUMPTIONS[self.assumption](*arguments)

    def _anneal(self, problem, machine) -> np.ndarray:
        """The two steps in turn, at falling temperatures and then at 0; keeps the trace."""
        trace: list[tuple] = []
        p, resting = problem.start(), True
        T = 0.0 if self.start_temperature is None else float(self.start_temperature * self.C)
        while True:
            p, rests = self._alternate(problem, machine, p, T, trace)
            resting &= rests
            if T == 0:
                break
            undecided = problem.entropy(p) > self.tol and T > COLDEST * self.C
            T = T / self.cooling if undecided else 0.0
        names = ("temperature", "objective", "entropy", "changes")
        self.history_ = {n: np.array(v) for n, v in zip(names, zip(*trace, strict=True), strict=True)}
        self.objective_ = trace[-1][1]
        self._warn(resting)
        self._warn_unsolved(machine)
        return p

    def _alternate(self, problem, machine, p, T, trace) -> tuple[np.ndarray, bool]:
        """Both steps at one temperature until p rests; whether it does, in the end."""
        machine.tol = LOOSE if T > 0 and self.tol >= TIGHT else min(TIGHT, self.tol)
        for _ in range(self.max_iter):
            objective = machine.fit(problem.costs(p), problem.mixing(p)) + problem.penalty(p)
            q, p = p, problem.step(machine.values, T)
            changes = np.count_nonzero((p > 0.5) != (q > 0.5))
            gain = trace[-1][1] - objective if trace and trace[-1][0] == T else np.inf
            trace.append((T, objective, problem.entropy(q), changes))
            if T > 0 and _divergence(p, q, problem.inside) < self.tol:
                return p, True
            # Without a gain, p only wavers within the accuracy of the w-step.
            if T == 0 and (np.array_equal(p, q) or gain <= 0):
                return q, True
        return (p if T > 0 else q), False  # at T = 0 the p that the last w-step was made for

    def _warn(self, resting: bool) -> None:
        name = type(self).__name__
        if not resting:
            text = f"{name}: p still moved after max_iter={self.max_iter} alternations; raise it"
            warnings.warn(text, ConvergenceWarning, stacklevel=5)

    def _keep_beliefs(self, bags, problem, f, p) -> None:
        self.instance_probability_ = bags.split(p)
        best = [np.lexsort(parts)[-1] for parts in zip(bags.split(f), bags.split(p), strict=True)]
        self.witness_ = np.where(problem.positive, best, -1)
        self.found_share_ = float((p[problem.inside] > 0.5).mean())

    def _renumber(self, bags, rows):
        super()._renumber(bags, rows)
        if hasattr(self, "witness_"):
            p, witness = [np.zeros(m) for m in bags.sizes], np.full(len(bags), -1)
            for i, part in zip(rows, self.instance_probability_, strict=True):
                p[i] = part
            witness[rows] = self.witness_
            self.instance_probability_, self.witness_ = p, witness


def _trained(f, y, w) -> float:
    """The best cut between decision values, or beyond all of them; zero unless another is better."""
    values = np.unique(f)
    middles = (values[:-1] + values[1:]) / 2
    return best_of_cuts(f, np.concatenate([[0.0], middles, [values[0] - 1, values[-1] + 1]]), y, w)


def _divergence(p, q, inside) -> float:
    """Mean Kullback-Leibler divergence of p from q, over the instances of positive bags."""
    new, old = (np.clip(v[inside], 1e-12, 1 - 1e-12) for v in (p, q))
    return float((rel_entr(new, old) + rel_entr(1 - new, 1 - old)).mean())
