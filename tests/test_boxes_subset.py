"""Boxes from a subset, the machines on them, and the concepts that can be read from them."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import roc_auc_score

import skmil
from skmil import Bags
from skmil._engines.boxes import shared
from skmil.datasets import make_assumption, make_counts, make_gmil
from skmil.embeddings import BoxEmbedding
from skmil.inspection import box_concept, plot_concept
from skmil.kernels import BoxKernel
from skmil.learners import GMIL1, GMIL2, BagPipeline, BoxWinnow, WideLinearSVC
from skmil.preprocessing import BagGrid, BagScaler
from tests import naive

LOCAL = {"method": "shared", "around": "instances"}


@pytest.fixture(scope="module")
def few():
    rng = np.random.default_rng(0)
    return Bags.from_list([rng.integers(0, 4, (m, 2)).astype(float) for m in (1, 2, 3, 2)])


@pytest.mark.parametrize("max_features", [None, 1])
@pytest.mark.parametrize("kind", ["and", "min"])
def test_estimates_agree_with_looking_at_every_box(few, kind, max_features):
    """Sum over boxes of their mean 1 / |F(p)|, from the definition."""
    k = BoxKernel(kind, grid=BagGrid(), n_boxes=40_000, max_features=max_features, random_state=0, **LOCAL)
    k.fit(few)
    bags, s = [b.astype(int) for b in k.grid_.transform(few)], k.grid_.s_
    truth = naive.local_box_kernel(bags, s, 2 if max_features is None else max_features, kind)
    assert_allclose(np.exp(k.log_gram(few)), truth, rtol=0.06)


def test_boxes_hold_their_instance_keep_their_sides_and_leave_features_free():
    rng = np.random.default_rng(1)
    X = Bags.from_list([rng.uniform(-5, 5, (6, 7)) for _ in range(5)])
    e = BoxEmbedding(
        n_boxes=500, grid=None, around="instances", max_side=0.2, max_features=3, random_state=0
    )
    e.fit(X)
    space = e.kernel_.space_
    sides = np.minimum(e.upper_, space.high) - np.maximum(e.lower_, space.low)
    bounded = np.isfinite(e.lower_) | np.isfinite(e.upper_)
    longest = np.broadcast_to(0.2 * (space.high - space.low), sides.shape)
    closed = np.isfinite(e.lower_) & np.isfinite(e.upper_)
    assert (sides[closed] <= longest[closed] + 1e-9).all() and closed.sum() > 500
    assert bounded.sum(axis=1).max() == 3
    counts = [
        [((b >= lo) & (b <= hi)).all(axis=1).sum() for b in X]
        for lo, hi in zip(e.lower_, e.upper_, strict=True)
    ]
    assert_array_equal(counts, e.kernel_._inside(X))
    assert np.sum(counts, axis=1).min() >= 1
    assert_allclose(np.bincount(np.nonzero(bounded)[1]) / 500, 3 / 7, atol=0.08)


def test_intervals_are_uniform_among_the_short_ones():
    """A lone point in the middle: how far its intervals reach below and above fills a triangle evenly."""
    X = [np.array([[0.0], [1.0], [0.5]])]
    e = BoxEmbedding(n_boxes=30_000, grid=None, around="instances", max_side=0.3, random_state=0).fit(X)
    lone = np.isfinite(e.lower_[:, 0]) & np.isfinite(e.upper_[:, 0])
    below, above = 0.5 - e.lower_[lone, 0], e.upper_[lone, 0] - 0.5
    side = 0.3 * 1.1
    assert (below + above <= side + 1e-12).all()
    means = [below.mean(), above.mean(), (below + above).mean()]
    assert_allclose(means, [side / 3, side / 3, 2 * side / 3], rtol=0.03)


def test_a_box_does_not_depend_on_its_block(few):
    short, long = (
        BoxEmbedding(n_boxes=n, around="instances", max_features=1, random_state=0).fit(few)
        for n in (7, 5000)
    )
    assert_array_equal(short.boxes_, long.boxes_[:7])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_side": 0.5}, "need around='instances'"),
        ({"around": "instances"}, "needs method='shared'"),
        ({"around": "all"}, "'around' parameter of BoxKernel"),
        ({"max_side": 2.0, **LOCAL}, "'max_side' parameter of BoxKernel"),
        ({"max_features": 0, **LOCAL}, "'max_features' parameter of BoxKernel"),
    ],
)
def test_bad_families(few, params, message):
    with pytest.raises(ValueError, match=message):
        BoxKernel(**params).fit(few)


@pytest.mark.parametrize("kind", ["single", "double", "frequency"])
def test_small_boxes_learn_concepts_of_many_features(kind):
    """All boxes lie around a few far instances there, and are at chance."""
    sets = make_assumption(kind, random_state=0)
    for name in ("k_and subset", "Sparse boxes"):
        model = skmil.method(name, random_state=0).fit(sets.train.data, sets.train.target)
        assert roc_auc_score(sets.test.target, model.decision_function(sets.test.data)) > 0.97
    all_boxes = BagPipeline(
        [("boxes", BoxEmbedding(n_boxes=3000, random_state=0)), ("svm", WideLinearSVC(C=1000.0))]
    ).fit(sets.train.data, sets.train.target)
    assert roc_auc_score(sets.test.target, all_boxes.decision_function(sets.test.data)) < 0.8


def test_counts_are_learned_by_k_min_of_a_subset():
    made = make_counts(300, random_state=0)
    X, y = made.data, made.target
    auc = [
        roc_auc_score(y[150:], skmil.method(name).fit(X[:150], y[:150]).decision_function(X[150:]))
        for name in ("k_min subset", "k_and subset")
    ]
    assert auc[0] > 0.75 and auc[0] > auc[1] + 0.1


def test_winnow_counts_its_mistakes():
    sets = make_assumption("double", n_bags=60, random_state=0)
    model = BoxWinnow(random_state=0).fit(sets.train.data, sets.train.target)
    assert len(model.mistakes_) == model.n_iter_ and model.mistakes_[0] > 0
    assert model.mistakes_[-1] == 0 and model.score(sets.train.data, sets.train.target) == 1.0
    total = [s.sum() for s in model.score_instances(sets.test.data)]
    nothing = model.size_ @ np.exp(model.missed_)
    assert_allclose(np.exp(model.decision_function(sets.test.data)), np.array(total) + nothing, rtol=1e-6)
    made = make_gmil(60, random_state=0)
    groups = GMIL1(n_clusters=10, random_state=0).fit(made.data, made.target)
    assert len(groups.mistakes_) == groups.n_iter_


def test_grid_goes_back_to_the_units_of_the_features():
    X = [[[0.12, 5.0], [0.31, 7.0]]]
    grid = BagGrid(factor=[10, 1]).fit(X)
    assert_array_equal(grid.s_, [4, 4])
    assert_allclose(grid.inverse_transform(grid.transform(X))[0], [[0.1, 5.0], [0.3, 7.0]])
    lower, upper = grid.edges(np.array([[0, 2]]), np.array([[2, 4]]))
    assert_array_equal(lower, [[-np.inf, 5.5]])
    assert_allclose(upper, [[0.25, np.inf]])
    with pytest.raises(ValueError, match="one for each of the 2 features"):
        BagGrid(factor=[1, 2, 3]).fit(X)


@pytest.mark.parametrize(
    "model", [GMIL1(random_state=0), GMIL2(random_state=0), BoxWinnow(500, 0.3, random_state=0)]
)
def test_boxes_to_hit_lie_around_attraction_points_and_those_to_miss_around_repulsion_points(model):
    made = make_gmil(200, n_attraction=1, n_repulsion=1, random_state=3)
    X = made.data.with_instances(20 * made.data.instances - 7)
    concept = box_concept(model.fit(X, made.target), None)

    def pull(point):
        inside = ((concept.lower <= point) & (point <= concept.upper)).all(axis=1)
        return concept.weight[inside].sum()

    elsewhere = [pull(p) for p in X.instances[made.instance_target == 0]]
    attraction, repulsion = (20 * p[0] - 7 for p in (made.concept.attraction, made.concept.repulsion))
    assert pull(attraction) > np.quantile(elsewhere, 0.6)
    assert pull(repulsion) < np.quantile(elsewhere, 0.4)
    few = box_concept(model, 20)
    assert len(few) == len(few.attraction) + len(few.repulsion) == 20
    assert str(few).count("\n") == 19 and "hit" in str(few) and "miss" in str(few)


def test_boxes_of_a_sparse_machine_behind_a_scaler():
    made = make_gmil(120, n_attraction=1, n_repulsion=0, random_state=1)
    X = made.data.with_instances(1000 * made.data.instances)
    model = skmil.method("Sparse boxes", C=1.0)
    plain = box_concept(model.fit(X, made.target), None)
    scaled = BagPipeline([("scale", BagScaler()), *model.steps]).fit(X, made.target)
    found = box_concept(scaled, 3)
    assert 0 < len(plain) < 3000 and (np.abs(plain.weight) > 0).all()
    assert np.nanmax(np.where(np.isfinite(found.upper), found.upper, np.nan)) > 10
    corner, other = (np.where(np.isfinite(c), c, 0.0) for c in (found.lower[0], found.upper[0]))
    assert (np.abs(corner) < 2000).all() and (np.abs(other) < 2000).all()
    unit = BagPipeline([("scale", BagScaler("unit")), *model.steps]).fit(X, made.target)
    with pytest.raises(ValueError, match="carried back"):
        box_concept(unit)
    with pytest.raises(ValueError, match="linear one"):
        box_concept(skmil.method("Simple-MI").fit(X, made.target))


def _gains(concept, X) -> np.ndarray:
    """What each bag gains by all boxes of a concept."""
    hits = [
        ((b[:, None] > concept.lower) & (b[:, None] < concept.upper)).all(axis=2).any(axis=0) for b in X
    ]
    return np.array(hits) @ concept.weight


@pytest.mark.parametrize("steps", [("boxes", "unit", "svm"), ("boxes", "svm"), ("scale", "boxes", "svm")])
def test_weights_of_boxes_add_up_to_the_decision_value(steps):
    made = make_gmil(60, n_attraction=1, n_repulsion=1, random_state=2)
    X = made.data.with_instances(made.data.instances * [100.0, 3.0] + [5.0, -2.0])
    known = {**dict(skmil.method("Sparse boxes", n_boxes=200, C=10.0).steps), "scale": BagScaler()}
    model = BagPipeline([(name, known[name]) for name in steps]).fit(X, made.target)
    expected = _gains(box_concept(model, None), X) + model.named_steps["svm"].intercept_
    assert np.ptp(expected) > 0
    assert_allclose(model.decision_function(X), expected, atol=1e-9)


def test_weights_of_boxes_add_up_to_the_sum_of_winnow():
    made = make_gmil(60, n_attraction=1, n_repulsion=1, random_state=2)
    model = BoxWinnow(300, random_state=0).fit(made.data, made.target)
    total = np.exp(model.decision_function(made.data)) * model.theta
    nothing = (model.size_ * np.exp(model.missed_)).sum()
    assert_allclose(total, nothing + _gains(box_concept(model, None), made.data), rtol=1e-6)


def test_boxes_can_be_drawn():
    made = make_gmil(60, n_attraction=1, n_repulsion=1, random_state=0)
    concept = box_concept(GMIL1(n_clusters=10, random_state=0).fit(made.data, made.target), 5)
    ax = plot_concept(concept, X=made.data, y=made.target)
    assert len(ax.patches) == 5 and ax.get_xlabel() == "x0"
    assert len(plot_concept(concept).patches) == 5
    assert len(plot_concept(concept, X=list(made.data)).collections) == 2


def test_pairs_of_features_come_alike():
    """Every subset of two of four features."""
    X = [np.random.default_rng(0).uniform(size=(30, 4))]
    e = BoxEmbedding(
        n_boxes=6000, grid=None, around="instances", max_features=2, max_side=0.5, random_state=0
    ).fit(X)
    bounded = np.isfinite(e.lower_) | np.isfinite(e.upper_)
    pairs = [tuple(np.flatnonzero(row)) for row in bounded if row.sum() == 2]
    shares = [pairs.count(p) / len(pairs) for p in itertools.combinations(range(4), 2)]
    assert_allclose(shares, 1 / 6, atol=0.03)


@pytest.mark.parametrize("kind", ["and", "min"])
def test_products_that_are_looked_up_are_those_of_the_features(kind):
    made = make_gmil(40, random_state=0)
    X = Bags.from_list(list(made.data))
    e = BoxEmbedding(kind, 200, around="instances", max_side=0.5, random_state=0).fit(X[:30])
    Q = e.transform(X[:9])
    assert_allclose(e.products(X, Q), (e.transform(X) @ Q.T).toarray(), rtol=1e-13, atol=1e-15)
    assert_array_equal(np.vstack([e.products(X[[i]], Q) for i in range(40)]), e.products(X, Q))
    with pytest.raises(ValueError, match="1 columns and the features"):
        e.products(X, sparse.csr_matrix(np.ones((2, 1))))


@pytest.mark.parametrize("around", ["volume", "instances"])
def test_few_points_are_counted_as_many_are(around, monkeypatch):
    X = Bags.from_list(list(make_gmil(20, random_state=1).data))
    k = BoxKernel("min", "shared", n_boxes=300, around=around, random_state=0).fit(X)
    T = k._table(X[:5])
    assert len(T.z) <= shared.FEW
    few = shared.held(T, k.boxes_)
    monkeypatch.setattr(shared, "FEW", 0)
    assert_array_equal(few, shared.held(T, k.boxes_))
