"""The papers' tables: well-formed, run in miniature, resumed, and written beside the published figures."""

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from typer.testing import CliRunner

from reproduction import load_tables, reproduce
from reproduction import run as running
from reproduction.__main__ import app
from reproduction.cells import base_of, build, current, grid_of
from reproduction.experiments import EXPERIMENTS
from reproduction.experiments.auto import _picked
from reproduction.experiments.base import pivot
from reproduction.experiments.defaults import BEFORE, DRAWN, Rule
from reproduction.ledger import current_results, run_tasks, same
from reproduction.pages import HEAD, accuracy_page, chance, whole_cells, write_pages
from reproduction.summary import TIED, Cell, overview, summary
from skmil._journal import Journal
from skmil.datasets import load_musk1
from skmil.records import Record, read_records
from skmil.registry import REGISTRY, figures

TINY = replace(
    load_tables(["tao-8"])[0],
    methods=("MI-Kernel", "Minimax"),
    data=("musk1",),
    folds=2,
    nested=False,
    quick={},
)


def test_a_cell_of_another_table_is_not_run_again(tmp_path, monkeypatch):
    other = replace(TINY, name="gehler-2", methods=("Minimax", "Simple-MI"))
    monkeypatch.setattr(running, "load_tables", lambda names=None: [TINY, other])
    reproduce(out=tmp_path)
    rows = {
        name: {r.fold: r.fit_seconds for r in _records(tmp_path, name) if r.method == "Minimax"}
        for name in ("tao-8", "gehler-2")
    }
    assert rows["tao-8"] == rows["gehler-2"] and len(rows["tao-8"]) == 2
    assert {r.method for r in _records(tmp_path, "gehler-2")} == {"Minimax", "Simple-MI"}


def test_a_cell_shows_the_settings_of_today_whatever_the_file_holds(tmp_path, monkeypatch):
    changed = replace(TINY, methods=("Minimax",), overrides={"Minimax / musk1": {"C": 1e-6}})
    other = replace(TINY, name="gehler-2", methods=("Minimax",))
    for tables in ([changed], [other], [changed]):
        monkeypatch.setattr(running, "load_tables", lambda names=None, tables=tables: tables)
        reproduce(out=tmp_path)
    records = _records(tmp_path, "tao-8") + _records(tmp_path, "gehler-2")
    shown = whole_cells(changed, records)["Minimax", "musk1"]
    assert len(shown) == 2 and all(r.parameters["svm__C"] == 1e-6 for r in shown)
    assert {r.parameters["svm__C"] for r in whole_cells(other, records)["Minimax", "musk1"]} == {10.0}


def test_a_task_with_other_settings_is_done_again_and_not_shown(tmp_path):
    path, done = tmp_path / "tasks.jsonl", []

    def run(task):
        done.append(task)
        return {"value": len(done)}

    for version in (1, 1, 2):
        stamp = lambda task, version=version: {"version": version}  # noqa: E731
        found = run_tasks(run, [{"a": 1}], path, 1, lambda *told: None, stamp)
    assert len(done) == 2 and found == [{"a": 1, "value": 2}]
    rows = [row for _, row in Journal(path).entries()]
    assert [r["value"] for r in current_results(rows, [{"a": 1}], stamp).values()] == [2]


@pytest.mark.parametrize(
    "change, is_same",
    [
        ({}, True),
        ({"version": 2}, False),
        ({"data": "another set"}, False),
        ({"methods": {"ISK": {"revision": 2, "settings": {"C": 1.0}}}}, False),
        ({"methods": {"ISK": {"revision": 1, "settings": {"C": 2.0}}}}, False),
        ({"methods": {"ISK": {"revision": 1, "settings": {"C": 1.0, "new": None}}}}, True),
    ],
)
def test_what_else_decides_a_task(change, is_same):
    stamp = {
        "version": 1,
        "data": "a set",
        "methods": {"ISK": {"revision": 1, "settings": {"C": 1.0}}},
    }
    assert same(stamp, stamp | change) is is_same and not same("1 4a2e7e1e", stamp)


