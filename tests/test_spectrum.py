"""Spectra of Gram matrices."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmil.inspection import spectrum

SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


def test_negative_eigenvalues_are_counted_and_measured():
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))
    s = spectrum(Q @ np.diag([4.0, 2.0, 1.0, -0.5, -1.0]) @ Q.T)
    assert s.negative_share == pytest.approx(0.4)
    assert s.negative_size == pytest.approx(0.25)
    assert_allclose(s.eigenvalues, [4, 2, 1, -0.5, -1], atol=1e-12)


def test_effective_rank_and_dominance():
    assert spectrum(np.eye(6)).effective_rank == pytest.approx(6)
    assert spectrum(np.ones((6, 6))).effective_rank == pytest.approx(1, abs=1e-6)
    assert spectrum(np.eye(3) + 1e-8).diagonal_dominance == pytest.approx(8, abs=1e-3)
    assert spectrum(np.ones((6, 6))).negative_share == 0
    assert spectrum([[2.0]]).diagonal_dominance == 0


@pytest.mark.parametrize(
    ("K", "message"),
    [(np.ones((2, 3)), "square"), ([[1.0, np.nan], [0, 1]], "NaN"), ([[1.0, 2.0], [0, 1]], "symmetric")],
)
def test_bad_input(K, message):
    with pytest.raises(ValueError, match=message):
        spectrum(K)


def test_plot():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = spectrum(SWAP).plot()
    assert "50.0 % negative" in ax.get_title()
    assert plt.gcf() is ax.figure  # so that a notebook shows it
    plt.close(ax.figure)


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"skmil\[plot\]"):
        spectrum(SWAP).plot()
