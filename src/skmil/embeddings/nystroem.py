r"""Nyström features of any kernel on bags (Williams & Seeger, NIPS 2000)."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmil._lazy import groups, sample
from skmil._parameters import COUNT, SEED
from skmil._random import random_key
from skmil._schema import check_bags, check_lengths
from skmil._threads import one_blas_thread
from skmil.bags import Bags, as_bags
from skmil.embeddings.base import BagEmbedding
from skmil.kernels.base import BagKernel
from skmil.kernels.set import SetKernel

TINY = 1e-12  # eigenvalues below this share of the largest are rounding


class NystroemEmbedding(BagEmbedding):
    r"""A bag becomes a vector whose inner products approximate a kernel on bags [1]_.

    .. math::
        \Phi(B) = K_{MM}^{-1/2}\, (k(B, B_1), ..., k(B, B_m))^T, \qquad
        \langle \Phi(A), \Phi(B) \rangle = k(A, M)\, K_{MM}^{-1}\, k(M, B)

    with m landmarks :math:`B_1, ..., B_m` drawn from the training bags. The approximation is exact where
    A or B is a landmark. A linear machine on these features is a kernel machine for more bags than a Gram
    matrix can hold: n x m numbers in place of n x n.

    Cost: m kernel values per bag, :math:`O(m^3)` once; memory for the landmarks, one block of bags and
    the result.

    Parameters
    ----------
    kernel : BagKernel, optional
        ``SetKernel()`` where not given. A clone is fitted on the landmarks.
    n_components : int
        m; the number of training bags where there are fewer.
    random_state : int, RandomState or None

    Attributes
    ----------
    landmarks_ : Bags
    kernel_ : the fitted kernel
    normalization_ : array (m, m)
        :math:`K_{MM}^{-1/2}`; directions in which the landmarks do not differ are left out.

    References
    ----------
    .. [1] C. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.

    Examples
    --------
    >>> from skmil.embeddings import NystroemEmbedding
    >>> from skmil.kernels import SetKernel
    >>> X = [[[0.0], [1.0]], [[1.0]], [[5.0]]]
    >>> k = SetKernel(gamma=1.0)
    >>> Z = NystroemEmbedding(k, n_components=3).fit_transform(X)
    >>> bool(abs(Z @ Z.T - k(X)).max() < 1e-12)
    True
    """

    _parameter_constraints: dict = {
        "kernel": [BagKernel, None],
        "n_components": [COUNT],
        "random_state": SEED,
    }

    _streams = _keeps_float32 = True

    def __init__(self, kernel=None, n_components=100, random_state=None):
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    @available_if(lambda self: self.kernel is None or hasattr(self.kernel, "instance_gram"))
    def contributions(self, X, w) -> list[np.ndarray]:
        """Share of each instance in <Phi(B), w>; only where the kernel is a sum over instances."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False, stream=False)
        alpha = self.normalization_ @ np.ravel(w)
        parts = [self.kernel_.instance_gram(bags[s], self.landmarks_) @ alpha for s in groups(bags.sizes)]
        return bags.split(np.concatenate(parts))

    def _fit(self, bags, y):
        chosen = sample(random_key(self.random_state), len(bags), int(self.n_components))
        self.landmarks_ = as_bags(bags[chosen])
        y = None if y is None else check_lengths(y, bags)[chosen]
        kernel = SetKernel() if self.kernel is None else self.kernel
        self.kernel_ = clone(kernel).fit(self.landmarks_, y)
        self.normalization_ = inverse_root(self.kernel_(self.landmarks_))

    def _transform(self, bags: Bags) -> np.ndarray:
        with one_blas_thread():
            parts = [self.kernel_(bags[s], self.landmarks_) for s in groups(bags.sizes)]
            return np.concatenate([K @ self.normalization_ for K in parts])


def inverse_root(K: np.ndarray) -> np.ndarray:
    """K^(-1/2) of a symmetric matrix, in the space of its positive eigenvalues."""
    with one_blas_thread():
        values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = values > TINY * max(values[-1], 0.0)
    return (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
