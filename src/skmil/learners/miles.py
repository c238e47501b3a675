r"""MILES: embedded instance selection with a 1-norm SVM (Chen, Bi & Wang, PAMI 2006)."""

import numpy as np

from skmil._engines.nearest import nearest
from skmil._engines.one_norm import Columns, one_norm_svm
from skmil._parameters import CLASS_WEIGHT, GAMMA, POSITIVE
from skmil.embeddings.miles import MilesEmbedding
from skmil.learners.base import BinaryBagClassifier, groupwise

WHOLE = 2**23  # numbers of a map that is held whole: 64 MB


class MILES(BinaryBagClassifier):
    r"""A sparse linear classifier on the similarities of a bag to all training instances [1]_.

    .. math::
        f(B) = \sum_k w_k \max_{x \in B} \exp(-\gamma \lVert x - x_k \rVert^2) + b, \qquad
        \min_{w, b}\ \lVert w \rVert_1 + C \sum_i c_i \max(0, 1 - Y_i f(B_i))

    The 1-norm leaves few weights that are not zero: the instances that decide, for the positive class
    where :math:`w_k > 0` and against it where :math:`w_k < 0`. The paper's :math:`\lambda` and
    :math:`\mu` are :math:`C = 1 / \lambda` and the weights :math:`c_i` (``class_weight``).

    ``score_instances`` is exact: the shares of a bag add up to its decision value less b.

    Cost: :math:`O(N^2 d)` for each look at all N candidates, of which there are a few. The program starts
    with some columns and takes in those that violate its optimality until none does; beyond 64 MB the
    map of the bags is computed in blocks of candidates. So memory grows as bags times chosen
    instances. The objective is the smallest one to a relative 1e-6.

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

    _parameter_constraints: dict = {
        "gamma": GAMMA,
        "C": [POSITIVE],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(self, gamma="median", C=3.0, class_weight=None):
        self.gamma = gamma
        self.C = C
        self.class_weight = class_weight

    def _fit(self, bags, y, w):
        # An array, whatever the user has asked transformers for.
        embedding = MilesEmbedding(self.gamma).set_output(transform="default")
        small = len(bags) * bags.instances.shape[0] <= WHOLE
        Z = embedding.fit_transform(bags) if small else _columns(embedding.fit(bags), bags)
        coef, self.intercept_, self.objective_ = one_norm_svm(Z, y, self.C * w)
        self.selected_ = np.flatnonzero(coef)
        self.coef_ = coef[self.selected_]
        self.embedding_ = embedding.select(self.selected_)
        self.selected_instances_ = self.embedding_.prototypes_
        self.selected_bags_ = self.embedding_.owner_

    def _renumber(self, bags, rows):
        super()._renumber(bags, rows)
        if hasattr(self, "selected_"):
            self.selected_ = np.flatnonzero(np.isin(bags.owner, rows))[self.selected_]
            self.selected_bags_ = rows[self.selected_bags_]

    @groupwise
    def _decision(self, bags):
        return self.embedding_._transform(bags) @ self.coef_ + self.intercept_

    def _instances(self, bags):
        """Exact shares: those of a bag add up to its decision value less the intercept."""
        return np.concatenate(self.embedding_.contributions(bags, self.coef_))


def _columns(embedding, bags) -> Columns:
    """The map of the training bags, block by block of candidates."""
    X = bags.instances

    def compute(rows, columns):
        return np.exp(-embedding.gamma_ * nearest(bags[rows], X[columns]))

    return Columns(compute, (len(bags), X.shape[0]))
