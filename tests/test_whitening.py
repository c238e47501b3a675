"""Units of what varies inside a bag: what they are, and what they show that scaled features hide."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import LedoitWolf

from skmil import Bags
from skmil.learners import AutoClassifier, BlendKernel
from skmil.learners.auto.whitening import BagWhitener
from skmil.preprocessing import BagScaler

PART = "set kernel, whitened"


def drowned(n, seed, d=12):
    """Positive bags are shifted where their instances hardly differ; two strong directions vary in all."""
    rng = np.random.default_rng(seed)
    strong, shift = np.random.default_rng(9).normal(size=(2, 2, d))
    y = np.arange(n) % 2
    bags = [
        4 * rng.normal(size=(m, 2)) @ strong + 0.3 * rng.normal(size=(m, d)) + 0.4 * c * shift[0]
        for m, c in zip(rng.integers(3, 9, n), y, strict=True)
    ]
    return Bags.from_list(bags), y


@pytest.mark.parametrize("form", ["to_dense", "to_sparse"])
def test_inside_a_bag_directions_vary_alike_but_for_shrinkage(form):
    X, _ = drowned(200, 0)
    white = BagWhitener().fit_transform(getattr(X, form)())
    rest = np.vstack([bag - bag.mean(axis=0) for bag in white])
    covariance = rest.T @ rest / len(rest)
    variances = covariance.diagonal()
    assert_allclose(covariance - np.diag(variances), 0, atol=1e-8)
    assert 0.1 < variances.min() and variances.max() < 1.1  # weak ones are shrunk, here to a fifth
    scaled = BagScaler().fit_transform(X)
    before = np.linalg.eigvalsh(np.cov(np.vstack([bag - bag.mean(axis=0) for bag in scaled]).T))
    assert before[-1] / before[0] > 100


def test_it_is_the_shrunk_covariance_about_the_means_of_bags():
    X, _ = drowned(20, 1)
    scaled = BagScaler().fit_transform(X)
    rest = np.vstack([bag - bag.mean(axis=0) for bag in scaled])
    inverse = np.linalg.inv(LedoitWolf(assume_centered=True).fit(rest).covariance_)
    white = BagWhitener().fit_transform(X)
    for a, b in ((0, 1), (3, 7)):
        gap = scaled[a][:1] - scaled[b]
        distances = np.einsum("ij,jk,ik->i", gap, inverse, gap)
        assert_allclose(np.sum((white[a][:1] - white[b]) ** 2, axis=1), distances, rtol=1e-8)


def test_a_doubled_or_constant_feature_does_no_harm():
    X, y = drowned(60, 2)
    more = X.with_instances(np.hstack([X.instances, X.instances[:, :2], np.ones((X.offsets[-1], 1))]))
    white = BagWhitener().fit_transform(more)
    assert np.abs(white.instances).max() < 1e3
    k = BlendKernel(random_state=0).fit(more, y)
    assert _row(k)["weight"] > 0


def test_what_is_drowned_is_seen():
    X, y = drowned(80, 3)
    T, truth = drowned(200, 4)
    model = AutoClassifier().fit(X, y)
    others = [
        r["weight"] for r in model.leaderboard_ if r["part"].startswith("set kernel") and r["part"] != PART
    ]
    assert _row(model)["weight"] > max(others)
    assert model.score(T, truth) > 0.9


@pytest.mark.parametrize("times", [1, 3])
def test_where_nothing_varies_inside_a_bag_there_are_no_units(times):
    rng = np.random.default_rng(0)
    X = Bags.from_list([np.repeat(rng.normal(size=(1, 3)) + i % 2, times, axis=0) for i in range(20)])
    assert_array_equal(BagWhitener().fit_transform(X).instances, 0)
    row = _row(BlendKernel(random_state=0).fit(X, np.arange(20) % 2))
    assert row["weight"] == 0 and row["note"] == "left out: it tells no bags apart"


def _row(fitted) -> dict:
    return next(row for row in fitted.leaderboard_ if row["part"] == PART)
