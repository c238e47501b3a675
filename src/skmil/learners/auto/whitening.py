r"""Instances in units of how much they vary inside a bag."""

import numpy as np
from sklearn.covariance import ledoit_wolf

from skmil._product import product
from skmil._threads import one_blas_thread
from skmil.preprocessing import BagScaler, _BagTransformer

LEAST = 1e-10  # share of the largest variance that every direction is given
ROUNDING = 1e-10  # deviations up to here, of features that have 1 over all bags, are rounding


class BagWhitener(_BagTransformer):
    r"""Rotate and stretch features into units of how much the instances of a bag vary, by direction.

    .. math:: x \mapsto \Lambda^{-1/2} V^T x, \qquad V \Lambda V^T = \Sigma

    with x standardised and :math:`\Sigma` the covariance of instances about the mean of their bag, over
    all bags, shrunk towards a multiple of the identity [1]_, so that the weakest directions still vary
    less than the others. So what tells bags apart counts, however small it is, where the instances of
    one bag hardly differ: distances on standardised features drown it in features that go together.
    Where nothing varies inside a bag there are no units, and all becomes 0. Sparse features become
    dense.

    Attributes
    ----------
    scaler_ : the fitted ``BagScaler``
    basis_ : array (n_features, n_features), whose rows are the directions

    References
    ----------
    .. [1] O. Ledoit, M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
       Journal of Multivariate Analysis 88, 2004.

    Examples
    --------
    >>> from skmil.learners.auto.whitening import BagWhitener
    >>> X = [[[0.0, 0.0], [9.0, 0.1]], [[1.0, 1.0], [8.0, 1.1]], [[2.0, 0.0], [7.0, 0.1]]]
    >>> white = BagWhitener().fit_transform(X)
    >>> means = [bag.mean(axis=0) for bag in white]  # which differ in the second feature alone
    >>> bool(abs(means[0] - means[1]).max() > abs(white[0][0] - white[0][1]).max())
    True
    """

    _streams = _keeps_float32 = False

    def _fit(self, bags):
        self.scaler_ = BagScaler().fit(bags)
        X = self.scaler_.transform(bags).to_dense()
        with one_blas_thread():  # same bits on any number of threads
            means = np.add.reduceat(X.instances, X.offsets[:-1]) / X.sizes[:, None]
            rest = X.instances - np.repeat(means, X.sizes, axis=0)
            covariance, _ = ledoit_wolf(rest, assume_centered=True)
            values, vectors = np.linalg.eigh(covariance)
        lengths = np.sqrt(np.maximum(values, LEAST * values[-1]))
        self.basis_ = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > ROUNDING).T

    def _transform(self, bags):
        return bags.with_instances(product(self.scaler_.transform(bags).instances, self.basis_))
