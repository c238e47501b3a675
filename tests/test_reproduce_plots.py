"""Pictures of the papers' tables need no screen, and leave those of the caller alone."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from reproduction import load_tables
from reproduction.experiments.base import axes, save
from reproduction.plots import accuracy_plot

PNG = b"\x89PNG"


@pytest.fixture
def pyplot():
    """pyplot without figures, and with a backend that none of ours would choose."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")
    before = plt.get_backend()
    plt.switch_backend("svg")
    yield plt
    plt.switch_backend(before)


def test_panels_of_an_accuracy_table(pyplot, tmp_path):
    table = replace(load_tables(["tao-8"])[0], methods=("A", "B"), data=("u", "v"))
    cells = [
        SimpleNamespace(data=d, method=m, mean=80.0, error=1.0, published=published)
        for d in table.data
        for m, published in (("A", 81.0), ("B", None))
    ]
    assert accuracy_plot(table, cells, tmp_path) == "\n![tao-8](tao-8.png)\n"
    assert (tmp_path / "tao-8.png").read_bytes().startswith(PNG)
    assert accuracy_plot(table, [], tmp_path) == ""
    assert pyplot.get_backend() == "svg" and not pyplot.get_fignums()


def test_axes_of_an_experiment(pyplot, tmp_path):
    figure, grid = axes(6, 3, 2)
    assert grid.shape == (1, 2)
    assert save(figure, tmp_path, "two") == "\n![two](two.png)\n"
    assert (tmp_path / "two.png").read_bytes().startswith(PNG)
    assert pyplot.get_backend() == "svg" and not pyplot.get_fignums()
