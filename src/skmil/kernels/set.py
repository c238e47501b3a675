r"""Set kernel, MI-Kernel (Gärtner, Flach, Kowalczyk & Smola, ICML 2002)."""

import numpy as np

from skmil._engines.pairs import InstanceKernel, beside, instance_sums, pair_sums, self_sums
from skmil._engines.widths import gamma_of, resolve_gamma
from skmil._parameters import ANY, COUNT, GAMMA, POSITIVE, one_of
from skmil.kernels.base import BagKernel, cosine, quotient


class SetKernel(BagKernel):
    r"""Sum of an instance kernel over all pairs of instances of two bags [1]_.

    .. math::
        k(A, B) = \frac{1}{f(A)\, f(B)} \sum_{a \in A} \sum_{b \in B} k_x(a, b)^p

    with :math:`f = 1` ("sum"), :math:`f(A) = |A|` ("mean") or :math:`f(A)^2 = k_{sum}(A, A)` ("cosine").

    Cost: :math:`O(N_A N_B d)` time, half of that for a symmetric matrix; memory for one block per
    thread beside the result, and for a copy of tables of up to 16 MB.

    Parameters
    ----------
    instance : "rbf", "linear", "poly" or a function (X, Y) -> matrix
    gamma : float, "scale" or "median"
        Width of the RBF and scale of the polynomial kernel. "median" is one over the median squared
        distance of two instances, "scale" is 1 / (n_features * variance); both need ``fit``.
    degree : int
    coef0 : float
        Of the polynomial kernel :math:`(\gamma \langle a, b \rangle + c)^{degree}`.
    power : float
        The exponent p.
    normalization : "sum", "mean" or "cosine"

    Attributes
    ----------
    gamma_ : float

    References
    ----------
    .. [1] T. Gärtner, P. Flach, A. Kowalczyk, A. Smola, "Multi-instance kernels", ICML 2002.

    Examples
    --------
    >>> from skmil.kernels import SetKernel
    >>> SetKernel(gamma=1.0, normalization="sum")([[[0.0], [0.0]], [[0.0]]])
    array([[4., 2.],
           [2., 1.]])
    """

    _parameter_constraints: dict = {
        "instance": [one_of("rbf", "linear", "poly"), callable],
        "gamma": GAMMA,
        "degree": [COUNT],
        "coef0": [ANY],
        "power": [POSITIVE],
        "normalization": [one_of("sum", "mean", "cosine")],
    }

    _streams = _keeps_float32 = True

    def __init__(
        self,
        instance="rbf",
        gamma="median",
        degree=2,
        coef0=1.0,
        power=1.0,
        normalization="mean",
    ):
        self.instance = instance
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.power = power
        self.normalization = normalization

    def instance_gram(self, X, Y) -> np.ndarray:
        """Share of each instance of X in k(X, Y): its rows add up, bag by bag, to ``self(X, Y)``."""
        A, B = self._check(X), self._check(Y)
        rows = np.repeat(self._size(beside(A, B)), A.sizes)
        return quotient(instance_sums(A, B, self._instance()), rows, self._size(B))

    def _fit(self, bags, y):
        self.gamma_ = resolve_gamma(self.gamma, bags)

    def _gram(self, A, B):
        K = pair_sums(A, B, self._instance())
        if self.normalization == "cosine":
            a = K.diagonal() if A is B else self_sums(beside(A, B), self._instance())
            return cosine(K, a, a if A is B else self_sums(B, self._instance()))
        return K if self.normalization == "sum" else quotient(K, self._size(A), self._size(B))

    def _diag(self, A):
        if self.normalization == "cosine":
            return np.ones(len(A))
        return self_sums(A, self._instance()) / self._size(A) ** 2

    def _size(self, A) -> np.ndarray:
        """f(A): what a sum over the instances of a bag is divided by."""
        if self.normalization == "sum":
            return np.ones(len(A))
        if self.normalization == "mean":
            return A.sizes.astype(float)
        size = np.sqrt(np.maximum(self_sums(A, self._instance()), 0))
        return np.where(size > 0, size, np.inf)

    def _instance(self) -> InstanceKernel:
        uses_gamma = isinstance(self.instance, str) and self.instance != "linear"
        gamma = gamma_of(self) if uses_gamma else 1.0
        return InstanceKernel(self.instance, gamma, self.degree, self.coef0, self.power)
