"""Files as people have them: packed, European, Excel, with text, gaps and links; and where output goes."""

import gzip
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.io import savemat

import skmil
from skmil import Bags
from skmil.cli import main
from skmil.formats import read_bags, write_bags
from skmil.formats._files import replacing
from skmil.learners import BagPipeline
from skmil.preprocessing import BagImputer, ForInstances

TABLE = "bag,label,f,g\na,1,0.5,2\na,1,1.5,3\nb,0,-1,4\n"


def put(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def same(a, b):
    assert a.data == b.data and np.array_equal(a.target, b.target)
    assert a.data.feature_names.tolist() == b.data.feature_names.tolist()


class TestReading:
    def test_packed_text(self, tmp_path):
        plain = put(tmp_path, "t.csv", TABLE)
        packed = tmp_path / "t.csv.gz"
        packed.write_bytes(gzip.compress(TABLE.encode()))
        same(read_bags(packed), read_bags(plain))
        write_bags(tmp_path / "u.csv.gz", read_bags(plain).data, [1, 0])
        assert (tmp_path / "u.csv.gz").read_bytes()[:2] == b"\x1f\x8b"
        same(read_bags(tmp_path / "u.csv.gz"), read_bags(plain))
        packed.write_bytes(gzip.compress(TABLE.encode())[:-9])
        with pytest.raises(ValueError, match=r"t.csv.gz: expected a complete gzip file"):
            read_bags(packed)
        (tmp_path / "x.gz").write_bytes(gzip.compress(b"nothing"))
        with pytest.raises(ValueError, match=r"such as bags\.csv\.gz"):
            read_bags(tmp_path / "x.gz")

    def test_excel(self, tmp_path):
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in [["bag", "label", "f", "g"], ["a", 1, 0.5, 2], [], ["a", 1, 1.5, 3], ["b", 0, -1, 4]]:
            book.active.append(row)
        book.save(tmp_path / "t.xlsx")
        same(read_bags(tmp_path / "t.xlsx"), read_bags(put(tmp_path, "t.csv", TABLE)))
        (tmp_path / "bad.xlsx").write_bytes((tmp_path / "t.xlsx").read_bytes()[:400])
        with pytest.raises(ValueError, match=r"bad.xlsx: expected a complete Excel workbook"):
            read_bags(tmp_path / "bad.xlsx")

    @pytest.mark.parametrize("decimal", [None, ","])
    def test_decimal_commas(self, tmp_path, decimal):
        text = "bag;label;f;g\na;1;0,5;2\na;1;1,5;3\nb;0;-1;4\n"
        found = read_bags(put(tmp_path, "eu.csv", text), decimal=decimal)
        same(found, read_bags(put(tmp_path, "t.csv", TABLE)))

    def test_a_comma_in_a_point_file_is_no_decimal_mark(self, tmp_path):
        with pytest.raises(ValueError, match="line 3: expected a number in column 'f', found '1,5'"):
            read_bags(put(tmp_path, "x.csv", "bag;label;f;g\na;1;0.5;2\na;1;1,5;3\n"))

    def test_columns_of_text_are_named_and_left_out(self, tmp_path):
        text = "bag,label,smiles,f,note,g\na,1,CCO,0.5,x,2\na,1,CCN,1.5,y,3\nb,0,C,-1,z,4\n"
        path = put(tmp_path, "t.csv", text)
        with pytest.raises(ValueError, match=r"column 'smiles', found 'CCO' \(also text: column 'note'\)"):
            read_bags(path)
        same(read_bags(path, ignore=["smiles", 4]), read_bags(put(tmp_path, "p.csv", TABLE)))
        with pytest.raises(ValueError, match="expected a column 'smile'"):
            read_bags(path, ignore=["smile"])

    def test_names_of_instances(self, tmp_path):
        path = put(tmp_path, "t.csv", "bag,label,pose,f\na,1,p1,0\na,1,p2,1\nb,0,p3,2\n")
        assert read_bags(path, instance="pose").instance_names.tolist() == ["p1", "p2", "p3"]

    def test_missing_values(self, tmp_path):
        path = put(tmp_path, "t.csv", TABLE.replace("1.5,3", ",NA"))
        with pytest.raises(ValueError, match=r"line 3: .*found ''; a missing value needs missing=True"):
            read_bags(path)
        bags = read_bags(path, missing=True).data
        assert bags.has_missing and np.isnan(bags[0][1]).all() and not bags[[1]].has_missing
        with pytest.raises(ValueError, match=r"bag 0 \('a'\) contains NaN in feature 0 .* BagImputer"):
            skmil.method("MI-Kernel").fit(bags, [1, 0])
        filled = BagImputer("mean").fit_transform(bags)
        assert_array_equal(filled[0], [[0.5, 2.0], [-0.25, 3.0]])
        assert filled.feature_names.tolist() == ["f", "g"]

    def test_y_beside_x_is_a_coordinate(self, tmp_path):
        found = read_bags(put(tmp_path, "t.csv", "bag,x,y\na,1,2\na,3,4\nb,5,6\n"))
        assert found.target is None and found.data.feature_names.tolist() == ["x", "y"]
        found = read_bags(put(tmp_path, "u.csv", "bag,y,f\na,1,2\na,1,4\nb,0,6\n"))
        assert found.target.tolist() == [1, 0]

    def test_unknown_labels(self, tmp_path):
        path = put(tmp_path, "t.csv", TABLE.replace("a,1", "a,?").replace("b,0", "b,?"))
        assert read_bags(path).target is None
        path = put(tmp_path, "t.csv", TABLE.replace("b,0", "b,?"))
        with pytest.raises(ValueError, match=r"line 4: expected a label, found '\?'; give bag 'b' one"):
            read_bags(path)
        assert read_bags(path, labels=False).target is None
        arff = (
            "@relation r\n@attribute id {a,b}\n@attribute bag relational\n@attribute f numeric\n@end bag\n"
        )
        arff += "@attribute class {0,1}\n@data\na,'1\\n2',?\nb,'3',?\n"
        assert read_bags(put(tmp_path, "t.arff", arff)).target is None

    def test_the_width_of_a_sparse_text(self, tmp_path):
        path = put(tmp_path, "t.svm", "i:a:1 1:2 3:1\nj:b:0 2:1\n")
        assert read_bags(path).data.n_features == 3
        assert read_bags(path, n_features=7).data.n_features == 7
        with pytest.raises(ValueError, match="expected 2 features, found one with the number 3"):
            read_bags(path, n_features=2)

    def test_tables_without_a_header(self, tmp_path):
        path = put(tmp_path, "t.csv", "a,1,0.5,0.25\na,1,1.5,0.75\nb,0,-1,4.5\n")
        found = read_bags(path, bag="0", label=1)
        assert found.data.ids.tolist() == ["a", "b"] and found.target.tolist() == [1, 0]
        with pytest.raises(ValueError, match=r"expected a column 'a' \(a name, or a number from 0\)"):
            read_bags(path, bag="a")
        swapped = put(tmp_path, "s.csv", "a,1.5,2,1\na,3,4,1\nb,5,6,0\n")
        with pytest.raises(
            ValueError, match=r"found the bag '1\.5'; give the numbers of the columns, from 0"
        ):
            read_bags(swapped)
        assert read_bags(swapped, bag=0, label=3).data.sizes.tolist() == [2, 1]
        counted = put(tmp_path, "c.csv", "mol,act,0,1\na,1,0.5,2\na,1,1.5,3\nb,0,-1,4\n")
        assert read_bags(counted, bag="mol", label="act").data.sizes.tolist() == [2, 1]

    def test_a_guess_that_cannot_be_is_refused_also_where_labels_are_not_wanted(self, tmp_path):
        path = put(tmp_path, "t.csv", "a,no,1.5,2\na,no,3,4\nb,yes,5,6\nc,no,7,8\n")
        for labels in (True, False):
            with pytest.raises(ValueError, match=r"line 4: .*tell the columns with bag= and label="):
                read_bags(path, labels=labels)
        assert read_bags(path, bag=0, label=1, labels=False).data.ids.tolist() == ["a", "b", "c"]
        right = put(tmp_path, "r.csv", "no,a,1.5,2\nno,a,3,4\nyes,b,5,6\n")
        assert read_bags(right, labels=False).target is None

    def test_labels_of_rows_in_any_order(self, tmp_path):
        savemat(tmp_path / "t.mat", {"X": np.eye(3), "bag": [[3], [1], [2]], "y": [[30], [10], [20]]})
        found = read_bags(tmp_path / "t.mat")
        assert dict(zip(found.data.ids + 1, found.target, strict=True)) == {1: 10, 2: 20, 3: 30}


class TestWriting:
    def test_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "far").mkdir()
        link = tmp_path / "m.csv"
        link.symlink_to(tmp_path / "far" / "real.csv")
        write_bags(link, [[[1.0]], [[2.0]]], [0, 1])
        assert link.is_symlink() and (tmp_path / "far" / "real.csv").read_text().startswith("bag,label")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_a_pipe_is_written_to_and_stays(self, tmp_path):
        pipe, seen = tmp_path / "pipe", []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: seen.append(pipe.read_text()))
        reader.start()
        with replacing(pipe) as file:
            file.write("through")
        reader.join(10)
        assert seen == ["through"] and pipe.is_fifo()

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
    def test_a_full_device_is_named_and_stays(self, tmp_path, toy, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write_bags("t.csv", *toy)
        assert main(["fit", "t.csv", "m.skops", "--method", "Simple-MI"]) == 0
        capsys.readouterr()
        assert main(["predict", "m.skops", "t.csv", "--out", "/dev/full"]) == 2
        assert "/dev/full: No space left" in capsys.readouterr().err
        assert not os.path.isfile("/dev/full")

    @pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no /dev/stdout")
    @pytest.mark.parametrize("target", ["-", "/dev/stdout"])
    def test_the_screen_is_a_file(self, target, tmp_path, toy):
        write_bags(tmp_path / "t.csv", *toy)
        run = [sys.executable, "-m", "skmil"]
        model = str(tmp_path / "m.skops")
        subprocess.run([*run, "fit", str(tmp_path / "t.csv"), model, "-m", "Simple-MI"], check=True)
        done = subprocess.run(
            [*run, "predict", model, str(tmp_path / "t.csv"), "--out", target],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and done.stdout.splitlines()[0] == "bag,prediction,score(1)"
        assert len(done.stdout.splitlines()) == 41


class TestCommandLine:
    def test_a_stranger_s_table(self, tmp_path, toy, capsys, monkeypatch):
        """Text, gaps and odd names of columns, from file to probabilities."""
        X, y = toy
        monkeypatch.chdir(tmp_path)
        lines = ["molecule id;activity;smiles;a;b;c"]
        for i, bag in enumerate(X):
            for row in bag:
                fields = [f"{v:.6f}".replace(".", ",") for v in row]
                fields[1] = "" if i % 7 == 3 else fields[1]
                lines.append(";".join([f"m{i}", "yes" if y[i] else "no", "CCO", *fields]))
        put(tmp_path, "mine.csv", "\n".join(lines) + "\n")
        named = ["--bag", "molecule id", "--label", "activity", "--ignore", "smiles"]
        assert main(["fit", "mine.csv", "m.skops", *named]) == 2
        assert "--impute median" in capsys.readouterr().err
        assert main(["fit", "mine.csv", "m.skops", *named, "--impute", "median", "--proba"]) == 0
        assert "in 1 feature filled in with the median of the training" in " ".join(
            capsys.readouterr().err.split()
        )
        assert main(["predict", "m.skops", "mine.csv", *named, "--proba"]) == 0
        header, first = capsys.readouterr().out.splitlines()[:2]
        assert header == "bag,prediction,score(yes),P(no),P(yes)"
        chances = [float(v) for v in first.split(",")[3:]]
        assert sum(chances) == pytest.approx(1, abs=1e-3)
        assert main(["explain", "m.skops", "mine.csv", *named, "--id", "m1"]) == 0
        assert "speaks for yes" in capsys.readouterr().out

    def test_a_column_of_smiles_does_not_make_bags_molecules(self, tmp_path, toy, capsys, monkeypatch):
        """A row per shape is a table of bags; the model remembers which columns to leave out."""
        monkeypatch.chdir(tmp_path)
        write_bags("t.csv", *toy)
        lines = (tmp_path / "t.csv").read_text().splitlines()
        rows = [f"CCO,{line}" for line in lines[1:]]
        put(tmp_path, "s.csv", "\n".join(["smiles," + lines[0].replace("bag", "compound"), *rows]) + "\n")
        assert main(["data", "s.csv"]) == 2
        assert "--bag and leave columns of text out with --ignore smiles" in capsys.readouterr().err
        assert main(["fit", "s.csv", "m.skops", "--bag", "compound", "-m", "Simple-MI"]) == 2
        assert "column 'smiles', found 'CCO'" in capsys.readouterr().err
        named = ["--bag", "compound", "--ignore", "smiles"]
        assert main(["fit", "s.csv", "m.skops", *named, "-m", "Simple-MI"]) == 0
        capsys.readouterr()
        told = []
        for name in ("s.csv", "t.csv"):  # t.csv has neither column
            assert main(["predict", "m.skops", name]) == 0
            told.append(capsys.readouterr().out)
        assert told[0] == told[1] and len(told[0].splitlines()) == 41

    def test_a_page_has_the_names_of_instances(self, tmp_path, toy, monkeypatch):
        monkeypatch.chdir(tmp_path)
        X, y = toy
        write_bags("t.csv", X, y, instance_names=[f"shape-{k}" for k in range(len(X.owner))])
        assert main(["fit", "t.csv", "m.skops", "-m", "Simple-MI"]) == 0
        assert main(["explain", "m.skops", "t.csv", "--html", "p.html", "--id", "3"]) == 0
        text = (tmp_path / "p.html").read_text("utf-8")
        assert f"shape-{X.offsets[3]}" in text and f"shape-{X.offsets[3] - 1}" not in text

    def test_what_is_wrong_with_a_new_file_is_not_hidden_by_remembered_columns(
        self, tmp_path, toy, capsys, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        write_bags("t.csv", *toy)
        text = (tmp_path / "t.csv").read_text().replace("bag,", "compound,", 1)
        put(tmp_path, "t.csv", text)
        assert main(["fit", "t.csv", "m.skops", "--bag", "compound", "-m", "Simple-MI"]) == 0
        first, second, *rest = text.splitlines()
        put(tmp_path, "gap.csv", "\n".join([first, second.rpartition(",")[0] + ",", *rest]) + "\n")
        assert main(["predict", "m.skops", "gap.csv"]) == 2
        assert "line 2: expected a number" in (told := capsys.readouterr().err)
        assert "a model fitted with --impute" in told

    def test_tables_through_a_pipe(self, tmp_path, toy):
        write_bags(tmp_path / "t.csv", *toy)
        text = (tmp_path / "t.csv").read_text()
        run = [sys.executable, "-m", "skmil"]
        for given, code, said in (
            (text, 0, "stdin: 40 bags"),
            ("bag,label,f\na,1,x\n", 2, "stdin.csv, line 2:"),
        ):
            done = subprocess.run([*run, "data", "-"], input=given, capture_output=True, text=True)
            assert done.returncode == code and said in done.stdout + done.stderr
        copied = subprocess.run(
            [*run, "convert", str(tmp_path / "t.csv"), "-"], capture_output=True, text=True
        )
        assert copied.stdout == text and "40 bags" in copied.stderr

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("x.csv.gz", "not packed", "x.csv.gz, line 1: expected a header"),
            (
                "x.csv",
                "bag,label,f\na,1,inf\nb,0,2\n",
                "line 2: expected a finite number in column 'f', found inf",
            ),
            ("x.csv", "bag,label,f\na,1,1\nb,1,2\n", "all bags are of one class, 1"),
        ],
    )
    def test_odd_files_are_named(self, name, text, said, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        put(tmp_path, name, text)
        assert main(["bench", "--data", name, "--methods", "Simple-MI"]) == 2
        assert said in capsys.readouterr().err and not (tmp_path / "bench").exists()

    def test_probabilities_are_asked_for_when_fitting(self, tmp_path, toy, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write_bags("t.npz", *toy)
        assert main(["fit", "t.npz", "m.skops", "--method", "Simple-MI"]) == 0
        capsys.readouterr()
        assert main(["predict", "m.skops", "t.npz", "--proba"]) == 2
        assert "fit it again with --proba" in capsys.readouterr().err


def test_any_transformer_of_tables(toy):
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest
    from sklearn.preprocessing import StandardScaler

    X, y = toy
    X = Bags(X.instances, X.offsets, None, ["a", "b", "c"])
    assert ForInstances(PCA(2)).fit_transform(X).feature_names.tolist() == ["pca0", "pca1"]
    picked = ForInstances(SelectKBest(k=1)).fit(X, y)
    assert picked.transform(X).feature_names[0] in "abc"
    scaled = ForInstances(StandardScaler()).fit_transform(X)
    np.testing.assert_allclose(scaled.instances.std(axis=0), 1)
    model = BagPipeline([("pca", ForInstances(PCA(2))), ("m", skmil.method("MI-Kernel"))]).fit(X, y)
    assert model.score(X, y) > 0.8 and len(model.score_instances(X)) == len(X)
    with pytest.raises(TypeError, match=r"ForInstances\(transformer\)"):
        StandardScaler().fit(X)
