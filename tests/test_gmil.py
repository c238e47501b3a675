"""Generators of generalized concepts, and the machines that learn them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from skmil._engines.boxes import groups
from skmil._engines.boxes.groups import _intervals, _look_hopeless, _seen_hopeless, group_boxes
from skmil.datasets import make_counts, make_gmil
from skmil.embeddings import BoxEmbedding
from skmil.kernels import BoxKernel, SetKernel
from skmil.learners import GMIL1, GMIL2, BagPipeline, BagSVC, InstanceLabelSVM, gmil
from skmil.preprocessing import BagGrid
from tests import naive


def near(bag, point, radius):
    return [np.abs(x - point).max() <= radius for x in bag]


def test_gmil_labels_follow_the_concept():
    made = make_gmil(60, n_attraction=2, n_repulsion=2, r=3, random_state=1)
    c = made.concept
    for bag, y in zip(made.data, made.target, strict=True):
        hit = sum(any(near(bag, p, c.radius)) for p in c.attraction)
        missed = sum(not any(near(bag, p, c.radius)) for p in c.repulsion)
        assert y == (hit + missed >= c.r)
    assert made.target.mean() == 0.5


def test_instances_are_what_they_are_near():
    made = make_gmil(60, n_attraction=2, n_repulsion=2, r=3, random_state=1)
    c, X = made.concept, made.data.instances
    for sign, points in ((1, c.attraction), (-1, c.repulsion)):
        close = np.any([near(X, p, c.radius) for p in points], axis=0)
        assert_array_equal(made.instance_target == sign, close)
    assert set(made.instance_target) == {-1, 0, 1}


def test_count_labels_follow_the_concept():
    made = make_counts(60, n_points=2, low=1, high=2, random_state=1)
    c = made.concept
    for bag, y in zip(made.data, made.target, strict=True):
        counts = np.array([sum(near(bag, p, c.radius)) for p in c.points])
        assert y == ((c.low <= counts) & (counts <= c.high)).all()
    close = np.any([near(made.data.instances, p, c.radius) for p in c.points], axis=0)
    assert_array_equal(made.instance_target, close)


def test_counts_may_be_zero_and_differ_by_point_and_some_may_be_wrong():
    low, high, r = [0, 1, 2], [0, 3, 2], 2
    made = make_counts(80, n_points=3, low=low, high=high, r=r, random_state=0)
    c = made.concept
    seen = set()
    for bag, y in zip(made.data, made.target, strict=True):
        counts = np.array([sum(near(bag, p, c.radius)) for p in c.points])
        seen |= {(k, int(n)) for k, n in enumerate(counts)}
        assert y == (((low <= counts) & (counts <= high)).sum() >= r)
    assert made.target.mean() == 0.5
    assert {(0, 0), (1, 0), (2, 0), (0, 1), (1, 4), (2, 3)} <= seen


@pytest.mark.parametrize("n_points", [1, 3])
def test_the_size_of_a_bag_does_not_tell_its_class(n_points):
    made = make_counts(2000, n_points=n_points, low=1, high=2, random_state=0)
    assert abs(roc_auc_score(made.target, made.data.sizes) - 0.5) < 0.04


def test_same_seed_same_bags():
    assert make_gmil(10, random_state=3).data == make_gmil(10, random_state=3).data
    assert make_gmil(10, random_state=3).data != make_gmil(10, random_state=4).data


@pytest.mark.parametrize(
    ("make", "params", "message"),
    [
        (make_gmil, {"r": 9}, "r is 9"),
        (make_gmil, {"n_attraction": 500}, "do not fit"),
        (make_counts, {"low": 3, "high": 1}, r"low is \[3\]"),
        (make_counts, {"n_points": 9}, "cannot be positive"),
        (make_counts, {"n_points": 4, "low": 0, "high": 6, "r": 1}, "cannot be negative"),
        (make_counts, {"low": [1, 2]}, "one for each of 1 points"),
        (make_counts, {"r": 2}, "r is 2"),
    ],
)
def test_bad_concepts(make, params, message):
    with pytest.raises(ValueError, match=message):
        make(20, **params)


def score(model, made, n_train):
    X, y = made.data, made.target
    return model.fit(X[:n_train], y[:n_train]).score(X[n_train:], y[n_train:])


def test_repulsion_is_learned_by_boxes_and_not_by_the_set_kernel_or_mi_svm():
    gain = []
    for seed in range(3):
        made = make_gmil(260, n_attraction=1, n_repulsion=1, random_state=seed)
        boxes = score(BagSVC(BoxKernel(random_state=0), C=1e4), made, 160)
        others = BagSVC(SetKernel(normalization="cosine"), C=10), InstanceLabelSVM(C=10)
        assert boxes > 0.8
        gain.append([boxes - score(model, made, 160) for model in others])
    assert (np.mean(gain, axis=0) > 0.1).all()


def searched(kernel, made, n_train):
    """Accuracy with a C that five folds of the training bags choose."""
    X, y = made.data, made.target
    K = kernel.fit_transform(X[:n_train])
    machine = GridSearchCV(SVC(kernel="precomputed"), {"C": [1.0, 100.0]}).fit(K, y[:n_train])
    return machine.score(kernel.transform(X[n_train:]), y[n_train:])


def test_counts_are_learned_by_k_min_better_than_by_k_and():
    gain = []
    for seed in range(2):
        made = make_counts(500, n_features=1, random_state=seed)
        k_min, k_and = (searched(BoxKernel(k, random_state=0), made, 350) for k in ("min", "and"))
        gain.append(k_min - k_and)
    assert np.mean(gain) > 0.05


def test_embedding_estimates_the_kernel_and_feeds_a_linear_machine():
    made = make_gmil(80, n_attraction=1, n_repulsion=1, random_state=0)
    for kind in ("and", "min"):
        e = BoxEmbedding(kind, n_boxes=3000, random_state=0).fit(made.data)
        Z = e.transform(made.data)
        K = BoxKernel(kind, "shared", n_boxes=3000, random_state=0).fit_transform(made.data)
        assert_allclose((Z @ Z.T).toarray(), K, atol=1e-10)
    model = BagPipeline(
        [("boxes", BoxEmbedding(n_boxes=2000, random_state=0)), ("lr", LogisticRegression(C=1e4))]
    )
    assert model.fit(made.data, made.target).score(made.data, made.target) > 0.8


class TestWinnow:
    def test_groups_partition_the_boxes(self):
        centers, s = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 2.0]]), np.array([4, 3])
        cuts = [np.unique(c) for c in centers.T]
        lower, upper, size = group_boxes(centers, s, cuts)
        held: dict = {}
        for box in naive.boxes(s):
            inside = tuple(all(a <= x <= b for x, (a, b) in zip(c, box, strict=True)) for c in centers)
            held.setdefault(inside, []).append(box)
        held.pop((False, False, False))
        assert len(size) == len(held)
        for low, high, n in zip(lower, upper, size, strict=True):
            inside = tuple(bool(((low <= c) & (c <= high)).all()) for c in centers)
            assert_allclose(np.exp(n), len(held[inside]))
            largest = max(np.prod([b - a + 1 for a, b in box]) for box in held[inside])
            assert np.prod(high - low + 1) == largest

    def test_a_table_of_all_sets_gives_the_bits_of_sorting(self, monkeypatch):
        rng = np.random.default_rng(0)
        centers, s = rng.integers(0, 9, (7, 3)).astype(float), np.full(3, 8)
        cuts = [np.unique(c) for c in centers.T]
        found = []
        for addressed in (0, 22):
            monkeypatch.setattr(groups, "ADDRESSED", addressed)
            found.append(group_boxes(centers, s, cuts))
        for a, b in zip(*found, strict=True):
            assert_array_equal(a, b)

    def test_attributes_and_rule(self):
        made = make_gmil(40, n_attraction=1, n_repulsion=0, random_state=0)
        model = GMIL1(n_clusters=8, random_state=0).fit(made.data, made.target)
        bag = model.grid_.transform(made.data[:1])[0]
        a = np.array(
            [
                any(((low <= x) & (x <= high)).all() for x in bag)
                for low, high in zip(model.lower_, model.upper_, strict=True)
            ]
        )
        total = sum(model.size_ * np.where(a, np.exp(model.hit_), np.exp(model.missed_)))
        assert_allclose(model.decision_function(made.data[:1]), np.log(total / model.theta), atol=1e-11)

    @pytest.mark.parametrize(
        "learner", [GMIL1(n_clusters=40, random_state=0), GMIL2(n_cuts=12, n_clusters=60, random_state=0)]
    )
    def test_learns_a_presence_concept(self, learner):
        made = make_gmil(200, n_attraction=1, n_repulsion=0, radius=0.2, random_state=0)
        assert score(learner, made, 120) > 0.72

    def test_too_many_groups_are_refused_with_an_estimate(self):
        rng = np.random.default_rng(0)
        X, y = rng.uniform(size=(200, 1, 10)), np.arange(200) % 2
        for learner in (GMIL1(n_clusters=60, random_state=0), GMIL2(n_clusters=60, random_state=0)):
            with pytest.raises(ValueError, match=r"make up to .* groups of boxes.*; lower n_clusters"):
                learner.fit(X, y)
            assert len(learner.set_params(n_clusters=8).fit(X, y).size_) > 8

    @pytest.mark.parametrize("n_features", [2, 3, 4, 40, 166])
    def test_the_hopeless_is_seen_by_a_few_boxes_and_nothing_else_is(self, n_features):
        centers = np.random.default_rng(n_features).integers(0, 100, size=(40, n_features)).astype(float)
        cuts = GMIL2()._cuts(centers)
        masks = [_intervals(c, 100, v)[0] for c, v in zip(centers.T, cuts, strict=True)]
        assert _look_hopeless(40, masks) == (n_features >= 40)
        if n_features < 40:
            group_boxes(centers, np.full(n_features, 100), cuts)  # which fits

    @pytest.mark.parametrize("n_features", [1, 2, 3, 4, 20])
    def test_too_many_groups_are_seen_by_counting_some_and_nothing_else_is(self, n_features):
        centers = np.random.default_rng(n_features).integers(0, 100, size=(20, n_features)).astype(float)
        cuts = GMIL1()._cuts(centers)
        masks = [_intervals(c, 100, v)[0] for c, v in zip(centers.T, cuts, strict=True)]
        assert _seen_hopeless(20, masks) == (n_features == 20)
        if n_features < 20:
            group_boxes(centers, np.full(n_features, 100), cuts)  # which fits

    def test_constant_features_lead_to_no_other_groups(self):
        centers = np.random.default_rng(0).integers(0, 100, size=(12, 3)).astype(float)
        wide = np.hstack([centers, np.full((12, 500), 7.0)])
        few, many = (
            group_boxes(c, np.full(c.shape[1], 100), [np.unique(v) for v in c.T]) for c in (centers, wide)
        )
        assert np.array_equal(few[0], many[0][:, :3]) and np.array_equal(few[1], many[1][:, :3])
        assert (many[0][:, 3:] == 0).all() and (many[1][:, 3:] == 100).all()
        assert np.allclose(many[2] - few[2], 500 * np.log(8 * 94))

    def test_corners_that_would_not_fit_are_refused_by_a_count(self, monkeypatch):
        centers = np.random.default_rng(0).integers(0, 100, size=(12, 3)).astype(float)
        grid = np.full(3, 100), [np.unique(v) for v in centers.T]
        n = len(group_boxes(centers, *grid)[2])
        monkeypatch.setattr(groups, "CORNERS", 3 * n)
        assert len(group_boxes(centers, *grid)[2]) == n
        monkeypatch.setattr(groups, "CORNERS", 3 * n - 1)
        with pytest.raises(ValueError, match="12 representatives in 3 dimensions make up to"):
            group_boxes(centers, *grid)

    def test_merging_keeps_predictions_on_training_bags(self):
        made = make_gmil(60, random_state=0)
        cuts = {"n_cuts": 60, "n_clusters": 12, "random_state": 0}
        merged = GMIL2(**cuts).fit(made.data, made.target)
        whole = GMIL1(n_clusters=12, random_state=0).fit(made.data, made.target)
        assert len(merged.size_) <= len(whole.size_)
        assert_allclose(merged.decision_function(made.data), whole.decision_function(made.data), atol=1e-9)


def test_integers_and_grid_are_taken_as_given():
    X = [[[1.0, 2.0]], [[5.0, 9.0]], [[2.0, 2.0]], [[6.0, 8.0]]]
    assert_array_equal(GMIL1(random_state=0).fit(X, [0, 1, 0, 1]).grid_.s_, [7, 9])
    assert_array_equal(GMIL1(grid=BagGrid(levels=4), random_state=0).fit(X, [0, 1, 0, 1]).grid_.s_, [6, 6])


@pytest.mark.parametrize("wide", [64, 2**16])
@pytest.mark.parametrize("method", [GMIL1, GMIL2])
def test_groups_that_are_hit_are_those_with_a_point_inside(method, wide, monkeypatch):
    monkeypatch.setattr(gmil, "WIDE", wide)
    made = make_gmil(40, random_state=0)
    model = method(n_clusters=8, random_state=0).fit(made.data[:30], made.target[:30])
    starts = made.data.offsets[:-1]
    expected = np.hstack([np.logical_or.reduceat(inside, starts) for _, inside in model._inside(made.data)])
    assert len(model.size_) > (64 if method is GMIL1 else 1) and expected.any() and not expected.all()
    assert_array_equal(model._attributes(made.data), expected)
    hit, missed = model.size_ * np.exp(model.hit_), model.size_ * np.exp(model.missed_)
    total = np.where(expected, hit, missed).sum(axis=1)
    assert_allclose(model.decision_function(made.data), np.log(total / model.theta), rtol=1e-11, atol=1e-11)
