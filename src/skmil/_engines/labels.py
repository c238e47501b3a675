r"""Kernels on hidden labels in [0, 1], averaged over the tent densities of Kwok & Cheung (IJCAI 2007).

An instance with the response u has the label density :math:`(1 - |c - u|) / Z(u)` on [0, 1], with
:math:`Z(u) = 1/2 + u - u^2`.
"""

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erf

from skmil._jit import njit

SERIES_UP_TO = 4.0  # beta below which the power series of the iterated integrals loses no digits


def label_overlap(u, v, kind="gaussian", beta=1.0) -> np.ndarray:
    r"""Integral of a label kernel against two tents, in closed form.

    .. math:: g(u, v) = \int_0^1 \int_0^1 k_c(c, c') (1 - |c - u|)(1 - |c' - v|) \, dc \, dc'

    Integrating by parts twice in each variable leaves the iterated integrals of :math:`k_c`,
    :math:`E_0 = k_c` and :math:`E_{n+1}(x) = \int_0^x E_n`:

    .. math::
        g = u J_1(1) - (1 - u) J_1(0) - 2 J_2(u) + J_2(0) + J_2(1), \quad
        J_n(a) = (1 - v) E_{n+1}(a) - v E_{n+1}(a - 1) - 2 E_{n+2}(a - v) + E_{n+2}(a) + E_{n+2}(a - 1)

    Parameters
    ----------
    u, v : arrays that broadcast, in [0, 1]
    kind : "linear" or "gaussian"
        :math:`k_c = 1 - |c - c'|` or :math:`e^{-\beta (c - c')^2}`.
    beta : float

    Examples
    --------
    >>> from skmil.kernels.marginalized import label_overlap
    >>> label_overlap([0.0, 0.5], 0.5, kind="linear").round(6)
    array([0.255208, 0.391667])
    """
    u, v = np.asarray(u, dtype=float), np.asarray(v, dtype=float)

    def E(n, x):
        return _linear_integral(n, x) if kind == "linear" else _gaussian_integral(n, x, float(beta))

    def J(n, a):
        corner = (1 - v) * E(n + 1, a) - v * E(n + 1, a - 1)
        return corner - 2 * E(n + 2, a - v) + E(n + 2, a) + E(n + 2, a - 1)

    if kind not in ("linear", "gaussian"):
        raise ValueError(f"kind is {kind!r}; use 'linear' or 'gaussian'")
    zero, one = np.zeros_like(u), np.ones_like(u)
    return u * J(1, one) - (1 - u) * J(1, zero) - 2 * J(2, u) + J(2, zero) + J(2, one)


def tent_mean(u) -> np.ndarray:
    """The mean label under the tent at u: half a way from the middle of [0, 1] to u, roughly."""
    u = np.asarray(u, dtype=float)
    left = (1 - u) * u**2 / 2 + u**3 / 3
    right = (1 + u) * (1 - u**2) / 2 - (1 - u**3) / 3
    return (left + right) / tent_mass(u)


def tent_mass(u) -> np.ndarray:
    """Z(u): the integral of 1 - |c - u| over [0, 1]."""
    return 0.5 + u - u * u


def label_moments(U: np.ndarray, p: np.ndarray, kind: str, beta: float, sharp: bool = False) -> np.ndarray:
    r"""Rows z with :math:`\langle z_a, z_b \rangle = \sum_{hh'} p_h p_{h'} g(u_{ah}, v_{bh'}) / (Z Z)`.

    g is smooth, so a Chebyshev interpolant of it in both variables is exact to rounding, and the
    double sum over hypotheses becomes a product of moments.

    Parameters
    ----------
    U : array (n_instances, n_hypotheses) in [0, 1]
    p : array (n_hypotheses,)
    sharp : bool
        The label is u itself, without a tent around it: g is the label kernel, and Z is 1.
    """
    factor = overlap_factor(kind, beta, sharp=sharp)
    moments = np.zeros((len(U), factor.shape[0]))
    share = np.broadcast_to(p, U.shape) if sharp else p / tent_mass(U)
    _chebyshev_moments(np.ascontiguousarray(2 * U - 1), np.ascontiguousarray(share), moments)
    return moments @ factor


@lru_cache(maxsize=64)
def overlap_factor(kind: str, beta: float, tol: float = 1e-12, sharp: bool = False) -> np.ndarray:
    """F with g(u, v) = T(u) F F' T(v)', T the Chebyshev polynomials on [0, 1]."""
    check = np.linspace(0, 1, 201)
    overlap = _sharp_overlap if sharp else label_overlap
    truth = overlap(check[:, None], check[None, :], kind, beta)
    for n in (16, 32, 64, 128, 256, 512):
        nodes = (chebyshev.chebpts1(n) + 1) / 2
        inverse = _chebyshev_inverse(n)
        M = inverse @ overlap(nodes[:, None], nodes[None, :], kind, beta) @ inverse.T
        T = chebyshev.chebvander(2 * check - 1, n - 1)
        if np.abs(T @ M @ T.T - truth).max() < tol * truth.max():
            break
    value, vector = np.linalg.eigh((M + M.T) / 2)
    keep = value > 1e-15 * value.max()
    factor = vector[:, keep] * np.sqrt(value[keep])
    factor.flags.writeable = False
    return factor


def _sharp_overlap(u, v, kind: str, beta: float) -> np.ndarray:
    """The Gaussian label kernel itself; the linear one has a kink, which no polynomial follows."""
    if kind != "gaussian":
        raise ValueError(f"no sharp labels with the label kernel {kind!r}")
    return np.exp(-beta * np.square(u - v))


def _chebyshev_inverse(n: int) -> np.ndarray:
    """From values at the n Chebyshev points to coefficients."""
    T = chebyshev.chebvander(chebyshev.chebpts1(n), n - 1)
    return T.T * np.where(np.arange(n) == 0, 1.0, 2.0)[:, None] / n


def _linear_integral(n: int, x):
    """E_n of 1 - |x|."""
    factorial = {2: 2.0, 3: 6.0, 4: 24.0}[n]
    return x**n / factorial * (1 - np.abs(x) / (n + 1))


def _gaussian_integral(n: int, x, beta: float):
    """E_n of exp(-beta x^2), n = 2, 3, 4."""
    if beta < SERIES_UP_TO:
        return _gaussian_series(n, x, beta)
    c = 1 / (2 * beta)
    E0, E1 = np.exp(-beta * x * x), np.sqrt(np.pi * c / 2) * erf(np.sqrt(beta) * x)
    E2 = x * E1 + c * (E0 - 1)
    if n == 2:
        return E2
    E3 = (x * E2 + c * (E1 - x)) / 2
    return E3 if n == 3 else (x * E3 + c * (E2 - x * x / 2)) / 3


def _gaussian_series(n: int, x, beta: float):
    """The same by its power series, where differences of large numbers would spoil the closed form."""
    total, power = np.zeros_like(x), x**n
    for k in range(40):
        total = total + power / np.prod(np.arange(2 * k + 1, 2 * k + n + 1))
        power = power * (-beta * x * x) / (k + 1)
    return total


@njit
def _chebyshev_moments(X, c, out):
    """out[a, k] += sum_h c[a, h] T_k(X[a, h])."""
    for a in range(X.shape[0]):
        for h in range(X.shape[1]):
            x, before, now = X[a, h], 1.0, X[a, h]
            out[a, 0] += c[a, h]
            for k in range(1, out.shape[1]):
                out[a, k] += c[a, h] * now
                before, now = now, 2 * x * now - before
