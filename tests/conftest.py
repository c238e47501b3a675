"""Shared fixtures: small bags that no test may change, and the benchmark data where it is at hand."""

import shutil
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from skmil import Bags
from skmil.datasets import load_bags

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
# A shell that runs the suite in the background lets it ignore Ctrl-C, and so would what the tests start.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def bags():
    """Nine bags of 1 to 7 instances with 4 features."""
    rng = np.random.default_rng(0)
    return Bags.from_list([rng.normal(size=(m, 4)) for m in (1, 2, 7, 3, 3, 5, 1, 4, 6)])


@pytest.fixture
def toy():
    """Forty bags in two classes: a positive bag holds an instance near (3, 3, 3)."""
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = [rng.normal(size=(rng.integers(1, 6), 3)) for _ in y]
    for b, label in zip(X, y, strict=True):
        b[0] += 3.0 * label
        b.flags.writeable = False
    return Bags.from_list(X), y


@pytest.fixture
def shared_data():
    """Load a benchmark set by name; skips where the data folder is not beside the project."""

    def load(name):
        path = SHARED / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{name}.npz is not in ../shared/data")
        return load_bags(path)

    return load


@pytest.fixture(scope="session")
def indexed(tmp_path_factory):
    """A folder of pictures with its index, to be copied."""
    from tests import searching

    return searching.write_collection(tmp_path_factory.mktemp("made") / "pictures")


@pytest.fixture
def folder(indexed, tmp_path):
    """A folder of pictures with its index, for one test."""
    return Path(shutil.copytree(indexed, tmp_path / "pictures"))


@pytest.fixture
def client(folder):
    """The search page of such a folder, in process."""
    from tests import searching

    return searching.open_client(folder)
