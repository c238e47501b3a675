"""The command line: each verb, ten wrong files, stopping and resuming."""

import csv
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import skmil
from skmil.cli import main
from skmil.cli.bench import DEMO, choose
from skmil.formats import read_bags, write_bags
from skmil.records import read_records


@pytest.fixture
def path(toy, tmp_path):
    """A file of forty bags."""
    file = tmp_path / "toy.npz"
    write_bags(file, *toy)
    return str(file)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder: code, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("SKMIL_DATA", raising=False)
    monkeypatch.chdir(tmp_path)

    def command(*args):
        code = main([str(a) for a in args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def refused(answer, *words):
    code, out, err = answer
    assert code == 2 and err.startswith("skmil: ") and err.count("\n") == 1 and out == ""
    for w in words:
        assert w in err
    return True


def test_version_help_and_methods(run):
    assert run("--version") == (0, f"skmil {skmil.__version__}\n", "")
    assert "bench" in run()[1] and run()[0] == 0
    code, out, _ = run("methods")
    assert code == 0 and all(name in out for name in skmil.methods())


def test_bench_writes_records_report_and_table(run, path, tmp_path):
    args = ("bench", "--data", path, "--methods", "Simple-MI,MI-Kernel", "--folds", 3, "--out", "b")
    code, out, _ = run(*args)
    assert code == 0 and "Simple-MI" in out and "accuracy" in out and "6 folds run, 0 from" in out
    assert f"report: {tmp_path / 'b' / 'report.html'}" in out
    assert sorted(p.name for p in (tmp_path / "b").iterdir()) == ["records.jsonl", "report.html"]
    assert "Gram matrix" in (tmp_path / "b" / "report.html").read_text("utf-8")
    before = (tmp_path / "b" / "records.jsonl").read_bytes()
    assert "0 folds run, 6 from" in run(*args)[1]
    assert (tmp_path / "b" / "records.jsonl").read_bytes() == before


def test_bench_takes_names_with_commas_names_one_by_one_and_words_for_several():
    assert choose(["SIL,MI-Kernel", "ISK", "SIL"], "classification") == ["SIL", "MI-Kernel", "ISK"]
    assert choose(["demo", "SIL"], "classification") == [*DEMO, "SIL"]
    with pytest.raises(ValueError, match="--methods is empty"):
        choose([" , "], "classification")


def test_bench_with_given_folds_and_nested_search(run, tmp_path):
    args = (
        "bench",
        "--data",
        "musk1",
        "--methods",
        "Simple-MI",
        "--folds",
        "given",
        "--nested",
        "--out",
        "b",
    )
    assert run(*args)[0] == 0
    records = read_records(tmp_path / "b" / "records.jsonl")
    folds = skmil.datasets.load_musk1().folds[0]
    assert [r.outputs["bag"] for r in records] == [np.flatnonzero(folds == f).tolist() for f in range(10)]
    assert records[0].nested and records[0].data == "musk1"


def test_bench_names_the_method_that_fails_and_does_the_others(run, path, tmp_path, monkeypatch):
    from skmil.learners import SIL

    monkeypatch.setattr(SIL, "fit", lambda *a, **k: (_ for _ in ()).throw(ValueError("no\nluck")))
    code, out, err = run("bench", "--data", path, "--methods", "SIL,Simple-MI", "--folds", 2, "--out", "b")
    assert code == 1 and "skmil: SIL on toy: no luck" in err
    done = [r.method for r in read_records(tmp_path / "b" / "records.jsonl") if r.error is None]
    assert done == ["Simple-MI"] * 2
    assert "report:" in out


def test_bench_regression(run, toy, tmp_path):
    X, _ = toy
    write_bags(tmp_path / "r.npz", X, np.array([b[:, 0].mean() for b in X]))
    code, out, _ = run("bench", "--data", "r.npz", "--methods", "Simple-MI", "--folds", 3, "--out", "b")
    assert code == 0 and "R²" in out


def test_data(run, path, tmp_path, monkeypatch):
    code, out, _ = run("data", path)
    assert code == 0 and "40 bags" in out and "0 (20), 1 (20)" in out
    assert "musk1, musk2" in run("data")[1]
    monkeypatch.setenv("SKMIL_DATA", str(tmp_path))
    assert "toy" in run("data")[1]
    monkeypatch.chdir("/")
    assert "40 bags" in run("data", "toy")[1]


def test_fit_predict_explain(run, path, toy, tmp_path):
    X, y = toy
    assert (
        run("fit", path, "m.skops", "--method", "MI-Kernel", "--set", "C=2", "--set", "gamma=0.5")[0] == 0
    )
    code, out, _ = run("predict", "m.skops", path)
    rows = list(csv.DictReader(out.splitlines()))
    model = skmil.method("MI-Kernel", C=2, gamma=0.5).fit(X, y)
    assert code == 0 and [int(r["prediction"]) for r in rows] == model.predict(X).tolist()
    assert np.allclose([float(r["score(1)"]) for r in rows], model.decision_function(X), rtol=1e-5)
    assert run("predict", "m.skops", path, "--out", "p.csv")[0] == 0
    assert (tmp_path / "p.csv").read_text() == out
    code, out, _ = run("explain", "m.skops", path, "--id", 3, "--plot", "e.png")
    assert code == 0 and "bag 3: predicted 1" in out
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    best = int(np.abs(model.score_instances(X)[3]).argmax())
    assert out.splitlines()[2].split()[0] == str(best)
    assert run("explain", "m.skops", path)[1].count("\n") > 40


def test_a_strangers_csv_in_two_commands(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"mol{b},{'active' if b % 2 else 'idle'},{rng.normal() + 3 * (b % 2):.3f},{rng.normal():.3f}"
        for b in range(12)
        for _ in range(3)
    ]
    (tmp_path / "mine.csv").write_text("\n".join(["molecule,outcome,mass,charge", *rows]) + "\n")
    columns = ("--bag", "molecule", "--label", "outcome")
    assert run("fit", "mine.csv", "m.skops", *columns)[0] == 0
    code, out, _ = run("predict", "m.skops", "mine.csv", *columns)
    assert code == 0 and out.splitlines()[1].startswith("mol0,idle,") and len(out.splitlines()) == 13


def test_a_damaged_file_is_not_read_in_another_way(run, tmp_path):
    rows = "".join(f"m{i},{i % 2},{i % 2},{0.5 * i}\n" for i in range(8))
    (tmp_path / "train.csv").write_text("mol,out,f,g\n" + rows)
    assert (
        run("fit", "train.csv", "m.skops", "--method", "Simple-MI", "--bag", "mol", "--label", "out")[0]
        == 0
    )
    (tmp_path / "new.csv").write_text("mol,g,f\nm1,1,2\nm1,3,oops\n")
    assert refused(run("predict", "m.skops", "new.csv"), "new.csv, line 3: expected a number", "'oops'")
    for name in ("mol", "bag"):  # that of the training data, or a usual one
        (tmp_path / "new.csv").write_text(f"{name},g,f\nm1,1,2\nm1,3,1\n")
        assert run("predict", "m.skops", "new.csv")[0] == 0


def test_an_unknown_bag_column_names_the_option_of_the_verb(run, tmp_path):
    csv, model = tmp_path / "own.csv", tmp_path / "own.skmil"
    csv.write_text("mol,x1,x2,cls\na,1,2,y\na,2,3,y\nb,1,0,n\n")
    refused(run("fit", csv, model), "line 1", "name it with --bag")
    run("fit", csv, model, "--bag", "mol", "--label", "cls")
    assert run("explain", model, csv)[0] == 0  # the model knows
    csv.write_text("compound,x1,x2\na,1,2\n")
    refused(run("explain", model, csv), "name it with --bag")


def test_an_error_speaks_of_options_and_leaves_the_name_of_the_file(run, tmp_path):
    csv = tmp_path / "x_bag=3; label=.csv"
    for header, remedy in (
        ("mol,x1,x2,cls", "; name it with --bag"),
        ("bag,bag_id,x1,x2", "; choose with --bag"),
        ("bag,label,class,x1", "; choose with --label"),
        ("mol,cls,0,1", "; name it with --bag and --label"),
    ):
        csv.write_text(f"{header}\na,1,2,3\n")
        refused(run("data", csv), csv.name, remedy)
    data = csv.with_suffix(".svm")
    data.write_text("i:a:1 1:2\n")
    refused(run("data", data, "--bag", "mol"), data.name, "; leave out --bag and --label")
    csv.write_text("bag,label,x1\na,1,oops\n")
    refused(run("data", csv), csv.name, "found 'oops'")


def test_gram_and_convert(run, path, toy, tmp_path):
    X, _ = toy
    assert run("gram", path, "k.npy")[0] == 0
    K = np.load(tmp_path / "k.npy")
    assert K.shape == (40, 40) and np.allclose(K.diagonal(), 1)
    assert run("gram", path, "k.csv", "--method", "Minimax")[0] == 0
    table = list(csv.reader((tmp_path / "k.csv").read_text().splitlines()))
    assert len(table) == 41 and table[0][:2] == ["bag", "0"]
    assert run("convert", path, "toy.csv")[0] == 0
    assert np.array_equal(read_bags(tmp_path / "toy.csv").data.instances, X.instances)


WRONG = {
    "empty.csv": b"",
    "text.csv": b"bag,label,f\na,1,abc\n",
    "nan.csv": b"bag,label,f\na,1,nan\nb,0,2\n",
    "torn.csv": b"bag,label,f,g\na,1,2.0,3\nb,0,4\n",
    "labels.csv": b"bag,label,f\na,1,2\na,0,3\n",
    "noise.npz": bytes(range(256)) * 4,
    "cut.npz": b"PK\x03\x04 and nothing more",
    "broken.arff": b"@relation x\n@attribute bag",
    "noise.parquet": b"PAR1 no table here",
    "noise.mat": b"MATLAB 5.0 MAT-file, cut off",
    "binary.csv": b"\xff\xfe\x00\x01bag\x00",
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("verb", ["data", "fit", "bench"])
def test_wrong_files_are_refused_in_one_line(run, tmp_path, name, verb):
    if (verb, name) == ("data", "nan.csv"):
        pytest.skip("missing values are described, not refused")
    (tmp_path / name).write_bytes(WRONG[name])
    args = {"data": (name,), "fit": (name, "m.skops"), "bench": ("--data", name, "--out", "b")}[verb]
    assert refused(run(verb, *args), name)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_wrong_wishes_are_refused_in_one_line(run, path, tmp_path):
    run("fit", path, "m.skops")
    before = sorted(tmp_path.iterdir())
    assert refused(run("data", "nowhere"), "nowhere: no such file or data set")
    assert refused(run("data", tmp_path), "folder")
    assert refused(run("fit", path, "x.skops", "--method", "MI-Kernl"), "did you mean MI-Kernel")
    assert refused(run("fit", path, "x.skops", "--set", "C"), "expected key=value")
    assert refused(run("fit", path, "x.skops", "--set", "nope=1"), "no parameter 'nope'")
    assert refused(run("fit", path, "x.skops", "--set", "C=-1"))
    assert refused(run("fit", path, "no/folder/x.skops"), "does not exist")
    assert refused(run("fit", path, "x.skops", "--method", "SIL", "--task", "regression"), "no form for")
    assert refused(run("predict", path, path), "not a model")
    assert refused(run("predict", "none.skops", path), "none.skops")
    assert refused(run("predict", "m.skops", "musk1"), "166 features", "3 features")
    assert refused(run("explain", "m.skops", path, "--id", "zz"), "no bag 'zz'")
    assert refused(run("explain", "m.skops", path, "--plot", "x.png"), "--id")
    assert refused(run("explain", "m.skops", path, "--id", 0, "--plot", "x.doc"), "x.doc")
    assert refused(run("gram", path, "k.txt"), ".npy or .csv")
    assert refused(run("gram", path, "k.npy", "--method", "Simple-MI"), "no kernel")
    assert refused(run("convert", path, "x.unknown"), "x.unknown")
    assert refused(
        run("bench", "--data", path, "--methods", "MI-Kernel,what", "--out", "b"), "no method 'what'"
    )
    assert refused(run("bench", "--data", path, "--methods", ",", "--out", "b"), "--methods is empty")
    assert refused(run("bench", "--data", path, "--folds", "many", "--out", "b"), "--folds many")
    assert refused(run("bench", "--data", path, "--folds", "given", "--out", "b"), "without folds")
    assert refused(run("bench", "--data", path, "--task", "art", "--out", "b"), "task is 'art'")
    assert refused(run("bench", "--nonsense"), "--nonsense")
    assert refused(run("nonsense"), "nonsense")
    assert refused(run("fit", path), "Missing argument")
    assert sorted(tmp_path.iterdir()) == before


def test_too_few_bags_of_a_class_for_the_folds(run, path):
    answer = run("bench", "--data", path, "--methods", "Simple-MI", "--folds", 30, "--out", "b")
    assert refused(answer, "class '0' has 20 bags, too few for 30 folds") and not os.path.exists("b")


SLOW = """
import sys, time
import skmil._fitting as fitting
fold = fitting._fold
def slow(*args):
    record = fold(*args)
    time.sleep(0.3)
    return record
fitting._fold = slow
from skmil.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_leaves_sound_records_and_the_next_run_does_the_rest(run, path, tmp_path):
    args = ["bench", "--data", path, "--methods", "Simple-MI", "--folds", "8", "--out", "b"]
    records = tmp_path / "b" / "records.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *args], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not (records.exists() and len(read_records(records)) >= 2) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in err
    assert err.strip().splitlines()[-1].startswith(b"skmil: interrupted; ")
    done = len(read_records(records))
    assert 2 <= done < 8 and not (tmp_path / "b" / "report.html").exists()
    assert f"{8 - done} folds run, {done} from earlier runs" in run(*args)[1]


def test_without_typer_one_line_names_the_extra():
    code = (
        "import sys; sys.modules['typer'] = None; from skmil.cli import main; sys.exit(main(['methods']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert (
        done.returncode == 2 and done.stderr.count("\n") == 1 and "pip install 'skmil[cli]'" in done.stderr
    )


@pytest.mark.filterwarnings("default")
def test_warnings_take_one_line(run, path, monkeypatch):
    from skmil.learners import SIL

    fit = SIL.fit
    monkeypatch.setattr(
        SIL, "fit", lambda *a, **k: warnings.warn("two\nlines", stacklevel=1) or fit(*a, **k)
    )
    assert run("fit", path, "m.skops", "--method", "SIL")[2] == "skmil: warning: two lines\n"


def test_debug_shows_where(run, monkeypatch):
    monkeypatch.setenv("SKMIL_DEBUG", "1")
    with pytest.raises(ValueError, match="no such file"):
        main(["data", "nowhere"])
