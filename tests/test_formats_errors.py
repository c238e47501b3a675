"""Wrong files, things a format cannot hold, interrupted writes: one clear line, nothing half-written."""

import builtins
import os
import re

import numpy as np
import pytest

from skmil import Bags
from skmil.formats import WRITERS, read_bags, write_bags
from tests.test_formats import TWO, put

ARFF = "@relation r\n@attribute id {a,b}\n@attribute bag relational\n@attribute f numeric\n@end bag\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "bag,label,f1\na,1,2\nb,0\n", "line 3: expected 3 fields, found 2"),
        ("x.csv", "bag,label,f1\na,1,2\nb,0,x\n", "line 3: expected a number in column 'f1', found 'x'"),
        ("x.csv", "bag,label,f1\na,1,\n", "line 2: expected a number in column 'f1', found ''"),
        ("x.csv", "bag,label,f1\na,1,1_0\n", "line 2: expected a number in column 'f1', found '1_0'"),
        ("x.csv", "bag,label,f1\na,1,nan\n", "line 2: expected a finite number in column 'f1'"),
        ("x.csv", "bag,label,f1\na,1,2\na,0,3\n", "line 3: expected the label 1 of bag 'a', found 0"),
        ("x.csv", "bag,label,f1\na,1,2\nb,,3\n", "line 3: expected a label, found ''"),
        ("x.csv", "bag,label,f1\n,1,2\n", "line 2: expected a bag id, found an empty field"),
        ("x.csv", "bag,label,f1\n", "expected at least one instance, found none"),
        (
            "x.csv",
            "name,label,f1\na,1,2\n",
            "line 1: expected a column with the bag ids.*name it with bag=",
        ),
        (
            "x.csv",
            "bag,label,class,f\na,1,1,2\n",
            "line 1: .*found 'label' and 'class'; choose with label=",
        ),
        ("x.csv", "bag,label,f,f\na,1,1,2\n", "line 1: expected each column once, found 'f' twice"),
        ("x.csv", "mol,act,0,1\nm1,1,2,3\n", "line 1: expected to know the bag column of 'mol'"),
        ("x.csv", "bag,label,f1\na,1.5,2\nb,nan,3\n", "line 3: expected a label, found NaN"),
        ("x.csv", "bag,split,f\na,0,2\na,1,3\n", "expected each bag in one split, found bag 'a' in two"),
        ("x.csv", "bag,label\na,1\n", "line 1: expected at least one feature column"),
        ("x.csv", 'bag,label,f1\n"a,1,2\nb,0,1\n', "line 3: expected a well-formed row"),
        ("x.csv", "1,a,2\n0,b,2,3\n", "line 2: expected 3 fields, found 4"),
        ("x.csv", "", "expected bags, found an empty file"),
        ("x.svm", "1:a:1 1:2\n2:a 1:2\n", "line 2: expected instance:bag:label, found '2:a'"),
        ("x.svm", "1:a:1 0:2\n", "line 1: expected index:value with whole indices from 1, found '0:2'"),
        ("x.svm", "1:a:1 1:2 1:3\n", "line 1: expected each feature index once"),
        ("x.svm", "1:a:1 9999999999:3\n", "line 1: expected feature indices below"),
        ("x.svm", "1:a:1 1:x\n", "line 1: expected index:value .* found '1:x'"),
        ("x.data", "m,c,1,2,1.\nm,c,1,1.\n", "line 2: expected 5 fields, found 4"),
        (
            "x.data",
            "m,c,1,2,1.\nm,c,1,2,3\n",
            r"line 2: expected the class 0\. or 1\. at the end, found '3'",
        ),
        ("x.data", "one,two\n", "line 1: expected molecule,conformation"),
        ("x.arff", ARFF, "expected @data after the attributes"),
        ("x.arff", ARFF + "@data\na,'1,2'\n", "line 7: expected 1 features in an instance, found 2"),
        ("x.arff", ARFF + "@data\na,'1\n", "line 7: expected a field or a closing quote"),
        ("x.arff", ARFF + "@data\nc,'1'\n", "line 7: expected a declared value of 'id', found 'c'"),
        (
            "x.arff",
            ARFF + "@data\na,'1'\na,'2'\n",
            "line 8: expected each bag in one line, found 'a' again",
        ),
        ("x.arff", ARFF + "@data\na,'1',2\n", "line 7: expected 2 fields, found 3"),
        ("x.arff", ARFF + "@data\na,''\n", "line 7: expected at least one instance in the bag"),
        ("x.arff", ARFF + "@data\na,'{3 1}'\n", "line 7: expected feature indices below 1"),
        ("x.arff", "@relation r\n@attribute a numeric\n@data\n1\n", "expected '@attribute bag relational'"),
        ("x.arff", ARFF.replace("f numeric", "f {u,v}"), "line 4: expected a numeric attribute in the bag"),
        ("x.npz", "PK\3\4 nothing", r"expected a complete \.npz archive"),
        ("x.npz", "bag,label\n", r"expected a complete \.npz archive"),
        ("x.csv", "PK\3\4 nothing", r"expected csv, found the beginning of a \.npz file; rename it"),
        ("x.mat", "nothing at all", "expected a complete MATLAB file"),
        ("x.parquet", "PAR1 nothing", "expected a complete Parquet file"),
    ],
)
def test_a_wrong_file_gives_file_line_and_what_was_expected(name, text, message, tmp_path):
    path = put(tmp_path, name, text)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}(, |: ){message}") as caught:
        read_bags(path)
    assert "\n" not in str(caught.value)


