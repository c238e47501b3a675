r"""miGraph kernel (Zhou, Sun & Li, ICML 2009)."""

from functools import partial

import numpy as np
from scipy import sparse

from skmil._engines.pairs import (
    AT_ONCE,
    BRIEF,
    InstanceKernel,
    _product,
    _squares,
    instance_sums,
    pair_sums,
    self_sums,
)
from skmil._engines.widths import gamma_of, resolve_gamma
from skmil._parameters import GAMMA, NOT_NEGATIVE, POSITIVE, one_of
from skmil._product import ROWS, product
from skmil._threads import map_blocks, slices
from skmil.bags import Bags
from skmil.kernels.base import BagKernel

# The mean of equal distances may come out a rounding error above them: they are no edges.
ROUNDING = 1e-9


class GraphKernel(BagKernel):
    r"""Set kernel in which the instances of one clique of the bag's graph count like one [1]_.

    .. math::
        k(A, B) = \frac{\sum_{a \in A} \sum_{b \in B} W_a W_b\, e^{-\gamma p \lVert a - b \rVert^2}}
                       {\sum_{a \in A} W_a \sum_{b \in B} W_b}, \qquad
        W_a = \frac{1}{\#\{u \in A: u = a \text{ or } \lVert a - u \rVert < \tau\}}

    Cost: :math:`O(N_A N_B d)` time for the matrix and :math:`O(\sum_A |A|^2 d)` for the weights;
    memory for one block per thread beside the result, for a copy of tables of up to 16 MB and for the
    distances within a bag of up to 1448 instances. Works on sparse features.

    Parameters
    ----------
    threshold : "mean" or float
        :math:`\tau`: instances closer than this are joined by an edge. "mean" is the mean distance
        between two instances of the bag itself.
    gamma : float, "scale" or "median"
        Width of the RBF, as in ``SetKernel``.
    power : float
        The exponent p of the RBF, a factor to ``gamma``.
    metric : "euclidean" or "relevant"
        "relevant" takes the distance of Xu, Ting & Zhou (2019, eq. 15, footnote 1) for edges and RBF:
        :math:`\sum_{i \in C} (a_i - b_i)^2 / |C|`, C the features that are not zero in both. Its "median"
        is that of these distances; it knows no "scale".

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

    _parameter_constraints: dict = {
        "threshold": [one_of("mean"), NOT_NEGATIVE],
        "gamma": GAMMA,
        "power": [POSITIVE],
        "metric": [one_of("euclidean", "relevant")],
    }

    def __init__(self, threshold="mean", gamma="median", power=1.0, metric="euclidean"):
        self.threshold = threshold
        self.gamma = gamma
        self.power = power
        self.metric = metric

    def instance_gram(self, X, Y) -> np.ndarray:
        """Share of each instance of X in k(X, Y): its rows add up, bag by bag, to ``self(X, Y)``."""
        A, B = self._check(X), self._check(Y)
        return instance_sums(A, B, self._instance(), self._weights(A), self._weights(B))

    def _fit(self, bags, y):
        if self.metric == "relevant" and isinstance(self.gamma, str):
            self.gamma_ = _relevant_gamma(self.gamma, bags)
        else:
            self.gamma_ = resolve_gamma(self.gamma, bags)

    def _gram(self, A, B):
        u = self._weights(A)
        return pair_sums(A, B, self._instance(), u, None if A is B else self._weights(B))

    def _diag(self, A):
        return self_sums(A, self._instance(), self._weights(A))

    def _instance(self) -> InstanceKernel:
        gamma = gamma_of(self)
        if self.metric == "euclidean":
            return InstanceKernel("rbf", gamma, power=self.power)
        return InstanceKernel(partial(_relevant_rbf, gamma=gamma * self.power))

    def _weights(self, bags: Bags) -> np.ndarray:
        """W divided by its sum over the bag, as a column."""
        relevant = self.metric == "relevant"
        brief = bool((bags.sizes**2).sum() * bags.n_features <= BRIEF)
        parts = map_blocks(lambda i: _weights(bags[i], self.threshold, relevant), range(len(bags)), brief)
        return np.concatenate(parts)[:, None]


def relevant_squares(X, Y) -> np.ndarray:
    """Squared distances, each divided by the number of features that are not zero in both (at least 1)."""
    d2 = np.maximum(_squares(X)[:, None] + _squares(Y) - 2 * product(X, Y), 0)
    x, y = ((T != 0).astype(float) for T in (X, Y))
    return d2 / np.maximum(_squares(x)[:, None] + _squares(y) - product(x, y), 1)


def _relevant_rbf(X, Y, gamma) -> np.ndarray:
    return np.exp(-gamma * relevant_squares(X, Y))


def _relevant_gamma(gamma: str, bags: Bags) -> float:
    """1 / the median squared distance of up to a thousand instances, evenly spaced."""
    if gamma != "median":
        raise ValueError(f"gamma is {gamma!r}; give a number or 'median' with metric='relevant'")
    N = bags.offsets[-1]
    X = bags.instances[np.unique(np.linspace(0, N - 1, 1000).astype(int))]
    d2 = relevant_squares(X, X)[np.triu_indices(X.shape[0], 1)]
    typical = np.median(d2) if len(d2) else 0.0
    return float(1.0 / typical) if typical > 0 else 1.0


def _weights(X, tau, relevant=False) -> np.ndarray:
    """Weights of the instances of one bag, which add up to 1."""
    m = X.shape[0]
    if not (relevant or sparse.issparse(X)):
        X = X - X[0]  # distances keep their digits; integers stay integers
    square = _squares(X)

    def distances(rows):
        if relevant:
            return np.sqrt(relevant_squares(X[rows], X))
        d2 = square[rows, None] + square
        d2 -= 2 * _product(X[rows], X)
        return np.sqrt(np.maximum(d2, 0, out=d2), out=d2)

    blocks = slices(m, ROWS)
    kept = [distances(s) for s in blocks] if m * m <= AT_ONCE else None  # a larger bag's are computed twice
    if tau == "mean":
        total = sum(D.sum() for D in kept or map(distances, blocks))
        tau = total / max(m * (m - 1), 1) * (1.0 - ROUNDING)
    degree = np.concatenate([(D < tau).sum(axis=1) for D in kept or map(distances, blocks)])
    w = 1.0 / np.maximum(degree, 1)  # an instance is its own neighbour, also where tau = 0
    return w / w.sum()
