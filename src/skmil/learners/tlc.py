r"""TLC: two-level classification of bags (Weidmann, Frank & Pfahringer, ECML 2003)."""

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skmil._engines.trees import StumpBoost
from skmil.learners.base import BinaryBagClassifier
from skmil.learners.c45 import C45Partition


class TLC(BinaryBagClassifier):
    r"""Count the instances of a bag in each node of a decision tree, then classify the counts [1]_.

    The first level grows a tree on all instances, each with the label of its bag and a weight such that
    all bags weigh the same. Every node :math:`R_k` of it, inner ones included, is a region of the
    instance space, and a bag becomes

    .. math::
        \Phi_k(B) = |\{x \in B : x \in R_k\}|, \quad k = 1, ..., K

    The second level is a classifier of these vectors, boosted stumps as in the paper. So a bag's label
    may depend on presence, number or absence of several kinds of instances.

    ``score_instances`` leaves each instance out, exactly and cheaply: its path is taken off the counts.

    Parameters
    ----------
    tree : estimator, optional
        With ``fit(X, y, sample_weight)`` and ``decision_path(X)``, such as scikit-learn's
        ``DecisionTreeClassifier``, which also takes sparse features. Where not given: the splits of C4.5,
        not pruned; their gain ratio is worth some six points of accuracy on Musk1.
    estimator : classifier, optional
        Of the counts, with ``decision_function`` or ``predict_proba``. Where not given: ``n_rounds``
        Newton steps of logistic loss with decision stumps, which is LogitBoost up to the rule that
        selects the stump; of equally good ones it is the first.
    n_rounds : int
        Rounds of boosting of the standard ``estimator``.
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    tree_, estimator_ : the fitted levels

    References
    ----------
    .. [1] N. Weidmann, E. Frank, B. Pfahringer, "A two-level learning method for generalized
       multi-instance problems", ECML 2003.

    Examples
    --------
    >>> from skmil.learners import TLC
    >>> X = [[[0.0], [1.0]], [[0.0]], [[0.1], [1.1]], [[1.0]], [[0.0], [0.9]], [[0.1]]]
    >>> TLC().fit(X, [1, 0, 1, 0, 1, 0]).predict([[[0.2], [1.0]], [[0.1]]])
    array([1, 0])
    """

    def __init__(self, tree=None, estimator=None, n_rounds=30, class_weight=None):
        self.tree = tree
        self.estimator = estimator
        self.n_rounds = n_rounds
        self.class_weight = class_weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.tree is not None
        return tags

    def _fit(self, bags, y, w):
        # Each bag has the same weight (times its own), spread evenly over its instances.
        weight = np.repeat(w / bags.sizes, bags.sizes)
        tree = C45Partition() if self.tree is None else clone(self.tree)
        X = bags.flat.instances if self.tree is None else bags.instances
        self.tree_ = tree.fit(X, np.repeat(y, bags.sizes), sample_weight=weight)
        estimator = StumpBoost(self.n_rounds) if self.estimator is None else clone(self.estimator)
        self.estimator_ = estimator.fit(_short(self._counts(bags)), y, sample_weight=w)

    def _decision(self, bags):
        return self._score(self._counts(bags))

    def _instances(self, bags):
        """Leave one out, exactly: the counts of a bag less the nodes that an instance passes."""
        nodes = self._nodes(bags)
        counts = _bag_sums(nodes, bags)
        without = self._score(counts[bags.owner] - nodes)
        without[np.repeat(bags.sizes, bags.sizes) == 1] = 0.0  # nothing is left of the bag
        return np.repeat(self._score(counts), bags.sizes) - without

    def _counts(self, bags) -> sparse.csr_array:
        return _bag_sums(self._nodes(bags), bags)

    def _nodes(self, bags) -> sparse.csr_array:
        """The nodes that each instance passes on its way to a leaf."""
        X = bags.flat.instances if self.tree is None else bags.instances
        return sparse.csr_array(self.tree_.decision_path(X), dtype=np.float64)

    def _score(self, counts) -> np.ndarray:
        counts = _short(counts)
        if hasattr(self.estimator_, "decision_function"):
            return self.estimator_.decision_function(counts)
        return self.estimator_.predict_proba(counts)[:, 1] - 0.5


def _bag_sums(nodes, bags) -> sparse.csr_array:
    """Add up the rows of each bag."""
    N = bags.offsets[-1]
    member = sparse.csr_array((np.ones(N), np.arange(N), bags.offsets), shape=(len(bags), N))
    return member @ nodes


def _short(counts) -> sparse.csr_array:
    """The same with 32-bit indices, which is all that scikit-learn's trees take."""
    parts = counts.data, counts.indices.astype(np.int32), counts.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=counts.shape)