def test_the_shipped_pages_are_those_of_the_shipped_records(tmp_path):
    shipped = Path(__file__).parent.parent / "docs" / "results"
    shutil.copytree(shipped / "records", tmp_path / "records")
    shutil.copy(shipped / "causes.json", tmp_path)
    index = write_pages(tmp_path).read_text("utf-8")
    assert index.startswith(HEAD) and "hours of one core" in index
    for page in shipped.glob("*.md"):
        assert (tmp_path / page.name).read_text("utf-8") == page.read_text("utf-8"), page.name


def test_shipped_records_count_as_done(tmp_path):
    """Folds of version 0.1.0, with the settings of today, are not run again."""
    shipped = Path(__file__).parent.parent / "docs" / "results" / "records"
    for table in load_tables(["tao-8", "xu-3", "kwok-musk"]):
        records = read_records(shipped / f"{table.name}.jsonl")
        assert records and len(current(table, records)) == len(table.cells()) * table.folds * table.repeats
    cell = current(table, records)[0]
    for change in ({"revision": "2"}, {"settings": cell.settings | {"dd__tol": 1.0}}, {"error": "no luck"}):
        assert current(table, [replace(cell, **change)]) == []


def test_a_torn_line_does_not_fuse_with_borrowed_records(tmp_path, monkeypatch):
    other = replace(TINY, name="gehler-2", methods=("Minimax",))
    monkeypatch.setattr(running, "load_tables", lambda names=None: [other])
    reproduce(out=tmp_path)
    torn = tmp_path / "records" / "tao-8.jsonl"
    torn.write_text('{"data": "musk1", "finger')
    monkeypatch.setattr(running, "load_tables", lambda names=None: [TINY])
    reproduce(out=tmp_path)
    assert len(_records(tmp_path, "tao-8")) == 4 and not torn.exists()


def _records(out, name):
    lines = gzip.decompress((out / "records" / f"{name}.jsonl.gz").read_bytes()).splitlines()
    return [Record.from_dict(json.loads(line)) for line in lines]


@pytest.mark.parametrize("table", load_tables(), ids=lambda t: t.name)
def test_tables_name_what_exists(table):
    assert table.kind == "accuracy" or table.kind in EXPERIMENTS
    names = {base_of(m)[0] for m in table.methods} - {"all"}
    assert names <= set(REGISTRY)
    quick = table.quickly()
    assert quick.name == table.name and len(quick.cells()) <= max(1, len(table.cells()))


def test_every_paper_has_its_tables():
    papers = {t.name.split("-")[0] for t in load_tables()}
    assert papers == {
        "tao",
        "gehler",
        "xu",
        "kwok",
        "wang",
        "assumptions",
        "auto",
        "defaults",
        "regression",
    }
    assert [t.name for t in load_tables(["gehler"])] == ["gehler-1", "gehler-2", "gehler-figure1"]
    with pytest.raises(ValueError, match="no table 'tao-9'; there are tao-6"):
        load_tables(["tao-9"])


def test_a_table_from_records_to_page(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "load_tables", lambda names=None: [TINY])
    seen = []
    index = reproduce(["tao-8"], out=tmp_path, progress=lambda what, done, of: seen.append((done, of)))
    assert seen == [(i, 4) for i in range(1, 5)]
    page = (tmp_path / "tao-8.md").read_text("utf-8")
    assert "MI-Kernel" in page and "86.4" in page and "musk1" in page
    assert "Of 2 cells with a published figure" in index.read_text("utf-8")
    records = gzip.decompress((tmp_path / "records" / "tao-8.jsonl.gz").read_bytes())
    assert len(records.splitlines()) == 4
    # A second run finds everything done and writes the same bytes.
    before = (tmp_path / "records" / "tao-8.jsonl.gz").read_bytes()
    reproduce(["tao-8"], out=tmp_path)
    assert (tmp_path / "records" / "tao-8.jsonl.gz").read_bytes() == before


def test_a_table_may_search_another_grid():
    other = {"svm__C": [1.0]}
    table = replace(TINY, nested=True, grids={"Minimax": {}, "Minimax / musk2": other})
    assert grid_of(table, "MI-Kernel", "musk1") == REGISTRY["MI-Kernel"].grid
    assert grid_of(table, "Minimax", "musk1") == {} and grid_of(table, "Minimax", "musk2") == other
    assert grid_of(replace(table, nested=False), "Minimax", "musk2") == {}


