r"""Similarity of a bag to every training instance, the map of MILES (Chen, Bi & Wang, PAMI 2006)."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skmil._jit import map_blocks, njit, slices
from skmil.bags import Bags, check_bags
from skmil.embeddings.base import BagEmbedding
from skmil.kernels.instance import resolve_gamma

ROWS, COLUMNS = 256, 512  # a block of distances stays in the second-level cache


class MilesEmbedding(BagEmbedding):
    r"""A bag becomes its largest similarity to each training instance [1]_.

    .. math::
        \Phi_k(B) = \max_{x \in B} \exp(-\gamma \lVert x - x_k \rVert^2), \quad k = 1, ..., N

    with :math:`\gamma = 1 / \sigma^2` in the paper's letters. The largest similarity belongs to the
    nearest instance, so one exponential per bag and prototype is enough.

    Cost: :math:`O(N_B N d)` time, half of that for the training bags themselves; memory for the
    result and one block per thread, never instances x instances.

    Parameters
    ----------
    gamma : float, "scale" or "median"
        As in ``SetKernel``; "median" is one over the median squared distance of two instances.

    Attributes
    ----------
    gamma_ : float
    prototypes_ : array or CSR matrix (N, d)
        The training instances, one for each column of ``transform``.
    owner_ : array (N,)
        Number of the training bag that each of them comes from.

    References
    ----------
    .. [1] Y. Chen, J. Bi, J. Z. Wang, "MILES: Multiple-instance learning via embedded instance
       selection", IEEE Transactions on Pattern Analysis and Machine Intelligence 28(12), 2006.

    Examples
    --------
    >>> from skmil.embeddings import MilesEmbedding
    >>> MilesEmbedding(gamma=1.0).fit_transform([[[0.0], [1.0]], [[3.0]]]).round(3)
    array([[1.   , 1.   , 0.018],
           [0.   , 0.018, 1.   ]])
    """

    def __init__(self, gamma="median"):
        self.gamma = gamma

    def fit_transform(self, X, y=None, **fit_params):
        """``fit``, then the map of the training bags; half the work of ``transform``."""
        self.fit(X, y, **fit_params)
        bags = check_bags(self, X, reset=False)
        return np.exp(-self.gamma_ * nearest(bags, bags.instances))

    def select(self, columns) -> "MilesEmbedding":
        """The fitted map with only some of its columns."""
        check_is_fitted(self)
        part = MilesEmbedding(self.gamma_)
        part.gamma_, part.n_features_in_ = self.gamma_, self.n_features_in_
        part.prototypes_, part.owner_ = self.prototypes_[columns], self.owner_[columns]
        return part

    def contributions(self, X, w) -> list[np.ndarray]:
        """Share of each instance in <Phi(B), w>; the shares of a bag add up to it.

        Each column's value goes to the nearest instance of the bag, in equal parts where several
        are equally near (section 3.4 of the paper).
        """
        check_is_fitted(self)
        bags, w = check_bags(self, X, reset=False), np.ravel(w)
        used = np.flatnonzero(w)
        Z = self.prototypes_[used]
        return [self._shares(bags[i : i + 1], Z, w[used]) for i in range(len(bags))]

    def _fit(self, bags, y):
        self.gamma_ = resolve_gamma(self.gamma, bags)
        self.prototypes_, self.owner_ = bags.instances, bags.owner

    def _transform(self, bags):
        return np.exp(-self.gamma_ * nearest(bags, self.prototypes_))

    def _shares(self, bag, Z, w):
        one_by_one = Bags(bag.instances, np.arange(bag.offsets[-1] + 1))
        D = nearest(one_by_one, Z)
        least = D.min(axis=0, initial=np.inf)
        # Copies of an instance may differ in the last digits of their distances.
        first = D <= least + 1e-12 * (1.0 + least)
        return first @ (w * np.exp(-self.gamma_ * least) / first.sum(axis=0))


def nearest(bags: Bags, Z) -> np.ndarray:
    """Squared distance of each bag to each row of Z: that of its nearest instance.

    ``Z is bags.instances`` computes one half of the pairs.
    """
    X, same = bags.instances, Z is bags.instances
    if sparse.issparse(X) or sparse.issparse(Z):
        X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    elif len(Z):  # distances keep their digits near the origin
        mean = Z.mean(axis=0)
        X = X - mean
        Z = X if same else Z - mean
    task = _Block(X, Z, bags.owner, same)
    D = np.full((len(bags), Z.shape[0]), np.inf)
    for rows, first, across, down in map_blocks(task, slices(X.shape[0], ROWS)):
        start = rows.start if same else 0
        part = D[first : first + len(across), start:]
        np.minimum(part, across, out=part)
        if same:
            np.minimum(D[first:, rows], down.T, out=D[first:, rows])
    return np.maximum(D, 0.0, out=D)


class _Block:
    """One task of ``nearest``: a slice of rows against all columns, or those from its start on."""

    def __init__(self, X, Z, owner, same):
        self.X, self.Z, self.owner, self.same = X, Z, owner, same
        self.x2, self.z2 = _squares(X), _squares(Z)

    def __call__(self, rows: slice):
        first, last = self.owner[rows.start], self.owner[rows.stop - 1]
        start = rows.start if self.same else 0
        width = self.Z.shape[0] - start
        across = np.full((last - first + 1, width), np.inf)
        height = self.owner[-1] - first + 1 if self.same else 0
        down = np.full((rows.stop - rows.start, height), np.inf)
        x2, row_bag = self.x2[rows], self.owner[rows] - first
        buffer = np.empty(ROWS * COLUMNS)
        for c in slices(width, COLUMNS):
            columns = slice(c.start + start, c.stop + start)
            G = _product(self.X[rows], self.Z[columns], buffer)
            _rows_to_bags(G, x2, self.z2[columns], row_bag, across[:, c])
            if self.same:
                _columns_to_bags(G, self.owner[columns] - first, down)
        return rows, first, across, down


def _product(X, Z, buffer) -> np.ndarray:
    if sparse.issparse(X):
        return (X @ Z.T).toarray()
    shape = len(X), len(Z)
    return np.matmul(X, Z.T, out=buffer[: shape[0] * shape[1]].reshape(shape))


def _squares(X) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


@njit
def _rows_to_bags(G, x2, z2, row_bag, out):
    """Turn products into squared distances, in place, and keep the least of each row bag."""
    for i in range(G.shape[0]):
        least = out[row_bag[i]]
        for j in range(G.shape[1]):
            d = x2[i] + z2[j] - 2.0 * G[i, j]
            G[i, j] = d
            least[j] = d if d < least[j] else least[j]


@njit
def _columns_to_bags(D, column_bag, out):
    """Keep the least distance of each column bag to each row."""
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            b = column_bag[j]
            out[i, b] = D[i, j] if D[i, j] < out[i, b] else out[i, b]
