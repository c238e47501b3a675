r"""Regression trees whose ties are decided by a rule, and boosted stumps made of them.

A cut of a node sends instances with x_k <= c to the left and lowers the squared error by

.. math:: g = S_l^2 / W_l + S_r^2 / W_r - S^2 / W, \quad W = \sum w, \quad S = \sum w t

Many cuts of few instances are equally good. The one with the lowest feature, then the lowest place, wins; a
later one must be better by more than rounding can make it. So the tree depends neither on the order of the
instances, nor on whether one counts twice or comes twice, nor on the instructions of a processor.

Columns are sorted once and serve all trees of an ensemble: a level of a tree costs O(entries).
"""

from collections import namedtuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator

from skmil._jit import njit

BETTER = 1e-7  # of the gain: what a later cut must add to win
WORTH = 1e-12  # of sum(w t^2): a smaller gain is no gain

Columns = namedtuple("Columns", ["values", "rows", "starts", "n"])
Columns.__doc__ = """Entries of each feature by value; what is not there is zero.

values, rows : (entries,) column after column
starts : (d + 1,) where a column begins
n : number of instances
"""


def sorted_columns(X) -> Columns:
    """Sort the entries of each feature of a dense or sparse table."""
    n, d = X.shape
    if not sparse.issparse(X):
        rows = np.argsort(X.T, axis=1, kind="stable")
        return Columns(np.take_along_axis(X.T, rows, 1).ravel(), rows.ravel(), np.arange(d + 1) * n, n)
    X = sparse.csc_array(X)
    order = np.lexsort((X.data, np.repeat(np.arange(d), np.diff(X.indptr))))
    return Columns(X.data[order], X.indices[order].astype(np.int64), X.indptr.astype(np.int64), n)


