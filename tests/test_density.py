"""Diverse Density: cost against a loop, its gradient, the optimiser against scipy's, planted targets."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.svm import SVC

from skmil import Bags, threads
from skmil._engines.density import CROWD, Hypotheses, Search, merged
from skmil._engines.descent import _evaluate, cost_and_gradient
from skmil.learners import DD, DDSVM, EMDD, DDRegressor, EMDDRegressor, MarginalizedSVC, MarginalizedSVR
from skmil.learners.density.dd import best_cut
from skmil.preprocessing import BagScaler
from tests import naive


def problem_of(bags, kind, rng, gamma=0.3):
    """(Search, Problem): two classes or targets, weights that are not one."""
    y = rng.integers(0, 2, len(bags)).astype(float) if kind != "targets" else rng.uniform(size=len(bags))
    y[:2] = 0, 1
    search = Search(pooling="noisy-or" if kind == "noisy-or" else "max", gamma=gamma)
    return search, search.problem(bags, y, rng.uniform(0.5, 2, len(bags)))


def planted(n_features, n_relevant, seed, n=40, target=2.0):
    """Positive bags hold an instance near ``target`` in the relevant features; all else is noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = [rng.normal(scale=2.0, size=(rng.integers(3, 8), n_features)) for _ in y]
    for bag, label in zip(X, y, strict=True):
        if label:
            bag[0, :n_relevant] = target + rng.normal(scale=0.1, size=n_relevant)
    return Bags.from_list(X), y


def hypotheses(points, scales, cost):
    return Hypotheses(np.array(points), np.array(scales), np.array(cost), np.ones(len(cost), dtype=int))


KINDS = ["noisy-or", "max", "targets"]


@pytest.mark.parametrize("kind", KINDS)
def test_cost_is_the_formula(bags, kind):
    rng = np.random.default_rng(0)
    _, problem = problem_of(bags, kind, rng)
    for _ in range(5):
        h, s = rng.normal(size=4), rng.uniform(0.2, 1.5, size=4)
        cost = cost_and_gradient(problem, np.concatenate([h, s]), np.empty(8))
        expected = naive.density_cost(bags, problem.y, problem.w, h, s, noisy=kind == "noisy-or")
        assert_allclose(cost, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])  # distances of hundredths, ones and thousands
def test_gradient_against_finite_differences(bags, kind, scale):
    rng = np.random.default_rng(1)
    _, problem = problem_of(bags, kind, rng)
    theta = np.concatenate([rng.normal(size=4), scale * rng.uniform(0.8, 1.2, size=4)])
    g = np.empty(8)
    cost_and_gradient(problem, theta, g)
    step = 1e-6
    numeric = [
        (cost_and_gradient(problem, theta + e, g.copy()) - cost_and_gradient(problem, theta - e, g.copy()))
        / (2 * step)
        for e in step * np.eye(8)
    ]
    assert_allclose(g, numeric, rtol=1e-5, atol=1e-6 * np.abs(g).max())


@pytest.mark.parametrize("kind", KINDS)
def test_many_thetas_at_once_equal_one_by_one(bags, kind):
    rng = np.random.default_rng(2)
    _, problem = problem_of(bags, kind, rng)
    X = problem.instances
    thetas = np.hstack([X[:6], np.full((6, 4), 0.7)])  # on top of instances: distances of exactly 0
    costs, g = np.empty(6), np.empty((6, 8))
    work = np.empty((6, 8)), np.empty((len(X), 6))
    _evaluate(problem, np.hstack([X * X, X]), thetas, *work, costs, g)
    for i, theta in enumerate(thetas):
        one = np.empty(8)
        assert_allclose(costs[i], cost_and_gradient(problem, theta, one), rtol=1e-10)
        assert_allclose(g[i], one, rtol=1e-7, atol=1e-6)


