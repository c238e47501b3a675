r"""When a mean is known well enough: a confidence sequence by betting (Waudby-Smith & Ramdas 2024).

Samples x_1, x_2, ... in [0, 1] have mean m. Whoever bets that the mean is larger than m, or smaller,
holds the capital

    up_t(m) = prod_i (1 + c_i (x_i - m) / m),    down_t(m) = prod_i (1 + c_i (m - x_i) / (1 - m))

with stakes c_i in [0, 1) that only look at earlier samples. At the true mean both are nonnegative
martingales that start at 1, so by Ville's inequality either ever reaches 2 / delta with probability at
most delta / 2. Both are monotone in m: where capital at m is large, all smaller (larger) means are
excluded too. This holds at all times at once, so one may look as often as one likes and stop when sure.

Where every sample is 1 the first capital grows like m^-t, the fastest possible: about 50 samples
settle a relative error of 0.1 at delta = 0.01 where empirical Bernstein bounds take 400.
"""

import math

from skmil._jit import njit


@njit
def log_capital(trial, row, n, m, scale):
    """Log of prod_i (1 + c_i (x_i - m) / scale): ``up`` with scale m, ``down`` with scale m - 1.

    Row 0 of ``trial`` holds the samples x, ``row`` the stakes c.
    """
    total, product = 0.0, 1.0
    for i in range(n):
        product *= 1.0 + trial[row, i] * (trial[0, i] - m) / scale
        if i & 15 == 15:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@njit
def stake_on(mean, variance, m, scale):
    """Stake that makes the capital at m grow when mean and variance are as given, whatever the rest.

    It maximises the lower bound c d + (log(1 - c) + c) s of the growth, where d and s are the mean and
    the mean square of y = (x - m) / scale; it comes from log(1 + c y) >= c y + (log(1 - c) + c) y^2 for
    y >= -1.
    """
    gap = mean - m
    r = max(0.0, gap * scale / (variance + gap * gap))
    return r / (1.0 + r)
