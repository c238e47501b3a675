r"""miGraph kernel (Zhou, Sun & Li, ICML 2009)."""

from numbers import Real

import numpy as np

from skmil._jit import map_blocks, njit, slices
from skmil.bags import Bags
from skmil.kernels.base import BagKernel
from skmil.kernels.instance import (
    InstanceKernel,
    gamma_of,
    instance_sums,
    pair_sums,
    resolve_gamma,
    self_sums,
)


class GraphKernel(BagKernel):
    r"""Set kernel in which the instances of one clique of the bag's graph count like one [1]_.

    .. math::
        k(A, B) = \frac{\sum_{a \in A} \sum_{b \in B} W_a W_b\, e^{-\gamma p \lVert a - b \rVert^2}}
                       {\sum_{a \in A} W_a \sum_{b \in B} W_b}, \qquad
        W_a = \frac{1}{\#\{u \in A: u = a \text{ or } \lVert a - u \rVert < \tau\}}

    Cost: :math:`O(N_A N_B d)` time for the matrix and :math:`O(\sum_A |A|^2 d)` for the weights;
    memory for one block per thread beside the result. Works on sparse features.

    Parameters
    ----------
    threshold : "mean" or float
        :math:`\tau`: instances closer than this are joined by an edge. "mean" is the mean distance
        between two instances of the bag itself.
    gamma : float, "scale" or "median"
        Width of the RBF, as in ``SetKernel``.
    power : float
        The exponent p of the RBF, a factor to ``gamma``.

    Attributes
    ----------
    gamma_ : float

    References
    ----------
    .. [1] Z.-H. Zhou, Y.-Y. Sun, Y.-F. Li, "Multi-instance learning by treating instances as
       non-i.i.d. samples", ICML 2009.

    Examples
    --------
    >>> from skmil.kernels import GraphKernel
    >>> k = GraphKernel(threshold=0.5, gamma=1.0)
    >>> k([[[0.0], [0.0], [9.0]], [[0.0]]]).round(3)  # the pair of zeros weighs as much as the nine
    array([[0.5, 0.5],
           [0.5, 1. ]])
    """

    def __init__(self, threshold="mean", gamma="median", power=1.0):
        self.threshold = threshold
        self.gamma = gamma
        self.power = power

    def instance_gram(self, X, Y) -> np.ndarray:
        """Share of each instance of X in k(X, Y): its rows add up, bag by bag, to ``self(X, Y)``."""
        A, B = self._check(X), self._check(Y)
        return instance_sums(A, B, self._instance(), self._weights(A), self._weights(B))

    def _fit(self, bags, y):
        self.gamma_ = resolve_gamma(self.gamma, bags)

    def _gram(self, A, B):
        u = self._weights(A)
        return pair_sums(A, B, self._instance(), u, None if A is B else self._weights(B))

    def _diag(self, A):
        return self_sums(A, self._instance(), self._weights(A))

    def _instance(self) -> InstanceKernel:
        return InstanceKernel("rbf", gamma_of(self), power=self.power)

    def _weights(self, bags: Bags) -> np.ndarray:
        """W divided by its sum over the bag, as a column."""
        tau = self.threshold
        if tau != "mean" and not (isinstance(tau, Real) and float(tau) >= 0):
            raise ValueError(f"threshold is {tau!r}; give 'mean' or a distance of at least 0")
        tau = -1.0 if tau == "mean" else float(tau)
        weigh = _sparse_weights if bags.is_sparse else _weights
        parts = map_blocks(lambda i: weigh(bags[i], tau), range(len(bags)))
        return np.concatenate(parts)[:, None]


# The mean of equal distances may come out a rounding error above them: no edges then.
ROUNDING = 1e-9


@njit
def _weights(X, tau):
    """Weights of the instances of one bag; a negative ``tau`` stands for their mean distance."""
    m = X.shape[0]
    T = np.ascontiguousarray(X.T)  # loops over instances vectorise
    d = np.empty(m)
    if tau < 0:
        total = 0.0
        for a in range(m):
            _distances(T, a, d)
            total += d[a + 1 :].sum()
        tau = total / max(m * (m - 1) // 2, 1) * (1.0 - ROUNDING)
    degree = np.ones(m)
    for a in range(m):
        _distances(T, a, d)
        for u in range(a + 1, m):
            edge = 1.0 if d[u] < tau else 0.0
            degree[a] += edge
            degree[u] += edge
    w = 1.0 / degree
    return w / w.sum()


@njit
def _distances(T, a, d):
    """Distances of instance ``a`` to those after it; instances are the columns of T."""
    m = T.shape[1]
    d[a + 1 :] = 0.0
    for k in range(T.shape[0]):
        row, x = T[k], T[k, a]
        for u in range(a + 1, m):
            d[u] += (row[u] - x) ** 2
    for u in range(a + 1, m):
        d[u] = np.sqrt(d[u])


def _sparse_weights(X, tau):
    """``_weights`` for a CSR bag, by products of blocks of its rows with all of them."""
    m = X.shape[0]
    square = X.multiply(X) @ np.ones(X.shape[1])  # summed like a product, so that |x - x| is 0

    def distances(rows):
        D = square[rows, None] + square - 2 * (X[rows] @ X.T).toarray()
        return np.sqrt(np.maximum(D, 0))

    if tau < 0:
        total = sum(distances(s).sum() for s in slices(m, 256))
        tau = total / max(m * (m - 1), 1) * (1.0 - ROUNDING)
    degree = np.concatenate([(distances(s) < tau).sum(axis=1) for s in slices(m, 256)])
    w = 1.0 / np.maximum(degree, 1)  # an instance is its own neighbour, which tau = 0 forgets
    return w / w.sum()
