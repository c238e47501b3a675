"""``skmil bench``: failures, limits, names, two at a time, and what remains."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import skmil
from skmil.cli import main
from skmil.cli.bench import _fitting
from skmil.cli.progress import seconds_left
from skmil.formats import write_bags
from skmil.learners import SIL
from skmil.records import read_records


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run bench in a folder with forty bags in toy.npz: code, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)

    def command(*args, data="toy.npz"):
        code = main(["bench", "--data", data, "--folds", "2", "--out", "b", *map(str, args)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


@pytest.fixture(autouse=True)
def _data(toy, tmp_path):
    write_bags(tmp_path / "toy.npz", *toy)


def records():
    return read_records("b/records.jsonl")


def broken(*args, **named):
    raise MemoryError("Unable to allocate 93 GiB")


def test_a_failure_is_shown_kept_and_tried_again_when_asked(run, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(SIL, "fit", broken)
        code, out, err = run("--methods", "SIL,Simple-MI")
    reason = "MemoryError: Unable to allocate 93 GiB"
    assert code == 1 and f"SIL failed: {reason}" in out and f"skmil: SIL on toy: {reason}\n" in err
    report = Path("b/report.html").read_text("utf-8")
    assert reason in report and "failed</b>" in report
    assert [r.method for r in records() if r.error] == ["SIL"]
    code, out, err = run("--methods", "SIL,Simple-MI")
    assert code == 1 and "0 folds run, 2 from" in out and "--retry-failed tries again" in err
    code, out, err = run("--methods", "SIL,Simple-MI", "--retry-failed")
    assert code == 0 and "2 folds run, 2 from" in out and "failed" not in out + err
    assert run("--methods", "SIL,Simple-MI")[0] == 0


def test_when_everything_fails_there_is_still_a_report(run, monkeypatch):
    monkeypatch.setattr(SIL, "fit", broken)
    code, out, _ = run("--methods", "SIL")
    assert code == 1 and "SIL failed" in out
    assert "No method could be run" in Path("b/report.html").read_text("utf-8")


def test_a_time_limit_names_the_method_and_the_others_are_done(run):
    code, out, err = run("--methods", "EM-DD,Simple-MI", "--time-limit", 1, data="musk2")
    assert code == 1 and "2 folds run" in out
    assert "EM-DD on musk2: fold 0 was stopped after the time limit of 1 s" in err
    assert "give seconds above 0" in run("--time-limit", 0)[2]


def test_the_same_bags_under_a_new_name_appear_under_the_new_one(run, toy, tmp_path):
    run("--methods", "Simple-MI")
    (tmp_path / "toy.npz").rename(tmp_path / "newer.npz")
    _, out, _ = run("--methods", "Simple-MI", data="newer.npz")
    assert "0 folds run, 2 from" in out and "newer: 40 bags" in out and "toy: " not in out
    page = Path("b/report.html").read_text("utf-8")
    assert ">newer</h2>" in page and ">toy</h2>" not in page
    write_bags(tmp_path / "copy.npz", *toy)
    _, out, _ = run("--methods", "Simple-MI", "--data", "copy.npz", data="newer.npz")
    assert "newer, copy: 40 bags" in out


def test_figures_stand_beside_the_published_bags_only(run, toy, tmp_path):
    write_bags(tmp_path / "musk1_.npz", *toy)
    (tmp_path / "musk1_.npz").rename(tmp_path / "tiger.npz")
    assert "published" not in run("--methods", "MI-Kernel", data="tiger.npz")[1]
    musk = skmil.datasets.load_musk1()
    write_bags(tmp_path / "mine.npz", musk.data, musk.target)
    _, out, _ = run("--methods", "Simple-MI", data="mine.npz")
    assert "published" in out and "mine: 92 bags" in out


def test_the_seed_reaches_the_methods(run):
    run("--methods", "ISK", "--seed", 3)
    run("--methods", "ISK", "--seed", 4)
    states = [r.parameters["isolation__random_state"] for r in records()]
    assert 0 not in states and len(set(states)) == 4


def test_whole_numbers_that_look_like_quantities_name_the_option(run, toy, tmp_path):
    X, _ = toy
    write_bags(tmp_path / "n.npz", X, np.arange(40))
    code, _, err = run("--methods", "Simple-MI", data="n.npz")
    assert code == 2 and "40 different numbers: if they are quantities, give --task regression" in err
    assert run("--methods", "Simple-MI", "--task", "regression", data="n.npz")[0] == 0
    write_bags(tmp_path / "m.npz", X, np.arange(40) // 3 % 13)
    code, _, err = run("--methods", "Simple-MI", data="m.npz")
    assert code == 0 and "13 different numbers are taken for classes" in err


def test_missing_values_are_filled_in_inside_the_fold(run, toy, tmp_path):
    X, y = toy
    rows = [
        f"{i},{y[i]},{'' if (i, k) == (3, 0) else v[0]},{v[1]}"
        for i, b in enumerate(X)
        for k, v in enumerate(b)
    ]
    (tmp_path / "gaps.csv").write_text("\n".join(["bag,label,f,g", *rows]) + "\n")
    assert "--impute" in run("--methods", "Simple-MI", data="gaps.csv")[2]
    code, _, err = run("--methods", "Simple-MI", "--impute", "median", "--nested", data="gaps.csv")
    assert code == 0, err
    assert records()[0].settings["impute"] == "BagImputer" and "method__svm__C" in records()[0].grid


def test_two_at_a_time_cut_no_lines(tmp_path):
    command = [sys.executable, "-c", "import sys; from skmil.cli import main; sys.exit(main(sys.argv[1:]))"]
    options = ["bench", "--data", "toy.npz", "--folds", "10", "--repeats", "3", "--out", "b", "--methods"]
    both = [
        subprocess.Popen([*command, *options, m], cwd=tmp_path, stdout=subprocess.DEVNULL)
        for m in ("Simple-MI,Minimax", "Minimax,Simple-MI")
    ]
    assert [p.wait(timeout=300) for p in both] == [0, 0]
    lines = (tmp_path / "b" / "records.jsonl").read_text("utf-8").splitlines()
    assert len({(r["method"], r["repeat"], r["fold"]) for r in map(json.loads, lines)}) == 60


def job(done, missing, error=None):
    found = [SimpleNamespace(fit_seconds=t, predict_seconds=0.0) for t in done]
    plan = SimpleNamespace(places=[None] * (len(done) + missing))
    return SimpleNamespace(found=found, plan=plan, error=error)


def test_what_remains_is_said_when_every_method_is_known():
    assert seconds_left([job([0.1], 3), job([], 2)]) is None
    assert seconds_left([job([0.1], 3), job([10.0, 20.0], 2), job([1.0], 5, "no luck")]) == pytest.approx(
        30.3
    )
    assert seconds_left([job([1.0], 0), job([], 2, "no luck")]) == 0


def test_every_method_does_a_fold_before_any_does_the_rest(run):
    run("--methods", "Simple-MI,Minimax,MI-Kernel")
    assert [r.method for r in records()][:3] == ["Simple-MI", "Minimax", "MI-Kernel"]


def test_columns_that_do_not_fit_are_left_out():
    header = ["method", "accuracy %", "balanced %", "AUC", "fit", "predict", "published"]
    rows = [["(majority class)", "88.0 ±  2.2", "87.9", "0.973", "33.1 ms", "44.8 ms", "86.4a 88.1b"]]
    assert [header[k] for k in _fitting(header, rows, 200)] == header
    assert [header[k] for k in _fitting(header, rows, 80)] == [h for h in header if h != "predict"]
    assert [header[k] for k in _fitting(header, rows, 10)] == ["method", "accuracy %", "balanced %"]


def test_the_column_of_figures_is_explained(capsys):
    assert main(["methods"]) == 0
    assert "figures: accuracies that papers report" in " ".join(capsys.readouterr().out.split())
