"""What classifiers and regressors on bags share: labels, weights, one-vs-rest, instance scores."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from functools import wraps

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from skmil._cluster import blockwise
from skmil._lazy import groups
from skmil._parameters import naming
from skmil._schema import check_bags, check_bags_y, check_weights
from skmil._threads import interruptible, one_blas_thread, slices
from skmil.bags import Bags

NEGATIONS = ("in", "non", "not", "no", "un", "im")
LARGEST_BLOCK = 2**23  # numbers in one block of bags with an instance left out: 64 MiB


def groupwise(method: Callable) -> Callable:
    """A method that gives an array for valid bags, by groups that depend on the sizes of bags alone.

    What BLAS gives for a row depends, in its last bits, on how many there are. Blocks that are read from a
    store are unions of groups, so bags in memory get the same numbers.
    """

    @wraps(method)
    def call(self, bags: Bags) -> np.ndarray:
        with one_blas_thread():
            return np.concatenate([method(self, bags[g]) for g in groups(bags.sizes)])

    return call


class BagEstimator(BaseEstimator, metaclass=ABCMeta):
    """A fitted method on bags: it also says how much each instance of a bag counts."""

    @property
    def has_witness(self) -> bool:
        """Whether the instance of largest score decides alone."""
        return False

    @blockwise
    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance, by leaving it out: f(bag) - f(bag without the instance).

        f is the decision function (of the predicted class where there are more than two) or the
        prediction of a regressor; a bag that loses its only instance counts as 0.
        """
        check_is_fitted(self)
        return leave_one_out(self._output, check_bags(self, X, reset=False))

    @abstractmethod
    def _output(self, bags: Bags) -> np.ndarray:
        """The number(s) that ``leave_one_out`` watches."""

    def _renumber(self, bags: Bags, rows: np.ndarray) -> None:
        """Let learned numbers of bags mean all that were given, of which only ``rows`` had a weight."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BagClassifier(ClassifierMixin, BagEstimator):
    """A classifier of bags of any number of classes: labels, weights and predictions.

    A subclass writes ``_fit_classes(bags, codes, w)``, with the numbers of the classes and positive weights
    per bag, and ``_decisions(bags)``: one number per bag, positive for ``classes_[1]``, or one column per
    class. A ``class_weight`` parameter is honoured here. One that only separates two classes derives from
    ``BinaryBagClassifier``.
    """

    def fit(self, X, y, sample_weight=None):
        """Learn from bags, one label per bag and, optionally, one weight per bag."""
        bags, codes, self.classes_ = check_bags_y(self, X, y, classification=True)
        w = check_weights(sample_weight, bags)
        w = w * class_weights(getattr(self, "class_weight", None), self.classes_, codes)
        interruptible(self._fit_classes)(*positive_weights(bags, codes, w, self.classes_))
        if not w.all():
            self._renumber(bags, np.flatnonzero(w))
        return self

    @blockwise
    def decision_function(self, X) -> np.ndarray:
        """One number per bag, positive for ``classes_[1]``; one column per class if there are more."""
        check_is_fitted(self)
        return self._decisions(check_bags(self, X, reset=False))

    def predict(self, X) -> np.ndarray:
        """The label of each bag."""
        check_is_fitted(self)
        return self.classes_[winners(self.decision_function(X))]

    def _output(self, bags):
        return self._decisions(bags)

    @abstractmethod
    def _fit_classes(self, bags: Bags, codes: np.ndarray, w: np.ndarray) -> None:
        """Learn from valid bags; ``codes`` number the labels in ``classes_``."""

    @abstractmethod
    def _decisions(self, bags: Bags) -> np.ndarray:
        """One number per bag, or one column per class."""


class BinaryBagClassifier(BagClassifier):
    """A classifier of bags whose subclass separates two classes; more go one against the rest.

    A subclass writes ``_fit(bags, y, w)``, with ``y`` in {-1, +1} and positive weights per bag, and
    ``_decision(bags)``, positive for +1; ``positive_`` is the number of the class that is +1. Where it can
    do better than leaving instances out it writes ``_instances(bags)``: one number per instance, as one
    flat array.
    """

    @blockwise
    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance, for the class predicted for its bag (``classes_[1]`` if two)."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)
        if len(self.classes_) == 2:
            return bags.split(self._sign() * self._instances(bags))
        won = winners(self._decisions(bags))
        scores = [e.score_instances(bags) for e in self.estimators_]
        return [scores[c][i] for i, c in enumerate(won)]

    def _fit_classes(self, bags, codes, w):
        if len(self.classes_) == 2:
            self.positive_ = positive_class(self.classes_)
            self._fit(bags, np.where(codes == self.positive_, 1.0, -1.0), w)
            return
        part, n = self._part(), range(len(self.classes_))
        self.estimators_ = [clone(part).fit(bags, codes == c, sample_weight=w) for c in n]

    def _part(self):
        """What separates one of several classes from the rest."""
        part = clone(self)
        weighted = "class_weight" in part.get_params()  # w has it already
        return part.set_params(class_weight=None) if weighted else part

    def _decisions(self, bags):
        if len(self.classes_) == 2:
            return self._sign() * self._decision(bags)
        return np.column_stack([e.decision_function(bags) for e in self.estimators_])

    @abstractmethod
    def _fit(self, bags: Bags, y: np.ndarray, w: np.ndarray) -> None:
        """Separate y = +1 from y = -1."""

    @abstractmethod
    def _decision(self, bags: Bags) -> np.ndarray:
        """One number per bag."""

    def _instances(self, bags: Bags) -> np.ndarray:
        return np.concatenate(leave_one_out(self._decision, bags))

    def _sign(self) -> int:
        """+1 where ``classes_[1]`` is the positive class, -1 where ``classes_[0]`` is."""
        return 2 * self.positive_ - 1

    def _renumber(self, bags, rows):
        for part in getattr(self, "estimators_", []):
            part._renumber(bags, rows)


class BagRegressor(RegressorMixin, BagEstimator):
    """A regressor on bags; a subclass writes ``_fit(bags, y, w)`` and ``_predict(bags)``."""

    def fit(self, X, y, sample_weight=None):
        """Learn from bags, one target per bag and, optionally, one weight per bag."""
        bags, y, _ = check_bags_y(self, X, y, classification=False)
        w = check_weights(sample_weight, bags)
        interruptible(self._fit)(*positive_weights(bags, y, w))
        if not w.all():
            self._renumber(bags, np.flatnonzero(w))
        return self

    @blockwise
    def predict(self, X) -> np.ndarray:
        """The target of each bag."""
        check_is_fitted(self)
        return self._predict(check_bags(self, X, reset=False))

    def _output(self, bags):
        return self._predict(bags)

    @abstractmethod
    def _fit(self, bags: Bags, y: np.ndarray, w: np.ndarray) -> None:
        """Learn from valid bags."""

    @abstractmethod
    def _predict(self, bags: Bags) -> np.ndarray:
        """One number per bag."""


def leave_one_out(output: Callable, bags: Bags) -> list[np.ndarray]:
    """f(bag) - f(bag without x) for each instance x, the one generic explanation of a bag method.

    Parameters
    ----------
    output : function
        Takes ``Bags``; returns one number per bag, or one column per class, of which the largest
        for the whole bag is watched.
    bags : Bags
    """
    whole = np.asarray(output(bags))
    watched = None if whole.ndim == 1 else whole.argmax(axis=1)
    return [
        _watch(whole[i : i + 1], watched, i) - np.concatenate(_without_each(output, bags, i, watched))
        for i in range(len(bags))
    ]


def forwarded(owner, name: str, part: str):
    """A learned attribute of ``owner``'s part, for its ``__getattr__``."""
    learned = name.endswith("_") and not name.startswith("_")
    if learned and name != part and part in owner.__dict__:
        return getattr(owner.__dict__[part], name)
    raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")


