r"""miFV, Fisher vectors of bags (Wei, Wu & Zhou, ICDM 2014; Sánchez, Perronnin et al., IJCV 2013)."""

import numpy as np
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from skmil._engines.isolation import blocks
from skmil._lazy import GROUP
from skmil._threads import map_blocks, slices
from skmil.embeddings.base import BagEmbedding, some_instances


class FisherEmbedding(BagEmbedding):
    r"""Gradient of a Gaussian mixture's mean log-likelihood on a bag, in units of its spread [1]_ [2]_.

    With responsibilities :math:`\gamma_k(x)` and :math:`z_k = (x - \mu_k) / \sigma_k`, for component k

    .. math::
        \frac{1}{|B| \sqrt{\pi_k}} \sum_{x \in B} \Big[ \gamma_k - \pi_k, \quad \gamma_k z_k, \quad
        \gamma_k \frac{z_k^2 - 1}{\sqrt 2} \Big],

    the gradients with respect to the weights (as a softmax), means and standard deviations, each
    divided by the square root of its Fisher information. The vector holds the K weights, then K x d
    means, then K x d deviations.

    Cost: EM of ``sklearn.mixture.GaussianMixture`` in ``fit``; :math:`O(N K d)` to map. Memory: three
    copies of at most ``max_instances`` instances in ``fit``, a block of instances per thread later. Needs
    dense features.

    Parameters
    ----------
    n_components : int
        K; the number of training instances where there are fewer.
    improved : bool
        Signed square root of each number, then length 1 [2]_.
    reg_covar : float
        Added to the variances of the mixture.
    max_iter : int
        Most steps of EM.
    max_instances : int
        The mixture is fitted to a random sample of the instances where there are more.
    random_state : int, RandomState or None

    Attributes
    ----------
    mixture_ : the fitted ``GaussianMixture`` with diagonal covariances
    n_iter_ : steps of EM

    References
    ----------
    .. [1] X.-S. Wei, J. Wu, Z.-H. Zhou, "Scalable multi-instance learning", ICDM 2014.
    .. [2] J. Sánchez, F. Perronnin, T. Mensink, J. Verbeek, "Image classification with the Fisher
       vector: theory and practice", IJCV 2013.

    Examples
    --------
    >>> from skmil.embeddings import FisherEmbedding
    >>> e = FisherEmbedding(n_components=1, improved=False, reg_covar=0.0)
    >>> e.fit_transform([[[0.0], [1.0]], [[2.0], [3.0]]])[:, 1].round(3)
    array([-0.894,  0.894])
    """

    _streams = _keeps_float32 = True

    def __init__(
        self,
        n_components=2,
        improved=True,
        reg_covar=1e-3,
        max_iter=200,
        max_instances=2**16,
        random_state=None,
    ):
        self.n_components = n_components
        self.improved = improved
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.max_instances = max_instances
        self.random_state = random_state

    def _fit(self, bags, y):
        X = some_instances(bags, self.max_instances, self.random_state).flat.instances
        self.mixture_ = GaussianMixture(
            min(self.n_components, len(X)),
            covariance_type="diag",
            reg_covar=self.reg_covar,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        with threadpool_limits(1):  # same bits on any number of threads
            self.mixture_.fit(X)
        self.n_iter_ = self.mixture_.n_iter_

    def _transform(self, bags):
        F = np.vstack(map_blocks(self._gradients, blocks(bags)))
        if not self.improved:
            return F
        F = np.sign(F) * np.sqrt(np.abs(F))
        length = np.linalg.norm(F, axis=1, keepdims=True)
        return F / np.where(length > 0, length, 1.0)

    def _gradients(self, bags):
        """One row per bag: the equation above."""
        X, starts = bags.flat.instances, bags.offsets[:-1]
        if len(bags) == 1:  # it may be large: then by parts, so that copies of it are small
            total = np.sum([self._sums(X[s], starts) for s in slices(len(X), GROUP)], axis=0)
        else:
            total = self._sums(X, starts)
        F = total / bags.sizes[:, None]
        F[:, -self.mixture_.means_.size :] /= np.sqrt(2)
        return F

    def _sums(self, X, starts):
        """Sums over the instances of each bag: weights, means, and sqrt(2) times deviations."""
        X = X.astype(np.float64, copy=False)
        weight, mean = self.mixture_.weights_, self.mixture_.means_
        sigma = np.sqrt(self.mixture_.covariances_)
        gamma = self.mixture_.predict_proba(X)
        by_mean, by_sigma = [], []
        for k, root in enumerate(np.sqrt(weight)):
            z, g = (X - mean[k]) / sigma[k], gamma[:, k, None] / root
            by_mean.append(np.add.reduceat(g * z, starts))
            by_sigma.append(np.add.reduceat(g * (z**2 - 1), starts))
        by_weight = np.add.reduceat((gamma - weight) / np.sqrt(weight), starts)
        return np.hstack([by_weight, *by_mean, *by_sigma])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
