"""Kernels with negative eigenvalues made positive semidefinite: clip, flip, shift (Chen et al. 2009)."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmil._parameters import one_of
from skmil._product import product, row_squares
from skmil.kernels.base import BagKernel, _Derived

SMALL = 1e-10  # eigenvalues relative to the largest that are left out: new bags would be divided by them


class Repaired(_Derived):
    r"""A kernel without the negative eigenvalues that it has on the training bags [1]_.

    Estimated counts and powers of kernels may have some, and an SVM then has no unique solution. With
    :math:`K = U \Lambda U^T` the matrix of the training bags T, and :math:`f(\lambda)` the repaired
    eigenvalues,

    .. math:: \tilde k(P, Q) = k(P, T)\, U\, \mathrm{diag}(f(\lambda) / \lambda^2)\, U^T k(T, Q),

    so training bags have the matrix :math:`U f(\Lambda) U^T`, and new bags the features that go with it.
    "clip" is :math:`f(\lambda) = \max(\lambda, 0)`, the nearest positive semidefinite matrix; "flip" is
    :math:`|\lambda|`, which keeps what negative eigenvalues know. "shift" adds the size of the smallest
    one where a bag is compared with itself, :math:`k(P, Q) + s\, 1[P = Q]`.

    Cost: :math:`O(n^3)` once; new bags need their values with all training bags.

    Parameters
    ----------
    kernel : BagKernel
    repair : "clip", "flip" or "shift"

    Attributes
    ----------
    negative_share_ : float
        Share of the eigenvalues that were negative by more than rounding.
    shift_ : float
        The s of "shift"; 0 for the others.

    References
    ----------
    .. [1] Y. Chen, E. K. Garcia, M. R. Gupta, A. Rahimi, L. Cazzanti, "Similarity-based classification:
       concepts and algorithms", JMLR 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil.kernels import Repaired, SetKernel
    >>> X = [[[0.0]], [[1.0]], [[3.0]]]
    >>> k = SetKernel(lambda X, Y: -np.abs(X - Y.T), normalization="sum")
    >>> K = Repaired(k).fit_transform(X)
    >>> bool(np.linalg.eigvalsh(k(X)).min() < -1), bool(np.linalg.eigvalsh(K).min() > -1e-9)
    (True, True)
    """

    _parameter_constraints: dict = {
        "kernel": [BagKernel],
        "repair": [one_of("clip", "flip", "shift")],
    }

    def __init__(self, kernel, repair="clip"):
        self.kernel = kernel
        self.repair = repair

    def _fit(self, bags, y):
        super()._fit(bags, y)
        K = self.kernel_._gram(bags, bags)
        values, U = np.linalg.eigh((K + K.T) / 2)
        largest = np.abs(values).max()
        self.negative_share_ = float(np.mean(values < -len(values) * np.finfo(float).eps * largest))
        self.shift_ = max(0.0, -float(values[0])) if self.repair == "shift" else 0.0
        kept = values > SMALL * largest if self.repair == "clip" else np.abs(values) > SMALL * largest
        self.basis_ = U[:, kept] / np.sqrt(np.abs(values[kept]))
        self.train_ = bags
        self.features_ = product(K, self.basis_.T)

    def fit_transform(self, X, y=None, **fit_params):
        """``fit``, then the repaired matrix of the training bags."""
        self.fit(X, y, **fit_params)
        return self._gram(self.bags_, self.bags_)

    def transform(self, X):
        """K(X, training bags)."""
        check_is_fitted(self)
        A = self._check(X)
        if self.repair == "shift":
            return self._gram(A, self.bags_)
        return product(self._map(A), self.features_)

    def restrict(self, rows):
        """Forget all training bags but those in ``rows``, as far as columns go."""
        super().restrict(rows)
        self.features_ = self.features_[rows]
        if self.repair == "shift":
            self.train_ = self.bags_

    def _map(self, A):
        return product(self.kernel_._gram(A, self.train_), self.basis_.T)

    def _gram(self, A, B):
        check_is_fitted(self)
        if self.repair == "shift":
            return self.kernel_._gram(A, B) + self.shift_ * _same(A, B)
        phi = self._map(A)
        return product(phi, phi if A is B else self._map(B))

    def _diag(self, A):
        check_is_fitted(self)
        if self.repair == "shift":
            return self.kernel_._diag(A) + self.shift_
        return row_squares(self._map(A))


def _same(A, B) -> np.ndarray:
    """1 where two bags have the same content."""
    prints = [[_print(bag) for bag in bags] for bags in (A, B)]
    return np.array([[p == q for q in prints[1]] for p in prints[0]], dtype=float).reshape(len(A), len(B))


def _print(bag) -> tuple:
    parts = (bag.indptr, bag.indices, bag.data) if hasattr(bag, "indptr") else (bag,)
    return (bag.shape, *(p.tobytes() for p in parts))
