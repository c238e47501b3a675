"""The assumption sets are what they say, and tell a method that presence sways from one that cheats."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from skmil.datasets import make_assumption
from skmil.embeddings import MeanEmbedding
from skmil.learners import BagPipeline, BallBoost

PARTS = ("train", "test", "attacked")


def kinds_of(part):
    """For each bag: how many instances of a concept, how many of poison."""
    marks = part.data.split(part.instance_target)
    return np.array([(m == 1).sum() for m in marks]), np.array([(m == -1).sum() for m in marks])


def test_poison_changes_sides():
    sets = make_assumption("single", random_state=0)
    for name in PARTS:
        part = sets[name]
        concept, poison = kinds_of(part)
        assert_array_equal(concept > 0, part.target == 1)
        assert concept.max() == 3 and part.data.n_features == 16
        assert_array_equal(poison, part.target == (name == "attacked"))
        assert part.data.instances[part.instance_target == -1].mean() == pytest.approx(-10, abs=0.1)


def test_two_concepts():
    sets = make_assumption("double", random_state=0)
    for name in PARTS:
        part = sets[name]
        for b, marks, label in zip(
            part.data, part.data.split(part.instance_target), part.target, strict=True
        ):
            means = np.rint(b[marks == 1].mean(axis=1))
            assert set(means) == {2, 3} if label else len(means) == 1 and set(means) <= {2, 3}
        assert_array_equal(kinds_of(part)[1], part.target == (name == "attacked"))


def test_frequency():
    sets = make_assumption("frequency", random_state=0)
    for name in PARTS:
        concept, poison = kinds_of(sets[name])
        negative = concept[sets[name].target == 0]
        assert poison.sum() == 0
        assert (concept[sets[name].target == 1] == 2).all()
        assert ((negative >= 35) & (negative <= 44)).all() if name == "attacked" else (negative == 1).all()


def auc(model, part):
    return roc_auc_score(part.target, model.decision_function(part.data))


def test_it_tells_methods_apart():
    sets = make_assumption("single", random_state=0)
    means = BagPipeline([("mean", MeanEmbedding()), ("svm", SVC(kernel="linear"))])
    means.fit(sets.train.data, sets.train.target)
    assert auc(means, sets.test) > 0.9 and auc(means, sets.attacked) < 0.5

    sets = make_assumption("double", random_state=0)
    balls = BallBoost(n_rounds=5).fit(sets.train.data, sets.train.target)
    assert auc(balls, sets.test) > 0.75 and auc(balls, sets.attacked) > 0.75


def test_same_seed_same_bags():
    a, b = (make_assumption("double", n_bags=10, random_state=3) for _ in range(2))
    c = make_assumption("double", n_bags=10, random_state=4)
    assert a.train.data == b.train.data and a.attacked.data == b.attacked.data
    assert a.train.data != c.train.data and a.train.data != a.test.data


def test_errors():
    with pytest.raises(ValueError, match="kind is 'triple'; use one of single, double, frequency"):
        make_assumption("triple")
    with pytest.raises(ValueError, match="give at least 2 bags"):
        make_assumption(n_bags=1)
