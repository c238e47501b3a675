"""What a kernel on bags is: one abstract method, and the algebra that builds kernels from kernels."""

from abc import ABCMeta, abstractmethod
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from skmil._engines.pairs import beside
from skmil._parameters import COUNT, POSITIVE, SEED, check_parameters, naming, one_of
from skmil._product import product, row_squares
from skmil._random import random_key
from skmil._schema import check_bags
from skmil._threads import slices
from skmil.bags import Bags, as_bags

BLOCK = 64  # rows of a Gram matrix that are scaled at a time
MANY, DRAWN = 1000, 300  # training bags from which ``EmpiricalMap`` draws anchors, and how many


class BagKernel(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """A kernel on bags: ``k(X, Y)`` is a matrix with one row per bag of X and one column per bag of Y.

    A subclass writes ``_gram(A, B)`` on valid ``Bags`` (``B is A`` for the symmetric case), and
    ``_fit(bags, y)`` if it learns from data. ``fit_transform(X)`` is K(X, X) and ``transform(X)`` is
    K(X, training bags), so that a kernel also works as a step of a ``Pipeline``.

    One that learns from a few instances only (``bags.rows``) says ``_streams = True``: its ``fit`` then
    takes a store as it is.
    """

    _streams = False
    _keeps_float32 = False

    def fit(self, X, y=None):
        """Learn what the kernel needs from the training bags, and keep them for ``transform``."""
        bags = check_bags(self, X, reset=True, tables=True)
        bags = bags.owned() if isinstance(bags, Bags) else bags
        self._fit(bags, y)
        self.bags_ = bags
        return self

    def __call__(self, X, Y=None) -> np.ndarray:
        """Gram matrix of X and Y, or of X with itself."""
        A = self._check(X)
        B = A if Y is None or Y is X else self._check(Y)
        if A.n_features != B.n_features:
            raise ValueError(f"X has {A.n_features} features and Y has {B.n_features}")
        return self._gram(A, B)

    def diag(self, X) -> np.ndarray:
        """k(X[i], X[i]) for every bag, without the rest of the matrix."""
        return self._diag(self._check(X))

    def fit_transform(self, X, y=None, **fit_params) -> np.ndarray:
        """``fit``, then the Gram matrix of the training bags."""
        self.fit(X, y, **fit_params)
        bags = as_bags(self.bags_)
        return self._gram(bags, bags)

    def transform(self, X) -> np.ndarray:
        """K(X, training bags)."""
        check_is_fitted(self)
        return self._gram(self._check(X, tables=False), as_bags(self.bags_))

    def restrict(self, rows) -> None:
        """Forget all training bags but those in ``rows``: ``transform`` has no other columns any more."""
        self.bags_ = self.bags_[rows]

    def __sklearn_is_fitted__(self) -> bool:
        """A kernel is fitted once it has training bags; a call may leave a report before."""
        return hasattr(self, "bags_")

    def __add__(self, other):
        return Sum(self, other)

    def __mul__(self, other):
        return Product(self, other)

    def _check(self, X, tables: bool = True) -> Bags:
        """Valid bags; rows of a table are bags of one instance, so that kernels also compare instances."""
        check_parameters(self)
        if hasattr(self, "bags_"):
            return check_bags(self, X, reset=False, tables=tables, stream=False)
        return as_bags(X) if self._keeps_float32 else as_bags(X).astype(np.float64)

    def _fit(self, bags: Bags, y) -> None:
        """Learn from valid bags; a kernel without learned state keeps this."""

    @abstractmethod
    def _gram(self, A: Bags, B: Bags) -> np.ndarray:
        """Kernel matrix of valid bags; ``B is A`` asks for a symmetric one."""

    def _diag(self, A: Bags) -> np.ndarray:
        singles = (A[i : i + 1] for i in range(len(A)))
        return np.array([self._gram(b, b)[0, 0] for b in singles])

    def _cosine(self, A: Bags, B: Bags) -> np.ndarray:
        """What ``Normalized`` gives; a kernel whose values leave the range of floats has its own way."""
        K = self._gram(A, B)
        a = K.diagonal() if A is B else self._diag(beside(A, B))
        return cosine(K, a, a if A is B else self._diag(B))

    def _self_cosine(self, A: Bags) -> np.ndarray:
        """The diagonal of ``_cosine``: 0 for a bag without a direction, 1 for any other."""
        return (self._diag(A) > 0).astype(float)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def cosine(K: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """K[i, j] / sqrt(a[i] b[j]), where ``a`` and ``b`` are the diagonals; 0 where one of them is 0."""
    a, b = (np.maximum(d, 0) for d in (a, b))
    for s in slices(len(K), BLOCK):
        scale = np.sqrt(np.outer(a[s], b))
        K[s] = np.divide(K[s], scale, out=np.zeros_like(scale), where=scale > 0)
    return K


def quotient(K: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """K[i, j] / (a[i] b[j]), in place."""
    for s in slices(len(K), BLOCK):
        K[s] /= np.outer(a[s], b)
    return K


class _Derived(BagKernel):
    """A kernel made from the kernels among its parameters, which are fitted as clones."""

    def _fit(self, bags, y):
        for name, k in self.get_params(deep=False).items():
            if isinstance(k, BagKernel):
                setattr(self, f"{name}_", clone(k).fit(bags, y))

    def restrict(self, rows):
        """Forget all training bags but those in ``rows``, in every part too."""
        super().restrict(rows)
        for name in self.get_params(deep=False):
            part = getattr(self, f"{name}_", None)
            if isinstance(part, BagKernel):
                part.restrict(rows)
                part.bags_ = self.bags_

    def _part(self, name: str) -> BagKernel:
        """The fitted part; the given one where nothing was fitted and nothing needs to be."""
        return getattr(self, f"{name}_", getattr(self, name))


class Sum(_Derived):
    """k(P, Q) = left(P, Q) + right(P, Q); written ``left + right``."""

    _parameter_constraints: dict = {
        "left": [BagKernel],
        "right": [BagKernel],
    }

    def __init__(self, left, right):
        self.left = left
        self.right = right

    def _gram(self, A, B):
        K = self._part("left")._gram(A, B)
        K += self._part("right")._gram(A, B)
        return K

    def _diag(self, A):
        return self._part("left")._diag(A) + self._part("right")._diag(A)


class Product(_Derived):
    """k(P, Q) = left(P, Q) right(P, Q); written ``left * right``."""

    _parameter_constraints: dict = {
        "left": [BagKernel],
        "right": [BagKernel],
    }

    def __init__(self, left, right):
        self.left = left
        self.right = right

    def _gram(self, A, B):
        K = self._part("left")._gram(A, B)
        K *= self._part("right")._gram(A, B)
        return K

    def _diag(self, A):
        return self._part("left")._diag(A) * self._part("right")._diag(A)

    def _cosine(self, A, B):
        return self._part("left")._cosine(A, B) * self._part("right")._cosine(A, B)

    def _self_cosine(self, A):
        return self._part("left")._self_cosine(A) * self._part("right")._self_cosine(A)


class Normalized(_Derived):
    r"""Cosine in feature space: :math:`k(P, Q) / \sqrt{k(P, P)\, k(Q, Q)}`.

    Examples
    --------
    >>> from skmil.kernels import Normalized, SetKernel
    >>> k = Normalized(SetKernel(gamma=1.0, normalization="sum"))
    >>> k([[[0.0], [1.0]], [[5.0]]]).round(3)
    array([[1., 0.],
           [0., 1.]])
    """

    _parameter_constraints: dict = {
        "kernel": [BagKernel],
    }

    def __init__(self, kernel):
        self.kernel = kernel

    def _gram(self, A, B):
        return self._part("kernel")._cosine(A, B)

    def _diag(self, A):
        return self._part("kernel")._self_cosine(A)


class Power(_Derived):
    r"""Sub-polynomial transform :math:`\mathrm{sign}(k)\,|k|^\rho`, which tames a dominant diagonal."""

    _parameter_constraints: dict = {
        "kernel": [BagKernel],
        "rho": [POSITIVE],
    }

    def __init__(self, kernel, rho=0.5):
        self.kernel = kernel
        self.rho = rho

    def _gram(self, A, B):
        return self._raised(self._part("kernel")._gram(A, B))

    def _diag(self, A):
        return self._raised(self._part("kernel")._diag(A))

    def _cosine(self, A, B):
        return self._raised(self._part("kernel")._cosine(A, B))

    def _self_cosine(self, A):
        return self._raised(self._part("kernel")._self_cosine(A))

    def _raised(self, K) -> np.ndarray:
        for s in slices(len(K), BLOCK):  # in place, block by block
            K[s] = np.sign(K[s]) * np.abs(K[s]) ** self.rho
        return K


class EmpiricalMap(_Derived):
    r"""Empirical kernel map (Schölkopf et al. 2002): a bag is the vector of its kernel values.

    .. math:: k_{emp}(P, Q) = \langle \phi(P), \phi(Q) \rangle, \quad \phi(P) = (k(P, A_1), ..., k(P, A_n))

    Parameters
    ----------
    kernel : BagKernel
    anchors : "auto", "train", int or bags
        The bags A_1 ... A_n: those of ``fit``, so many of them drawn at random, or given ones. "auto" takes
        those of ``fit`` up to 1000, and 300 of more: the time for a bag, in training or later, then no
        longer grows with their number.
    unlabeled : bags, "test" or None
        Bags without labels, such as those to be predicted: the kernel is fitted on them too, and they are
        further anchors ("transduction" in Tao et al. 2008). "test" stands for the test bags of a fold,
        which ``cross_validate_bags`` puts in its place; elsewhere it means none.
    random_state : int, RandomState or None
        Draws the anchors.

    Attributes
    ----------
    anchors_ : Bags
    features_ : array (training bags, anchors)
    """

    _parameter_constraints: dict = {
        "kernel": [BagKernel],
        "anchors": [one_of("auto", "train"), COUNT, Bags, "array-like", "sparse matrix"],
        "unlabeled": [one_of("test"), Bags, "array-like", "sparse matrix", None],
        "random_state": SEED,
    }

    def __init__(self, kernel, anchors="auto", unlabeled=None, random_state=0):
        self.kernel = kernel
        self.anchors = anchors
        self.unlabeled = unlabeled
        self.random_state = random_state

    def _fit(self, bags, y):
        anchors = self._chosen(bags)
        if self.unlabeled is None or isinstance(self.unlabeled, str):
            super()._fit(bags, y)
        else:
            with naming("unlabeled"):
                more = check_bags(self, self.unlabeled, reset=False, stream=False)
            super()._fit(Bags.concat([bags, more]), None)
            anchors = Bags.concat([anchors, more])
        self.anchors_ = anchors
        self.features_ = self._map(bags)

    def _chosen(self, bags) -> Bags:
        anchors = self.anchors
        if not isinstance(anchors, (str, Integral)):
            with naming("anchors"):
                return check_bags(self, anchors, reset=False, stream=False).owned()
        if anchors == "auto":
            anchors = len(bags) if len(bags) <= MANY else DRAWN
        if anchors == "train":
            return bags
        if anchors >= len(bags):
            return bags
        rng = np.random.default_rng(random_key(self.random_state))
        return bags[np.sort(rng.choice(len(bags), int(anchors), replace=False))]

    def fit_transform(self, X, y=None, **fit_params):
        """``fit``, then the Gram matrix of the training bags."""
        self.fit(X, y, **fit_params)
        return product(self.features_, self.features_)

    def transform(self, X):
        """K(X, training bags), whose features are known from ``fit``."""
        check_is_fitted(self)
        return product(self._map(self._check(X, tables=False)), self.features_)

    def restrict(self, rows):
        """Forget all training bags but those in ``rows``, and their features."""
        super().restrict(rows)
        self.features_ = self.features_[rows]

    def features(self, X) -> np.ndarray:
        """The map itself: one row per bag, one column per anchor."""
        check_is_fitted(self)
        return self._map(self._check(X))

    def _map(self, A):
        return self._part("kernel")._gram(A, self.anchors_)

    def _gram(self, A, B):
        check_is_fitted(self, "anchors_")
        phi = self._map(A)
        return product(phi, phi if A is B else self._map(B))

    def _diag(self, A):
        check_is_fitted(self, "anchors_")
        return row_squares(self._map(A))
