"""Explanations point at what decided: planted instances, both ends, names of classes, witnesses."""

import numpy as np
import pytest

import skmil
from skmil import Bags
from skmil.inspection import explain, explain_all, plot_instances

# Where a method learns the rule: far from the crowd, or in the middle of an empty room.
INSIDE = ("APR", "k_min", "k_min emp")


def planted(seed, n, inside=False, classes=2):
    """Bags of which every one but those of class 0 holds one instance that tells its class; where it is."""
    rng = np.random.default_rng(seed)
    y, X, place = np.arange(n) % classes, [], []
    for label in y:
        m = rng.integers(3, 8)
        if inside:
            crowd = rng.normal(size=(m, 8))
            B = crowd * (rng.uniform(3, 4.5, (m, 1)) / np.linalg.norm(crowd, axis=1, keepdims=True))
            one = 0.1 * rng.normal(size=8)
        else:
            B = rng.normal(size=(m, 2))
            one = [6.0, -6.0 if label == 2 else 6.0] + 0.2 * rng.normal(size=2)
        k = rng.integers(m)
        if label:
            B[k] = one
        X.append(B)
        place.append(k)
    return Bags.from_list(X), y, np.array(place)


@pytest.mark.parametrize("name", skmil.methods("classification"))
def test_the_planted_instance_comes_first(name):
    X, y, _ = planted(0, 120, name in INSIDE)
    T, truth, place = planted(1, 60, name in INSIDE)
    told = explain_all(skmil.method(name).fit(X, y), T)
    right = [i for i, e in enumerate(told) if e.prediction == truth[i] == 1]
    assert len(right) >= 10
    first = np.mean([told[i].order[0] == place[i] for i in right])
    # A method that scores instances by itself may find one of the crowd more telling, now and then.
    assert first >= 0.9


@pytest.mark.parametrize("name", ["MI-Kernel", "MI-SVM", "MILES", "DD", "CCE", "miFV"])
def test_three_classes(name):
    X, y, _ = planted(0, 120, classes=3)
    T, truth, place = planted(1, 60, classes=3)
    told = explain_all(skmil.method(name).fit(X, np.array(["none", "up", "down"])[y]), T)
    names = np.array(["none", "up", "down"])[truth]
    right = [i for i, e in enumerate(told) if e.prediction == names[i] != "none"]
    assert len(right) >= 30
    assert np.mean([told[i].order[0] == place[i] for i in right]) >= 0.9
    assert {told[i].meaning for i in right} == {"speaks for up", "speaks for down"}


@pytest.mark.parametrize("name", ["DD", "EM-DD", "MI-Kernel", "Simple-MI"])
def test_regression(name):
    X, y, place = planted(0, 60)
    model = skmil.method(name, "regression").fit(X, y * 7.0)
    told = explain_all(model, X)
    assert told[0].meaning == "raises the prediction" and told[0].decision is None
    assert np.mean([told[i].order[0] == place[i] for i in np.flatnonzero(y)]) >= 0.9


def test_scores_are_turned_towards_the_prediction():
    X, y, _ = planted(0, 60)
    model = skmil.method("MI-SVM").fit(X, y)
    told = explain_all(model, X)
    for e, s, d in zip(told, model.score_instances(X), model.decision_function(X), strict=True):
        sign = 1 if e.prediction == 1 else -1
        assert np.array_equal(e.support, sign * s) and e.decision == sign * d
        assert e.witness == s.argmax() and np.isclose(s.max(), d)


def test_a_mean_of_instances_has_no_witness():
    X = [np.random.default_rng(i).normal(size=(3, 2)) + 2 * (i % 2) for i in range(12)]
    y = np.arange(12) % 2
    for pooling, found in (("max", True), ("mean", False)):
        model = skmil.learners.AnnealedSVM("labels", pooling=pooling).fit(X, y)
        assert (explain_all(model, X)[1].witness is not None) == found


def test_text_shows_both_ends_and_marks_the_witness():
    X, y, place = planted(0, 60)
    big = Bags.from_list([np.vstack([X[1], np.random.default_rng(0).normal(size=(20, 2))])], ids=["m1"])
    told = explain(skmil.method("MI-SVM").fit(X, np.array(["off", "on"])[y]), big)
    text = told.to_text(top=9)
    lines = text.splitlines()
    assert lines[0].startswith("bag m1: predicted on (decision value ") and "speaks for on" in lines[1]
    assert lines[2].endswith("<- witness") and lines[2].split()[0] == str(place[1])
    assert len(lines) == 2 + 9 + 1 and f"... {len(big[0]) - 9} between" in lines
    assert lines[-1].split()[0] == str(told.order[-1])
    assert len(told.to_text(top=100).splitlines()) == 2 + len(big[0])
    with pytest.raises(ValueError, match="top is 0"):
        told.to_text(0)


def test_the_other_forms_say_the_same():
    X, y, place = planted(0, 60)
    names = [f"<i>{k}" for k in range(len(X.owner))]
    told = explain(skmil.method("MI-SVM", probability=True).fit(X, y), X, 1, names=names)
    assert told.probability > 0.5
    as_dict = told.to_dict()
    first = X.offsets[1] + place[1]
    assert as_dict["instances"][0]["name"] == names[first] and as_dict["prediction"] == 1
    assert "&lt;i&gt;" in told.to_html() and "<i>" not in told.to_html() and "witness" in told.to_html()
    assert told._repr_html_() == told.to_html()


def test_the_plot_has_the_strongest_on_top():
    X, y, place = planted(0, 60)
    ax = plot_instances(skmil.method("MI-SVM").fit(X, y), X, 1)
    assert ax.get_yticklabels()[0].get_text() == f"{place[1]} (witness)"
    assert ax.get_xlabel() == "speaks for 1" and ax.yaxis_inverted()


def test_wrong_requests():
    X, y, _ = planted(0, 20)
    with pytest.raises(ValueError, match="no bag 20; there are 20"):
        explain(skmil.method("MI-Kernel").fit(X, y), X, 20)
    with pytest.raises(TypeError, match="has no score_instances"):
        explain(object(), X)
