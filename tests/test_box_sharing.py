"""New bags beside standing ones: boxes drawn once, the same promise, bits that know of no other bag."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmil import Bags
from skmil._engines.boxes import counter, shared, sharing
from skmil.kernels import BoxKernel


@pytest.fixture
def bags():
    """Thirty bags of 24 points in two features, on a grid of 20 steps."""
    rng = np.random.default_rng(0)
    X = np.rint(np.clip(rng.normal(10, 4, (30 * 24, 2)), 0, 20))
    X[:2] = [[0, 0], [20, 20]]
    return Bags(X, np.arange(0, 30 * 24 + 1, 24))


@pytest.fixture
def drawn(monkeypatch):
    """Of each draw since, the bags that boxes were drawn around; nothing is remembered from before."""
    monkeypatch.setattr(sharing, "_recent", sharing.Recent())
    monkeypatch.setattr(counter, "_recent", sharing.Recent())
    monkeypatch.setattr(counter, "TERMS", 0)  # exact sums would serve such small grids
    told = []
    draw = shared.draw_boxes
    monkeypatch.setattr(shared, "draw_boxes", lambda T, *rest: told.append(len(T.key)) or draw(T, *rest))
    return told


@pytest.mark.parametrize("kind", ["and", "and/or", "min"])
def test_boxes_around_standing_bags_are_drawn_once(bags, drawn, kind):
    k = BoxKernel(kind, random_state=0).fit(bags[5:])
    first = k.transform(bags[:2])
    assert k.report_.entries["shared"] > 40
    assert 25 in drawn
    drawn.clear()
    k.transform(bags[2:5])
    assert 25 not in drawn
    assert_array_equal(k.transform(bags[:2]), first)


@pytest.mark.parametrize("kind", ["and", "and/or", "min"])
def test_a_new_bag_has_the_bits_that_it_has_alone(bags, drawn, kind):
    k = BoxKernel(kind, random_state=0).fit(bags[5:])
    together = k.transform(bags[:5])
    for i in range(5):
        assert_array_equal(k.transform(bags[i : i + 1])[0], together[i])


def test_volumes_of_standing_bags_are_counted_once(bags, drawn, monkeypatch):
    counted = []
    alone = counter.Counter._alone
    monkeypatch.setattr(
        counter.Counter, "_alone", lambda self, part: counted.extend(part) or alone(self, part)
    )
    k = BoxKernel("and/or", random_state=0).fit(bags[5:])
    for i in range(3):
        k.transform(bags[i : i + 1])
    assert len(counted) == 25 + 3


def test_either_bag_is_counted_around_the_new_one(bags, drawn):
    k = BoxKernel("or", random_state=0).fit(bags[5:])
    k.transform(bags[:5])
    assert 1 in drawn
    assert k.report_.entries["pairwise"] <= 30 + 5  # volumes of thirty bags, and few pairs


@pytest.mark.parametrize("kind", ["and", "or", "and/or", "min"])
def test_the_promise_holds_for_new_bags(bags, drawn, monkeypatch, kind):
    epsilon, delta = 0.2, 0.1
    monkeypatch.setattr(sharing, "ROUGHLY", 0.1)  # few boxes, so that what is certain is so by a hair
    bound = 2 * epsilon / (1 - epsilon) if kind == "and/or" else epsilon  # of a ratio of two counts
    new, old = bags[:3], bags[3:]
    truth = np.exp(BoxKernel(kind, "exact").fit(bags).log_gram(new, old))
    missed = served = 0
    for seed in range(40):
        k = BoxKernel(kind, epsilon=epsilon, delta=delta, random_state=seed).fit(bags)
        found = np.exp(k.log_gram(new, old))
        served += k.report_.entries.get("shared", 0)
        missed += (np.abs(found / truth - 1) > bound).sum()
    assert served > 40 * 30
    assert missed <= delta * 40 * truth.size


def test_point_by_point_counts_what_masks_count(bags):
    k = BoxKernel(random_state=0).fit(bags)
    T = k._table(bags)
    boxes = shared.draw_boxes(T, 500, 1)
    assert_array_equal(sharing._asked(T)(boxes), shared.inside(T, shared.masks(T), boxes))


def test_old_boxes_are_forgotten(bags, drawn):
    for seed in range(sharing.KEPT + 2):
        BoxKernel(random_state=seed).fit(bags[5:]).transform(bags[:1])
    assert len(sharing._recent._made) == sharing.KEPT