class RegressionTree(BaseEstimator):
    """A least-squares tree.

    Parameters
    ----------
    max_depth : int

    Attributes
    ----------
    feature_, threshold_, left_, right_, value_ : arrays
        One entry per node, parents first; a leaf has feature -1. Instances up to the threshold go left.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil._engines.trees import RegressionTree, sorted_columns
    >>> X = np.array([[0.0], [1.0], [4.0]])
    >>> leaves = (tree := RegressionTree(1)).grow(sorted_columns(X), np.array([1.0, 1.0, 4.0]), np.ones(3))
    >>> tree.threshold_[0], tree.predict(X)
    (np.float64(2.5), array([1., 1., 4.]))
    """

    def __init__(self, max_depth=1):
        self.max_depth = max_depth

    def grow(self, columns: Columns, t: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Fit targets t with weights w; returns the leaf of each training instance."""
        nodes, leaf = [[-1, 0.0, -1, -1]], np.zeros(columns.n, np.int64)
        first = 0  # nodes of the level that may still be cut: from here to the end
        for _ in range(self.max_depth):
            feature, cut = _best_cuts(columns, t, w, leaf, first, len(nodes))
            level, first = first, len(nodes)
            for i in np.flatnonzero(feature >= 0):
                nodes[level + i] = [feature[i], cut[i], len(nodes), len(nodes) + 1]
                nodes += [[-1, 0.0, -1, -1], [-1, 0.0, -1, -1]]
            if first == len(nodes):
                break
            self._keep(nodes)
            _descend(columns, leaf, level, self.feature_, self.threshold_, self.left_, self.right_)
        self._keep(nodes)
        W, S = (np.bincount(leaf, v, minlength=len(nodes)) for v in (w, w * t))
        self.value_ = np.divide(S, W, out=np.zeros(len(nodes)), where=W > 0)
        return leaf

    def apply(self, X) -> np.ndarray:
        """Number of the leaf that each instance falls into."""
        X = sparse.csc_array(X) if sparse.issparse(X) else X
        leaf = np.zeros(X.shape[0], np.int64)
        for node in np.flatnonzero(self.feature_ >= 0):
            rows = np.flatnonzero(leaf == node)
            below = _column(X, self.feature_[node])[rows] <= self.threshold_[node]
            leaf[rows] = np.where(below, self.left_[node], self.right_[node])
        return leaf

    def predict(self, X) -> np.ndarray:
        """The value of the leaf of each instance."""
        return self.value_[self.apply(X)]

    def _keep(self, nodes) -> None:
        self.feature_, self.threshold_, self.left_, self.right_ = map(np.array, zip(*nodes, strict=True))


class StumpBoost(BaseEstimator):
    r"""Additive logistic regression by stumps: each fits y - p, and its leaves take one Newton step.

    .. math:: f \leftarrow f + \frac{\sum_{i \in leaf} w_i (y_i - p_i)}{\sum_{i \in leaf} w_i p_i (1 - p_i)}

    Parameters
    ----------
    n_rounds : int

    Attributes
    ----------
    intercept_ : float
    trees_ : list of RegressionTree
    """

    def __init__(self, n_rounds=30):
        self.n_rounds = n_rounds

    def fit(self, X, y, sample_weight=None):
        """Learn from a table X and classes y in {-1, +1}."""
        w = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        columns, y = sorted_columns(X), (np.asarray(y) > 0).astype(float)
        share = np.clip(w @ y / w.sum(), 1e-12, 1 - 1e-12)
        self.intercept_ = float(np.log(share / (1 - share)))
        f = np.full(len(y), self.intercept_)
        self.trees_ = []
        for _ in range(self.n_rounds):
            p = expit(f)
            tree = RegressionTree(1)
            leaf = tree.grow(columns, y - p, w)
            up = np.bincount(leaf, w * (y - p), minlength=len(tree.value_))
            curve = np.bincount(leaf, w * p * (1 - p), minlength=len(tree.value_))
            # A leaf whose probabilities are certain has nothing left to gain.
            tree.value_ = np.divide(up, curve, out=np.zeros_like(up), where=curve > 1e-150)
            f += tree.value_[leaf]
            self.trees_.append(tree)
        return self

    def decision_function(self, X) -> np.ndarray:
        """Log-odds of the class +1."""
        f = np.full(X.shape[0], self.intercept_)
        for tree in self.trees_:
            f += tree.predict(X)
        return f


def _column(X, k) -> np.ndarray:
    return X[:, [k]].toarray().ravel() if sparse.issparse(X) else X[:, k]


@njit
def _best_cuts(columns, t, w, leaf, first, last):
    """Feature (or -1) and threshold of the best cut of each node from ``first`` up to ``last``."""
    m = last - first
    node = _sums(np.arange(columns.n), t, w, leaf, first, m)
    worth = np.zeros(m)
    for i in range(columns.n):
        if leaf[i] >= first:
            worth[leaf[i] - first] += w[i] * t[i] ** 2
    best, feature, cut = np.zeros(m), np.full(m, -1), np.zeros(m)
    for k in range(len(columns.starts) - 1):
        start, stop = columns.starts[k], columns.starts[k + 1]
        full = stop - start == columns.n
        zeros = node if full else node - _sums(columns.rows[start:stop], t, w, leaf, first, m)
        left, edge = np.zeros((m, 3)), np.empty(m)
        state = node, worth, left, edge, best, feature, cut
        passed = full  # whether what is not stored, the zeros, is on the left
        for e in range(start, stop):
            x, i = columns.values[e], columns.rows[e]
            if not passed and x > 0.0:
                _pass_zeros(k, zeros, state)
                passed = True
            if leaf[i] >= first:
                _pass(leaf[i] - first, x, 1.0, w[i], w[i] * t[i], k, state)
        if not passed:
            _pass_zeros(k, zeros, state)
    return feature, cut


@njit
def _pass_zeros(k, zeros, state):
    for a in range(len(zeros)):
        if zeros[a, 0] > 0.5:
            _pass(a, 0.0, zeros[a, 0], zeros[a, 1], zeros[a, 2], k, state)


@njit
def _pass(a, x, number, weight, target, k, state):
    """Try the cut of node ``a`` below x, if x is new, then take what lies at x to the left."""
    node, worth, left, edge, best, feature, cut = state
    if left[a, 0] > 0.5 and x > edge[a]:
        W, S = left[a, 1], left[a, 2]
        rest = node[a, 1] - W
        gain = S**2 / W + (node[a, 2] - S) ** 2 / rest - node[a, 2] ** 2 / node[a, 1]
        heavy = min(W, rest) > WORTH * node[a, 1]
        if heavy and gain > best[a] * (1.0 + BETTER) + WORTH * worth[a]:
            middle = edge[a] + (x - edge[a]) / 2
            best[a], feature[a], cut[a] = gain, k, middle if middle < x else edge[a]
    left[a, 0] += number
    left[a, 1] += weight
    left[a, 2] += target
    edge[a] = x


@njit
def _sums(rows, t, w, leaf, first, m):
    """Number, weight and weighted target of the given instances, node by node."""
    out = np.zeros((m, 3))
    for i in rows:
        a = leaf[i] - first
        if a >= 0:
            out[a, 0] += 1.0
            out[a, 1] += w[i]
            out[a, 2] += w[i] * t[i]
    return out


@njit
def _descend(columns, leaf, level, feature, threshold, left, right):
    """Move the instances of nodes that were cut to their children."""
    below = np.zeros(columns.n, np.bool_)
    for a in range(level, len(feature)):
        k = feature[a]
        if k < 0:
            continue
        below[:] = threshold[a] >= 0.0  # of what is not stored
        for e in range(columns.starts[k], columns.starts[k + 1]):
            below[columns.rows[e]] = columns.values[e] <= threshold[a]
        for i in range(columns.n):
            if leaf[i] == a:
                leaf[i] = left[a] if below[i] else right[a]
