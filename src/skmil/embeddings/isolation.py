r"""Isolation Set-Kernel, its feature map (Xu, Ting & Zhou, KDD 2019)."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skmil._engines.isolation import CONSTRAINTS, fit_map
from skmil._schema import check_bags
from skmil.embeddings.base import BagEmbedding


class IsolationEmbedding(BagEmbedding):
    r"""A bag becomes the share of its instances in each cell of many random partitions [1]_.

    .. math::
        \Phi(S) = [v(S | H_1), ..., v(S | H_t)], \qquad
        v_j(S | H) = \sum_{x \in S} w_x \, \mathbb{1}[x \text{ in cell } j \text{ of } H]

    Each of the t partitions is made from :math:`\psi` training instances drawn without replacement:
    an instance lies in the cell of the nearest of them. Inner products of features are the Isolation
    Set-Kernel (times t; with ``normalize`` its cosine), so a linear model on them is a kernel machine.

    Cost: :math:`O(N t \psi d)` time, mostly one float32 product; memory for the result, a block of
    products per thread, and two bytes per partition for each instance of a block (4096 instances, or
    one bag if it is larger). ``similarity_threshold`` adds :math:`O(\sum_S |S|^2 t)`.

    Parameters
    ----------
    n_partitions : int
        t.
    n_cells : int or "auto"
        :math:`\psi`, at most 65536; half of the training instances where there are not more of them, so
        that partitions differ. Small values suit wide differences between bags, large ones fine
        differences: worth a search. "auto" is 64, or 4 where more than nine values in ten are zero, as in
        texts; a sixteenth of the mean size of a bag, up to 256, where that is more.
    similarity_threshold : float in [0, 1], optional
        Weighted kernel (eq. 9, 10), where many similar instances of a bag count like one:
        :math:`w_x \propto 1 / \#\{y \in S: y = x \text{ or } K(x, y) > \epsilon\}`. Plain weights
        :math:`w_x = 1 / |S|` where not given. In a bag of more than 8192 instances as many are drawn to
        stand for the others: the number of similar ones, as a share of the bag, has a standard
        error below 0.6 %.
    weights : "bag", "data" or "presence"
        What the similar instances are counted among. Eq. 9 sums over a T that the paper does not define,
        and its section 7.4 speaks of a similarity of all instances. "bag", as the text of the paper has
        it, takes the instance's own bag, "data" all training instances (beyond 8192 of them, as many
        drawn ones). "presence" is eq. 9 with each partition by itself: a cell counts once,
        however many instances of the bag fall into it, and ``similarity_threshold`` has no say. On texts
        these two gain several points.
    partition : "voronoi" or "forest"
        Voronoi diagrams, or trees that isolate the drawn instances.
    metric : "euclidean", "relevant" or "auto"
        "relevant" (eq. 15) leaves out features that are zero in both instances, as suits texts; "auto"
        chooses it where more than nine values in ten are zero. Sparse input stays sparse.
    normalize : bool
        Scale features to length 1 (eq. 14).
    random_state : int, RandomState or None

    Attributes
    ----------
    n_cells_ : int
    metric_ : "euclidean" or "relevant"

    References
    ----------
    .. [1] B.-C. Xu, K. M. Ting, Z.-H. Zhou, "Isolation Set-Kernel and its application to
       multi-instance learning", KDD 2019.

    Examples
    --------
    >>> from skmil.embeddings import IsolationEmbedding
    >>> e = IsolationEmbedding(n_partitions=3, n_cells=2, normalize=False, random_state=0)
    >>> Z = e.fit_transform([[[0.0], [0.1]], [[5.0], [5.2]]])
    >>> Z.shape, Z.format, Z.sum(axis=1).ravel().tolist()
    ((2, 6), 'csr', [[3.0, 3.0]])
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

    def contributions(self, X, w) -> list[np.ndarray]:
        """Share of each instance in <Phi(S), w>: exact, given the weights and the length of its bag."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False, stream=False)
        w = np.asarray(w, dtype=np.float64).reshape(1, -1)
        columns = self.map_.n_columns
        if w.size != columns:
            raise ValueError(f"w has {w.size} numbers and the features {columns} columns; give one each")
        return bags.split(self.map_.shares(bags, sparse.csr_matrix(w)).ravel())

    def products(self, bags, Q) -> np.ndarray:
        """``inner(transform(bags), Q)``, for bags that were checked; the rows of the bags are not built."""
        return self.map_.products(bags, Q)

    def _fit(self, bags, y):
        fit_map(self, bags)

    def _transform(self, bags):
        return self.map_.features(bags)
