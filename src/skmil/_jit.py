"""How code is compiled, and how compiled code sees bags.

Compiled cores are plain sequential functions that release the GIL; ``_threads.map_blocks`` runs them in
the standard library's threads, one call per block of work.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

Flat = namedtuple("Flat", ["instances", "offsets"])
Flat.__doc__ = "Bags as compiled code sees them: instances (N x d) and offsets (n + 1)."


def njit(function: Callable | None = None, **options: Any) -> Any:
    """``numba.njit`` with the defaults of this package: cached, GIL released, IEEE arithmetic."""
    if function is None:
        return lambda f: njit(f, **options)
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return numba.njit(function, cache=True, **options)
    except RuntimeError:  # no folder to write to: then each process compiles for itself
        return numba.njit(function, **options)


@njit
def bag(flat, i):
    """Return the i-th bag of ``flat`` as a view."""
    return flat.instances[flat.offsets[i] : flat.offsets[i + 1]]


@njit
def exp(x):
    """e^x for x <= 0 to one unit in the last place; unlike ``math.exp``, loops over it vectorise."""
    x = max(x, -708.0)
    z = x * 1.4426950408889634 + 6755399441055744.0  # adding 1.5 * 2^52 rounds to an integer
    n = z - 6755399441055744.0
    r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10
    p = 1.6059043836821613e-10  # Taylor series of e^r, |r| <= ln(2) / 2
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.int64((np.float64(z).view(np.int64) + np.int64(1023)) << np.int64(52))
    return p * power.view(np.float64)
