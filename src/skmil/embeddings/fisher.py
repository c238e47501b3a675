r"""miFV, Fisher vectors of bags (Wei, Wu & Zhou, ICDM 2014; Sánchez, Perronnin et al., IJCV 2013)."""

import numpy as np
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from skmil._engines.isolation import blocks
from skmil._threads import map_blocks
from skmil.embeddings.base import BagEmbedding


class FisherEmbedding(BagEmbedding):
    r"""Gradient of a Gaussian mixture's mean log-likelihood on a bag, in units of its spread [1]_ [2]_.

    With responsibilities :math:`\gamma_k(x)` and :math:`z_k = (x - \mu_k) / \sigma_k`, for component k

    .. math::
        \frac{1}{|B| \sqrt{\pi_k}} \sum_{x \in B} \Big[ \gamma_k - \pi_k, \quad \gamma_k z_k, \quad
        \gamma_k \frac{z_k^2 - 1}{\sqrt 2} \Big],

    the gradients with respect to the weights (as a softmax), means and standard deviations, each
    divided by the square root of its Fisher information. The vector holds the K weights, then K x d
    means, then K x d deviations.

    Cost: EM of ``sklearn.mixture.GaussianMixture`` in ``fit``; :math:`O(N K d)` to map. Memory:
    K numbers per instance in ``fit``, a block of instances per thread later. Needs dense features.

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

    def __init__(self, n_components=2, improved=True, reg_covar=1e-3, max_iter=200, random_state=None):
        self.n_components = n_components
        self.improved = improved
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, bags, y):
        X = bags.flat.instances
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
        X = bags.flat.instances
        weight, mean = self.mixture_.weights_, self.mixture_.means_
        sigma = np.sqrt(self.mixture_.covariances_)
        gamma = self.mixture_.predict_proba(X)
        by_mean, by_sigma = [], []
        for k, root in enumerate(np.sqrt(weight)):
            z, g = (X - mean[k]) / sigma[k], gamma[:, k, None] / root
            by_mean.append(_bag_means(bags, g * z))
            by_sigma.append(_bag_means(bags, g * (z**2 - 1)) / np.sqrt(2))
        by_weight = _bag_means(bags, (gamma - weight) / np.sqrt(weight))
        return np.hstack([by_weight, *by_mean, *by_sigma])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _bag_means(bags, values):
    return np.add.reduceat(values, bags.offsets[:-1]) / bags.sizes[:, None]