def test_transduction_slices_one_matrix():
    X, y = load_musk1(return_X_y=True)
    table = next(t for t in load_tables() if t.name == "tao-8")
    name = "k_and/or emp (transduction)"
    sliced = build(table, name, "musk1", X).set_params(
        **{p: v[-1] for p, v in grid_of(table, name, "musk1").items()}
    )
    kernel = clone(sliced.kernel.kernel.kernel).fit(X)
    assert kernel.power == grid_of(table, name, "musk1")["kernel__kernel__kernel__power"][-1]
    whole = kernel(X)
    sliced.fit(X[::2], y[::2])
    assert_array_equal(sliced.kernel_.features(X[1::2]), whole[1::2])
    assert sliced.score(X[1::2], y[1::2]) > 0.7


def test_a_killed_experiment_goes_on(tmp_path):
    path = tmp_path / "toy.jsonl"
    tasks = [{"x": i} for i in range(4)]
    run_tasks(lambda t: {"y": t["x"] ** 2}, tasks[:2], path, 1, lambda *a: None)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"task": {"x": 2}, "res')  # killed in the middle of a line
    calls = []
    results = run_tasks(
        lambda t: calls.append(t["x"]) or {"y": t["x"] ** 2}, tasks, path, 1, lambda *a: None
    )
    assert calls == [2, 3]
    assert [r["y"] for r in results] == [0, 1, 4, 9]
    assert all(json.loads(line) for line in path.read_text("utf-8").splitlines())


def test_mechanisms_from_task_to_page(tmp_path):
    table = load_tables(["wang-figure1"])[0].quickly()
    experiment = EXPERIMENTS["mechanisms"]
    results = [{**t, "p": float(t["mechanism"])} for t in experiment.tasks(table, [])]
    page = experiment.page(table, results, tmp_path)
    assert "for 2 of 2 seeds" in page
    assert (tmp_path / "wang-figure1.png").stat().st_size > 1000


def test_assumptions_are_measured():
    table = load_tables(["assumptions"])[0].quickly()
    task = {"method": "MI-Kernel", "concept": "single", "seed": 0}
    found = EXPERIMENTS["assumptions"].run(table, task)
    assert 0 <= found["attacked"] <= 1 and found["as in training"] > 0.8


def test_assumptions_leave_out_who_sees_the_answers_and_tell_what_boxes_do(tmp_path):
    (table,) = load_tables(["assumptions"])
    experiment = EXPERIMENTS["assumptions"]
    tasks = experiment.tasks(table, [])
    assert {"k_and", "k_and subset"} <= {t["method"] for t in tasks}
    assert not [t for t in tasks if "transduction" in t["method"]]
    results = [
        {**t, "as in training": 0.9 + 0.1 * ("subset" in t["method"]), "attacked": None} for t in tasks
    ]
    page = experiment.page(table, results, tmp_path)
    assert "gives 0.90, 0.90, 0.90" in page and "(`k_and subset`), 1.00, 1.00, 1.00." in page
    assert "16 features" not in experiment.page(table, results[:1], tmp_path)


def test_the_protein_page_says_where_the_published_error_lies_among_the_draws(tmp_path):
    (table,) = load_tables(["tao-7"])
    errors = {"error": 0.0, "false positive": 1.0, "false negative": 2.0}
    results = [
        {"method": "k_and", "power": power, "draw": d, **errors, "error": 18.0 + 4 * d + 10 * (power == 1)}
        for power in (1.0, 0.02)
        for d in range(3)
    ]
    page = EXPERIMENTS["protein"].page(table, results, tmp_path)
    assert "| k_and | 28.0 | 28.2 | 32.0 | 35.8 | 36.0 | 20.8 | 0 % |" in page
    assert "| k_and, to the power 0.02 | 18.0 | 18.2 | 22.0 | 25.8 | 26.0 | 20.8 | 67 % |" in page
    assert "power 0.02 all kernels are within three points at once in 2 of 3 draws" in page
    curve = {"method": "k_and", "power": 0.02, "curve": 20, "median": 17.0, "lowest": 9.0, "highest": 25.0}
    page = EXPERIMENTS["protein"].page(table, [*results, curve], tmp_path)
    assert (
        "| k_and, to the power 0.02 | 20.8 | 16.9 | 17.0 (9.0 to 25.0) |" in page
        and "over 20 draws" in page
    )


