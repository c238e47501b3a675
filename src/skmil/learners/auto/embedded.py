"""The vectors that an embedding makes of bags, as a kernel."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmil._cluster import map_bags
from skmil._engines.sparse_products import inner
from skmil._parameters import POSITIVE
from skmil._product import product
from skmil.bags import Bags
from skmil.embeddings.base import BagEmbedding
from skmil.kernels.base import BagKernel


class EmbeddingKernel(BagKernel):
    r"""A kernel on the vectors that an embedding makes of bags.

    .. math:: k(A, B) = \exp(-\rho \gamma |z(A) - z(B)|^2) \quad \text{or} \quad \langle z(A), z(B) \rangle

    with z standardised on the training bags, :math:`\gamma` one over their median squared distance.

    Parameters
    ----------
    embedding : BagEmbedding
    linear : bool
        Inner products of the vectors as they are.
    standardized : bool
        Else distances are of the vectors as they are. Sparse vectors are never standardised; where they
        should be, they have inner products instead.
    power : float
        :math:`\rho`, so that the kernel is the one of the median distance to this power.

    Attributes
    ----------
    embedding_ : the fitted embedding
    vectors_ : those of the training bags

    Examples
    --------
    >>> from skmil.embeddings import MeanEmbedding
    >>> from skmil.learners import EmbeddingKernel
    >>> EmbeddingKernel(MeanEmbedding()).fit_transform([[[0.0]], [[1.0], [3.0]], [[4.0]]]).round(2)
    array([[1.  , 0.37, 0.02],
           [0.37, 1.  , 0.37],
           [0.02, 0.37, 1.  ]])
    """

    vectors_: np.ndarray

    _parameter_constraints: dict = {
        "embedding": [BagEmbedding],
        "linear": ["boolean"],
        "standardized": ["boolean"],
        "power": [POSITIVE],
    }

    def __init__(self, embedding, linear=False, standardized=True, power=1.0):
        self.embedding = embedding
        self.linear = linear
        self.standardized = standardized
        self.power = power

    def fit_transform(self, X, y=None, **fit_params):
        """``fit``, then the Gram matrix of the training bags."""
        self.fit(X, y, **fit_params)
        return self._kernel(self.vectors_, self.vectors_)

    def transform(self, X):
        """K(X, training bags), whose vectors are known from ``fit``."""
        check_is_fitted(self)
        return map_bags(self._columns, self._check(X, tables=False))

    def restrict(self, rows):
        """Forget all training bags but those in ``rows``, and their vectors."""
        super().restrict(rows)
        self.vectors_ = self.vectors_[rows]

    @available_if(lambda self: self.linear_ and hasattr(self.embedding_, "contributions"))
    def contributions(self, X, alpha) -> np.ndarray:
        """Share of each instance of X in K(X, kept bags) alpha; where the embedding knows it, exactly."""
        return np.concatenate(self.embedding_.contributions(X, self.vectors_.T @ alpha))

    def _fit(self, bags, y):
        self.embedding_ = clone(self.embedding)
        Z = self.embedding_.fit_transform(bags, y)
        self.linear_ = self.linear or (self.standardized and hasattr(Z, "toarray"))
        if self.standardized and not self.linear_:
            spread = Z.std(axis=0)
            varies = spread > 1e-12 * np.abs(Z).max(axis=0)
            self.center_, self.scale_ = Z.mean(axis=0), np.where(varies, spread, 1.0)
            Z = (Z - self.center_) / self.scale_
        if not self.linear_:
            self.gamma_ = self.power * _one_over_median(Z)
        self.vectors_ = Z

    def _columns(self, bags: Bags) -> np.ndarray:
        """K(bags, training bags); an embedding that knows a short way to inner products takes it."""
        if self.linear_ and hasattr(self.embedding_, "products"):
            return self.embedding_.products(bags, self.vectors_)
        return self._kernel(self._vectors(bags), self.vectors_)

    def _vectors(self, bags: Bags):
        Z = self.embedding_.transform(bags)
        return (Z - self.center_) / self.scale_ if hasattr(self, "center_") else Z

    def _gram(self, A, B):
        check_is_fitted(self)
        a = self._vectors(A)
        return self._kernel(a, a if A is B else self._vectors(B))

    def _kernel(self, a, b) -> np.ndarray:
        return _products(a, b) if self.linear_ else np.exp(-self.gamma_ * _distances(a, b))


def _products(a, b) -> np.ndarray:
    return inner(a, b) if hasattr(a, "toarray") else product(a, b)


def _distances(a, b) -> np.ndarray:
    """Squared distances of rows."""
    return np.maximum(_squares(a)[:, None] + _squares(b) - 2 * _products(a, b), 0)


def _squares(Z) -> np.ndarray:
    if hasattr(Z, "toarray"):
        return np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", Z, Z)


def _one_over_median(Z, most: int = 1000) -> float:
    rows = np.unique(np.linspace(0, Z.shape[0] - 1, min(Z.shape[0], most)).astype(int))
    D = _distances(Z[rows], Z[rows])[~np.tri(len(rows), dtype=bool)]
    middle = float(np.median(D)) if len(D) else 0.0
    return 1.0 / middle if middle > 0 else 1.0
