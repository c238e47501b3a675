r"""Minimax kernel (Gärtner, Flach, Kowalczyk & Smola, ICML 2002)."""

from skmil._engines.statistics import bag_extremes
from skmil._engines.widths import gamma_of
from skmil._parameters import ANY, COUNT, POSITIVE, one_of
from skmil._product import product, row_squares
from skmil.kernels.base import BagKernel


class MinimaxKernel(BagKernel):
    r"""Polynomial kernel on the smallest and largest value of each feature in a bag [1]_.

    .. math::
        k(A, B) = (\gamma \langle s(A), s(B) \rangle + c)^{degree}, \quad
        s(A) = (\min_a a_1, ..., \min_a a_d, \max_a a_1, ..., \max_a a_d)

    Cost: :math:`O(N d)` to find the extremes, then :math:`O(n_A n_B d)`.

    Parameters
    ----------
    degree : int
    coef0 : float
    gamma : float, "scale" or "length"
        "scale" is one over the number of features of s: values of scaled features stay near one. Those
        of texts, almost all of them zero, would vanish beside c; "length" is one over the mean of
        :math:`|s|^2` over the training bags.

    Attributes
    ----------
    gamma_ : float
        The number behind ``gamma``, after ``fit``.

    References
    ----------
    .. [1] T. Gärtner, P. Flach, A. Kowalczyk, A. Smola, "Multi-instance kernels", ICML 2002.

    Examples
    --------
    >>> from skmil.kernels import MinimaxKernel
    >>> MinimaxKernel(degree=1, gamma=1.0, coef0=0.0)([[[1.0], [3.0]], [[2.0]]])
    array([[10.,  8.],
           [ 8.,  8.]])
    """

    _parameter_constraints: dict = {
        "degree": [COUNT],
        "gamma": [POSITIVE, one_of("scale", "length")],
        "coef0": [ANY],
    }

    def __init__(self, degree=2, gamma="scale", coef0=1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _fit(self, bags, y):
        scale = 2 * bags.n_features
        if self.gamma == "length":
            scale = row_squares(bag_extremes(bags)).mean() or 1.0
        self.gamma_ = 1.0 / scale if isinstance(self.gamma, str) else float(self.gamma)

    def _gram(self, A, B):
        a = bag_extremes(A)
        return self._polynomial(product(a, a if A is B else bag_extremes(B)), A.n_features)

    def _diag(self, A):
        return self._polynomial(row_squares(bag_extremes(A)), A.n_features)

    def _polynomial(self, products, d):
        products *= 1.0 / (2 * d) if self.gamma == "scale" else gamma_of(self)  # in place: one matrix
        products += self.coef0
        products **= self.degree
        return products
