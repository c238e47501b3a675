"""What all benchmarks share: the clock, the threads and the data."""

import sys
import time
from pathlib import Path

from threadpoolctl import threadpool_limits

from skmil import threads
from skmil.datasets import load_bags

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def best(function, repeats=3, n_threads=1):
    """Smallest seconds of several calls, with the same number of threads for BLAS and for skmil."""
    with threadpool_limits(n_threads), threads(n_threads):
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - start)
    return min(seconds)


def data(name):
    """A benchmark set: shipped, or from the data folder beside the project."""
    if name in ("musk1", "musk2"):
        return load_bags(name)
    path = SHARED / f"{name}.npz"
    if not path.exists():
        sys.exit(f"{name}.npz is not in ../shared/data; this benchmark needs it")
    return load_bags(path)


def forget_peak() -> None:
    """From now on count the peak of memory anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> int:
    """Most resident memory of this process; what the system calls by that name counts its parent, too."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))