def test_far_away_costs_are_finite_and_point_home(bags):
    _, problem = problem_of(bags, "noisy-or", np.random.default_rng(3), gamma=1.0)
    g = np.empty(8)
    cost = cost_and_gradient(problem, np.concatenate([np.full(4, 1e3), np.ones(4)]), g)
    assert 1e6 < cost < 1e9 and np.isfinite(g).all()
    assert (g[:4] > 0).all()  # downhill is back to the bags


def test_as_good_as_scipy_from_the_same_starts():
    X, y = planted(5, 5, seed=4)
    search = Search(gamma=0.1, max_iter=500, tol=1e-10)
    problem = search.problem(X, y, np.ones(len(y)))
    rows = search.starts(X, y)[::9]
    ours = search.from_starts(problem, rows).cost

    def cost(theta):
        g = np.empty_like(theta)
        return cost_and_gradient(problem, theta, g), g

    for row, mine in zip(rows, ours, strict=True):
        start = np.concatenate([X.instances[row], np.full(5, np.sqrt(0.1))])
        best = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-12})
        assert mine <= best.fun + 0.05 * abs(best.fun)
    assert np.median(ours) < 0.5 * cost(np.concatenate([X.instances[rows[0]], np.full(5, np.sqrt(0.1))]))[0]


@pytest.mark.parametrize("learner", [DD(), EMDD()], ids=repr)
@pytest.mark.parametrize("n_features", [2, 20])
def test_a_planted_target_is_found(learner, n_features):
    X, y = planted(n_features, 2, seed=n_features, n=60)
    model = learner.fit(X, y)
    assert_allclose(model.hypothesis_[:2], 2.0, atol=0.25)
    assert model.score(X, y) > 0.9
    if n_features > 2:  # noise does not count
        assert np.median(model.scales_[2:]) < 0.2 * model.scales_[:2].min()


@pytest.mark.parametrize("learner", [DDRegressor(), EMDDRegressor()], ids=repr)
def test_a_planted_target_is_found_by_regression(learner):
    rng = np.random.default_rng(5)
    X = Bags.from_list([rng.uniform(-3, 3, size=(4, 2)) for _ in range(80)])
    truth = hypotheses([[1.0, -1.0]], [[0.7, 0.7]], [0.0]).bag_probability(X).ravel()
    y = 500 - 40 * (1 - truth)
    model = learner.fit(X, y)
    assert_allclose(model.hypothesis_, [1.0, -1.0], atol=0.1)
    assert model.score(X, y) > 0.95
    assert model.predict(X).min() >= y.min() - 1e-9 and model.predict(X).max() <= y.max() + 1e-9
    for scores, predicted in zip(model.score_instances(X), model.predict(X), strict=True):
        assert_allclose(scores.max(), predicted)


def test_merging_keeps_the_best_of_each_group():
    points = np.array([[0.0, 0.0], [1.0, 1.0], [1e-4, 0.0], [1.0, 1.0]])
    scales = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    left = merged(hypotheses(points, scales, [3.0, 1.0, 2.0, np.nan]))
    assert_array_equal(left.cost, [1.0, 2.0])
    left = merged(hypotheses(points, scales, [3.0, 1.0, 2.0, 1.5]))
    assert_array_equal(left.cost, [1.0, 1.5, 2.0])  # same point, other scales: another hypothesis


@pytest.mark.parametrize("learner", [DD, EMDD])
def test_same_bits_on_any_number_of_threads(learner):
    X, y = planted(3, 3, seed=6, n=60)
    with threads(1):
        one = learner().fit(X, y).optima_
    with threads(3):
        three = learner().fit(X, y).optima_
    assert_array_equal(one.points, three.points)
    assert_array_equal(one.cost, three.cost)


def test_starts_can_be_drawn_and_progress_is_reported():
    X, y = planted(3, 3, seed=7)
    seen = []
    model = DD(max_starts=10, random_state=0, verbose=lambda *a: seen.append(a)).fit(X, y)
    assert seen[-1][:2] == (10, 10) and seen[-1][2] == model.objective_
    again = DD(max_starts=10, random_state=0).fit(X, y)
    assert_array_equal(again.hypothesis_, model.hypothesis_)


