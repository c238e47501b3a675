"""Fisher vectors: finite differences of the log-likelihood, scikit-image where it is installed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp, softmax

from skmil import Bags, threads
from skmil.embeddings import FisherEmbedding, fisher


def log_likelihood(X, logits, mean, sigma):
    """Mean log-density of a diagonal mixture whose weights are softmax(logits)."""
    z = (X[:, None] - mean) / sigma
    logs = -0.5 * (z**2).sum(axis=2) - np.log(sigma).sum(axis=1) - X.shape[1] / 2 * np.log(2 * np.pi)
    return logsumexp(logs + np.log(softmax(logits)), axis=1).mean()


def numerical_gradient(f, theta, h=1e-5):
    out = np.zeros_like(theta)
    for i in np.ndindex(theta.shape):
        step = np.zeros_like(theta)
        step[i] = h
        out[i] = (f(theta + step) - f(theta - step)) / (2 * h)
    return out


@pytest.mark.parametrize("K", [1, 3])
def test_gradients_by_finite_differences(bags, K):
    e = FisherEmbedding(K, improved=False, random_state=0).fit(bags)
    weight, mean = e.mixture_.weights_, e.mixture_.means_
    sigma = np.sqrt(e.mixture_.covariances_)
    for X, row in zip(bags, e.transform(bags), strict=True):
        by_weight = numerical_gradient(lambda a, X=X: log_likelihood(X, a, mean, sigma), np.log(weight))
        by_mean = numerical_gradient(lambda m, X=X: log_likelihood(X, np.log(weight), m, sigma), mean)
        by_sigma = numerical_gradient(lambda s, X=X: log_likelihood(X, np.log(weight), mean, s), sigma)
        root = np.sqrt(weight)[:, None]
        # Fisher information: pi_k for a logit, pi_k / sigma^2 for a mean, 2 pi_k / sigma^2 for a sigma.
        expected = [
            by_weight / root.ravel(),
            (by_mean * sigma / root).ravel(),
            (by_sigma * sigma / (root * np.sqrt(2))).ravel(),
        ]
        assert_allclose(row, np.concatenate(expected), rtol=1e-5, atol=1e-7)


def test_scikit_image(bags):
    feature = pytest.importorskip("skimage.feature")
    e = FisherEmbedding(3, improved=False, random_state=0).fit(bags)
    Z = e.transform(bags)
    for X, row in zip(bags, Z, strict=True):
        theirs = feature.fisher_vector(X, e.mixture_)
        theirs[3 + 12 :] *= -1  # scikit-image's last block is the gradient with its sign reversed
        assert_allclose(row, theirs, rtol=1e-8, atol=1e-10)
    improved = FisherEmbedding(3, random_state=0).fit_transform(bags)
    for X, row in zip(bags, improved, strict=True):
        assert_allclose(np.abs(row), np.abs(feature.fisher_vector(X, e.mixture_, improved=True)), rtol=1e-6)


def test_improved_normalisation(bags):
    plain = FisherEmbedding(2, improved=False, random_state=0).fit_transform(bags)
    Z = FisherEmbedding(2, random_state=0).fit_transform(bags)
    assert Z.shape == (9, 2 + 2 * 2 * 4)
    assert_allclose(np.linalg.norm(Z, axis=1), 1.0)
    assert_allclose(Z**2 * np.sign(Z) * np.abs(plain).sum(axis=1, keepdims=True), plain, atol=1e-12)


def test_gradient_vanishes_on_the_training_data(bags):
    """EM ends where the gradient of the log-likelihood of all training instances is zero."""
    e = FisherEmbedding(2, improved=False, reg_covar=0.0, max_iter=1000, random_state=0).fit(bags)
    whole = Bags(bags.instances, [0, bags.offsets[-1]])
    assert np.abs(e.transform(whole)).max() < 0.05


def test_blocks_and_threads(bags, monkeypatch):
    e = FisherEmbedding(2, random_state=0).fit(bags)
    with threads(1):
        one = e.transform(bags)
    blocks = fisher.blocks
    monkeypatch.setattr(fisher, "blocks", lambda b: [p for part in blocks(b) for p in (part[:4], part[4:])])
    with threads(2):
        assert_allclose(e.transform(bags), one, rtol=1e-12)


def test_constant_data_and_few_instances():
    Z = FisherEmbedding(5, random_state=0).fit_transform([[[1.0, 2.0]], [[1.0, 3.0]]])
    assert Z.shape == (2, 2 + 2 * 2 * 2) and np.isfinite(Z).all()
    same = FisherEmbedding(1).fit_transform(np.ones((4, 1, 2)))
    assert np.isfinite(same).all()


def test_sparse_input_is_refused(bags):
    thin = Bags(sparse.csr_matrix(bags.instances), bags.offsets)
    with pytest.raises(TypeError, match="needs dense features"):
        FisherEmbedding().fit(thin)


def test_seed(bags):
    a, b = (FisherEmbedding(3, random_state=1).fit_transform(bags) for _ in range(2))
    assert_array_equal(a, b)
