r"""Isolation kernel of instances and bags (Xu, Ting & Zhou, KDD 2019; Ting, Zhu & Zhou, KDD 2018)."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skmil._jit import map_blocks, njit, random_key, slices
from skmil._memo import once
from skmil.bags import Bags
from skmil.kernels._partitions import Forest, SparseVoronoi, Voronoi, draw
from skmil.kernels.base import BagKernel

BLOCK = 4096  # instances mapped by one call; a larger bag is a block of its own
MOST_CELLS, MOST_PARTITIONS = 2**16, 2**15 - 1  # cells fit in 16 bits, columns in 32


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
    n_cells : int
        :math:`\psi`, at most 65536; the number of training instances where there are fewer.
    similarity_threshold : float in [0, 1], optional
        The :math:`\epsilon` of eq. 9: instances weigh :math:`w_x \propto 1 / \#\{y \in S: y = x
        \text{ or } K(x, y) > \epsilon\}`, so that many similar instances count like one. All weigh
        1 / \|S\| where not given. (The factor 1 / \|S\| that eq. 11-13 keep beside normalised weights
        cancels in eq. 14 and is left out.)
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

    def __init__(
        self,
        n_partitions=200,
        n_cells=64,
        similarity_threshold=None,
        partition="voronoi",
        metric="euclidean",
        normalize=True,
        random_state=None,
    ):
        self.n_partitions = n_partitions
        self.n_cells = n_cells
        self.similarity_threshold = similarity_threshold
        self.partition = partition
        self.metric = metric
        self.normalize = normalize
        self.random_state = random_state

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
        return _inner(P, Q) / self._size()

    def _diag(self, A):
        check_is_fitted(self)
        P = self.map_.features(A)
        return np.asarray(P.multiply(P).sum(axis=1)).ravel() / self._size()

    def _size(self) -> int:
        """What a product of features is divided by (eq. 8)."""
        return 1 if self.normalize else self.n_partitions


def fit_map(estimator, bags: Bags) -> None:
    """Draw the partitions that the parameters of ``estimator`` ask for; sets ``map_`` and its numbers."""
    e = estimator
    _check(e)
    X = bags.instances
    N = X.shape[0]
    key = random_key(e.random_state)
    e.n_cells_ = min(int(e.n_cells), N)
    e.metric_ = e.metric if e.metric != "auto" else "relevant" if _mostly_zero(X) else "euclidean"
    samples = draw(key, N, int(e.n_partitions), e.n_cells_)
    relevant = e.metric_ == "relevant"
    partitions: Forest | SparseVoronoi | Voronoi
    if e.partition == "forest":
        partitions = Forest(X, samples, key)
    elif bags.is_sparse or relevant:
        partitions = SparseVoronoi(sparse.csr_matrix(X), samples, relevant)
    else:
        partitions = Voronoi(X, samples)
    e.map_ = IsolationMap(partitions, samples.shape, e.similarity_threshold, e.normalize)


class IsolationMap:
    """Fitted partitions, and what they make of bags: features of a bag and shares of its instances."""

    def __init__(self, partitions, shape, threshold, normalize):
        self.partitions, self.n_cells = partitions, shape[1]
        self.n_columns = shape[0] * shape[1]
        self.threshold, self.normalize = threshold, normalize

    def features(self, bags: Bags) -> sparse.csr_matrix:
        """One row per bag, one column per cell: the weight that falls into it (eq. 7, 13, 14)."""
        return sparse.vstack(map_blocks(lambda b: self._features(*self._cells(b)), blocks(bags)), "csr")

    def shares(self, bags: Bags, W: sparse.csr_matrix) -> np.ndarray:
        """<phi(x, S), w> for each instance x (row) and each row w of W (column).

        Memory beside the result: two bytes for each instance and partition.
        """
        mapped = map_blocks(self._scaled_cells, blocks(bags))
        columns = []
        for s in slices(W.shape[0], 64):
            w = np.ascontiguousarray(W[s].toarray().T)
            parts = map_blocks(lambda m, w=w: _shares(*m, w, self.n_cells), mapped)
            columns.append(np.vstack(parts))
        return np.hstack(columns)

    def _cells(self, bags):
        """Cells of the instances, their weights and where bags begin."""
        cells = once(_assign, self.partitions, bags.instances)  # a search tries many thresholds
        w = np.repeat(1.0 / bags.sizes, bags.sizes)
        if self.threshold is not None:
            w = _weights(cells, bags.offsets, float(self.threshold))
        return cells, w, bags.offsets

    def _features(self, cells, w, offsets):
        data, columns, starts = _histograms(cells, w, offsets, self.n_cells)
        Z = sparse.csr_matrix((data, columns, starts), shape=(len(offsets) - 1, self.n_columns))
        if self.normalize:
            Z.data /= np.repeat(_lengths(data, starts), np.diff(starts))
        return Z

    def _scaled_cells(self, bags):
        """Cells of the instances, and what each adds to the features of its bag."""
        cells, w, offsets = self._cells(bags)
        if self.normalize:
            data, _, starts = _histograms(cells, w, offsets, self.n_cells)
            w = w / np.repeat(_lengths(data, starts), bags.sizes)
        return cells, w


def _assign(partitions, X) -> np.ndarray:
    return partitions.cells(X)


def blocks(bags: Bags) -> list[Bags]:
    """Neighbouring bags with at most ``BLOCK`` instances together, or one bag."""
    found, start = [], 0
    while start < len(bags):
        most = bags.offsets[start] + BLOCK
        stop = max(start + 1, int(np.searchsorted(bags.offsets, most, side="right")) - 1)
        found.append(bags[start:stop])
        start = stop
    return found


def _inner(P, Q) -> np.ndarray:
    """All inner products of rows; by dense blocks of columns where large bags fill most cells."""
    if P.nnz < 0.05 * P.shape[0] * P.shape[1]:
        return (P @ Q.T).toarray()
    A, B = P.tocsc(), Q.tocsc()

    def block(s):
        a = A[:, s].toarray()
        return a @ (a if P is Q else B[:, s].toarray()).T

    return np.sum(map_blocks(block, slices(P.shape[1], 8192)), axis=0)


def _lengths(data, starts) -> np.ndarray:
    """Euclidean length of each row of a CSR matrix without empty rows."""
    return np.sqrt(np.add.reduceat(data**2, starts[:-1]))


def _mostly_zero(X) -> bool:
    nonzero = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return nonzero < 0.1 * X.shape[0] * X.shape[1]


def _check(e) -> None:
    _check_count("n_partitions", e.n_partitions, MOST_PARTITIONS)
    _check_count("n_cells", e.n_cells, MOST_CELLS)
    for name, known in [
        ("partition", ("voronoi", "forest")),
        ("metric", ("euclidean", "relevant", "auto")),
    ]:
        if getattr(e, name) not in known:
            raise ValueError(f"{name} is {getattr(e, name)!r}; use one of {', '.join(known)}")
    if e.partition == "forest" and e.metric == "relevant":
        raise ValueError("metric='relevant' needs partition='voronoi': trees know no distance")
    epsilon = e.similarity_threshold
    if epsilon is not None and not (isinstance(epsilon, Real) and 0 <= float(epsilon) <= 1):
        raise ValueError(f"similarity_threshold is {epsilon!r}; give a number from 0 to 1, or None")


def _check_count(name, value, most) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or not 1 <= int(value) <= most:
        raise ValueError(f"{name} is {value!r}; give an integer from 1 to {most}")


@njit
def _weights(cells, offsets, threshold):
    """Eq. 9 and 10: one over the number of similar instances, scaled to add up to 1 in each bag."""
    N, t = cells.shape
    similar = np.ones(N)
    for s in range(len(offsets) - 1):
        for x in range(offsets[s], offsets[s + 1]):
            for y in range(x + 1, offsets[s + 1]):
                same = 0
                for p in range(t):
                    same += cells[x, p] == cells[y, p]
                if same / t > threshold:
                    similar[x] += 1
                    similar[y] += 1
    w = 1.0 / similar
    for s in range(len(offsets) - 1):
        w[offsets[s] : offsets[s + 1]] /= w[offsets[s] : offsets[s + 1]].sum()
    return w


@njit
def _histograms(cells, w, offsets, n_cells):
    """Eq. 6 and 13 as the three arrays of a CSR matrix, columns in order."""
    n, t = len(offsets) - 1, cells.shape[1]
    most = 0
    for s in range(n):
        most += t * min(offsets[s + 1] - offsets[s], n_cells)
    data, columns = np.empty(most), np.empty(most, dtype=np.int32)
    starts = np.zeros(n + 1, dtype=np.int64)
    v, stamp = np.zeros(n_cells), np.full(n_cells, -1)
    touched = np.empty(n_cells, dtype=np.int64)
    k = 0
    for s in range(n):
        for p in range(t):
            found = 0
            for x in range(offsets[s], offsets[s + 1]):
                c = cells[x, p]
                if stamp[c] != s * t + p:
                    stamp[c] = s * t + p
                    v[c] = 0.0
                    touched[found] = c
                    found += 1
                v[c] += w[x]
            for c in np.sort(touched[:found]):
                data[k], columns[k] = v[c], p * n_cells + c
                k += 1
        starts[s + 1] = k
    return data[:k].copy(), columns[:k].copy(), starts


@njit
def _shares(cells, w, W, n_cells):
    """Sum of the rows of W that belong to the cells of an instance, times the weight of the instance."""
    out = np.zeros((cells.shape[0], W.shape[1]))
    for x in range(cells.shape[0]):
        for p in range(cells.shape[1]):
            row = W[p * n_cells + cells[x, p]]
            for r in range(W.shape[1]):
                out[x, r] += row[r]
        for r in range(W.shape[1]):
            out[x, r] *= w[x]
    return out
