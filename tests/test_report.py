"""The report: statistics by hand, every method shown, nothing from outside."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import auc

import skmil
from skmil.evaluation import cross_validate_bags
from skmil.report import corrected_ttest, sections, to_html, to_text, write_html
from skmil.report.plots import Axis, mean_roc, png
from skmil.report.summary import Summary, significant
from skmil.report.text import seconds


@pytest.fixture(scope="module")
def musk():
    X, y = skmil.datasets.load_musk1(return_X_y=True)
    return [
        r for m in ("Simple-MI", "Minimax") for r in cross_validate_bags(m, X, y, data="musk1", folds=4)
    ]


class Page(HTMLParser):
    """Collects addresses and checks that tags close in order."""

    VOID = {"meta", "img"}

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.words = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.addresses += [v for k, v in attrs if k in ("href", "src", "srcset", "data", "action")]
        assert tag not in ("script", "link", "iframe", "object")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.addresses += [v for k, v in attrs if k in ("href", "src")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def check_page(text, methods):
    page = Page(text)
    assert all(a.startswith(("#", "data:image/png;base64,")) for a in page.addresses)
    assert not re.search(r"url\(|@import|https?://", text)
    assert not re.search(r"\bnan\b|\binf\b", " ".join(page.words))
    for m in methods:
        assert m in page.words
    return page


def test_page_stands_alone_and_shows_every_method(musk, tmp_path):
    K = np.eye(92) + 0.1
    y = np.array([0, 1] * 46)
    path = tmp_path / "report.html"
    write_html(musk, path, grams={musk[0].fingerprint: ("MI-Kernel", K, y)})
    page = check_page(
        path.read_text("utf-8"), ["Simple-MI", "Minimax", "ROC curves", "Gram matrix", "Time"]
    )
    assert "Wins, ties, losses" in page.words
    assert sum(a.startswith("data:image/png") for a in page.addresses) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_page_for_one_method_and_for_thirty(musk):
    one = [r for r in musk if r.method == "Minimax"]
    page = check_page(to_html(one), ["Minimax"])
    assert "Wins, ties, losses" not in page.words
    names = [f"method <{k}>" for k in range(30)]
    check_page(to_html([replace(r, method=n) for n in names for r in one]), names)


def test_page_for_classes_and_numbers(toy):
    X, _ = toy
    labels = np.array(["a", "b", "<c>"])[np.arange(40) % 3]
    numbers = np.array([b[:, 0].mean() for b in X])
    records = [
        r
        for data, y in [("letters", labels), ("numbers", numbers)]
        for r in cross_validate_bags("Simple-MI", X, y, data=data, folds=3)
    ]
    page = check_page(to_html(records), ["Simple-MI", "letters", "numbers", "Confusion", "Predictions"])
    assert page.addresses.count("#s1") == 1
    assert "R²" in to_text(records) and "RMSE" in to_text(records)


def test_nothing_to_report_is_said(tmp_path):
    with pytest.raises(ValueError, match="no records"):
        write_html([], tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_table_has_the_published_figure_and_its_source(musk):
    text = to_text(musk)
    figure = next(f for f in skmil.published("Minimax") if f.data == "musk1")
    assert f"{figure.accuracy:.1f}" in text and figure.source in text
    mean = 100 * np.mean([r.scores["accuracy"] for r in musk if r.method == "Minimax"])
    assert f"{mean:.1f}" in text
    assert text.splitlines()[0] == "musk1: 92 bags, 4-fold cross-validation, seed 0"


def summary(name, values, n_train=90, n_test=10):
    base = cross_validate_bags("Simple-MI", [[[0.0]], [[1.0]]] * 2, [0, 1] * 2, folds=2)[0]
    records = [
        replace(base, method=name, fold=k, scores={"accuracy": v}, n_train=n_train, n_test=n_test)
        for k, v in enumerate(values)
    ]
    return Summary(name, tuple(records), ())


def test_corrected_ttest_by_hand():
    a, b = summary("a", [0.9, 0.8, 0.85, 0.95]), summary("b", [0.7, 0.75, 0.8, 0.7])
    d = np.array([0.2, 0.05, 0.05, 0.25])
    t = d.mean() / np.sqrt((1 / 4 + 10 / 90) * d.var(ddof=1))
    difference, p = corrected_ttest(a, b, "accuracy")
    assert difference == pytest.approx(d.mean()) and p == pytest.approx(2 * stats.t.sf(t, 3))
    assert p > stats.ttest_rel([0.9, 0.8, 0.85, 0.95], [0.7, 0.75, 0.8, 0.7]).pvalue
    back, same = corrected_ttest(b, a, "accuracy")
    assert back == pytest.approx(-difference) and same == pytest.approx(p)


def test_corrected_ttest_without_variance():
    a, b = summary("a", [0.5, 0.5]), summary("b", [0.75, 0.75])
    assert corrected_ttest(a, a, "accuracy") == (0.0, None)
    assert corrected_ttest(b, a, "accuracy") == (0.25, None)
    assert corrected_ttest(summary("c", [0.5]), a, "accuracy") == (0.0, None)
    assert not significant(None) and not significant(0.05) and significant(0.04)


def test_interval_covers_the_mean_at_its_level():
    """On independent folds the interval is too wide rather than too narrow."""
    rng = np.random.default_rng(0)
    base = summary("a", [0.0] * 10)
    covered = 0
    for _ in range(300):
        records = [
            replace(r, scores={"accuracy": v})
            for r, v in zip(base.records, rng.normal(size=10), strict=True)
        ]
        low, high = Summary("a", tuple(records), ()).interval("accuracy")
        covered += low <= 0 <= high
    assert covered >= 0.95 * 300


def test_area_under_the_mean_curve_is_the_mean_auc(musk):
    for s in sections(musk)[0].summaries:
        curve = mean_roc(s, n=2001)
        assert auc(np.linspace(0, 1, 2001), curve) == pytest.approx(s.mean("auc"), abs=0.01)


def test_roc_curves_are_those_of_the_positive_class(musk):
    names = {0: "active", 1: "inactive"}
    named = [
        replace(
            r,
            classes=("active", "inactive"),
            outputs=r.outputs | {"true": [names[int(t == r.classes[1])] for t in r.outputs["true"]]},
        )
        for r in musk
    ]
    assert "false positives for class active," in to_html(named)
    for s in sections(named)[0].summaries:
        area = auc(np.linspace(0, 1, 2001), mean_roc(s, n=2001))
        assert area == pytest.approx(s.mean("auc"), abs=0.01)


def test_a_fold_run_twice_counts_once_and_the_best_method_comes_first(musk):
    again = [replace(musk[0], scores=musk[0].scores | {"accuracy": 0.0})]
    (section,) = sections(musk + again)
    assert [len(s.records) for s in section.summaries] == [4, 4]
    means = [s.mean("accuracy") for s in section.summaries]
    assert means == sorted(means, reverse=True)
    assert any(0.0 in s.values("accuracy") for s in section.summaries)
    assert len(sections([*musk, replace(musk[0], seed=9)])) == 2


@pytest.mark.parametrize(
    "low, high, log", [(0.1, 0.1, False), (70, 100, False), (1e-3, 2e-3, True), (1e-6, 1e4, True)]
)
def test_ticks_are_few_and_inside(low, high, log):
    axis = Axis(low, high, log)
    ticks = [axis.place(v) for v, _ in axis.ticks()]
    assert 1 <= len(ticks) <= 8 and 0 <= min(ticks) and max(ticks) <= 100 and len(set(ticks)) == len(ticks)
    assert 0 < axis.place(low) <= axis.place(high) < 100


def test_png_is_a_picture_that_others_can_read():
    import base64
    import io

    from matplotlib.image import imread

    levels = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    data = base64.b64decode(png(levels).split(",")[1])
    image = imread(io.BytesIO(data))
    assert image.shape[:2] == (3, 4) and np.allclose(image[0, 0, :3], np.array([24, 20, 70]) / 255)


def test_times_are_written_for_people():
    assert [seconds(v) for v in (0.0123, 3.456, 99.4, 600)] == ["12.3 ms", "3.46 s", "99.4 s", "10 min"]


def test_guessing_is_a_row(toy):
    X, y = toy
    rare = np.where(np.arange(40) % 5 == 0, "rare", "common")
    (section,) = sections(cross_validate_bags("Simple-MI", X, rare, folds=4))
    base = section.baseline
    assert (
        base.mean("accuracy") == 0.8 and base.mean("balanced_accuracy") == 0.5 and base.mean("auc") == 0.5
    )
    assert section.score == "balanced_accuracy" and sections(cross_validate_bags("Simple-MI", X, y))[
        0
    ].score == ("accuracy")
    text = to_text([r for s in section.summaries for r in s.records])
    assert "(majority class)" in text and "balanced %" in text
    numbers = np.array([b[:, 0].mean() for b in X])
    records = cross_validate_bags("Simple-MI", X, numbers, folds=4)
    (section,) = sections(records)
    first = records[0]
    rest = np.delete(numbers, first.outputs["bag"])
    error = np.sqrt(np.mean((numbers[first.outputs["bag"]] - rest.mean()) ** 2))
    assert section.baseline.records[0].scores["rmse"] == pytest.approx(error)
    assert "mean target" in to_html(records)
    # Folds that are missing leave bags whose labels nobody knows.
    assert sections(records[:-1])[0].baseline is None


def test_other_settings_and_grids_have_rows_of_their_own(toy):
    X, y = toy
    fast, slow = (
        cross_validate_bags(("Simple-MI", skmil.method("Simple-MI", C=C)), X, y, folds=2)
        for C in (100.0, 1e-6)
    )
    (section,) = sections(fast + slow)
    assert sorted(s.label for s in section.summaries) == ["Simple-MI (C=100.0)", "Simple-MI (C=1e-06)"]
    assert [len(s.records) for s in section.summaries] == [2, 2]
    nested = [
        r
        for C in (1.0, 2.0)
        for r in cross_validate_bags("Simple-MI", X, y, folds=2, nested=True, grid={"svm__C": [C]})
    ]
    assert len(sections(nested)[0].summaries) == 2
    revised = [*fast, *(replace(r, revision="2") for r in fast)]
    assert [s.label for s in sections(revised)[0].summaries] == [
        "Simple-MI (revision=1)",
        "Simple-MI (revision=2)",
    ]


def test_ties_are_all_bold_and_unfinished_methods_say_so(musk):
    one = [r for r in musk if r.method == "Minimax"]
    other = [replace(r, method="Twin") for r in one]
    page = to_html(one + other)
    assert page.count("class=best") == 2 and "share the highest accuracy" in page
    assert "no other method differs significantly" in page and "p = 0.000" not in page
    assert "the same in every fold, no test" in page
    assert "3 of 4 folds" in to_html(one + other[:3]) and "* Twin: 3 of 4 folds" in to_text(one + other[:3])


def test_failures_are_in_table_and_page(musk):
    failed = replace(musk[0], method="Broken", scores={}, outputs={}, error="no <luck>")
    text, page = to_text([*musk, failed]), to_html([*musk, failed])
    assert "Broken failed: no <luck>" in text and "no &lt;luck&gt;" in page
    # Some good folds do not make up for one that failed.
    again = replace(failed, method="Simple-MI")
    rest = [r for r in musk if (r.method, r.fold) != ("Simple-MI", failed.fold)]
    assert "Simple-MI failed: no <luck>" in to_text([*rest, again])


def test_figures_belong_to_bags_and_not_to_names(musk, toy):
    renamed = [replace(r, data="my file") for r in musk]
    assert "published" in to_text(renamed)
    pretender = cross_validate_bags("Minimax", *toy, data="musk1", folds=2)
    assert "published" not in to_text(pretender)