def test_both_label_kernels_of_the_paper_have_a_row(tmp_path):
    (table,) = load_tables(["kwok-lj"])
    experiment = EXPERIMENTS["lennard-jones"]
    tasks = experiment.tasks(table, ["lj_16_30_2"])
    results = [{**t, "squared error": 0.5, "classification error": 1.0} for t in tasks]
    page = experiment.page(table, results, tmp_path)
    assert page.count("| MG-ACC, linear label kernel | no |") == 4  # two errors, without and with features
    assert page.count("| MG-ACC | no |") == page.count("| MG-ACC | yes |") == 4


def test_sets_that_report_had_no_say_in_the_design():
    table = load_tables(["auto"])[0]
    assert not set(table.data) & set(table.settings["design"])
    assert len({*table.data, *table.settings["design"]}) == 42
    assert set(load_tables(["defaults"])[0].data) <= set(table.settings["design"])


def test_auto_beside_the_others_from_results_to_page(tmp_path):
    table = replace(load_tables(["auto"])[0], data=("trec4", "sival6"))
    scores = {("auto", "trec4"): 0.9, ("auto", "sival6"): 0.7, ("MILES", "trec4"): 0.8}
    outputs = [[1, 0.9, 0.5], [0, 0.2, 0.5]] * 10
    results = [
        {"method": m, "data": d, "scores": [v, v], "outputs": outputs if m == "auto" else []}
        for (m, d), v in {**scores, ("MILES", "sival6"): 0.8}.items()
    ]
    shuffled = {"method": "auto", "data": "trec4", "shuffled": True, "scores": [0.5], "outputs": outputs}
    refused = {"method": "DD", "data": "trec4", "refused": "a fold takes longer than 20 s"}
    nested = {"method": "MILES", "data": "trec4", "nested": True, "scores": [0.7, 0.8]}
    page = EXPERIMENTS["auto"].page(table, [*results, shuffled, refused, nested], tmp_path)
    assert "| MILES | 1 | 2 | 80.0 | 75.0 | +5.0 |" in page
    assert "| auto | 1.5 | 2 | 80.0 | 90.0 | 70.0 |" in page
    assert "| sival6 | 70.0 | 80.0 | -10.0 | MILES 80.0 | -10.0 |" in page
    assert (tmp_path / "auto-calibration.png").stat().st_size > 1000


def test_other_draws_of_the_folds_are_averaged_with_the_first(tmp_path):
    settings = {"again": ["trec4", "sival6"], "draws": 3, "leaders": ["MILES", "DD"]}
    table = load_tables(["auto"])[0]
    table = replace(table, data=("trec4", "sival6"), settings=table.settings | settings)
    experiment = EXPERIMENTS["auto"]
    drawn = [t for t in experiment.tasks(table, table.data) if "draw" in t]
    assert len(drawn) == 2 * 2 * 3 and {t["draw"] for t in drawn} == {1, 2}
    values = {"auto": (0.9, 0.6, 0.6), "MILES": (0.5, 0.8, 0.5), "DD": (1.0, 1.0, None)}
    results = [
        {"method": m, "data": "trec4", "scores": [v], **({"draw": k} if k else {})}
        for m, draws in values.items()
        for k, v in enumerate(draws)
        if v is not None
    ]
    page = experiment.page(table, results, tmp_path)
    assert "| trec4 | 70.0 | MILES 60.0 | +10.0 |" in page  # DD has no second other draw
    assert "| trec4 | 90.0 |" in page and "the means of 3 draws" in page.replace("\n", " ")
    assert "| sival6 | 7" not in page


def test_what_is_picked_by_the_other_folds():
    scores = np.array([[90.0, 50.0, 70.0], [80.0, 80.0, 10.0]])
    # Without the first column the first row leads, without the second too, without the third the second.
    assert _picked(scores) == pytest.approx((90 + 50 + 10) / 3)
    assert _picked(np.array([[90.0, 10.0], [70.0, 10.0]])) == pytest.approx((80 + 10) / 2)


