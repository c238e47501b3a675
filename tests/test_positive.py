"""Which of two classes is positive: methods ask for what a positive bag has."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skmil
from skmil.cli import main
from skmil.formats import write_bags
from skmil.inspection import explain_all
from skmil.learners.base import positive_class
from tests.test_explanation import planted

SIDED = ["MI-SVM", "DD", "APR", "Boost", "MILBoost", "AW-SVM"]


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (["active", "inactive"], 0),
        (["musk", "non-musk"], 0),
        (["Toxic", "not toxic"], 0),
        (["balanced", "unbalanced"], 0),
        (["neg", "pos"], 1),
        (["no", "yes"], 1),
        (["in", "out"], 1),
        ([0, 1], 1),
        ([-1, 1], 1),
        ([False, True], 1),
        (["inside", "outside"], 1),
    ],
)
def test_a_label_that_denies_the_other_is_negative(classes, expected):
    assert positive_class(np.array(classes)) == expected


@pytest.mark.parametrize("name", SIDED)
def test_names_do_not_turn_a_method_round(name):
    X, y, _ = planted(0, 60, name == "APR")
    model = skmil.method(name).fit(X, y)
    for labels in (["inactive", "active"], ["non-binding", "binding"]):
        named = skmil.method(name).fit(X, np.array(labels)[y])
        assert_array_equal(named.predict(X) == labels[1], model.predict(X) == 1)
        assert_allclose(named.decision_function(X), -model.decision_function(X))
        assert named.classes_.tolist() == sorted(labels)
        for a, b in zip(explain_all(named, X), explain_all(model, X), strict=True):
            assert_allclose(a.support, b.support)
            assert a.witness == b.witness


@pytest.mark.parametrize("name", SIDED)
def test_the_positive_class_can_be_named(name):
    X, y, _ = planted(0, 60, name == "APR")
    labels = np.array(["safe", "danger"])
    told = skmil.method(name, positive="danger").fit(X, labels[y])
    plain = skmil.method(name).fit(X, y)
    assert_array_equal(told.predict(X) == "danger", plain.predict(X) == 1)
    assert [e.witness for e in explain_all(told, X)] == [e.witness for e in explain_all(plain, X)]
    with pytest.raises(ValueError, match="positive is 'fire'; give one of two classes, here danger, safe"):
        skmil.method(name, positive="fire").fit(X, labels[y])


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    X, y, _ = planted(0, 60)
    monkeypatch.chdir(tmp_path)
    write_bags("t.csv", X, np.array(["safe", "danger"])[y])
    assert main(["fit", "t.csv", "m.skops", "-m", "MI-SVM", "--positive", "danger"]) == 0
    assert "the positive class is danger" in capsys.readouterr().out
    assert main(["fit", "t.csv", "m.skops", "-m", "MI-SVM", "--positive", "fire"]) == 2
    assert "there are danger, safe" in capsys.readouterr().err