def positive_class(classes) -> int:
    """Number of the positive of two classes: the last, unless its name denies the other's.

    Of "active" and "inactive" the first is positive, though it comes first in order.
    """
    first, last = (str(c).lower() for c in classes)
    denied = {f"{no}{link}{first}" for no in NEGATIONS for link in ("", " ", "-", "_")}
    return 0 if last in denied else 1


def renumber(model, bags: Bags, rows: np.ndarray) -> None:
    """``_renumber`` of a model, or of the last step of a pipeline, where there is one."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(last, "_renumber"):
        last._renumber(bags, rows)


def winners(decision: np.ndarray) -> np.ndarray:
    """Number of the class that a decision function chooses."""
    return (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)


def best_of_cuts(values, cuts, y, w) -> float:
    """Of some cuts the one that leaves most weight of y = +1 above and of y = -1 below it.

    Among equals it is the one nearest to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil.learners.base import best_of_cuts
    >>> y = np.array([-1, -1, 1, 1])
    >>> best_of_cuts(np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.0, 1.5, 2.5]), y, np.ones(4))
    2.5
    """
    order = np.argsort(values)
    lost = np.concatenate([[0.0], np.cumsum((w * y)[order])])  # below a cut, less what is right there
    lost = lost[np.searchsorted(values[order], cuts, side="right")]
    best = cuts[lost <= lost.min() + 1e-12 * w.sum()]
    return float(best[np.argmin(np.abs(best - cuts[0]))])


def class_weights(class_weight, classes, codes) -> np.ndarray:
    """One weight per bag from a ``class_weight`` parameter: None, "balanced" or a dict by label."""
    if class_weight is None:
        return np.ones(len(codes))
    with naming("class_weight"):
        weights = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    for c, w in zip(classes, weights, strict=True):
        if not 0 <= w < np.inf:
            raise ValueError(f"class_weight gives the class {str(c)!r} the weight {w:g}; give 0 or more")
    return weights[codes]


def positive_weights(bags: Bags, y: np.ndarray, w: np.ndarray, classes=None):
    """Leave out bags of weight zero; each of ``classes`` (y holds their numbers) must keep one."""
    keep = w > 0
    if keep.all():
        return bags, y, w
    if classes is not None:
        missing = np.setdiff1d(np.arange(len(classes)), y[keep])
        if len(missing):
            raise ValueError(f"the class {str(classes[missing[0]])!r} has no bag with a positive weight")
    if not keep.any():
        raise ValueError("sample_weight is 0 for all bags; at least one non-zero weight is needed")
    return bags[keep], y[keep], w[keep]


def _without_each(output, bags: Bags, i: int, watched) -> list[np.ndarray]:
    """Outputs for bag i without its first, second, ... instance, in blocks of bounded size."""
    m = int(bags.sizes[i])
    if m == 1:
        return [np.zeros(1)]
    instances = bags[i]
    per_block = max(1, LARGEST_BLOCK // max(1, (m - 1) * bags.n_features))
    parts = []
    for block in slices(m, per_block):
        left_out = np.arange(block.start, block.stop)
        rows = np.arange(m - 1) + (np.arange(m - 1) >= left_out[:, None])
        cuts = np.arange(len(left_out) + 1) * (m - 1)
        smaller = Bags(instances[rows.ravel()], cuts, None, bags.feature_names, bags.missing)
        parts.append(_watch(np.asarray(output(smaller)), watched, i))
    return parts


def _watch(values, watched, i):
    return values if watched is None else values[:, watched[i]]
