"""Support vector machines on any kernel of bags (libsvm through scikit-learn)."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted

from skmil import _state as state
from skmil._cluster import blockwise
from skmil._memo import is_searching, once
from skmil._parameters import CLASS_WEIGHT, NOT_NEGATIVE, POSITIVE, SEED, SVM_ITERATIONS
from skmil._schema import check_bags
from skmil.bags import Bags
from skmil.kernels.base import BagKernel
from skmil.kernels.set import SetKernel
from skmil.learners.base import BagClassifier, BagEstimator, BagRegressor, groupwise, leave_one_out

SIMILAR = 1e-9  # median cosine of two bags below which a Gram matrix is as good as diagonal
PROBE = 500  # bags that are looked at for it


class _BagSVM(BagEstimator):
    """Fits the kernel on the training bags, the machine on their Gram matrix, keeps support bags."""

    def _fit_kernel(self, bags, y) -> np.ndarray:
        kernel = SetKernel() if self.kernel is None else self.kernel
        bags = bags.owned()
        self.kernel_, K = once(_fitted, kernel, bags, y)
        self.kernel_.bags_ = bags
        warn_if_diagonal(K)
        return K

    def _keep(self, machine, bags) -> None:
        """Forget all training bags but those that prediction needs."""
        self.svm_ = machine
        self.support_ = machine.support_
        self.n_bags_ = len(bags)
        self.n_iter_ = machine.n_iter_
        # The machines of a search are all asked for the same rows: those of all bags serve every one.
        self.kept_ = slice(None) if is_searching() else machine.support_
        self.kernel_.restrict(self.kept_ if len(self.support_) else slice(0, 1))

    def _check_state(self) -> None:
        n = state.kept(self, "svm_", SVC, SVR).shape_fit_[0]
        state.count(self, "n_bags_", n, n)
        kept, support = state.attribute(self, "kept_"), self.svm_.support_
        whole = isinstance(kept, slice) and kept == slice(None)
        if not whole and not np.array_equal(kept, support):
            raise state.damaged(self, "kept_ are not the support bags")
        state.array(self, "support_", support.shape, np.integer)
        bags = state.kept(state.kept(self, "kernel_", BagKernel), "bags_", Bags)
        if len(bags) != (n if whole else max(1, len(support))):
            raise state.damaged(self, f"{len(bags)} bags for {len(support)} support bags")

    def _renumber(self, bags, rows):
        self.support_ = rows[self.support_]

    def _rows(self, bags) -> np.ndarray:
        """K(bags, training bags) with zeros where libsvm does not look: not a support bag."""
        K = np.zeros((len(bags), self.n_bags_))
        if len(self.support_):
            K[:, self.kept_] = once(_cross, self.kernel_, bags)
        return K

    @groupwise
    def _shares(self, bags) -> np.ndarray:
        """What each instance adds to the sum over support bags."""
        return self.kernel_.instance_gram(bags, self.support_bags_) @ self.svm_.dual_coef_.ravel()

    def _checked(self, X):
        check_is_fitted(self)
        return check_bags(self, X, reset=False)

    @property
    def support_bags_(self):
        """The training bags that prediction needs."""
        bags = self.kernel_.bags_
        every = isinstance(self.kept_, slice) and len(self.support_)
        return bags[self.svm_.support_] if every else bags


def warn_if_diagonal(K: np.ndarray) -> None:
    """Say so where bags are similar only to themselves: a machine then learns nothing about new ones."""
    if len(K) < 3:
        return
    few = np.unique(np.linspace(0, len(K) - 1, min(len(K), PROBE)).astype(int))
    part = np.abs(K[np.ix_(few, few)])
    own = np.sqrt(part.diagonal())
    own = np.where(own > 0, own, np.inf)  # a bag whose own value underflows is similar to nothing
    part /= own[:, None]
    part /= own
    typical = np.median(part[~np.eye(len(part), dtype=bool)])
    if typical < SIMILAR:
        warnings.warn(
            f"each bag is similar only to itself (median cosine of two bags {typical:.0e}): new bags get "
            "the label of the intercept; for box kernels use power='auto' or EmpiricalMap, else a wider "
            "kernel or Power(kernel, rho)",
            UserWarning,
            stacklevel=4,
        )


def _fitted(kernel, bags, y):
    """The kernel fitted on the training bags, and their Gram matrix; the bags themselves are at hand."""
    kernel = clone(kernel)
    K = kernel.fit_transform(bags, y)
    del kernel.bags_
    return kernel, K


def _cross(kernel, bags) -> np.ndarray:
    return kernel.transform(bags)


class BagSVC(_BagSVM, BagClassifier):
    """Support vector classifier of bags with a bag kernel.

    Parameters
    ----------
    kernel : BagKernel, optional
        ``SetKernel()`` where not given. A clone of it is fitted on the training bags.
    C : float
    class_weight : dict, "balanced" or None
    tol, max_iter, random_state : as in ``sklearn.svm.SVC``

    Attributes
    ----------
    kernel_ : the fitted kernel; ``support_bags_`` are the only training bags it keeps
    support_ : numbers of the support bags among those given to ``fit``
    svm_ : the fitted ``sklearn.svm.SVC``

    Examples
    --------
    >>> from skmil.datasets import load_musk1
    >>> from skmil.learners import BagSVC
    >>> X, y = load_musk1(return_X_y=True)
    >>> BagSVC(C=10).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.7
    True
    """

    _parameter_constraints: dict = {
        "kernel": [BagKernel, None],
        "C": [POSITIVE],
        "class_weight": CLASS_WEIGHT,
        "tol": [POSITIVE],
        "max_iter": SVM_ITERATIONS,
        "random_state": SEED,
    }

    def __init__(
        self,
        kernel=None,
        C=1.0,
        class_weight=None,
        tol=1e-3,
        max_iter=-1,
        random_state=None,
    ):
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @blockwise
    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance, for ``classes_[1]`` (for the class predicted if more than two).

        Exact where the kernel is a sum over instances (it has ``instance_gram``) and there are two
        classes: the numbers of a bag add up to its decision value less the intercept. By leaving
        each instance out elsewhere.
        """
        bags = self._checked(X)
        if len(self.classes_) > 2 or not hasattr(self.kernel_, "instance_gram"):
            return leave_one_out(self._decisions, bags)
        return bags.split(self._shares(bags))

    def _fit_classes(self, bags, codes, w):
        """The kernel, its Gram matrix and the machine; multi-class is one against one, as in SVC."""
        K = self._fit_kernel(bags, self.classes_[codes])
        svc = SVC(
            kernel="precomputed",
            C=self.C,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        self._keep(svc.fit(K, self.classes_[codes], sample_weight=w), bags)

    def _decisions(self, bags):
        return self.svm_.decision_function(self._rows(bags))


class BagSVR(_BagSVM, BagRegressor):
    """Support vector regression on bags with a bag kernel.

    Parameters
    ----------
    kernel : BagKernel, optional
        ``SetKernel()`` where not given.
    C, epsilon, tol, max_iter : as in ``sklearn.svm.SVR``

    Attributes
    ----------
    kernel_, support_, support_bags_, svm_ : as in ``BagSVC``
    """

    _parameter_constraints: dict = {
        "kernel": [BagKernel, None],
        "C": [POSITIVE],
        "epsilon": [NOT_NEGATIVE],
        "tol": [POSITIVE],
        "max_iter": SVM_ITERATIONS,
    }

    def __init__(self, kernel=None, C=1.0, epsilon=0.1, tol=1e-3, max_iter=-1):
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter

    @blockwise
    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance: its exact share of the prediction less the intercept.

        By leaving each instance out where the kernel is not a sum over instances.
        """
        bags = self._checked(X)
        if not hasattr(self.kernel_, "instance_gram") or not len(self.support_):
            return leave_one_out(self._predict, bags)
        return bags.split(self._shares(bags))

    def _fit(self, bags, y, w):
        K = self._fit_kernel(bags, y)
        machine = SVR(
            kernel="precomputed", C=self.C, epsilon=self.epsilon, tol=self.tol, max_iter=self.max_iter
        )
        self._keep(machine.fit(K, y, sample_weight=w), bags)

    def _predict(self, bags):
        return self.svm_.predict(self._rows(bags))
