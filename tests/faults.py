"""What the tests of faults run in processes of their own: a slow kernel that says what it computes."""

import os
import sys
import time
from pathlib import Path

import numpy as np

import skmil
from skmil.kernels import BagKernel
from skmil.store import arrays, writing


class SlowKernel(BagKernel):
    """Product of the means of two bags; each call is a line in a file and takes its time."""

    def __init__(self, log, seconds=0.1, n_bytes=0):
        self.log = log
        self.seconds = seconds
        self.n_bytes = n_bytes

    def _gram(self, A, B):
        waste = np.ones(self.n_bytes // 8)
        time.sleep(self.seconds)
        with open(self.log, "a") as file:
            file.write(f"{A.ids[0]}\t{B.ids[0]}\t{os.getpid()}\t{len(waste)}\n")
        a, b = ([bag.mean() for bag in X] for X in (A, B))
        return np.outer(a, b)


def calls(log) -> list[tuple[str, str]]:
    """The tiles that were computed, in the order in which they were."""
    path = Path(log)
    return [tuple(line.split("\t")[:2]) for line in path.read_text().splitlines()] if path.exists() else []


def bag(i: int) -> np.ndarray:
    """The i-th bag that ``write`` writes."""
    return np.random.default_rng(i).random((1 + i % 17, 5)).astype(np.float32)


def write(path, n: int) -> None:
    """Write bags slowly, in small chunks that are committed often."""
    arrays.CHUNK_BYTES, writing.SECONDS = 400, 0.0
    with skmil.store.writer(path, resume=True) as out:
        for i in range(n):
            if f"bag {i}" not in out.ids:
                out.add(f"bag {i}", bag(i), i % 2)


def gram(store, log, out, workers) -> None:
    """A Gram matrix on disk, slowly; on workers where there are some."""
    X = skmil.open_bags(store)
    kernel = SlowKernel(log).fit(X[:2])
    if workers == "0":
        skmil.gram(kernel, X, out=out, tile=2)
        return
    with skmil.cluster(int(workers)) as client:
        print(*client.run(os.getpid).values(), flush=True)
        skmil.gram(kernel, X, out=out, tile=2)


if __name__ == "__main__":
    from tests.faults import gram, write  # a kernel of `__main__` would be another one to whoever resumes

    verb, *arguments = sys.argv[1:]
    if verb == "write":
        write(arguments[0], int(arguments[1]))
    else:
        gram(*arguments)
