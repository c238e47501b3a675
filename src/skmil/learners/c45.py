r"""Partition of the instance space by the splits of C4.5 (Quinlan 1993, 1996)."""

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from skmil._jit import njit

BETTER = 1e-9  # part of a gain that a later split must add to win


class C45Partition(BaseEstimator):
    r"""An unpruned decision tree for two classes whose nodes are regions of the instance space [1]_ [2]_.

    A split on feature k has the gain :math:`g_k`, the information about the class less
    :math:`\log_2(\text{cuts}_k) / W`, the price of naming one of the possible cuts of a node of weight W.
    Among the features with at least the average gain the one with the largest
    :math:`g_k / H(\text{split})` is taken, H being the entropy of the sizes of the two sides. A side
    weighs at least 5 % of its node, but never has to weigh more than 25 average instances. Of equally good
    splits the first feature's first is taken: a later one must be better by more than rounding.

    Cost: :math:`O(d\, N \log N)` for each level of the tree.

    Parameters
    ----------
    min_weight : float
        Least weight of a side, where the average instance weighs one.

    Attributes
    ----------
    feature_, threshold_, left_, right_ : arrays
        One entry per node, parents first; a leaf has feature -1. Instances up to the threshold go left.

    References
    ----------
    .. [1] J. R. Quinlan, "C4.5: Programs for machine learning", Morgan Kaufmann, 1993.
    .. [2] J. R. Quinlan, "Improved use of continuous attributes in C4.5", Journal of Artificial
       Intelligence Research 4, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil.learners.c45 import C45Partition
    >>> tree = C45Partition(min_weight=1.0).fit(np.array([[0.0], [1.0], [4.0], [5.0]]), [-1, -1, 1, 1])
    >>> tree.threshold_[0], tree.decision_path(np.array([[0.5]])).toarray()
    (np.float64(2.5), array([[1., 1., 0.]]))
    """

    def __init__(self, min_weight=2.0):
        self.min_weight = min_weight

    def fit(self, X, y, sample_weight=None):
        """Grow the tree on instances X with classes y in {-1, +1}."""
        w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        # Only ratios of weights matter: a heavy class must not make the tree deeper.
        w, positive = w * len(w) / w.sum(), np.asarray(y) > 0
        nodes = [[-1, 0.0, -1, -1]]
        stack = [(0, np.arange(len(X)))]
        while stack:
            node, rows = stack.pop()
            k, cut = _best_split(X, positive, w, rows, float(self.min_weight))
            if k < 0:
                continue
            nodes[node] = [k, cut, len(nodes), len(nodes) + 1]
            go_left = X[rows, k] <= cut
            stack += [(len(nodes), rows[go_left]), (len(nodes) + 1, rows[~go_left])]
            nodes += [[-1, 0.0, -1, -1], [-1, 0.0, -1, -1]]
        self.feature_, self.threshold_, self.left_, self.right_ = map(np.array, zip(*nodes, strict=True))
        return self

    def decision_path(self, X) -> sparse.csr_array:
        """The nodes (columns) that each instance (row) passes on its way to a leaf."""
        passing = {0: np.arange(len(X))}
        for node, k in enumerate(self.feature_):
            if k >= 0:
                rows = passing[node]
                go_left = X[rows, k] <= self.threshold_[node]
                passing[self.left_[node]], passing[self.right_[node]] = rows[go_left], rows[~go_left]
        rows = np.concatenate(list(passing.values()))
        columns = np.repeat(list(passing), [len(r) for r in passing.values()])
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(X), len(self.feature_)))


@njit
def _best_split(X, positive, w, rows, least):
    """Feature and cut of the best split of a node, or -1 where there is none."""
    total = w[rows].sum()
    side = max(least, min(0.05 * total, 25.0))
    d = X.shape[1]
    gains, ratios, cuts = np.zeros(d), np.zeros(d), np.zeros(d)
    for k in range(d):
        gains[k], ratios[k], cuts[k] = _best_cut(X[rows, k], positive[rows], w[rows], side)
    useful = gains > 1e-9
    if not useful.any():
        return -1, 0.0
    enough = gains[useful].mean() - 1e-3
    margin = 1.0 + BETTER
    best = -1
    for k in range(d):
        if useful[k] and gains[k] >= enough and (best < 0 or ratios[k] > ratios[best] * margin):
            best = k
    return best, cuts[best]


@njit
def _best_cut(x, positive, w, side):
    """Gain, gain ratio and place of the best cut of one feature; gain 0 where there is none."""
    order = np.argsort(x, kind="mergesort")
    total, plus = w.sum(), w[positive].sum()
    before = _entropy(plus, total - plus)
    left = left_plus = best = share = cut = 0.0
    number = 0
    for i in range(len(x) - 1):
        j, following = order[i], x[order[i + 1]]
        left += w[j]
        left_plus += w[j] * positive[j]
        right, right_plus = total - left, plus - left_plus
        if following <= x[j] or left < side - 1e-9 or right < side - 1e-9:
            continue
        number += 1
        after = _entropy(left_plus, left - left_plus) + _entropy(right_plus, right - right_plus)
        if (before - after) / total > best * (1.0 + BETTER) + 1e-12:
            best, share = (before - after) / total, left / total
            middle = (x[j] + following) / 2
            cut = middle if middle < following else x[j]
    if number == 0 or best == 0.0:
        return 0.0, 0.0, 0.0
    gain = best - np.log2(number) / total
    return gain, gain / _entropy(share, 1.0 - share), cut


@njit
def _entropy(a, b):
    """(a + b) times the entropy of two weights, in bits."""
    if a <= 0.0 or b <= 0.0:
        return 0.0
    return -a * np.log2(a / (a + b)) - b * np.log2(b / (a + b))
