"""Balls, cubes and boxes: the best region against all regions, AdaBoost by hand, faces that move."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import chebyshev, euclidean

from skmil import Bags, threads
from skmil.learners import BallBoost
from skmil.learners.boost import _Search
from tests import naive

DISTANCES = {"ball": euclidean, "cube": chebyshev}


@pytest.mark.parametrize("shape", DISTANCES)
def test_best_region_of_all(shape, bags):
    rng = np.random.default_rng(0)
    for _ in range(20):
        signed = rng.normal(size=len(bags))
        centres = bags[signed > 0].instances
        region = _Search(bags, centres, shape).best(signed)
        expected = naive.best_ball(bags, centres, signed, DISTANCES[shape])
        assert_allclose(signed[region.hit].sum(), expected, atol=1e-10)
        reach = [min(DISTANCES[shape](centres[region.centre], x) for x in b) for b in bags]
        assert_array_equal(np.array(reach) <= region.radius, region.hit)


def test_box_is_never_worse_than_its_cube(bags):
    rng = np.random.default_rng(1)
    better = 0
    for _ in range(20):
        signed = rng.normal(size=len(bags))
        centres = bags[signed > 0].instances
        cube, box = (_Search(bags, centres, s).best(signed) for s in ("cube", "box"))
        inside = [((b >= box.low) & (b <= box.high)).all(axis=1).any() for b in bags]
        assert_array_equal(inside, box.hit)
        assert signed[box.hit].sum() >= signed[cube.hit].sum()
        better += signed[box.hit].sum() > signed[cube.hit].sum()
    assert better > 0


def test_faces_move_one_by_one():
    # Two positives 1 apart in the first feature, a negative 0.6 away in the second: no square
    # holds both positives without the negative, a rectangle does.
    X = [[[0.0, 0.0]], [[1.0, 0.0]], [[0.0, 0.6]]]
    y = [1, 1, 0]
    cube, box = BallBoost("cube", 1).fit(X, y), BallBoost("box", 1).fit(X, y)
    assert cube.score(X, y) < 1
    assert_array_equal(box.predict(X), y)
    assert box.high_[0, 0] >= 1 and box.high_[0, 1] < 0.6


def test_weights_of_adaboost_by_hand():
    # One positive sits among negatives. The intercept is 0 (three bags of each class); the best ball
    # misses one of six, so alpha = log(5) / 2, and the next round doubles up on the missed bag.
    X = [[[0.0]], [[0.1]], [[9.0]], [[8.9]], [[9.1]], [[9.2]]]
    model = BallBoost(n_rounds=1).fit(X, [1, 1, 1, 0, 0, 0])
    assert model.intercept_ == 0
    assert_allclose(model.weights_, [np.log(5) / 2])
    assert_allclose(model.decision_function(X), model.weights_[0] * np.array([1, 1, -1, -1, -1, -1]))
    assert_array_equal(BallBoost(n_rounds=9).fit(X, [1, 1, 1, 0, 0, 0]).predict(X), [1, 1, 1, 0, 0, 0])


@pytest.mark.parametrize("shape", ["ball", "cube", "box"])
def test_shares_add_up(shape, toy):
    X, y = toy
    model = BallBoost(shape).fit(X, y)
    nowhere = model.intercept_ - model.weights_.sum()
    assert_allclose(
        [s.sum() for s in model.score_instances(X)], model.decision_function(X) - nowhere, atol=1e-9
    )
    assert model.score(X, y) > 0.9


def test_more_rounds_fit_better(toy):
    X, y = toy
    signs = 2 * y - 1
    losses = [
        np.exp(-signs * BallBoost(n_rounds=r).fit(X, y).decision_function(X)).sum() for r in (1, 3, 9)
    ]
    assert losses[0] >= losses[1] >= losses[2]


def test_no_region_better_than_chance():
    model = BallBoost().fit([[[1.0]]] * 5, [0, 1, 0, 1, 0])
    assert len(model.weights_) == 0
    assert_array_equal(model.predict([[[1.0]], [[7.0]]]), [0, 0])
    assert_allclose(np.concatenate(model.score_instances([[[1.0], [2.0]]])), 0)


@pytest.mark.parametrize("shape", ["cube", "box"])
def test_threads_do_not_show(shape):
    rng = np.random.default_rng(0)
    X = Bags.from_list([rng.normal(size=(m, 5)) for m in rng.integers(1, 12, 40)])
    y = rng.integers(0, 2, 40)
    with threads(1):
        one = BallBoost(shape).fit(X, y).decision_function(X)
    with threads(2):
        assert_array_equal(BallBoost(shape).fit(X, y).decision_function(X), one)


def test_auto_takes_boxes_or_balls_by_the_kind_of_features(bags):
    y = np.arange(len(bags)) % 2
    dense = BallBoost("auto").fit(bags, y)
    assert dense.shape_ == "box" and hasattr(dense, "low_")
    rare = bags.with_instances(sparse.csr_matrix(bags.instances))
    assert BallBoost("auto").fit(rare, y).shape_ == "ball"
    with pytest.raises(TypeError, match="needs dense features"):
        BallBoost("box").fit(rare, y)
