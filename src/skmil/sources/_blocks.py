"""Blocks of 4 x 4 pixels, their colour and texture, and the segments they form.

Daubechies' wavelet with four coefficients, once, on the luminance of a block, wrapped at its edges: two
low-pass and two high-pass rows, so that a band has 2 x 2 coefficients. Segments are found as in SIMPLIcity
(Wang, Li and Wiederhold 2001): k-means over the blocks, with more and more means until more do not help.
"""

import math

import numpy as np

from skmil._jit import njit

BLOCK = 4
NAMES = ("Y", "Cr", "Cb", "HL", "LH", "HH")
_ENOUGH = 1500  # blocks that tell how many segments there are
_D = len(NAMES)  # a constant, so that the loops over features unroll

# Rec. 601 at full range, as in JPEG: rows of R, G, B for Y, Cr and Cb.
_COLOUR = np.array(
    [
        [0.299, 0.587, 0.114],
        [0.5, -0.418687589158345, -0.081312410841655],
        [-0.168735891647856, -0.331264108352144, 0.5],
    ]
)


def _wavelet() -> np.ndarray:
    """The 4 x 4 orthogonal matrix of one level of D4 with periodic edges: low, low, high, high."""
    r = np.sqrt(3.0)
    low = np.array([1 + r, 3 + r, 3 - r, 1 - r]) / (4 * np.sqrt(2.0))
    high = np.array([low[3], -low[2], low[1], -low[0]])
    return np.array([np.roll(low, 1), np.roll(low, 3), np.roll(high, 1), np.roll(high, 3)])


_WAVELET = _wavelet()


def block_features(pixels: np.ndarray) -> np.ndarray:
    """Six features of each block of a picture (h, w, 3): an array (h // 4, w // 4, 6).

    Means of Y, Cr and Cb from 0 to 255, and the roots of the mean squares of three bands: HL (high along a
    row of pixels), LH (high along a column), HH.
    """
    return _block_features(pixels, _COLOUR, _WAVELET)


@njit
def _block_features(pixels, colour, wavelet):
    rows, columns = pixels.shape[0] // 4, pixels.shape[1] // 4
    out = np.empty((rows, columns, 6))
    Y, half = np.empty((4, 4)), np.empty((4, 4))
    for i in range(rows):
        for j in range(columns):
            red = green = blue = 0.0
            for a in range(4):
                for b in range(4):
                    r = np.float64(pixels[4 * i + a, 4 * j + b, 0])
                    g = np.float64(pixels[4 * i + a, 4 * j + b, 1])
                    v = np.float64(pixels[4 * i + a, 4 * j + b, 2])
                    red, green, blue = red + r, green + g, blue + v
                    Y[a, b] = colour[0, 0] * r + colour[0, 1] * g + colour[0, 2] * v
            for c in range(3):
                mean = colour[c, 0] * red + colour[c, 1] * green + colour[c, 2] * blue
                out[i, j, c] = mean / 16.0 + (128.0 if c > 0 else 0.0)
            for a in range(4):  # along rows of pixels, then along columns
                for f in range(4):
                    half[a, f] = (
                        Y[a, 0] * wavelet[f, 0] + Y[a, 1] * wavelet[f, 1]
                        + Y[a, 2] * wavelet[f, 2] + Y[a, 3] * wavelet[f, 3]
                    )  # fmt: skip
            hl = lh = hh = 0.0
            for f in range(4):
                for a in range(4):
                    if f < 2 and a < 2:
                        continue
                    c = (
                        half[0, f] * wavelet[a, 0] + half[1, f] * wavelet[a, 1]
                        + half[2, f] * wavelet[a, 2] + half[3, f] * wavelet[a, 3]
                    )  # fmt: skip
                    if a < 2:
                        hl += c * c
                    elif f < 2:
                        lh += c * c
                    else:
                        hh += c * c
            out[i, j, 3], out[i, j, 4], out[i, j, 5] = np.sqrt(hl / 4), np.sqrt(lh / 4), np.sqrt(hh / 4)
    return out


