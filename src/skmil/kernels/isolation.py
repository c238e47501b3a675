r"""Isolation kernel of instances and bags (Xu, Ting & Zhou, KDD 2019; Ting, Zhu & Zhou, KDD 2018)."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmil._engines.isolation import CONSTRAINTS, fit_map
from skmil._engines.sparse_products import inner
from skmil._threads import slices
from skmil.kernels.base import BagKernel


class IsolationKernel(BagKernel):
    r"""How often two instances, or those of two bags, share a cell of a random partition [1]_ [2]_.

    .. math::
        K(x, y) = \frac{1}{t} \sum_{i=1}^t \mathbb{1}[x, y \text{ in one cell of } H_i], \qquad
        K(S, T) = \sum_{x \in S} \sum_{y \in T} w_x w_y K(x, y)

    Each of the t partitions is made from :math:`\psi` training instances drawn without replacement.
    Each row of a 2-D table is a bag of one instance, so ``k(X, Y)`` of two tables is the kernel of
    instances :math:`K(x, y)` (eq. 2), and of two lists of bags the Isolation Set-Kernel (eq. 5, 12).
    The kernel adapts to the data: two instances at a given distance are more alike where data are
    sparse than where they are dense.

    Cost: :math:`O(N t \psi d)` to find the cells, then one product of sparse features per pair of
    bags. ``IsolationEmbedding`` gives the features themselves, for a linear model.

    Parameters
    ----------
    n_partitions : int
        t.
    n_cells : int or "auto"
        :math:`\psi`, at most 65536; half of the training instances where there are not more of them, so
        that partitions differ. "auto" is 64, or 4 where more than nine values in ten are zero, as in
        texts; a sixteenth of the mean size of a bag, up to 256, where that is more.
    similarity_threshold : float in [0, 1], optional
        The :math:`\epsilon` of eq. 9: instances weigh :math:`w_x \propto 1 / \#\{y \in S: y = x
        \text{ or } K(x, y) > \epsilon\}`, so that many similar instances count like one. All weigh
        1 / \|S\| where not given. In a bag of more than 8192 instances as many are drawn to stand for
        the others: the number of similar ones, as a share of the bag, has a standard error below
        0.6 %. (The factor 1 / \|S\| that eq. 11-13 keep beside normalised weights
        cancels in eq. 14 and is left out.)
    weights : "bag", "data" or "presence"
        What the similar instances are counted among. Eq. 9 sums over a T that the paper does not define,
        and its section 7.4 speaks of a similarity of all instances. "bag", as the text of the paper has
        it, takes the instance's own bag, "data" all training instances (beyond 8192 of them, as many
        drawn ones). "presence" is eq. 9 with each partition by itself: a cell counts once,
        however many instances of the bag fall into it, and ``similarity_threshold`` has no say. On texts
        these two gain several points.
    partition : "voronoi" or "forest"
        Nearest of the drawn instances, or the leaves of a tree that isolates them.
    metric : "euclidean", "relevant" or "auto"
        "relevant" (eq. 15) is for texts: :math:`d(x, y)^2 = \sum_{i \in C} (x_i - y_i)^2 / |C|`, where
        C holds the features that are not zero in both. "auto" chooses it for training instances with
        more than nine zeros in ten. Sparse input stays sparse.
    normalize : bool
        Cosine, :math:`K(S, T) / \sqrt{K(S, S) K(T, T)}` (eq. 14).
    random_state : int, RandomState or None

    Attributes
    ----------
    n_cells_ : int
    metric_ : "euclidean" or "relevant"

    References
    ----------
    .. [1] B.-C. Xu, K. M. Ting, Z.-H. Zhou, "Isolation Set-Kernel and its application to
       multi-instance learning", KDD 2019.
    .. [2] K. M. Ting, Y. Zhu, Z.-H. Zhou, "Isolation kernel and its effect on SVM", KDD 2018.

    Examples
    --------
    >>> from skmil.kernels import IsolationKernel
    >>> k = IsolationKernel(n_cells=2, random_state=0).fit([[[0.0], [0.1]], [[5.0], [5.2]]])
    >>> K = k([[0.0], [0.1], [5.0]])
    >>> bool(K[0, 1] > K[0, 2]), float(K[0, 0].round(12))
    (True, 1.0)
    """

    _parameter_constraints: dict = CONSTRAINTS

    _streams = _keeps_float32 = True

    def __init__(
        self,
        n_partitions=200,
        n_cells=64,
        similarity_threshold=None,
        partition="voronoi",
        metric="euclidean",
        normalize=True,
        random_state=None,
        weights="bag",
    ):
        self.n_partitions = n_partitions
        self.n_cells = n_cells
        self.similarity_threshold = similarity_threshold
        self.partition = partition
        self.metric = metric
        self.normalize = normalize
        self.random_state = random_state
        self.weights = weights

    def instance_gram(self, X, Y) -> np.ndarray:
        """Share of each instance of X in k(X, Y): its rows add up, bag by bag, to ``self(X, Y)``."""
        check_is_fitted(self)
        A, B = self._check(X), self._check(Y)
        return self.map_.shares(A, self.map_.features(B)) / self._size()

    def _fit(self, bags, y):
        fit_map(self, bags)

    def _gram(self, A, B):
        check_is_fitted(self)
        P = self.map_.features(A)
        Q = P if A is B else self.map_.features(B)
        K = inner(P, Q)
        K /= self._size()
        return K

    def _diag(self, A):
        check_is_fitted(self)
        P = self.map_.features(A)
        few = (P[s] for s in slices(len(A), 32))
        return np.concatenate([inner(p, p).diagonal() for p in few]) / self._size()

    def _size(self) -> int:
        """What a product of features is divided by (eq. 8)."""
        return 1 if self.normalize else self.n_partitions
