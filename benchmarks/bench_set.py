"""Set kernel on all of Musk2 against scikit-learn's ``rbf_kernel`` and a reduction."""

import tracemalloc

import numpy as np
from common import best, data
from sklearn.metrics.pairwise import rbf_kernel

from skmil.kernels import SetKernel
from skmil.preprocessing import BagScaler


def setkernel_musk2(n_threads=1):
    bags = BagScaler().fit_transform(data("musk2").data)
    kernel = SetKernel(gamma=1 / 166, normalization="sum")
    starts = bags.offsets[:-1]

    def reference():
        K = rbf_kernel(bags.instances, gamma=1 / 166)
        return np.add.reduceat(np.add.reduceat(K, starts, axis=0), starts, axis=1)

    error = np.abs(kernel(bags) / reference() - 1).max()
    ours, theirs = best(lambda: kernel(bags), 5, n_threads), best(reference, 5, n_threads)
    return {
        "ratio": round(theirs / ours, 2),
        "reference": "sklearn rbf_kernel + reduceat",
        "threads": n_threads,
        "seconds": round(ours, 3),
        "memory_ratio": round(peak(lambda: kernel(bags)) / peak(reference), 4),
        "largest_relative_difference": float(f"{error:.1e}"),
    }


def peak(function):
    """Most memory allocated on top during a call."""
    tracemalloc.start()
    function()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


BENCHMARKS = {
    "setkernel-musk2": setkernel_musk2,
    "setkernel-musk2-2threads": lambda: setkernel_musk2(2),
}
