"""The Lennard-Jones generator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmil.datasets import make_lj
from skmil.datasets.lennard_jones import binding_energy


def test_energies_are_binding_energies():
    made = make_lj(10, 14, 2, n_bags=50, random_state=0)
    bags, y, wall, scale, energy = (made[k] for k in ("data", "target", "wall", "scales", "energy"))
    assert len(bags) == 50 and bags.n_features == 14 and set(bags.sizes) == {3, 4, 5}
    assert y.min() > 0 and y.max() <= 1 and 0.2 < np.mean(y > 0.5) < 0.8
    assert_array_equal(y, [e.max() for e in bags.split(energy)])
    # Contact in every relevant direction is the best there is; the others do not matter.
    best = bags.instances[:1].copy()
    best[0, :10] = wall[:10]
    assert_allclose(binding_energy(best, wall, scale, 2.5), 1.0)
    assert_allclose(energy[:1], binding_energy(bags.instances[:1] - (scale == 0), wall, scale, 2.5))


def test_scales_and_relevance():
    scale = make_lj(6, 9, 3, random_state=0).scales
    assert_allclose(scale, [1, 1 / 2, 1 / 3, 1, 1 / 2, 1 / 3, 0, 0, 0])


def test_potential_falls_with_the_gap():
    x = np.linspace(0, 10, 50)[:, None]
    energy = binding_energy(x, np.array([10.0]), np.ones(1), 2.5)
    assert (np.diff(energy) > 0).all() and energy[0] > 0 and energy[-1] == 1


def test_same_seed_same_bits():
    a, b = make_lj(random_state=3), make_lj(random_state=3)
    assert a.data == b.data
    assert_array_equal(a.target, b.target)


@pytest.mark.parametrize(
    "wrong", [{"n_relevant": 31}, {"n_relevant": 0}, {"n_scales": 99}, {"sizes": (5, 3)}, {"n_bags": 0}]
)
def test_wrong_numbers_are_named(wrong):
    with pytest.raises(ValueError, match=str(next(iter(wrong)))):
        make_lj(**wrong)