def test_defaults_are_searched(tmp_path):
    table = replace(load_tables(["defaults"])[0], methods=("Simple-MI",), data=("musk1",))
    experiment = EXPERIMENTS["defaults"]
    task, *drawn = experiment.tasks(table, ["musk1"])
    assert {t["data"] for t in drawn} == set(DRAWN) and "data" in experiment.stamp(task)
    found = experiment.run(table, task)
    assert found["whole"] and len(found["settings"]) == 10
    assert found["settings"][0][1] == dict(map(_told, found["settings"]))[str(BEFORE["Simple-MI"])]
    assert "| Simple-MI | 1 |" in experiment.page(table, [{**task, **found}], tmp_path)
    short = experiment.run(replace(table, settings=table.settings | {"seconds": 0}), task)
    assert not short["whole"] and "| Simple-MI" not in experiment.page(table, [{**task, **short}], tmp_path)


def _told(pair):
    return str(pair[0]), pair[1]


def _rows(dense, text):
    """Results of Simple-MI at its old default, scaled (C = 1, 10) and not, on a dense set and a text."""
    settings = [{}, *ParameterGrid({"scale__method": ["standard", "none"], "svm__C": [1.0, 10.0]})]
    pairs = {"musk1": dense, "news_sci_med": text}
    return [{"data": d, "settings": list(zip(settings, v, strict=True))} for d, v in pairs.items()]


@pytest.mark.parametrize(
    "dense, text, changes",
    [
        ([0.8, 0.7, 0.8, 0.9, 0.9], [0.6, 0.6, 0.6, 0.6, 0.6], []),  # what has units is scaled
        ([0.8, 0.804, 0.8, 0.8, 0.8], [0.6, 0.6, 0.6, 0.6, 0.6], []),  # too small a gain
        ([0.8, 0.9, 0.8, 0.8, 0.8], [0.6, 0.6, 0.6, 0.6, 0.6], ["`svm__C=1.0`"]),
        ([0.8, 0.7, 0.8, 0.1, 0.1], [0.6, 0.6, 0.6, 0.8, 0.8], ["`scale__skip_sparse='zeros'`"]),
    ],
)
def test_the_rule_takes_what_is_best_and_differs_least(dense, text, changes):
    rule = Rule("Simple-MI", _rows(dense, text))
    assert rule.changes(rule.taken) == changes and rule.mean(rule.taken) >= rule.best - 0.005


def test_papers_are_run_with_the_settings_that_their_records_have():
    """Other defaults since spoil no table of a paper."""
    shipped = Path(__file__).parent.parent / "docs" / "results" / "records"
    for table in load_tables(["gehler-2", "xu-4"]):
        whole = tuple(m for m in table.methods if m != "ISK (weights searched)")
        table = replace(table, methods=whole)
        shown = current(table, read_records(shipped / f"{table.name}.jsonl"))
        places = {(r.method, r.data, r.repeat, r.fold) for r in shown}
        assert len(places) == len(table.cells()) * table.folds * table.repeats


def test_targets_of_known_origin_are_told_apart():
    """One instance decides: Diverse Density knows it, an average does not; and the other way round."""
    table = load_tables(["regression"])[0]

    def score(method, target):
        task = {"method": method, "target": target, "seed": 9}
        return EXPERIMENTS["regression"].run(table, task)["r2"]

    assert score("DD", "largest") > 0.9 > 0.5 > score("Simple-MI", "largest")
    assert score("Simple-MI", "mean") > 0.7 > score("DD", "mean")


def test_chance_is_the_corrected_t_test():
    values = np.array([80.0, 82, 85, 79, 90])
    error = np.sqrt(values.var(ddof=1) * (1 / 5 + 0.25))
    expected = 2 * stats.t.sf((values.mean() - 75) / error, 4)
    assert chance(values, 75.0, 0.25) == pytest.approx(expected)
    assert chance(np.array([80.0, 80.0]), 75.0, 0.25) is None


def test_pivot_and_summary():
    rows = [{"m": "a", "d": 1, "v": 1.0}, {"m": "a", "d": 1, "v": 3.0}, {"m": "b", "d": 2, "v": 5.0}]
    assert "| a | 2.0 ± 1.4 | – |" in pivot(rows, ["m"], "d", "v")
    assert "No accuracy table" in summary([], [])