def test_verbose_prints(capsys):
    X, y = planted(2, 2, seed=7)
    DD(max_starts=3, random_state=0, verbose=True).fit(X, y)
    assert "start 3 of 3" in capsys.readouterr().err


def test_threshold_is_the_best_cut():
    P, y = np.array([0.9, 0.8, 0.3, 0.2, 0.1]), np.array([1, 1, 1, -1, -1])
    assert 0.2 < best_cut(P, y, np.ones(5)) < 0.3
    assert best_cut(P, np.array([1, 1, -1, -1, -1]), np.ones(5)) == 0.5
    assert best_cut(P, np.array([1, -1, 1, -1, -1]), np.array([1, 9, 1, 1, 1.0])) > 0.8
    X, y = planted(2, 2, seed=8)
    assert DD(threshold=0.5).fit(X, y).threshold_ == 0.5


def test_fixed_scales_stay():
    X, y = planted(2, 2, seed=8)
    model = DD(gamma=0.5, feature_scaling=False).fit(X, y)
    assert_allclose(model.scales_, np.sqrt(0.5))


ALL = [DD(), EMDD(), DDSVM(), MarginalizedSVC(), DDRegressor(), EMDDRegressor(), MarginalizedSVR()]


@pytest.mark.parametrize("learner", ALL, ids=repr)
class TestBadInput:
    def test_constant_features(self, learner):
        X, y = planted(2, 2, seed=9)
        wide = X.with_instances(np.hstack([X.instances, np.full((len(X.instances), 1), 7.0)]))
        assert np.isfinite(learner.fit(wide, y).predict(wide).astype(float)).all()

    def test_only_constant_features(self, learner):
        X = np.ones((6, 2, 3))
        assert len(learner.fit(X, [0, 1, 0, 1, 1, 0]).predict(X)) == 6

    def test_one_huge_feature_is_warned_about(self, learner):
        X, y = planted(4, 4, seed=10)
        huge = X.with_instances(X.instances * [1.0, 1.0, 1e6, 1.0])
        with pytest.warns(UserWarning, match="feature 2 .* BagScaler"):
            learner.fit(huge, y)

    def test_a_common_factor_changes_nothing(self, learner):
        X, y = planted(2, 2, seed=11)
        huge = X.with_instances(X.instances * 1e6)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert learner.fit(huge, y).score(huge, y) > 0.6


def test_a_width_out_of_reach_is_warned_about():
    X, y = planted(2, 2, seed=11)
    with pytest.warns(UserWarning, match="typical distance .* gamma='median'"):
        DD(gamma=1e6).fit(X, y)


@pytest.mark.parametrize("learner", ALL[:4], ids=repr)
def test_one_class_is_refused(learner):
    X, _ = planted(2, 2, seed=12)
    for label in (0, 1):
        with pytest.raises(ValueError, match="one class"):
            learner.fit(X, np.full(len(X), label))


@pytest.mark.parametrize("learner", [DD(gamma=0.3), EMDD(gamma=0.3), DDSVM()], ids=repr)
def test_a_weight_of_k_is_a_bag_k_times(learner, monkeypatch):
    # The median width of DD-SVM does not know weights; with one width for both, nothing else differs.
    monkeypatch.setattr("skmil.learners.density.ddsvm.resolve_gamma", lambda *given: 0.3)
    X, y = planted(3, 2, seed=0, n=16)
    w = np.random.default_rng(0).integers(1, 4, len(y))
    repeated = [X[i] for i in np.repeat(np.arange(len(y)), w)]
    weighed = clone(learner).set_params(tol=1e-12).fit(X, y, sample_weight=w)
    again = clone(learner).set_params(tol=1e-12).fit(repeated, np.repeat(y, w))
    assert_allclose(weighed.decision_function(X), again.decision_function(X), atol=2e-3)


