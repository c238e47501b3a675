"""What a kernel, embedding or learner of your own builds on.

``docs/own_kernel.md`` writes a whole kernel with it. What stands here keeps its meaning between minor
versions.
"""

from skmil._jit import Flat, bag, exp, njit
from skmil._random import mix, random_key, uniform
from skmil._schema import check_bags, check_bags_y, check_weights
from skmil._threads import map_blocks, n_threads, one_blas_thread, slices

__all__ = [
    "Flat",
    "bag",
    "check_bags",
    "check_bags_y",
    "check_weights",
    "exp",
    "map_blocks",
    "mix",
    "n_threads",
    "njit",
    "one_blas_thread",
    "random_key",
    "slices",
    "uniform",
]
