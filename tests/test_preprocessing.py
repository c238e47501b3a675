import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from skmil import Bags
from skmil.preprocessing import BagGrid, BagScaler

SCALERS = {"standard": StandardScaler(), "minmax": MinMaxScaler(), "robust": RobustScaler()}


@pytest.mark.parametrize("method", SCALERS)
def test_same_as_scikit_learn_on_pooled_instances(method, bags):
    scaled = BagScaler(method).fit_transform(bags)
    assert isinstance(scaled, Bags) and scaled.ids.tolist() == bags.ids.tolist()
    assert_allclose(scaled.instances, SCALERS[method].fit_transform(bags.instances), atol=1e-12)


def test_each_bag_counts_the_same():
    X = [np.array([[0.0], [0.0], [0.0]]), np.array([[4.0]])]
    assert BagScaler(equal_bags=True).fit(X).center_ == 2.0
    assert BagScaler(equal_bags=False).fit(X).center_ == 1.0
    robust = BagScaler("robust", equal_bags=True).fit([np.zeros((9, 1)), np.ones((1, 1)), np.ones((1, 1))])
    assert robust.center_ == 1.0


@pytest.mark.parametrize("method", SCALERS)
def test_constant_features_become_zero(method):
    X = [np.full((3, 2), [0.1, 1e9]), np.full((2, 2), [0.1, 1e9])]
    scaled = BagScaler(method).fit_transform(X).instances
    assert np.isfinite(scaled).all()
    assert_allclose(scaled, 0.0, atol=1e-6)


@pytest.mark.parametrize("method", SCALERS)
def test_sparse_stays_sparse(method):
    dense = np.array([[0.0, 2.0], [4.0, 0.0], [0.0, 0.0]])
    scaled = BagScaler(method).fit_transform([sparse.csr_matrix(dense), sparse.csr_matrix(dense[:1])])
    assert scaled.is_sparse and scaled.instances.nnz == 3


@pytest.mark.parametrize("skip_sparse", [False, True])
def test_instances_of_length_one(skip_sparse):
    X = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])
    for bags in (Bags(X, np.array([0, 2, 3])), Bags(sparse.csr_matrix(X), np.array([0, 2, 3]))):
        scaled = BagScaler("unit", skip_sparse=skip_sparse).fit_transform(bags)
        assert scaled.is_sparse == bags.is_sparse and bags[0][0].sum() == 7.0
        assert_allclose(scaled.to_dense().instances, [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("share, kept", [(0.05, True), (0.5, False)])
def test_what_is_mostly_zero_may_stay_whatever_holds_it(to, share, kept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20)) * (rng.random((60, 20)) < share)
    bags = Bags(to(X), np.array([0, 20, 60]))
    same = {
        skip: np.array_equal(BagScaler(skip_sparse=skip).fit_transform(bags).to_dense().instances, X)
        for skip in (False, True, "zeros")
    }
    assert same == {False: False, True: bags.is_sparse, "zeros": bags.is_sparse or kept}


def test_grid_has_a_place_for_every_value():
    grid = BagGrid(factor=10).fit([np.array([[0.12, 5.0], [0.31, 5.0]])])
    assert_array_equal(grid.s_, [4, 2])
    seen = grid.transform([np.array([[0.12, 5.0], [0.31, 5.0], [-9.0, 0.0], [99.0, 9.0]])])[0]
    assert_array_equal(seen, [[1, 1], [3, 1], [0, 0], [4, 2]])


def test_grid_with_a_number_of_levels(bags):
    grid = BagGrid(levels=100)
    cells = grid.fit_transform(bags).instances
    assert_array_equal(grid.s_, 102)
    assert_array_equal(cells.min(axis=0), 1)
    assert_array_equal(cells.max(axis=0), 101)


@pytest.mark.parametrize("method", ["standard", "minmax", "robust"])
@pytest.mark.parametrize("to", [np.asarray, sparse.csr_matrix])
def test_a_constant_feature_does_not_blow_up_a_bag_that_differs(method, to):
    # The mean of 1111 times 0.1 is not 0.1 in floating point, so the standard deviation is not 0.
    X = np.column_stack([np.full(1111, 0.1), np.arange(1111.0)])
    scaler = BagScaler(method).fit(Bags(to(X), np.array([0, 500, 1111])))
    other = scaler.transform(Bags(to(np.array([[0.3, 5.0]])), np.array([0, 1]))).to_dense().instances
    assert 0 < other[0, 0] < 1
    if to is np.asarray:
        assert (scaler.transform(Bags(X, np.array([0, 1111]))).instances[:, 0] == 0).all()


def test_numbers_equal_but_for_rounding_are_constant():
    X = np.array([0.3] * 500 + [0.1 * 3] * 500)[:, None]  # 0.1 * 3 is not 0.3
    for method in ("standard", "minmax"):
        scaler = BagScaler(method).fit(Bags(X, np.array([0, 1000])))
        assert scaler.transform([[[0.4]]])[0][0, 0] == pytest.approx(0.1)


def test_deviations_of_large_sparse_numbers():
    rng = np.random.default_rng(0)
    X = 1e6 + 1e-3 * rng.normal(size=(400, 3))
    X[::2, 2] = 0
    scaler = BagScaler().fit(Bags(sparse.csr_matrix(X), np.array([0, 400])))
    assert_allclose(scaler.scale_, X.std(axis=0), rtol=1e-6)