def test_dd_svm_has_prototypes_of_both_classes_above_the_middle():
    X, y = planted(2, 2, seed=13)
    model = DDSVM().fit(X, y)
    assert 0 < model.n_positive_ < len(model.prototypes_)
    cost = model.prototypes_.cost[: model.n_positive_]
    every = DD(max_starts=None).fit(X, y).optima_.cost
    assert_array_equal(cost, every[every <= (every.min() + every.max()) / 2])
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("constant", [[], [0.1], [0.1, 7.0]])
def test_scale_of_dd_svm_is_that_of_scikit_learn(constant, monkeypatch):
    distances = DDSVM._distances
    monkeypatch.setattr(
        DDSVM, "_distances", lambda self, b: np.hstack([distances(self, b), np.tile(constant, (len(b), 1))])
    )
    X, y = planted(2, 2, seed=13)
    w = np.random.default_rng(0).integers(1, 4, len(y))
    model = DDSVM().fit(X, y, sample_weight=w)
    again = SVC(gamma="scale").fit(np.repeat(model._features(X), w, axis=0), np.repeat(y, w))
    assert model.svm_.gamma == pytest.approx(again._gamma, rel=1e-9)


def test_musk1_is_learned(shared_data):
    data = shared_data("musk1")
    X = BagScaler().fit_transform(data.data)
    model = DD(max_starts=20, random_state=0).fit(X[::2], data.target[::2])
    assert model.score(X[1::2], data.target[1::2]) > 0.7


@pytest.mark.parametrize("em", [False, True])
def test_promising_starts_find_better_maxima_than_drawn_ones(em, monkeypatch):
    monkeypatch.setattr("skmil._engines.density.MANY", 60)
    monkeypatch.setattr("skmil._engines.density.BEST", 6)
    chosen, drawn, every = [], [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 4, 3))
        X[::2, 0] = rng.normal(size=3) + 0.3 * rng.normal(size=(20, 3))
        bags, y, w = Bags.from_list(list(X)), np.arange(40) % 2 == 0, np.ones(40)
        for most, found in (("auto", chosen), (6, drawn), (None, every)):
            search = Search(em=em, gamma=0.5, max_starts=most, random_state=seed)
            found.append(search(bags, y.astype(float), w).cost[0])
    assert np.mean(chosen) <= np.mean(drawn)
    assert np.mean(chosen) <= np.mean(every) * 1.02


@pytest.mark.parametrize("pooling", ["noisy-or", "max"])
def test_starts_given_up_on_the_way_lose_no_maximum(pooling):
    behind, followed = [], 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 4, 12))
        X[::2, 0] = rng.normal(size=12) + 0.5 * rng.normal(size=(30, 12))
        bags, y, w = Bags.from_list(list(X)), (np.arange(60) % 2 == 0).astype(float), np.ones(60)
        some, every = (
            Search(pooling=pooling, gamma=0.05, max_starts="auto", race=race)(bags, y, w)
            for race in (True, False)
        )
        behind.append(some.cost[0] / every.cost[0] - 1)
        followed += len(some)
    assert followed < 10 * 0.12 * 120 + 10
    assert np.mean(behind) < 1e-4


def test_all_maxima_are_found_unless_one_is_asked_for():
    X, y = planted(4, 4, seed=3)
    X, y = X[np.tile(np.arange(len(X)), 4)], np.tile(y, 4)
    search = Search(gamma=0.1, max_starts="auto")
    problem, rows = search.problem(X, y, np.ones(len(y))), search.starts(X, y)
    assert len(rows) >= CROWD
    assert len(search.followed(problem, rows)) == len(rows)
    assert len(replace(search, race=True, em=True).followed(problem, rows[:CROWD])) == CROWD
    assert len(replace(search, race=True).followed(problem, rows)) == round(0.12 * len(rows))
    assert len(replace(search, race=True, max_starts=None).followed(problem, rows)) == len(rows)


def test_all_starts_where_they_are_few(bags):
    y = np.arange(len(bags)) % 2
    search = Search(max_starts="auto")
    assert_array_equal(search.starts(bags, y), Search(max_starts=None).starts(bags, y))
