"""The page on how methods grow comes from its records, and its numbers from their definitions."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skmil

FILE = Path(__file__).resolve().parents[1] / "benchmarks" / "growth.py"


@pytest.fixture(scope="module")
def growth():
    spec = importlib.util.spec_from_file_location("growth", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_records(growth):
    text = growth.page(list(skmil.methods()), growth.SECONDS)
    assert growth.PAGE.read_text("utf-8") == text, "run python benchmarks/growth.py --page"


def test_exponents_and_where_memory_ends(growth):
    sizes = np.array([100, 1000, 10_000])
    assert_allclose(growth.exponent(sizes, 1e-3 * sizes**1.5), 1.5)
    assert_allclose(growth.largest(sizes, 8.0 * sizes**2), np.sqrt(24e9 / 8))
    assert np.isnan(growth.largest(sizes, 8.0 * sizes))  # too little memory to say anything


def test_where_memory_ends_is_told_by_ten_thousand_bags_too(growth):
    sizes = [*growth.points("bags")[:2], growth.TEN_THOUSAND]
    row = {"fit": 1.0, "one": 0.1}
    rows = {growth._key("A", s): {**row, "peak": 8.0 * s["bags"] ** 2} for s in sizes}
    seen, peaks = growth._peaks(rows, "A", "bags")
    assert_allclose(seen, [100, 300, 10_000])
    assert_allclose(growth.largest(seen, peaks), np.sqrt(24e9 / 8))
    del rows[growth._key("A", growth.TEN_THOUSAND)]
    assert_allclose(growth._peaks(rows, "A", "bags")[0], [100, 300])
    assert_allclose(growth._peaks(rows, "A", "features")[0], [20])


def test_sizes_that_cannot_be_done_in_time_are_not_tried(growth):
    small, large = growth.points("bags")[:2]
    assert not growth.too_large({}, {}, small, 1.0)
    assert growth.too_large({"fit": 0.5}, small, large, 1.0)
    assert not growth.too_large({"fit": 0.3}, small, large, 1.0)


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc")
def test_a_point_is_a_fit_its_peak_and_one_bag(growth):
    found = growth.measure(skmil.method("Simple-MI"), *growth.made(300, 5, 20))
    assert set(found) == {"fit", "one", "peak"}
    assert found["fit"] >= 0 and found["peak"] >= 0 and 0 < found["one"] < 10
    found = growth.measure(skmil.method("GMIL-2"), *growth.made(20, 3, 60))
    assert found["failed"].startswith("refused: ")


def test_names_keep_their_order_and_a_distance(growth):
    places = growth.spread([0.0, 0.0, 0.1, 5.0, 5.0, 9.9], 0.0, 10.0)
    assert (np.diff(places) >= 10 * growth.LETTER - 1e-9).all()
    assert places[0] >= 0 and places[-1] <= 10
    assert np.abs(places - [0.0, 0.0, 0.1, 5.0, 5.0, 9.9]).max() < 0.6
    many = growth.spread(np.zeros(200), 0.0, 1.0)
    assert many[0] == 0 and many[-1] == pytest.approx(1.0)
