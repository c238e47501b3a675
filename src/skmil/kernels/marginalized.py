r"""Marginalized kernels on bags (Kwok & Cheung, IJCAI 2007)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from skmil._engines.density import Hypotheses, Search, unit_targets
from skmil._engines.labels import label_moments, label_overlap, tent_mean
from skmil._engines.pairs import InstanceKernel, beside, instance_sums, pair_sums, self_sums
from skmil._engines.widths import resolve_gamma
from skmil._parameters import COUNT, ESTIMATOR, GAMMA, POSITIVE, SEED, one_of
from skmil._schema import check_labels
from skmil.bags import Bags
from skmil.kernels.base import BagKernel, cosine, quotient

__all__ = ["MarginalizedKernel", "label_overlap"]


class MarginalizedKernel(BagKernel):
    r"""Set kernel whose pairs count by how likely their hidden labels agree [1]_.

    .. math::
        k(A, B) = \sum_{a \in A} \sum_{b \in B} k_x(a, b) \, E[k_c(c_a, c_b)]

    then cosine-normalised, with :math:`k_x = e^{-\gamma |a - b|^2}`. Hidden labels are independent given
    the instances. For two classes :math:`P(c = 1 | x) = \sum_h P(h | D)\, e^{-d_h(x)}` over the local
    maxima h of Diverse Density; for targets in [0, 1]
    :math:`p(c | x) = \sum_h P(h | D) (1 - |c - u_h|) / Z(u_h)`, :math:`u_h = e^{-d_h(x)}`,
    :math:`Z(u) = 1/2 + u - u^2`. A constant :math:`k_c` gives back the set kernel. With more than two
    classes the kernels of each class against the rest are added.

    Cost: the search for hypotheses, then :math:`O(N_A N_B (d + r))`, r = 2 for classes, about
    ten to two hundred for targets (the expectation is factorised to about 1e-12).

    Parameters
    ----------
    weighting : "accuracy" or "density"
        P(h | D) in proportion to the training accuracy of h (MG-ACC; targets: one minus the squared error,
        rescaled to [0, 1]) or to its density (MG-DDV).
    label_kernel : "auto", "equal", "linear", "gaussian" or "product"
        :math:`k_c`: :math:`1[c = c']`, :math:`1 - |c - c'|`, :math:`e^{-\beta (c - c')^2}` or
        :math:`c\,c'`. "auto" is "equal" for classes
        and "gaussian" for targets, where two labels are never equal. "product" is for targets: an instance
        counts as much as its expected label is large, so that the one that decides is not drowned.
    label_density : "tent" or "sharp"
        For targets, :math:`p(c | x, h)`: the paper's tent around :math:`u_h`, so wide that the
        expected label is never far from one half, or all of it at :math:`u_h`. The linear label kernel
        takes the tent only.
    normalize : bool
        Divide by :math:`\sqrt{k(A, A)\, k(B, B)}`, as the paper does.
    gamma : float, "scale" or "median"
        Of :math:`k_x`, as in ``SetKernel``.
    power : float
        A factor to ``gamma``, as in ``SetKernel``.
    beta : float
        Of the Gaussian label kernel.
    estimator : optional
        Where P(c | x) comes from instead of Diverse Density with default settings. One with several
        hypotheses (``DD``, ``EMDD`` and their regressors) is weighted as above. A method on bags is
        fitted on bags, any other classifier or regressor on instances with the labels of their bags; then
        ``predict_proba`` (targets: ``predict``) of an instance is its label.
    max_starts, random_state : as in ``skmil.learners.DD``
    task : "auto", "classification" or "regression"
        "auto" goes by the type of y, as scikit-learn does: whole numbers and strings are classes.

    Attributes
    ----------
    hypotheses_ : array (n_hypotheses, n_features), empty where ``estimator`` has none
    hypothesis_weights_ : array (n_hypotheses,), P(h | D)
    classes_ : array, or None for targets
    gamma_ : float

    References
    ----------
    .. [1] J. T. Kwok, P.-M. Cheung, "Marginalized multi-instance kernels", IJCAI 2007.

    Examples
    --------
    >>> from skmil.kernels import MarginalizedKernel
    >>> X = [[[0.0], [3.0]], [[3.1]], [[0.1]], [[0.2], [1.0]]]
    >>> k = MarginalizedKernel().fit(X, [1, 1, 0, 0])
    >>> k.instance_probability([[[3.0], [0.0]]])[0].argmax()
    np.int64(0)
    """

    _parameter_constraints: dict = {
        "weighting": [one_of("accuracy", "density")],
        "label_kernel": [one_of("auto", "equal", "linear", "gaussian", "product")],
        "gamma": GAMMA,
        "beta": [POSITIVE],
        "power": [POSITIVE],
        "label_density": [one_of("tent", "sharp")],
        "normalize": ["boolean"],
        "estimator": ESTIMATOR,
        "max_starts": [COUNT, one_of("auto"), None],
        "task": [one_of("auto", "classification", "regression")],
        "random_state": SEED,
    }

    def __init__(
        self,
        weighting="accuracy",
        label_kernel="auto",
        gamma="median",
        beta=10.0,
        power=1.0,
        label_density="tent",
        normalize=True,
        estimator=None,
        max_starts="auto",
        task="auto",
        random_state=None,
    ):
        self.weighting = weighting
        self.label_kernel = label_kernel
        self.gamma = gamma
        self.beta = beta
        self.power = power
        self.label_density = label_density
        self.normalize = normalize
        self.estimator = estimator
        self.max_starts = max_starts
        self.task = task
        self.random_state = random_state

    def instance_probability(self, X) -> list[np.ndarray]:
        r"""P(c = 1 | x) of each instance, one array per bag.

        1 stands for ``classes_[1]``; more than two classes have a column each. For targets it is
        :math:`\sum_h P(h | D) u_h`, on the scale [0, 1] from the smallest to the largest training target.
        """
        check_is_fitted(self)
        bags = self._check(X)
        P = np.column_stack([part.probability(bags) for part in self.posteriors_])
        return bags.split(P if len(self.posteriors_) > 1 else P.ravel())

    def expected_label(self, X) -> list[np.ndarray]:
        r"""E[c | x] of each instance, one array per bag.

        For two classes this is P(c = 1 | x). For targets it is the mean of :math:`p(c | x)`, on the scale
        [0, 1]; the tents pull it to the middle, so that it is not :math:`\sum_h P(h | D) u_h`.
        """
        if self.classes_ is not None:
            return self.instance_probability(X)
        check_is_fitted(self)
        bags = self._check(X)
        return bags.split(self._means(bags))

    def _means(self, bags: Bags) -> np.ndarray:
        part = self.posteriors_[0]
        U = part.responses(bags)
        return _weighted(U if self.label_density == "sharp" else tent_mean(U), part.weights)

    def instance_gram(self, X, Y) -> np.ndarray:
        """Share of each instance of X in k(X, Y): its rows add up, bag by bag, to ``self(X, Y)``."""
        A, B = self._check(X), self._check(Y)
        u, v = self._channels(A), self._channels(B)
        rows = np.repeat(self._size(beside(A, B), u), A.sizes)
        return quotient(instance_sums(A, B, self._instance(), u, v), rows, self._size(B, v))

    def _fit(self, bags, y):
        regression = self._is_regression(y)
        self._check_labels(regression)
        codes, self.classes_ = check_labels(self, bags, y, classification=not regression)
        self.gamma_ = resolve_gamma(self.gamma, bags)
        if regression:
            targets = [unit_targets(codes)[0]]
        elif len(self.classes_) == 2:
            targets = [(codes == 1).astype(float)]
        else:
            targets = [(codes == c).astype(float) for c in range(len(self.classes_))]
        self.posteriors_ = [self._posterior(bags, t, regression) for t in targets]
        self.hypotheses_ = np.concatenate([p.points for p in self.posteriors_])
        self.hypothesis_weights_ = np.concatenate([p.weights for p in self.posteriors_])

    def _is_regression(self, y) -> bool:
        if self.task == "auto":
            return y is not None and type_of_target(y) == "continuous"
        return self.task == "regression"

    def _posterior(self, bags: Bags, y: np.ndarray, regression: bool) -> "Posterior":
        if self.estimator is None:
            search = Search(
                pooling="max" if regression else "noisy-or",
                gamma=resolve_gamma("median", bags),
                max_starts=self.max_starts,
                random_state=self.random_state,
            )
            found = search(bags, y, np.ones(len(bags)))
        else:
            model = _fitted(self.estimator, bags, y if regression else y.astype(int))
            if not hasattr(model, "optima_"):
                _check_answers(model, regression)
                return Posterior(model, np.ones(1), regression)
            found = model.optima_
        P = found.bag_probability(bags)
        weigh = _by_density if self.weighting == "density" else _by_error if regression else _by_accuracy
        return Posterior(found, weigh(found.cost, P, y), regression)

    def _channels(self, bags: Bags) -> np.ndarray:
        """Rows z with <z_a, z_b> = E[k_c(c_a, c_b)]."""
        check_is_fitted(self)
        if self.classes_ is None:
            return self._target_channels(bags)
        differ = np.exp(-self.beta) if self.label_kernel == "gaussian" else 0.0
        root = np.array([[1.0, 0.0], [differ, np.sqrt(1 - differ**2)]])  # times its transpose: k_c
        P = [part.probability(bags) for part in self.posteriors_]
        return np.hstack([np.column_stack([p, 1 - p]) @ root for p in P])

    def _target_channels(self, bags: Bags) -> np.ndarray:
        if self.label_kernel == "product":
            return self._means(bags)[:, None]  # labels are independent: E[c c'] = E[c] E[c']
        kind = "linear" if self.label_kernel == "linear" else "gaussian"
        part = self.posteriors_[0]
        sharp = self.label_density == "sharp"
        return label_moments(part.responses(bags), part.weights, kind, float(self.beta), sharp)

    def _gram(self, A, B):
        u, instance = self._channels(A), self._instance()
        v = None if A is B else self._channels(B)
        K = pair_sums(A, B, instance, u, v)
        if not self.normalize:
            return K
        a = K.diagonal() if A is B else self_sums(beside(A, B), instance, u)
        return cosine(K, a, a if A is B else self_sums(B, instance, v))

    def _diag(self, A):
        check_is_fitted(self)
        return np.ones(len(A)) if self.normalize else self_sums(A, self._instance(), self._channels(A))

    def _size(self, A, u) -> np.ndarray:
        """What the sums of each bag are divided by; a bag without any label counts as it is."""
        if not self.normalize:
            return np.ones(len(A))
        size = np.sqrt(self_sums(A, self._instance(), u))
        return np.where(size > 0, size, 1.0)

    def _instance(self) -> InstanceKernel:
        check_is_fitted(self)
        return InstanceKernel("rbf", self.gamma_, power=self.power)

    def _check_labels(self, regression: bool) -> None:
        if regression and self.label_kernel == "equal":
            raise ValueError(
                "label_kernel is 'equal' but y are targets, two of which are never equal; use 'linear'"
            )
        if not regression and self.label_kernel == "product":
            raise ValueError("label_kernel is 'product' but y are classes, not targets; use 'equal'")
        if self.label_kernel == "linear" and self.label_density == "sharp":
            raise ValueError("label_density='sharp' needs the label kernel 'gaussian' or 'product'")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = False
        return tags


@dataclass(frozen=True)
class Posterior:
    """What is known of the hidden label of an instance: its response to each hypothesis, and their weights.

    Parameters
    ----------
    source : Hypotheses, or any fitted estimator, which counts as one hypothesis
    weights : P(h | D)
    regression : bool
    """

    source: Any
    weights: np.ndarray
    regression: bool

    @property
    def points(self) -> np.ndarray:
        """The hypotheses; none where the source has none."""
        return (
            self.source.points if isinstance(self.source, Hypotheses) else np.empty((0, self._n_features()))
        )

    def responses(self, bags: Bags) -> np.ndarray:
        """U of each instance (rows) under each hypothesis (columns)."""
        if isinstance(self.source, Hypotheses):
            return self.source.instance_probability(bags.flat.instances)
        if hasattr(self.source, "instance_probability"):
            return np.concatenate(self.source.instance_probability(bags))[:, None]
        alone = bags.one_by_one() if hasattr(self.source, "score_instances") else bags.instances
        if self.regression:
            return np.clip(self.source.predict(alone), 0, 1)[:, None]
        return self.source.predict_proba(alone)[:, 1:2]

    def probability(self, bags: Bags) -> np.ndarray:
        """P(c = 1 | x) of each instance."""
        return _weighted(self.responses(bags), self.weights)

    def _n_features(self) -> int:
        return self.source.n_features_in_


def _fitted(estimator, bags: Bags, y: np.ndarray):
    """A clone fitted on bags where it takes bags, on instances with the labels of their bags elsewhere."""
    model = clone(estimator)
    if hasattr(model, "score_instances") or hasattr(model, "instance_probability"):
        return model.fit(bags, y)
    return model.fit(bags.owned().instances, np.repeat(y, bags.sizes))


def _check_answers(model, regression: bool) -> None:
    needed = "predict" if regression else "predict_proba"
    if not hasattr(model, "instance_probability") and not hasattr(model, needed):
        name = type(model).__name__
        raise TypeError(f"{name} has no {needed}; give an estimator that says how likely an instance is")


def _weighted(U, w) -> np.ndarray:
    """U w, row by row: BLAS would let the bits of a row depend on how many there are."""
    return np.einsum("ij,j->i", U, w)


def _by_density(cost, P, y) -> np.ndarray:
    """MG-DDV: P(h | D) = DD(h) / Z."""
    weights = np.exp(cost.min() - cost)
    return weights / weights.sum()


def _by_accuracy(cost, P, y) -> np.ndarray:
    """MG-ACC: share of the bags that h puts on the right side of 1/2, / Z."""
    weights = np.mean((P >= 0.5) == (y[:, None] == 1), axis=0)
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(cost), 1 / len(cost))


def _by_error(cost, P, y) -> np.ndarray:
    """MG-ACC for targets: 1 - (e_h - min e) / (max e - min e), e the mean squared error, / Z."""
    error = np.mean((P - y[:, None]) ** 2, axis=0)
    spread = np.ptp(error)
    weights = 1 - (error - error.min()) / spread if spread > 0 else np.ones(len(error))
    return weights / weights.sum()