def test_every_cut_of_a_file_with_a_length_is_noticed(bags, tmp_path):
    for ending in (".npz", ".parquet", ".mat"):
        write_bags(tmp_path / f"x{ending}", bags, np.arange(9))
        content = (tmp_path / f"x{ending}").read_bytes()
        for part in range(1, 10):
            (tmp_path / f"cut{ending}").write_bytes(content[: len(content) * part // 10])
            with pytest.raises(ValueError, match="cut"):
                read_bags(tmp_path / f"cut{ending}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bag": [0, 1]}, "expected 'bag': one bag number for each of 3 instances"),
        ({"bag": [0, 2, 2]}, "found none of bag 1"),
        ({"bag": [0, 10**9, 1]}, "expected bag numbers from 0 without gaps"),
        ({"bag": [-1, 0, 0]}, "expected bag numbers from 0 without gaps"),
        ({"bag": [0.0, 0.0, 1.0]}, "expected 'bag'"),
        ({"y": [1, 0, 1]}, r"expected 'y' of shape \(2,\), found \(3,\)"),
        ({"X": np.ones(3)}, "expected X to be a table of numbers"),
        ({"X": np.full((3, 1), np.nan)}, "bag 0 contains NaN in feature 0"),
        ({"folds": np.ones((5, 3))}, "expected 'folds' with 2 columns"),
        ({"names": np.array(["a"])}, r"expected 'names' of shape \(2,\)"),
        ({"y": np.array([1, "a"], dtype=object)}, "archive of plain arrays"),
    ],
)
def test_an_archive_that_does_not_fit_together_is_refused(change, message, tmp_path):
    np.savez(tmp_path / "x.npz", **({"X": np.ones((3, 1)), "bag": [0, 0, 1], "y": [1, 0]} | change))
    with pytest.raises(ValueError, match=f"x.npz: .*{message}"):
        read_bags(tmp_path / "x.npz")


def test_a_csr_archive_with_wrong_indices_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", data=[1.0], indices=[7], indptr=[0, 1], shape=[1, 2], bag=[0])
    with pytest.raises(ValueError, match=r"x\.npz: .*CSR"):
        read_bags(tmp_path / "x.npz")


def test_files_that_are_not_there_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv: there is no such file"):
        read_bags(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match="this is a folder"):
        read_bags(tmp_path)
    with pytest.raises(ValueError, match=r"x\.doc: expected a name ending in one of"):
        write_bags(tmp_path / "x.doc", TWO)


@pytest.mark.parametrize(
    ("ending", "bags", "y", "message"),
    [
        (".csv", Bags.from_list([np.eye(2), np.eye(2)], ids=["a", "a"]), None, "2 bags have the id 'a'"),
        (".svm", TWO, None, "the bag id 'b c' cannot be written in this format"),
        (".csv", TWO, ["", "x"], "the label '' cannot be written"),
        (".csv", TWO, [1.0, np.nan], r"the label of bag 1 \('b c'\) is nan"),
        (".npz", TWO, [1.0], "2 bags but 1 labels"),
        (
            ".csv",
            Bags.from_list([np.eye(2)], feature_names=["bag", "g"]),
            None,
            "the feature names 'bag' would be",
        ),
        (".csv", [], None, "there are no bags"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_before_anything_is_written(
    ending, bags, y, message, tmp_path
):
    with pytest.raises(ValueError, match=message):
        write_bags(tmp_path / f"x{ending}", bags, y)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", sorted(WRITERS))
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    ending, error, bags, tmp_path, monkeypatch
):
    path = tmp_path / f"x{ending}"
    write_bags(path, bags)
    old = path.read_bytes()

    def stop(*_):
        raise error

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(error):
        write_bags(path, bags[:2])
    assert path.read_bytes() == old and os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("extras", "message"),
    [
        ({"instance_names": ["a"]}, r"'instance_names' has shape \(1,\); expected 3 entries"),
        ({"split": [0, 1, 1]}, r"'split' has shape \(3,\); expected 2 entries"),
        ({"folds": np.zeros((5, 3))}, "'folds' has shape"),
        ({"sample_weight": [1, -1]}, "the weight of bag 1 .* is -1; weights are not negative"),
        ({"X": np.zeros(3)}, "'X' is a name that the formats use themselves"),
        ({"notes": [object()]}, "'notes' holds Python objects"),
    ],
)
def test_extras_must_fit_the_bags(extras, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_bags(tmp_path / "x.npz", TWO, **extras)
    assert os.listdir(tmp_path) == []


def test_parquet_works_with_polars_alone_and_else_says_what_to_install(bags, tmp_path, monkeypatch):
    missing, real = {"pandas"}, builtins.__import__

    def without(name, *arguments, **options):
        if name in missing:
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    write_bags(tmp_path / "x.parquet", bags, np.arange(9) % 2, split=np.arange(9) % 2)
    again = read_bags(tmp_path / "x.parquet")
    assert (
        again.data == bags and again.split.tolist() == again.target.tolist() == (np.arange(9) % 2).tolist()
    )
    with pytest.raises(ImportError, match=r"pip install skmil\[tables\]"):
        bags.to_frame()
    missing.add("polars")
    for use in (
        lambda: read_bags(tmp_path / "x.parquet"),
        lambda: write_bags(tmp_path / "y.parquet", bags),
    ):
        with pytest.raises(ImportError, match=r"pip install skmil\[tables\]"):
            use()
