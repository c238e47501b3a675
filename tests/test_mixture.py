"""Synthetic sets of the PPMM paper."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmil.datasets import make_mixture_bags


@pytest.mark.parametrize("mechanism", [1, 2, 3])
def test_shape_and_balance(mechanism):
    X, y = make_mixture_bags(mechanism, n_bags=2000, random_state=0, return_X_y=True)
    assert len(X) == len(y) == 2000 and (X.sizes == 13).all() and X.n_features == 5
    assert 0.45 < y.mean() < 0.55
    assert set(y) == {0, 1}


@pytest.mark.parametrize(("mechanism", "positive", "more_than"), [(1, 1, 0), (2, 4, 2.6), (3, 10, 6.5)])
def test_labels_follow_the_mechanism(mechanism, positive, more_than):
    # Without spread an instance is its centre, so components can be read off.
    made = make_mixture_bags(mechanism, spread=0.0, random_state=0)
    X, y = made.data, made.target
    assert (np.add.reduceat(made.instance_target, X.offsets[:-1]) > more_than).tolist() == y.tolist()
    centers = np.unique(X.instances, axis=0)
    assert len(centers) == 20
    count = np.array([[(b == c).all(axis=1).sum() for c in centers] for b in X])
    # The positive components are those most frequent in positive bags.
    lift = count[y == 1].mean(axis=0) - count[y == 0].mean(axis=0)
    chosen = np.argsort(-lift)[:positive]
    assert_array_equal(count[:, chosen].sum(axis=1) > more_than, y == 1)


def test_mechanisms_differ_in_the_labels_only():
    a, b = make_mixture_bags(1, random_state=3), make_mixture_bags(3, random_state=3)
    assert a.data == b.data and (a.target != b.target).any()
    assert make_mixture_bags(1, random_state=4).data != a.data


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"mechanism": 4}, "mechanism is 4; use 1, 2 or 3"),
        ({"n_bags": 0}, "n_bags is 0"),
        ({"spread": -1.0}, "spread is -1.0"),
    ],
)
def test_wrong_parameters(wrong, says):
    with pytest.raises(ValueError, match=says):
        make_mixture_bags(**wrong)
