"""Files: what each format looks like, round trips without loss, damage reported with its place."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from scipy import sparse
from scipy.io import loadmat, savemat
from scipy.io.arff import loadarff

from skmil import Bags
from skmil.datasets import load_musk1
from skmil.formats import WRITERS, read_bags, write_bags
from tests.strategies import PLAIN_TEXT, TEXT, labelled_bags

ENDINGS = sorted(WRITERS)
QUICK = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def dense(bunch):
    return bunch.data.to_dense()


def put(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


# ---- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
@QUICK
@given(pair=labelled_bags(PLAIN_TEXT))
def test_numbers_ids_and_labels_come_back_bit_for_bit(ending, pair, tmp_path):
    bags, y = pair
    write_bags(tmp_path / f"x{ending}", bags, y)
    again = read_bags(tmp_path / f"x{ending}")
    assert dense(again) == bags
    assert np.array_equal(again.target, y) and again.target.dtype.kind == y.dtype.kind
    assert again.data.ids.dtype.kind == bags.ids.dtype.kind
    if ending not in (".svm", ".txt"):  # zeros are left out there, so their sign is lost
        assert again.data.instances.tobytes() == bags.instances.tobytes()


@pytest.mark.parametrize("ending", [".npz", ".csv", ".tsv", ".parquet", ".arff"])
@QUICK
@given(pair=labelled_bags(TEXT, kinds=("text",)))
def test_any_text_can_be_an_id_or_a_label(ending, pair, tmp_path):
    bags, y = pair
    write_bags(tmp_path / f"x{ending}", bags, y)
    again = read_bags(tmp_path / f"x{ending}")
    assert again.data == bags and again.target.tolist() == y.tolist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_bags_without_labels_have_none_when_they_come_back(ending, bags, tmp_path):
    write_bags(tmp_path / f"x{ending}", bags)
    again = read_bags(tmp_path / f"x{ending}")
    assert dense(again) == bags and again.target is None


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("last", [0, 49])
def test_sparse_bags_come_back_with_all_their_columns(ending, last, tmp_path):
    table = sparse.random(7, 50, 0.05, random_state=0).tolil()
    table[0], table[:, 49], table[3, last] = 0, 0, 1.0  # an empty first row, the last column in use or not
    bags = Bags(table.tocsr(), [0, 3, 4, 7], ids=["a", "b", "c"])
    write_bags(tmp_path / f"x{ending}", bags, [0.5, 1.5, 2.0])
    again = read_bags(tmp_path / f"x{ending}")
    assert dense(again) == bags.to_dense() and again.target.tolist() == [0.5, 1.5, 2.0]
    assert again.data.is_sparse == (ending not in (".csv", ".tsv", ".parquet"))


@pytest.mark.parametrize("ending", [".npz", ".csv", ".tsv", ".parquet", ".arff", ".mat"])
def test_feature_names_are_kept(ending, tmp_path):
    bags = Bags.from_list([np.eye(2)], feature_names=["log P", "mass"])
    write_bags(tmp_path / f"x{ending}", bags, [1])
    assert read_bags(tmp_path / f"x{ending}").data.feature_names.tolist() == ["log P", "mass"]


def test_every_format_says_which_extras_it_cannot_hold(bags, tmp_path):
    n, N = len(bags), len(bags.instances)
    extras = {
        "folds": np.arange(2 * n).reshape(2, n) % 3,
        "split": np.arange(n) % 2,
        "instance_target": np.arange(N) % 2,
        "instance_names": np.array([f"s{k}" for k in range(N)]),
        "class_names": np.array(["no", "yes"]),
        "DESCR": "nine bags",
    }
    for ending in ENDINGS:
        left_out = write_bags(tmp_path / f"x{ending}", bags, np.arange(n) % 2, **extras)
        again = read_bags(tmp_path / f"x{ending}")
        assert {"data", "target", *extras} - set(left_out) == set(again)
        for key in set(extras) - set(left_out):
            assert np.array_equal(again[key], extras[key]), (ending, key)
    assert write_bags(tmp_path / "x.npz", bags, **extras) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_musk1_goes_through_every_format(ending, tmp_path):
    musk = load_musk1()
    write_bags(tmp_path / f"musk{ending}", musk.data, musk.target)
    again = read_bags(tmp_path / f"musk{ending}")
    assert dense(again) == musk.data and np.array_equal(again.target, musk.target)


def test_every_shared_set_reads_and_a_sparse_one_goes_through_text(shared_data, tmp_path):
    trec = shared_data("trec1")
    assert trec.data.is_sparse and trec.data.shape == (400, 66552)
    for ending in (".svm", ".data", ".mat"):
        write_bags(tmp_path / f"t{ending}", trec.data[:40], trec.target[:40])
        again = read_bags(tmp_path / f"t{ending}")
        assert again.data.shape == (40, 66552) and again.data.is_sparse
        assert (again.data.instances != trec.data[:40].instances).nnz == 0
    lj = shared_data("lj_16_30_2")
    assert lj.target.dtype == np.float64 and lj.split.tolist().count(1) > 0


# ---- what the files look like --------------------------------------------------------------------

TWO = Bags.from_list([[[1.0, 0.5]], [[2.0, 0.0], [-3.0, 1e-300]]], ids=["a", "b c"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "bag,label,f1,f2\na,no,1,0.5\n"),
        ("x.tsv", "bag\tlabel\tf1\tf2\na\tno\t1.0\t0.5\nb c\tyes\t2.0\t0.0\n"),
        ("x.csv", "label,f1,Bag ID,f2\nno,1,a,0.5\n"),
        ("x.csv", "\ufefflabel;bag;f1;f2\r\nno;a;1;.5\r\n\r\n"),
        ("x.csv", "no,a,1,0.5\n"),
        ("x.txt", "no,a,1,0.5\n"),
        ("x.data", "c1,a,no,1,0.5\n"),
        ("x.data", "c1,a,no,1:1,2:0.5\n"),
        ("x.svm", "# a comment\n7:a:no 1:1 2:0.5\n"),
        ("x.txt", "7:a:no 2:0.5 1:1\n"),
        (
            "x.arff",
            "% made by hand\n@RELATION r\n@attribute id {a,'b c'}\n@Attribute bag relational\n"
            "  @attribute f1 numeric\n  @attribute 'f 2' real\n@end bag\n@attribute class {no,yes}\n"
            "@data\na,'1,0.5\\n',no\n",
        ),
        (
            "x.arff",
            "@relation r\n@attribute id string\n@attribute bag relational\n@attribute f1 numeric\n"
            '@attribute f2 numeric\n@end bag\n@attribute class string\n@data\na,"{0 1,1 0.5}",no\n',
        ),
    ],
)
def test_hand_written_files_are_read(name, text, tmp_path):
    bunch = read_bags(put(tmp_path, name, text))
    assert dense(bunch)[0].tolist() == [[1.0, 0.5]]
    assert bunch.data.ids[0] == "a" and bunch.target[0] == "no"


def test_uci_musk_lines_are_read(tmp_path):
    text = "MUSK-jf78,jf78_1,42,-198,-109,1.\nMUSK-jf78,jf78_2,42,-191,-142,1.\nNON-MUSK-j1,j1_1,5,6,7,0.\n"
    bunch = read_bags(put(tmp_path, "clean1.data", text))
    assert bunch.target.tolist() == [1, 0] and bunch.target.dtype.kind == "i"
    assert bunch.data.ids.tolist() == ["MUSK-jf78", "NON-MUSK-j1"]
    assert bunch.instance_names.tolist() == ["jf78_1", "jf78_2", "j1_1"]
    write_bags(tmp_path / "again.data", bunch.data, bunch.target, instance_names=bunch.instance_names)
    assert (tmp_path / "again.data").read_text() == text


def test_weka_weights_and_commas_at_the_end_of_an_instance_are_read(tmp_path):
    head = "@relation r\n@attribute id {a,b}\n@attribute bag relational\n@attribute f numeric\n"
    text = head + "@attribute g numeric\n@end bag\n@attribute class {0,1}\n@data\n"
    path = put(tmp_path, "x.arff", text + "a,'1,2,\\n3,4,',1,{2}\nb,\"5,6\",0\n")
    bunch = read_bags(path)
    assert [b.tolist() for b in bunch.data] == [[[1, 2], [3, 4]], [[5, 6]]]
    assert bunch.target.tolist() == [1, 0] and bunch.sample_weight.tolist() == [2.0, 1.0]
    assert write_bags(path, bunch.data, bunch.target, sample_weight=[0.1, 1e-300]) == []
    assert read_bags(path).sample_weight.tolist() == [0.1, 1e-300]


def test_mill_instance_labels_make_a_bag_positive(tmp_path):
    bunch = read_bags(put(tmp_path, "x.data", "i1,a,0,1.5\ni2,a,1,2.5\ni3,b,0,3.5\n"))
    assert bunch.target.tolist() == [1, 0] and bunch.instance_target.tolist() == [0, 1, 0]


def test_rows_of_a_bag_need_not_be_neighbours(tmp_path):
    text = "bag,f1,instance_label,label\n7,1,0,1\n8,2,0,0\n7,3,1,1\n"
    bunch = read_bags(put(tmp_path, "x.csv", text))
    assert bunch.data.ids.tolist() == [7, 8] and bunch.target.tolist() == [1, 0]
    assert bunch.data[0].ravel().tolist() == [1, 3] and bunch.instance_target.tolist() == [0, 1, 0]
    pd.read_csv(tmp_path / "x.csv").to_parquet(tmp_path / "x.parquet")
    again = read_bags(tmp_path / "x.parquet")
    assert again.data == bunch.data and again.instance_target.tolist() == [0, 1, 0]


def test_columns_can_be_named_or_numbered(tmp_path):
    path = put(tmp_path, "x.csv", "mol,active,w\nm1,1,0.5\nm2,0,1.5\n")
    bunch = read_bags(path, bag="mol", label="active")
    assert bunch.target.tolist() == [1, 0] and bunch.data.feature_names.tolist() == ["w"]
    path = put(tmp_path, "y.csv", "0.5,m1,3\n1.5,m2,4\n")
    assert read_bags(path, bag=1, label=2).target.tolist() == [3, 4]
    pl.read_csv(tmp_path / "x.csv").write_parquet(tmp_path / "x.parquet")
    assert read_bags(tmp_path / "x.parquet", bag="mol", label="active").target.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("labels", "kind", "values"),
    [
        (["1", "0"], "i", [1, 0]),
        (["+1", "-1"], "i", [1, -1]),
        (["1.0", "0.25"], "f", [1.0, 0.25]),
        (["True", "False"], "b", [True, False]),
        (["01a", "yes"], "U", ["01a", "yes"]),
    ],
)
def test_labels_have_the_type_they_are_written_in(labels, kind, values, tmp_path):
    bunch = read_bags(put(tmp_path, "x.csv", f"bag,label,f\na,{labels[0]},1\nb,{labels[1]},2\n"))
    assert bunch.target.dtype.kind == kind and bunch.target.tolist() == values


def test_another_array_of_an_archive_can_be_the_label(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.eye(2), bag=[0, 1], y=[0, 1], category=["u", "v"], short=[1])
    bunch = read_bags(tmp_path / "x.npz", label="category")
    assert bunch.target.tolist() == ["u", "v"] and "y" not in bunch
    with pytest.raises(ValueError, match="expected labels under 'kind', found y, category, short"):
        read_bags(tmp_path / "x.npz", label="kind")
    with pytest.raises(ValueError, match=r"of shape \(2,\), found \(1,\)"):
        read_bags(tmp_path / "x.npz", label="short")


def test_ids_with_leading_zeros_stay_text(tmp_path):
    assert read_bags(put(tmp_path, "x.csv", "bag,f\n007,1\n8,2\n")).data.ids.tolist() == ["007", "8"]


def test_other_programs_read_what_is_written(tmp_path):
    write_bags(tmp_path / "x.csv", TWO, ["no", "yes"])
    frame = pd.read_csv(tmp_path / "x.csv")
    assert frame.columns.tolist() == ["bag", "label", "f1", "f2"] and frame.f2.tolist() == [
        0.5,
        0.0,
        1e-300,
    ]
    # scipy does not unquote nominal values, so no space in an id here
    write_bags(tmp_path / "x.arff", Bags.from_list(list(TWO), ids=["a", "b"]), ["no", "yes"])
    records, _ = loadarff(tmp_path / "x.arff")
    assert [r["class"].decode() for r in records] == ["no", "yes"]
    assert records[1]["bag"]["f1"].tolist() == [2.0, -3.0]
    write_bags(tmp_path / "x.mat", TWO, [0, 1])
    assert loadmat(tmp_path / "x.mat")["bag"].ravel().tolist() == [1, 2, 2]
    write_bags(tmp_path / "x.parquet", TWO, [0, 1])
    assert pl.read_parquet(tmp_path / "x.parquet")["bag"].to_list() == ["a", "b c", "b c"]


def test_matlab_files_of_others_are_read(tmp_path):
    features = sparse.csc_matrix(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    savemat(tmp_path / "x.mat", {"features": features, "bag_ids": [[4, 4, 9]], "labels": [[1, 1, -1]]})
    bunch = read_bags(tmp_path / "x.mat")
    assert bunch.data.is_sparse and bunch.data.sizes.tolist() == [2, 1]
    assert bunch.target.tolist() == [1, -1] and bunch.data.ids.tolist() == [4, 9]
    savemat(tmp_path / "y.mat", {"X": np.eye(2), "bag": [[1, 2]], "y": [[0, 1]], "s": {"a": 1}})
    with pytest.raises(ValueError, match=r"y\.mat: expected plain arrays, found 's'"):
        read_bags(tmp_path / "y.mat")


def test_bag_numbers_of_an_archive_say_which_label_is_whose(tmp_path):
    np.savez(tmp_path / "x.npz", X=[[1.0], [2.0], [3.0]], bag=[1, 0, 1], y=[10, 20], names=["p", "q"])
    bunch = read_bags(tmp_path / "x.npz")
    assert bunch.data.ids.tolist() == ["p", "q"] and bunch.target.tolist() == [10, 20]
    assert [b.ravel().tolist() for b in bunch.data] == [[2.0], [1.0, 3.0]]
