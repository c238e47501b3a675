"""The container: what it takes, what it gives, what it refuses."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import resample

from skmil import Bags, as_bags
from skmil._schema import check_bags_y, check_weights
from skmil.kernels import SetKernel
from skmil.learners import BagSVC
from skmil.preprocessing import BagScaler
from tests.strategies import labelled_bags

A, B = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[4.0, 5.0]])


# ---- what it takes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        [A, B],
        (A, B),
        [A.tolist(), B.tolist()],
        [A.astype(np.float32), B.astype(np.int16)],
        Bags.from_list([A, B]),
    ],
)
def test_lists_tuples_and_bags_are_the_same_bags(X):
    bags = as_bags(X)
    assert bags == Bags.from_list([A, B])
    assert bags.sizes.tolist() == [2, 1] and bags.shape == (2, 2) and bags.n_features == 2
    assert bags.instances.dtype == np.float64 and bags.instances.flags.c_contiguous


def test_an_object_array_of_bags_is_a_list_of_bags():
    X = np.empty(2, dtype=object)
    X[:] = [A, B]
    assert as_bags(X) == Bags.from_list([A, B])


def test_a_3d_array_is_bags_of_equal_size_and_a_2d_array_bags_of_one():
    X = np.arange(12.0).reshape(3, 2, 2)
    assert as_bags(X).sizes.tolist() == [2, 2, 2]
    assert np.array_equal(as_bags(X)[1], X[1])
    assert as_bags(X[0]).sizes.tolist() == [1, 1]
    assert as_bags([[1, 2], [3, 4], [5, 6]]).sizes.tolist() == [1, 1, 1]
    assert as_bags(pd.DataFrame(X[0])).sizes.tolist() == [1, 1]
    assert as_bags(pl.DataFrame(X[0])).sizes.tolist() == [1, 1]


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_bags_stay_sparse_and_equal_the_dense_ones(make):
    bags = as_bags([make(A), make(B)])
    assert bags.is_sparse and bags.sizes.tolist() == [2, 1]
    assert bags.to_dense() == Bags.from_list([A, B])
    assert as_bags(make(A)).sizes.tolist() == [1, 1]
    with pytest.raises(TypeError, match=r"dense features.*to_dense"):
        _ = bags.flat


def test_what_is_bags_already_comes_back_as_it_is(bags):
    assert as_bags(bags) is bags


def test_from_table_groups_rows_in_order_of_first_appearance():
    bags = Bags.from_table([[0.0], [1.0], [2.0], [3.0]], ["b", "a", "b", "a"])
    assert bags.ids.tolist() == ["b", "a"]
    assert [b.ravel().tolist() for b in bags] == [[0.0, 2.0], [1.0, 3.0]]
    with pytest.raises(ValueError, match=r"shape \(4, 1\) and bag_ids \(3,\)"):
        Bags.from_table(np.ones((4, 1)), [1, 2, 3])


@pytest.mark.parametrize("library", [pd, pl])
def test_from_frame_takes_pandas_and_polars(library):
    frame = library.DataFrame(
        {"f": [1, 2, 3], "bag": ["x", "y", "x"], "g": [0.5, 1.5, 2.5], "act": [1, 0, 1]}
    )
    bags, y = Bags.from_frame(frame, label="act")
    assert bags.ids.tolist() == ["x", "y"] and y.tolist() == [1, 0]
    assert bags.feature_names.tolist() == ["f", "g"]
    assert np.array_equal(bags[0], [[1.0, 0.5], [3.0, 2.5]])
    assert Bags.from_frame(frame).n_features == 3


def test_to_frame_and_back_is_the_same(bags):
    y = np.arange(len(bags)) % 2
    again, labels = Bags.from_frame(bags.to_frame(y), label="label")
    assert again == bags and np.array_equal(labels, y)
    assert list(bags.to_frame().columns) == ["bag", "f1", "f2", "f3", "f4"]
    named = Bags.from_list([A, B], feature_names=["p", "q"])
    assert list(named.to_frame().columns) == ["bag", "p", "q"]


def test_nullable_integer_ids_of_pandas_stay_integers():
    frame = pd.DataFrame({"bag": pd.array([7, 7, 9], dtype="Int64"), "f": [1.0, 2.0, 3.0]})
    assert Bags.from_frame(frame).ids.tolist() == [7, 9]


# ---- what it gives -------------------------------------------------------------------------------


def test_indexing_gives_arrays_for_numbers_and_bags_for_selections(bags):
    assert np.array_equal(bags[2], bags.instances[3:10]) and np.array_equal(bags[-1], bags[8])
    for key in ([2, 0], np.array([2, 0]), (np.arange(9) % 2 == 0), slice(1, 8, 3), slice(2, 5)):
        part = bags[key]
        numbers = np.arange(9)[key]
        assert part.ids.tolist() == numbers.tolist()
        assert all(np.array_equal(p, bags[i]) for p, i in zip(part, numbers, strict=True))
        assert part.offsets[0] == 0 and part.offsets[-1] == len(part.instances)
    assert bags[[3, 3]].sizes.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("key", "error"),
    [(9, IndexError), (-10, IndexError), ("a", IndexError), ([0.5], IndexError), ([[0, 1]], IndexError),
     (np.ones(4, bool), IndexError), ([], ValueError), (slice(3, 3), ValueError), (True, IndexError)],
)  # fmt: skip
def test_a_wrong_index_is_refused(bags, key, error):
    with pytest.raises(error):
        bags[key]


def test_iteration_length_owner_and_split(bags):
    assert len(list(bags)) == len(bags) == 9
    assert np.array_equal(np.concatenate(list(bags)), bags.instances)
    assert np.array_equal(np.bincount(bags.owner), bags.sizes)
    parts = bags.split(np.arange(len(bags.instances)))
    assert [len(p) for p in parts] == bags.sizes.tolist()


def test_equality_sees_values_cuts_ids_and_kind(bags):
    assert bags == Bags(bags.instances, bags.offsets)
    assert bags != Bags(bags.instances + 1, bags.offsets)
    assert bags != Bags(bags.instances, bags.offsets, ids=list("abcdefghi"))
    assert bags != bags[:8] and bags != "bags"
    assert Bags(A, [0, 1, 2]) != Bags(A, [0, 2])
    assert Bags(sparse.csr_matrix(A), [0, 2]) != Bags(A, [0, 2])
    assert Bags(sparse.csr_matrix(A), [0, 2]) == Bags(sparse.csr_matrix(A), [0, 2])
    with pytest.raises(TypeError, match="unhashable"):
        hash(bags)


def test_repr_tells_sizes_at_a_glance(bags):
    assert repr(bags) == "Bags(9 bags, 32 instances, 4 features; sizes 1 to 7, median 3)"
    assert "1 bag," in repr(bags[:1]) and "(sparse)" in repr(Bags(sparse.csr_matrix(A), [0, 2]))


def test_html_repr_shows_sizes_and_escapes_ids():
    html = Bags.from_list([A, B], ids=["<script>", "b&c"])._repr_html_()
    assert "2 bags, 3 instances" in html and "&lt;script&gt;" in html and "<script>" not in html
    assert html.count("<tr>") == 3


def test_concat_puts_bags_one_after_the_other(bags):
    assert Bags.concat([bags[:4], bags[4:]]) == bags
    named = Bags.from_list([A], ids=["a"])
    assert Bags.concat([named, Bags.from_list([B], ids=["b"])]).ids.tolist() == ["a", "b"]
    assert Bags.concat([Bags.from_list([A]), Bags.from_list([B])]).ids.tolist() == [0, 1]
    with pytest.raises(ValueError, match="part 1 has 4 features and part 0 has 2"):
        Bags.concat([named, bags])
    with pytest.raises(TypeError, match="some parts are sparse"):
        Bags.concat([named, Bags(sparse.csr_matrix(A), [0, 2])])
    with pytest.raises(ValueError, match="no bags"):
        Bags.concat([])


@settings(max_examples=50, deadline=None)
@given(labelled_bags())
def test_bags_are_the_concatenation_of_their_parts_and_survive_pickling(pair):
    bags, _ = pair
    assert Bags.concat([bags[i : i + 1] for i in range(len(bags))]) == bags
    again = pickle.loads(pickle.dumps(bags))
    assert again == bags and not again.instances.flags.writeable and not again.offsets.flags.writeable


# ---- no copies, no changes -----------------------------------------------------------------------


def test_nothing_is_copied_that_need_not_be():
    table, offsets = np.random.default_rng(0).normal(size=(6, 2)), np.array([0, 2, 3, 6])
    bags = Bags(table, offsets)
    assert np.shares_memory(bags.instances, table) and np.shares_memory(bags.offsets, offsets)
    assert np.shares_memory(as_bags(table).instances, table)
    assert np.shares_memory(as_bags(table.reshape(3, 2, 2)).instances, table)
    assert np.shares_memory(Bags.from_table(table, [0, 0, 1, 1, 2, 2]).instances, table)
    for part in (
        bags[1],
        bags[1:].instances,
        bags[[0, 1]].instances,
        bags[np.array([True, True, False])].instances,
    ):
        assert np.shares_memory(part, table)
    csr = sparse.csr_matrix(table)
    assert np.shares_memory(Bags(csr, offsets).instances.data, csr.data)


def test_bags_are_read_only_and_leave_what_they_were_given_as_it_was():
    table = np.ones((3, 2))
    bags = Bags(table, [0, 1, 3], ids=np.array(["a", "b"]))
    for array in (bags.instances, bags.offsets, bags.ids, bags[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert table.flags.writeable
    table.flags.writeable = False
    for X in (table, [table], table.reshape(1, 3, 2)):
        assert as_bags(X).n_features == 2


def test_a_sparse_table_in_disorder_is_put_in_order_in_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([1, 0, 0]), np.array([0, 3])
    table = sparse.csr_matrix((data, indices, indptr), shape=(1, 2))
    assert Bags(table, [0, 1]).to_dense()[0].tolist() == [[5.0, 1.0]]
    assert data.tolist() == [1, 2, 3] and indices.tolist() == [1, 0, 0] and table.nnz == 3


# ---- scikit-learn --------------------------------------------------------------------------------


def scikit_learn_results(X, y):
    """What searches, splits and scores make of X."""
    model = Pipeline([("scale", BagScaler()), ("svm", BagSVC(SetKernel(gamma=0.1), C=10.0))])
    search = GridSearchCV(model, {"svm__C": [0.1, 10.0]}, cv=StratifiedKFold(3)).fit(X, y)
    left, right, y_left, y_right = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    sizes = [(len(left), len(right), int(y_right.sum()), len(resample(X, random_state=0)))]
    for splitter in (KFold(3), StratifiedKFold(3), ShuffleSplit(2, random_state=0)):
        sizes += [(len(a), len(b)) for a, b in splitter.split(X, y)]
    sizes += [(len(a), len(b)) for a, b in GroupKFold(2).split(X, y, groups=np.arange(40) % 4)]
    return (
        cross_val_score(model, X, y, cv=4).tolist(),
        search.best_score_,
        clone(search).fit(X, y).predict(X).tolist(),
        model.fit(left, y_left).decision_function(right).tolist(),
        sizes,
    )


def test_scikit_learn_takes_bags_and_lists_as_they_are(toy):
    X, y = toy
    results = scikit_learn_results(X, y)
    assert results == scikit_learn_results(list(X), y)
    assert np.mean(results[0]) > 0.6 and np.mean(np.array(results[2]) == y) > 0.8
    assert results[4][0] == (30, 10, 5, 40)


def test_train_test_split_keeps_bags_bags_with_their_ids():
    bags = Bags.from_list([A, B, A, B], ids=list("abcd"))
    train, test, chosen, _ = train_test_split(bags, np.arange(4), random_state=1)
    assert isinstance(train, Bags) and isinstance(test, Bags)
    assert train.ids.tolist() == [list("abcd")[i] for i in chosen]


# ---- what it refuses -----------------------------------------------------------------------------


def with_value(value):
    bad = A.copy()
    bad[1, 0] = value
    return bad


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([A, with_value(np.nan)], ValueError, r"bag 1 contains NaN in feature 0 \(its instance 1\)"),
        ([A, with_value(np.inf)], ValueError, r"bag 1 contains infinity \(inf\) in feature 0"),
        (list(map(sparse.csr_matrix, [A, with_value(np.nan)])), ValueError, "bag 1 contains NaN"),
        (np.full((2, 2, 2), np.nan), ValueError, "bag 0 contains NaN in feature 0"),
        ([A, np.empty((0, 2))], ValueError, "bag 1 has 0 instances; drop it or give it at least one"),
        ([A, []], ValueError, r"bag 1 has shape \(0,\)"),
        ([], ValueError, "there are no bags"),
        ([A, np.ones((2, 3))], ValueError, "bag 1 has 3 features and bag 0 has 2; all bags need the same"),
        ([A, np.array([["x", "y"]])], ValueError, "bag 1 is not a table of numbers.*text.*encode"),
        ([A, [["1", "2"]]], ValueError, "bag 1 is not a table of numbers.*text"),
        ([A, np.zeros((1, 2), "M8[D]")], ValueError, "bag 1 is not a table of numbers.*dates"),
        ([A, "text"], TypeError, "bag 1 is 'text'; expected a 2-D array"),
        ([A, None], TypeError, "bag 1 is None"),
        ([A, np.ones(2)], ValueError, r"bag 1 has shape \(2,\).*pass one 2-D array instead of a list"),
        ([A, [[1.0], [1.0, 2.0]]], ValueError, "bag 1 is not a table of numbers.*inhomogeneous"),
        ([A, A + 1j], ValueError, "bag 1 is not a table of numbers: Complex data not supported"),
        ([A, sparse.csr_matrix(B)], TypeError, "some bags are sparse and some are dense"),
        (np.empty((2, 2, 0)), ValueError, r"0 feature\(s\)"),
        (np.array([["a", "b"]]), ValueError, "holds text"),
        ("text", TypeError, "expected bags, got str; pass a list of 2-D arrays"),
        ({"a": A}, TypeError, "expected bags, got dict"),
        (None, TypeError, "expected bags, got NoneType"),
        (7, TypeError, "expected bags, got int"),
        ([[10**400, 1]], ValueError, "the table holds a number that is too large"),
        (np.ones(3), ValueError, "Expected 2D array"),
        (np.ones((1, 1, 1, 1)), ValueError, "dim"),
    ],
)  # fmt: skip
def test_what_is_no_bags_is_refused_with_the_place_and_the_remedy(X, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        as_bags(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((A, [0, 1]), "offsets run from 0 to 1; expected 0 to 2"),
        ((A, [1, 2]), "offsets begin with 1; expected 0"),
        ((A, [0, 2, 1, 2]), "bag 1 has 0 instances"),
        ((A, [0]), "there are no bags"),
        ((A, [0.0, 2.0]), "offsets are float64"),
        ((A, [[0, 2]]), "expected whole numbers in one row"),
        ((A, [0, 1, 2], ["a"]), r"ids has shape \(1,\) for 2 bags"),
        ((A, [0, 2], None, ["f"]), r"feature_names has shape \(1,\) for 2 features"),
        ((A.ravel(), [0, 4]), "expected two dimensions"),
    ],
)
def test_the_constructor_checks_cuts_and_names(arguments, message):
    with pytest.raises(ValueError, match=message):
        Bags(*arguments)


def test_a_csr_matrix_with_wrong_indices_is_refused():
    table = sparse.csr_matrix(A)
    table.indices[0] = 99
    with pytest.raises(ValueError, match="no valid CSR matrix"):
        Bags(table, [0, 2])


def test_errors_name_the_id_of_the_bag():
    with pytest.raises(ValueError, match=r"bag 1 \('MUSK-jf78'\) contains NaN in feature 0"):
        Bags.from_list([A, with_value(np.nan)], ids=["a", "MUSK-jf78"])


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ({"f": [1.0]}, {}, "expected one column 'bag' in the frame, found it not at all; it has 'f'"),
        ({"bag": [1, 1], "f": ["u", "v"]}, {}, "column 'f' is not numeric.*encode or drop it"),
        ({"bag": [1, None], "f": [1.0, 2.0]}, {}, "row 1 has no bag id"),
        ({"bag": ["a", None], "f": [1.0, 2.0]}, {}, "row 1 has no bag id"),
        (
            {"bag": [1, 1], "f": [1.0, 2.0], "y": [0, 1]},
            {"label": "y"},
            r"bag 0 \('1'\) has the labels 0 and 1",
        ),
        ({"bag": [1, 1], "f": [1.0, 2.0], "y": [0, None]}, {"label": "y"}, "row 1 has no label"),
    ],
)
@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_that_does_not_fit_is_refused(library, frame, options, message):
    with pytest.raises(ValueError, match=message):
        Bags.from_frame(library.DataFrame(frame), **options)


def test_a_column_that_appears_twice_is_refused():
    frame = pd.DataFrame([[1, 2.0, 3.0]], columns=["bag", "f", "f"])
    with pytest.raises(ValueError, match="column 'f' twice"):
        Bags.from_frame(frame)


def test_labels_must_fit_the_bags(toy):
    X, y = toy
    model = BagSVC(SetKernel(gamma=1.0))
    with pytest.raises(ValueError, match="40 bags but 39 labels; give one label per bag"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="all 40 bags are of one class, '1'; a classifier needs two"):
        model.fit(X, np.ones(40, int))
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)
    with pytest.raises(ValueError, match="contains NaN at bag 3"):
        check_bags_y(model, X, np.where(np.arange(40) == 3, np.nan, 1.0), classification=False)
    with pytest.raises(ValueError, match="regression needs numbers"):
        check_bags_y(model, X, np.array(["a"] * 40), classification=False)


def test_weights_must_fit_the_bags(bags):
    assert check_weights(None, bags).tolist() == [1.0] * 9
    with pytest.raises(ValueError, match=r"9 bags but sample_weight has shape \(8,\)"):
        check_weights(np.ones(8), bags)
    with pytest.raises(ValueError, match="the weight of bag 2 is -1; weights are not negative"):
        check_weights([1, 1, -1, 1, 1, 1, 1, 1, 1], bags)


def test_values_whose_squares_overflow_are_refused_by_kernels():
    with pytest.raises(ValueError, match=r"values up to 1e\+200, whose squares overflow; scale them"):
        SetKernel(gamma=1.0)([A, B * 2e199])
