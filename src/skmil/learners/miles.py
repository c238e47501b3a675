r"""MILES: embedded instance selection with a 1-norm SVM (Chen, Bi & Wang, PAMI 2006)."""

import numpy as np
from scipy.optimize import linprog

from skmil.embeddings.miles import MilesEmbedding
from skmil.learners.base import BinaryBagClassifier


class MILES(BinaryBagClassifier):
    r"""A sparse linear classifier on the similarities of a bag to all training instances [1]_.

    .. math::
        f(B) = \sum_k w_k \max_{x \in B} \exp(-\gamma \lVert x - x_k \rVert^2) + b, \qquad
        \min_{w, b}\ \lVert w \rVert_1 + C \sum_i c_i \max(0, 1 - Y_i f(B_i))

    The 1-norm leaves few weights that are not zero: the instances that decide, for the positive class
    where :math:`w_k > 0` and against it where :math:`w_k < 0`. The paper's :math:`\lambda` and
    :math:`\mu` are :math:`C = 1 / \lambda` and the weights :math:`c_i` (``class_weight``).

    ``score_instances`` is exact: the shares of a bag add up to its decision value less b.

    Cost: the map is :math:`O(N^2 d)`; the linear program starts with a few columns and takes in those
    that violate its optimality until none does, so its size is that of the answer, not N.

    Parameters
    ----------
    gamma : float, "scale" or "median"
        Width of the similarity, :math:`1 / \sigma^2`.
    C : float
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    selected_ : array of int
        Numbers of the training instances with a weight, counted over all training bags.
    selected_bags_ : array of int
        Number of the training bag of each of them.
    selected_instances_ : array or CSR matrix
        The instances themselves; the only training data that prediction needs.
    coef_, intercept_ : weights of the selected instances, and b
    embedding_ : MilesEmbedding
        The map to the selected instances.
    objective_ : float

    References
    ----------
    .. [1] Y. Chen, J. Bi, J. Z. Wang, "MILES: Multiple-instance learning via embedded instance
       selection", IEEE Transactions on Pattern Analysis and Machine Intelligence 28(12), 2006.

    Examples
    --------
    >>> from skmil.learners import MILES
    >>> X = [[[0.0], [5.0]], [[0.1]], [[0.2], [5.3]], [[0.4]], [[0.1], [5.6]]]
    >>> model = MILES(gamma=1.0, C=10.0).fit(X, ["yes", "no", "yes", "no", "yes"])
    >>> model.predict([[[4.9]], [[0.0], [0.2]]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.selected_bags_, model.selected_instances_.ravel()
    (array([2]), array([5.3]))
    """

    def __init__(self, gamma="median", C=3.0, class_weight=None):
        self.gamma = gamma
        self.C = C
        self.class_weight = class_weight

    def _fit(self, bags, y, w):
        if not self.C > 0:
            raise ValueError(f"C is {self.C!r}; give a positive number")
        embedding = MilesEmbedding(self.gamma)
        Z = embedding.fit(bags)._transform(bags)
        coef, self.intercept_, self.objective_ = one_norm_svm(Z, y, self.C * w)
        self.selected_ = np.flatnonzero(coef)
        self.coef_ = coef[self.selected_]
        self.embedding_ = embedding.select(self.selected_)
        self.selected_instances_ = self.embedding_.prototypes_
        self.selected_bags_ = self.embedding_.owner_

    def _decision(self, bags):
        return self.embedding_._transform(bags) @ self.coef_ + self.intercept_

    def _instances(self, bags):
        """Exact shares: those of a bag add up to its decision value less the intercept."""
        return np.concatenate(self.embedding_.contributions(bags, self.coef_))


def one_norm_svm(Z, y, c, batch: int = 50) -> tuple[np.ndarray, float, float]:
    r"""Minimise :math:`\lVert w \rVert_1 + \sum_i c_i \max(0, 1 - y_i (\langle w, z_i \rangle + b))`.

    Returns (w, b, objective). Columns are generated: a column of weight zero is optimal as long as
    :math:`|\sum_i \alpha_i y_i z_{ik}| \le 1`, with the multipliers :math:`\alpha` of the margins.

    Parameters
    ----------
    Z : array (n, K)
    y : array (n,) of -1 and +1
    c : array (n,), the price of a unit of slack
    batch : columns taken in at a time
    """
    signed = y[:, None] * Z
    w, chosen = np.zeros(Z.shape[1]), np.empty(0, dtype=int)
    # Without columns f = b, and a b that balances the classes has multipliers like these.
    alpha = np.where(y > 0, c * min(1.0, c[y < 0].sum() / c[y > 0].sum()), c)
    alpha[y < 0] *= alpha[y > 0].sum() / c[y < 0].sum()
    while True:
        pull = np.abs(alpha @ signed)
        pull[chosen] = 0.0
        worst = np.argsort(-pull, kind="stable")[:batch]
        new = worst[pull[worst] > 1 + 1e-7]
        if len(new) == 0 and len(chosen):
            break
        chosen = np.concatenate([chosen, new if len(new) else worst[:1]])
        part, b, alpha, objective = _program(signed[:, chosen], y, c)
    w[chosen] = np.where(np.abs(part) > 1e-9 * max(1.0, np.abs(part).max()), part, 0.0)
    return w, b, objective


def _program(S, y, c):
    """The linear program for given columns (already times y): w, b, multipliers, objective."""
    n, K = S.shape
    price = np.concatenate([np.ones(2 * K), [0.0], c])
    margins = -np.hstack([S, -S, y[:, None], np.eye(n)])
    bounds = [(0, None)] * (2 * K) + [(None, None)] + [(0, None)] * n
    found = linprog(price, A_ub=margins, b_ub=-np.ones(n), bounds=bounds, method="highs-ds")
    if found.status != 0:
        raise RuntimeError(f"the linear program of the 1-norm SVM was not solved: {found.message}")
    w = found.x[:K] - found.x[K : 2 * K]
    return w, float(found.x[2 * K]), -found.ineqlin.marginals, float(found.fun)
