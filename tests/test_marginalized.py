"""Marginalized kernels: closed forms against quadrature, the kernel against its formula, the weights."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import dblquad, quad
from sklearn.linear_model import LinearRegression, LogisticRegression

from skmil import Bags
from skmil._engines.labels import label_moments, tent_mass, tent_mean
from skmil.kernels import MarginalizedKernel, SetKernel
from skmil.kernels.marginalized import label_overlap
from skmil.learners import (
    DD,
    SIL,
    BagSVC,
    CalibratedBagClassifier,
    DDRegressor,
    MarginalizedSVC,
    MarginalizedSVR,
)
from skmil.preprocessing import BagScaler
from tests import naive

LABELS = np.array([0, 1, 0, 1, 1, 0, 1, 0, 1])
TARGETS = np.array([0.1, 3.0, 0.4, 2.5, 2.2, 0.9, 1.7, 1.1, 2.9])


def label_kernel(kind, beta):
    return (
        (lambda c, e: 1 - abs(c - e)) if kind == "linear" else (lambda c, e: np.exp(-beta * (c - e) ** 2))
    )


def pieces(*kinks):
    return pairwise(sorted({0.0, 1.0, *kinks}))


@pytest.mark.parametrize(
    "kind, beta", [("linear", 1), ("gaussian", 0.01), ("gaussian", 3.99), ("gaussian", 30)]
)
@pytest.mark.parametrize("u, v", [(0.0, 0.0), (1.0, 0.2), (0.35, 0.8)])
def test_overlap_equals_quadrature(kind, beta, u, v):
    k = label_kernel(kind, beta)

    def inside(e, c):
        return k(c, e) * (1 - abs(c - u)) * (1 - abs(e - v))

    # The kinks at u, v and c = e are edges of the pieces, so that the quadrature is exact.
    total = 0.0
    for a, b in pieces(u, v):
        for low, high in pieces(u, v):
            if (low, high) == (a, b):
                total += dblquad(inside, a, b, low, lambda c: c, epsabs=1e-11)[0]
                total += dblquad(inside, a, b, lambda c: c, high, epsabs=1e-11)[0]
            else:
                total += dblquad(inside, a, b, low, high, epsabs=1e-11)[0]
    assert_allclose(label_overlap(u, v, kind, beta), total, atol=1e-9)


def test_overlap_laws():
    u, v = np.linspace(0, 1, 7)[:, None], np.linspace(0, 1, 9)[None, :]
    for kind in ("linear", "gaussian"):
        g = label_overlap(u, v, kind, 5.0)
        assert g.shape == (7, 9)
        assert_allclose(g, label_overlap(v, u, kind, 5.0), rtol=1e-13)
        assert_allclose(g, label_overlap(1 - u, 1 - v, kind, 5.0), rtol=1e-13)  # 0 and 1 change places
    # A constant label kernel leaves the two masses; the series and the closed form meet.
    assert_allclose(label_overlap(u, v, "gaussian", 1e-14), tent_mass(u) * tent_mass(v), rtol=1e-12)
    below, above = (label_overlap(u, v, "gaussian", b) for b in (4 - 1e-12, 4 + 1e-12))
    assert_allclose(below, above, rtol=1e-11)
    with pytest.raises(ValueError, match="kind is 'cubic'"):
        label_overlap(0.1, 0.2, kind="cubic")


@pytest.mark.parametrize(
    "kind, beta", [("linear", 1.0), ("gaussian", 0.5), ("gaussian", 10.0), ("gaussian", 300.0)]
)
def test_moments_factorise_the_double_sum(kind, beta):
    rng = np.random.default_rng(0)
    U, p = rng.uniform(size=(6, 5)), rng.dirichlet(np.ones(5))
    Z = label_moments(U, p, kind, beta)
    scaled = p / tent_mass(U)
    g = label_overlap(U[:, None, :, None], U[None, :, None, :], kind, beta)
    assert_allclose(Z @ Z.T, np.einsum("ah,bk,abhk->ab", scaled, scaled, g), rtol=1e-11)


@pytest.mark.parametrize("weighting", ["accuracy", "density"])
def test_classification_is_the_formula(bags, weighting):
    k = MarginalizedKernel(weighting, gamma=0.3).fit(bags, LABELS)
    found = k.posteriors_[0].source

    def probability(x):
        d = [np.sum(s**2 * (x - h) ** 2) for h, s in zip(found.points, found.scales, strict=True)]
        return np.dot(np.exp(-np.array(d)), k.hypothesis_weights_)

    K = naive.gram(bags, bags, lambda A, B: naive.marginalized(A, B, 0.3, probability))
    size = np.sqrt(np.diag(K))
    assert_allclose(k(bags), K / np.outer(size, size), rtol=1e-10)
    assert_allclose(k(bags[:3], bags[3:]), (K / np.outer(size, size))[:3, 3:], rtol=1e-10)
    for own, bag in zip(k.instance_probability(bags), bags, strict=True):
        assert_allclose(own, [probability(x) for x in bag], rtol=1e-10)


@pytest.mark.parametrize("kind", ["linear", "gaussian"])
def test_regression_is_the_formula(bags, kind):
    k = MarginalizedKernel(label_kernel=kind, gamma=0.3, beta=2.0, max_starts=4, random_state=0)
    k.fit(bags, TARGETS)
    found = k.posteriors_[0].source

    def responses(x):
        return [
            np.exp(-np.sum(s**2 * (x - h) ** 2)) for h, s in zip(found.points, found.scales, strict=True)
        ]

    def entry(A, B):
        overlap = lambda u, v: label_overlap(u, v, kind, 2.0)  # noqa: E731
        return naive.marginalized_targets(A, B, 0.3, responses, k.hypothesis_weights_, overlap)

    few = bags[[0, 1, 3]]
    K = naive.gram(few, few, entry)
    size = np.sqrt(np.diag(K))
    assert_allclose(k(few), K / np.outer(size, size), rtol=1e-10)


def test_weights_are_those_of_the_paper(bags):
    found = DD().fit(bags, LABELS).optima_
    P = found.bag_probability(bags)
    density = MarginalizedKernel("density").fit(bags, LABELS)
    accuracy = MarginalizedKernel("accuracy").fit(bags, LABELS)
    assert_array_equal(density.hypotheses_, found.points)
    assert_allclose(density.hypothesis_weights_, np.exp(-found.cost) / np.exp(-found.cost).sum())
    right = ((P >= 0.5) == (LABELS == 1)[:, None]).mean(axis=0)
    assert_allclose(accuracy.hypothesis_weights_, right / right.sum())

    found = DDRegressor().fit(bags, TARGETS).optima_
    unit = (TARGETS - TARGETS.min()) / np.ptp(TARGETS)
    error = ((found.bag_probability(bags) - unit[:, None]) ** 2).mean(axis=0)
    expected = 1 - (error - error.min()) / np.ptp(error)
    k = MarginalizedKernel("accuracy").fit(bags, TARGETS)
    assert_allclose(k.hypothesis_weights_, expected / expected.sum())


def test_a_few_hypotheses_hold_all_density_but_not_all_accuracy(shared_data):
    """Figure 3 of the paper: P(h | D) on a fold of Musk1."""
    data = shared_data("musk1")
    X = BagScaler().fit_transform(data.data)
    train = np.arange(92) % 10 > 0
    by = {
        name: MarginalizedKernel(name, max_starts=40, random_state=0).fit(X[train], data.target[train])
        for name in ("density", "accuracy")
    }
    for name, k in by.items():
        assert_allclose(k.hypothesis_weights_.sum(), 1)
        assert (k.hypothesis_weights_ >= 0).all(), name
    p, q = by["density"].hypothesis_weights_, by["accuracy"].hypothesis_weights_
    assert 1 / np.sum(p**2) < 0.6 * len(p)  # effective number of hypotheses
    assert 1 / np.sum(q**2) > 0.9 * len(q)
    assert p.max() / p.min() > 100 and q.max() / q.min() < 2
    assert np.corrcoef(np.argsort(np.argsort(p)), q)[0, 1] > 0.2  # denser ones are more accurate


def test_constant_label_kernel_is_the_set_kernel(bags):
    k = MarginalizedKernel(label_kernel="gaussian", beta=1e-13, gamma=0.3).fit(bags, LABELS)
    assert_allclose(k(bags), SetKernel(gamma=0.3, normalization="cosine")(bags), rtol=1e-9)
    k = MarginalizedKernel(label_kernel="gaussian", beta=1e-13, gamma=0.3).fit(bags, TARGETS)
    assert_allclose(k(bags), SetKernel(gamma=0.3, normalization="cosine")(bags), rtol=1e-9)


def test_instance_shares_add_up(bags):
    for y in (LABELS, TARGETS):
        k = MarginalizedKernel(max_starts=5, random_state=0).fit(bags, y)
        shares = k.instance_gram(bags, bags[:4])
        assert_allclose(np.add.reduceat(shares, bags.offsets[:-1]), k(bags, bags[:4]), rtol=1e-9)


def test_scores_of_instances(toy):
    X, y = toy
    model = MarginalizedSVC().fit(X, y)
    scores = np.concatenate(model.score_instances(X))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert_array_equal(scores, np.concatenate(model.svm_.kernel_.instance_probability(X)))
    exact = BagSVC(MarginalizedKernel()).fit(X, y)
    total = [s.sum() for s in exact.score_instances(X)]
    assert_allclose(total + exact.svm_.intercept_, exact.decision_function(X), rtol=1e-7, atol=1e-9)


def test_any_estimator_gives_the_probabilities(toy):
    X, y = toy
    k = MarginalizedKernel(estimator=LogisticRegression()).fit(X, y)
    direct = LogisticRegression().fit(X.instances, np.repeat(y, X.sizes)).predict_proba(X.instances)[:, 1]
    assert_allclose(np.concatenate(k.instance_probability(X)), direct)
    assert k.hypotheses_.shape == (0, 3)
    assert MarginalizedSVC(MarginalizedKernel(estimator=LogisticRegression())).fit(X, y).score(X, y) > 0.8

    on_bags = MarginalizedKernel(estimator=CalibratedBagClassifier(BagSVC())).fit(X, y)
    direct = CalibratedBagClassifier(BagSVC()).fit(X, y).predict_proba(X.one_by_one())[:, 1]
    assert_allclose(np.concatenate(on_bags.instance_probability(X)), direct)

    targets = np.linspace(-3, 5, 40)[np.argsort(np.argsort(y + np.linspace(0, 0.1, 40)))]
    k = MarginalizedKernel(estimator=LinearRegression()).fit(X, targets)
    assert all(((p >= 0) & (p <= 1)).all() for p in k.instance_probability(X))
    few = MarginalizedKernel(estimator=DD(max_starts=3, random_state=0)).fit(X, y)
    assert len(few.hypotheses_) <= 3


def test_an_estimator_without_probabilities_is_refused(toy):
    X, y = toy
    with pytest.raises(TypeError, match="SIL has no predict_proba"):
        MarginalizedKernel(estimator=SIL()).fit(X, y)


def test_more_than_two_classes(toy):
    X, y = toy
    y = np.where(np.arange(40) % 5 == 0, 2, y)
    k = MarginalizedKernel(max_starts=10, random_state=0).fit(X, y)
    assert k.instance_probability(X)[0].shape == (X.sizes[0], 3)
    assert_allclose(k(X).diagonal(), 1)


def test_predictions_are_on_the_scale_of_the_targets(toy):
    X, y = toy
    rng = np.random.default_rng(0)
    small = 0.2 + 0.6 * y + 0.05 * rng.normal(size=40)
    one = MarginalizedSVR().fit(X, small).predict(X)
    other = MarginalizedSVR().fit(X, 1e4 - 300 * small).predict(X)
    assert 1e4 - 300 * small.max() - 100 < other.mean() < 1e4
    again = MarginalizedSVR().fit(X, 7 + 1000 * small).predict(X)
    assert_allclose(again, 7 + 1000 * one, rtol=0.02)  # rounding moves L-BFGS at kinks


def test_labels_that_do_not_fit_are_named(bags):
    with pytest.raises(ValueError, match="never equal"):
        MarginalizedKernel(label_kernel="equal").fit(bags, TARGETS)
    with pytest.raises(ValueError, match="one class"):
        MarginalizedKernel().fit(bags, np.zeros(9, dtype=int))


def test_sparse_bags_are_refused_with_a_remedy(bags):
    from scipy import sparse

    thin = Bags(sparse.csr_matrix(bags.instances), bags.offsets)
    with pytest.raises(TypeError, match="to_dense"):
        MarginalizedKernel().fit(thin, LABELS)


def test_the_mean_label_equals_quadrature():
    for u in (0.0, 0.2, 0.7, 1.0):
        mean = sum(quad(lambda c, u=u: c * (1 - abs(c - u)), a, b)[0] for a, b in pieces(u))
        assert_allclose(tent_mean(u), mean / tent_mass(u), rtol=1e-10)


@pytest.mark.parametrize("density", ["tent", "sharp"])
def test_instance_scores_of_the_regressor_are_expected_labels(bags, density):
    kernel = MarginalizedKernel(label_density=density, max_starts=6, random_state=0)
    model = MarginalizedSVR(kernel).fit(bags, TARGETS)
    fitted = model.svm_.kernel_
    part = fitted.posteriors_[0]
    for bag, found in zip(bags, model.score_instances(bags), strict=True):
        U = part.responses(Bags.from_list([bag]))
        for u, score in zip(U, found, strict=True):
            mean = 0.0
            for h, p in zip(u, part.weights, strict=True):
                tent = sum(quad(lambda c, h=h: c * (1 - abs(c - h)), a, b)[0] for a, b in pieces(h))
                mean += p * (h if density == "sharp" else tent / tent_mass(h))
            assert_allclose(score, 0.1 + 2.9 * mean, rtol=1e-8)


@pytest.mark.parametrize(
    ("label_kernel", "density"), [("product", "tent"), ("product", "sharp"), ("gaussian", "sharp")]
)
def test_other_label_kernels_are_their_formula(bags, label_kernel, density):
    k = MarginalizedKernel(
        label_kernel=label_kernel,
        label_density=density,
        normalize=False,
        beta=3.0,
        gamma=0.5,
        power=2.0,
        max_starts=6,
        random_state=0,
    ).fit(bags, TARGETS)
    part = k.posteriors_[0]

    def expectation(a, b):
        u, v = (part.responses(Bags.from_list([x[None]]))[0] for x in (a, b))
        if label_kernel == "product":
            mean = (lambda x: x) if density == "sharp" else tent_mean
            return (mean(u) @ part.weights) * (mean(v) @ part.weights)
        return part.weights @ np.exp(-3.0 * np.subtract.outer(u, v) ** 2) @ part.weights

    A, B = bags[0], bags[3]
    total = sum(naive.rbf(a, b, 1.0) * expectation(a, b) for a in A for b in B)
    assert_allclose(k([A], [B])[0, 0], total, rtol=1e-8)
    assert_allclose(k.diag(bags), k(bags).diagonal(), rtol=1e-10)


def test_label_kernels_that_do_not_fit_are_refused(bags):
    with pytest.raises(ValueError, match="'product' but y are classes"):
        MarginalizedKernel(label_kernel="product").fit(bags, LABELS)
    with pytest.raises(ValueError, match="label_density='sharp' needs"):
        MarginalizedKernel(label_kernel="linear", label_density="sharp").fit(bags, TARGETS)
