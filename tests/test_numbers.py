"""Numbers far from the usual ones: large offsets, ranges beyond integers, negative bases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skmil import Bags
from skmil._engines.widths import resolve_gamma
from skmil.evaluation import cross_validate_bags
from skmil.kernels import BoxKernel, MinimaxKernel, SetKernel
from skmil.learners import GMIL1, BagSVC
from skmil.preprocessing import BagGrid
from skmil.records import read_records


@pytest.mark.parametrize("gamma", ["scale", "median"])
@pytest.mark.parametrize("offset", [0.0, -3.0, 1e4, 1e8])
@pytest.mark.parametrize("thin", [False, True])
def test_widths_do_not_depend_on_where_zero_is(bags, gamma, offset, thin):
    if thin and gamma == "median" and abs(offset) > 10:
        pytest.skip("sparse features are not centred: they lie around zero")
    moved = bags.with_instances(bags.instances + offset)
    if thin:
        moved = moved.with_instances(sparse.csr_matrix(moved.instances))
    assert_allclose(resolve_gamma(gamma, moved), resolve_gamma(gamma, bags), rtol=1e-6)


def test_a_full_sparse_table_has_no_zeros_whatever_its_shape():
    rng = np.random.default_rng(0)
    for n, d in [(n, d) for n in range(2, 50) for d in (3, 7, 10)]:
        X, w = rng.normal(size=(n, d)), rng.random(n)
        for weights in (None, w):
            wanted = resolve_gamma("scale", Bags(X, np.arange(n + 1)), weights)
            far = Bags(sparse.csr_matrix(X + 1e8), np.arange(n + 1))
            assert_allclose(resolve_gamma("scale", far, weights), wanted, rtol=1e-6)


def test_scale_is_that_of_scikit_learn(bags):
    holes = bags.with_instances(np.where(bags.instances > 0, bags.instances, 0.0))
    expected = 1.0 / (4 * holes.instances.var())
    assert_allclose(resolve_gamma("scale", holes), expected, rtol=1e-12)
    thin = holes.with_instances(sparse.csr_matrix(holes.instances))
    assert_allclose(resolve_gamma("scale", thin), expected, rtol=1e-12)


class TestGrid:
    def test_too_many_steps_are_refused(self):
        with pytest.raises(ValueError, match=r"feature 1 runs from -1e\+20 to 1e\+20.*give levels"):
            BagGrid().fit([[[0.0, -1e20]], [[1.0, 1e20]]])
        with pytest.raises(ValueError, match="feature 0 runs"):
            BagGrid(factor=1e300).fit([[[-1e300]], [[1e300]]])

    @pytest.mark.parametrize("top", [2.0**53, 1e20, 1e150, 1e300])
    def test_levels_take_any_range(self, top):
        grid = BagGrid(levels=10).fit([[[-top]], [[0.0]], [[top]]])
        assert grid.s_.tolist() == [12]
        assert grid.transform(
            [[[-np.finfo(float).max]], [[0.0]], [[top]], [[1.7e308]]]
        ).instances.ravel().tolist()[1:] == [6.0, 11.0, 12.0]

    def test_a_range_beyond_floats_is_refused(self):
        for grid in (BagGrid(levels=10), BagGrid()):
            with pytest.raises(ValueError, match="feature 0 runs"):
                grid.fit([[[-1.7e308]], [[1.7e308]]])

    @pytest.mark.parametrize("model", [BoxKernel(), BoxKernel("min"), BoxKernel(grid=None)], ids=repr)
    @pytest.mark.parametrize("scale", [1e20, 1e200])
    def test_box_counts_are_finite_far_away(self, model, scale):
        X = [np.array([[1.0], [2.0]]) * scale, np.array([[3.0]]) * scale, np.array([[-7.0]]) * scale]
        K = model.fit(X).log_gram(X)
        assert np.isfinite(K.diagonal()).all()
        assert np.isfinite(model(X)).all() and model(X).max() == pytest.approx(1.0)

    def test_a_concept_is_learned_far_away(self):
        X = [[[1e20], [9e20]], [[2e20]], [[1.5e20], [8e20]], [[3e20]]] * 3
        model = GMIL1(n_clusters=4, random_state=0).fit(X, [1, 0, 1, 0] * 3)
        assert model.predict(X).tolist() == [1, 0, 1, 0] * 3

    def test_volumes_beyond_floats_are_refused(self):
        with pytest.raises(ValueError, match="feature 0 runs"):
            BoxKernel(grid=None).fit([[[-1.7e308]], [[1.7e308]]])


@pytest.mark.parametrize("kernel", [SetKernel("poly", gamma=1.0), MinimaxKernel(gamma=1.0)], ids=repr)
def test_powers_of_negative_numbers_are_whole(kernel):
    bags = Bags.from_list([[[-3.0]], [[2.0]]])
    assert np.isfinite(kernel.set_params(coef0=0.0, degree=3)(bags)).all()
    with pytest.raises(ValueError, match=r"'degree' parameter of .* must be an int"):
        kernel.set_params(degree=2.5)(bags)


def test_a_nested_search_over_weights_of_classes(toy, tmp_path):
    X, y = toy
    weights = [{0: 1, 1: 10}, {0: 10, 1: 1}, None]
    path = tmp_path / "records.jsonl"
    options = dict(folds=2, nested=True, grid={"class_weight": weights, "C": [1.0]}, records=path)
    found = cross_validate_bags(BagSVC(SetKernel(gamma=0.5)), X, y, **options)
    assert all(0.5 < r.scores["accuracy"] for r in found)
    chosen = [r.parameters["class_weight"] for r in found]
    assert all(c in (None, "{0: 1, 1: 10}", "{0: 10, 1: 1}") for c in chosen)
    assert [r.key for r in read_records(path)] == [r.key for r in found]
    again = cross_validate_bags(BagSVC(SetKernel(gamma=0.5)), X, y, **options)
    assert_array_equal([r.fit_seconds for r in again], [r.fit_seconds for r in found])  # read, not run