def segments(grid: np.ndarray, most: int, distortion: float, drop: float) -> np.ndarray:
    """Segment of each block of a grid (rows, columns, 6), numbered by falling size.

    The number of segments grows from 2 until the mean squared distance to the nearest mean is below
    ``distortion``, or falls by less than ``drop`` times what it fell on average with the second and third
    segment, or ``most`` are there. A large grid is thinned in both directions to find that number; then the
    means settle among all blocks.
    """
    rows, columns, d = grid.shape
    thin = max(1, math.isqrt(rows * columns // _ENOUGH))
    means = _grow(np.ascontiguousarray(grid[::thin, ::thin]).reshape(-1, d), most, distortion, drop)
    labels = _settle(grid.reshape(-1, d), means)
    rank = np.empty(len(means), dtype=np.int64)
    rank[np.argsort(-np.bincount(labels, minlength=len(means)), kind="stable")] = np.arange(len(means))
    return rank[labels].reshape(rows, columns)


@njit
def _grow(X, most, distortion, drop):
    """k-means with one mean more at a time: the worst segment is split along its widest feature."""
    means, before = np.zeros((most, _D)), np.zeros((most, _D))
    labels, error, spread = np.zeros(len(X), dtype=np.int64), np.zeros(most), np.zeros((most, _D))
    D = _lloyd(X, means, labels, 1, error, spread)
    falls, k = 0.0, 1
    while k < most and D > distortion:
        worst = error[:k].argmax()
        f = spread[worst].argmax()
        if spread[worst, f] <= 0.0:
            break
        before[:] = means
        means[k] = means[worst]
        means[worst, f] -= np.sqrt(spread[worst, f])
        means[k, f] += np.sqrt(spread[worst, f])
        k += 1
        new = _lloyd(X, means, labels, k, error, spread)
        fall = D - new
        if k > 3 and fall < drop * falls / 2.0:
            return before[: k - 1]
        falls += fall if k <= 3 else 0.0
        D = new
    return means[:k]


@njit
def _settle(X, means):
    """The segment of each row, after the means have moved to where all rows want them."""
    k = len(means)
    labels = np.zeros(len(X), dtype=np.int64)
    _lloyd(X, means.copy(), labels, k, np.zeros(k), np.zeros((k, _D)))
    return labels


@njit
def _lloyd(X, means, labels, k, error, spread):
    """Move the first k means until hardly a row changes its nearest; returns the mean squared distance.

    Hamerly's bounds (2010) spare most distances: ``near[i]`` is never below the distance to the own mean,
    ``far[i]`` never above that to any other. Leaves the sums of squares of each segment in ``error``, its
    variances in ``spread``.
    """
    n = len(X)
    near, far = np.full(n, np.inf), np.zeros(n)
    counts, sums = _sums(X, labels, k)
    moved, most, second, first = np.zeros(k), 0.0, 0.0, 0
    enough = n // 200  # rows that still change; the exact fixed point is not worth its many steps
    for _ in range(100):
        changed = 0
        for i in range(n):
            old = labels[i]
            near[i] += moved[old]
            far[i] -= second if old == first else most
            if near[i] > far[i]:
                new = _nearest(X, means, k, i, old, near, far)
                if new != old:
                    _exchange(X, sums, counts, labels, i, new)
                    changed += 1
        first, most, second = _move(means, sums, counts, moved)
        if changed <= enough:
            break
    return _spreads(X, means, labels, k, error, spread)


@njit
def _nearest(X, means, k, i, old, near, far):
    """The nearest mean of row i, and its two bounds made exact; the own mean is tried first."""
    d2 = 0.0
    for f in range(_D):
        d2 += (X[i, f] - means[old, f]) ** 2
    near[i] = np.sqrt(d2)
    if near[i] <= far[i]:
        return old
    best, second, at = d2, np.inf, old
    for c in range(k):
        if c == old:
            continue
        d2 = 0.0
        for f in range(_D):
            d2 += (X[i, f] - means[c, f]) ** 2
        if d2 < best:
            second, best, at = best, d2, c
        elif d2 < second:
            second = d2
    near[i], far[i] = np.sqrt(best), np.sqrt(second)
    return at


@njit
def _sums(X, labels, k):
    counts, sums = np.zeros(k), np.zeros((k, X.shape[1]))
    for i in range(len(X)):
        counts[labels[i]] += 1.0
        for f in range(X.shape[1]):
            sums[labels[i], f] += X[i, f]
    return counts, sums


@njit
def _exchange(X, sums, counts, labels, i, new):
    """Give row i to another segment."""
    old = labels[i]
    counts[old] -= 1.0
    counts[new] += 1.0
    for f in range(X.shape[1]):
        sums[old, f] -= X[i, f]
        sums[new, f] += X[i, f]
    labels[i] = new


@njit
def _move(means, sums, counts, moved):
    """Put each mean where its rows are; which moved most, how far, and how far the others at most."""
    for c in range(len(counts)):
        moved[c] = 0.0
        if counts[c] > 0.0:
            for f in range(means.shape[1]):
                mean = sums[c, f] / counts[c]
                moved[c] += (mean - means[c, f]) ** 2
                means[c, f] = mean
        moved[c] = np.sqrt(moved[c])
    first, second = moved.argmax(), 0.0
    for c in range(len(counts)):
        if c != first:
            second = max(second, moved[c])
    return first, moved[first], second


@njit
def _spreads(X, means, labels, k, error, spread):
    n, d = X.shape
    counts = np.zeros(k)
    error[:k] = 0.0
    spread[:k] = 0.0
    for i in range(n):
        counts[labels[i]] += 1.0
        for f in range(d):
            spread[labels[i], f] += (X[i, f] - means[labels[i], f]) ** 2
    for c in range(k):
        error[c] = spread[c].sum()
        spread[c] /= max(counts[c], 1.0)
    return error[:k].sum() / n


def inertia(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    r"""Normalised inertia of orders 1, 2 and 3 of a set of unit cells.

    :math:`\sum_x |x - \bar x|^\gamma / V^{1 + \gamma/2}` over that of a disc of the same area, the least
    there is.
    """
    r = np.hypot(rows - rows.mean(), columns - columns.mean())
    V = len(r)
    return np.array([(r**g).sum() / V ** (1 + g / 2) * (g + 2) * np.pi ** (g / 2) / 2 for g in (1, 2, 3)])
