r"""TLC: two-level classification of bags (Weidmann, Frank & Pfahringer, ECML 2003)."""

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from skmil.learners.base import BagClassifier


class TLC(BagClassifier):
    r"""Count the instances of a bag in each node of a decision tree, then classify the counts [1]_.

    The first level grows a tree on all instances, each with the label of its bag and a weight such that
    all bags weigh the same. Every node :math:`R_k` of it, inner ones included, is a region of the
    instance space, and a bag becomes

    .. math::
        \Phi_k(B) = |\{x \in B : x \in R_k\}|, \quad k = 1, ..., K

    The second level is a classifier of these vectors, boosted stumps as in the paper. So a bag's label
    may depend on presence, number or absence of several kinds of instances.

    Parameters
    ----------
    estimator : classifier, optional
        Of the counts, with ``decision_function`` or ``predict_proba``. Where not given: ``n_rounds``
        Newton steps of logistic loss with decision stumps, which is LogitBoost up to the rule that
        selects the stump.
    n_rounds : int
        Rounds of boosting of the standard ``estimator``.
    min_weight : float
        Least weight of a leaf, where the average instance weighs one. The tree is not pruned else.
    class_weight : dict, "balanced" or None
    random_state : int, RandomState or None
        Decides between equally good splits of the tree.

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
    >>> TLC(random_state=0).fit(X, [1, 0, 1, 0, 1, 0]).predict([[[0.2], [1.0]], [[0.1]]])
    array([1, 0])
    """

    def __init__(self, estimator=None, n_rounds=10, min_weight=2.0, class_weight=None, random_state=None):
        self.estimator = estimator
        self.n_rounds = n_rounds
        self.min_weight = min_weight
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit(self, bags, y, w):
        # Each bag has the same weight (times its own), spread evenly over its instances.
        weight = np.repeat(w / bags.sizes, bags.sizes)
        least = min(self.min_weight / len(weight), 0.5)
        self.tree_ = DecisionTreeClassifier(
            criterion="entropy", min_weight_fraction_leaf=least, random_state=self.random_state
        )
        self.tree_.fit(bags.instances, np.repeat(y, bags.sizes), sample_weight=weight)
        estimator = _stumps(self.n_rounds) if self.estimator is None else clone(self.estimator)
        if "random_state" in estimator.get_params() and self.random_state is not None:
            estimator.set_params(random_state=self.random_state)
        self.estimator_ = estimator.fit(self._counts(bags), y, sample_weight=w)

    def _decision(self, bags):
        return self._score(self._counts(bags))

    def _instances(self, bags):
        """Leave one out, exactly: the counts of a bag less the nodes that an instance passes."""
        nodes = self._nodes(bags)
        counts = _bag_sums(nodes, bags)
        without = self._score(counts[bags.owner] - nodes)
        without[np.repeat(bags.sizes, bags.sizes) == 1] = 0.0  # nothing is left of the bag
        return np.repeat(self._score(counts), bags.sizes) - without

    def _counts(self, bags) -> sparse.csr_matrix:
        return _bag_sums(self._nodes(bags), bags)

    def _nodes(self, bags) -> sparse.csr_matrix:
        """The nodes that each instance passes on its way to a leaf."""
        return self.tree_.decision_path(bags.instances).astype(np.float64)

    def _score(self, counts) -> np.ndarray:
        if hasattr(self.estimator_, "decision_function"):
            return self.estimator_.decision_function(counts)
        return self.estimator_.predict_proba(counts)[:, 1] - 0.5


def _stumps(n_rounds) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(max_depth=1, learning_rate=1.0, n_estimators=n_rounds, random_state=0)


def _bag_sums(nodes, bags) -> sparse.csr_matrix:
    """Add up the rows of each bag."""
    N = bags.offsets[-1]
    member = sparse.csr_matrix((np.ones(N), np.arange(N), bags.offsets), shape=(len(bags), N))
    return member @ nodes