def test_a_page_says_what_was_left_out_and_searched_otherwise():
    table = replace(
        TINY,
        leave_out={"Minimax / musk1": "too slow", "Minimax / musk2": "too slow"},
        grids={"MI-Kernel": {"svm__C": [1.0]}},
    )
    page = accuracy_page(table, [], {})
    assert "- Minimax / musk1, Minimax / musk2: too slow" in page
    assert "- MI-Kernel: `svm__C=[1.0]`" in page
    assert "Minimax" not in [m for m, _ in table.cells()]


def cell(method, data, mean, p_value=0.5):
    return Cell("tao-8", method, data, mean, 1.0, 1.0, 10, 90.0, p_value, 1.0)


def test_figures_for_other_bags_stand_apart():
    """The paper's pictures have 121 features, the public bags of them nine."""
    (table,) = load_tables(["xu-3"])
    page = accuracy_page(table, [], {})
    assert "- 1000-Image: ISK 85.1, MI-Kernel 83.7," in page.split("not to be compared")[1]
    assert not [f for f in figures() if f.data.startswith("corel")]


def test_what_a_method_has_on_the_speaker_set_stands_beside_the_published(tmp_path):
    (table,) = load_tables(["xu-5"])
    shares = [{"method": m, "share": s, "train": 2.0, "test": 1.0, "accuracy": 90.0 + s}
              for m in table.methods for s in table.settings["shares"]]  # fmt: skip
    page = EXPERIMENTS["speaker"].page(table, shares, tmp_path)
    assert "| ISK | 2.0 | 91.0 |" in page and "| ISK, instance by instance | – | 1159.0 |" in page
    assert "| miGraph | 90.1 | 90.2 | 90.4 | 90.6 | 90.8 | 91.0 |" in page


def test_the_summary_shows_the_papers_own_systems():
    table = replace(TINY, own=("Minimax",))
    cells = [
        cell("Minimax", "musk1", 92.0),
        cell("Minimax", "news_a", 80.0, 0.01),
        cell("Minimax", "news_b", 70.0),
        cell("MI-Kernel", "musk1", 89.5),
    ]
    text = summary(cells, [table])
    assert "1 are above it, 1 within one point and 2 below (1 of those significantly" in text
    assert "| Minimax | 92.0 (90.0) | 75.0 (90.0) |" in text.replace(TIED, " ")
    assert "MI-Kernel" not in text


def test_the_overview_has_each_method_once():
    cells = [
        cell("Minimax", "musk1", 92.0),
        replace(cell("Minimax", "musk1", 92.0), table="wang-1"),
        cell("Minimax (transduction)", "musk1", 99.0),
        cell("MI-Kernel", "musk2", 89.5),
    ]
    lines = overview(cells).replace(TIED, " ").splitlines()
    assert lines[2:] == ["| Minimax | 92.0, 1 s |  |", "| MI-Kernel |  | 89.5, 1 s |"]
    assert overview([]) == ""


def test_own_systems_are_rows_of_their_table():
    for table in load_tables():
        assert set(table.own) <= set(table.methods), table.name


def test_cells_with_one_cause_share_a_line():
    table = replace(TINY, data=("musk1", "musk2"))
    cells = [
        cell("Minimax", "musk1", 80.0),
        cell("Minimax", "musk2", 85.0),
        cell("MI-Kernel", "musk1", 70.0),
    ]
    page = accuracy_page(table, cells, {"tao-8 / Minimax": "it snowed."})
    assert "- Minimax on musk1 (-10.0), musk2 (-5.0): it snowed.\n" in page
    assert "- MI-Kernel on musk1 (-20.0): the cause is not known yet.\n" in page


def test_sets_that_are_not_here_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("SKMIL_DATA", raising=False)
    monkeypatch.setattr(running, "run_table", lambda *how: None)
    for table, absent in (("auto", True), ("defaults", False)):  # whose quick sets are lj_16_30_2 and musk1
        told = CliRunner().invoke(app, [table, "--quick", "--out", str(tmp_path)])
        assert told.exit_code == 0
        assert ("$SKMIL_DATA: lj_16_30_2" in " ".join(told.output.split())) is absent
