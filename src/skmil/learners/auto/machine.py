r"""What learns on the blended kernel: a support vector machine for two classes, ridge regression for more.

A machine is a table of coefficients, one column for the second of two classes or one for each class, and an
offset for each column:

.. math:: f(B) = \sum_i \alpha_i k(B, B_i) + b, \qquad \sum_i \alpha_i = 0

so that what is added to a whole row of the kernel changes nothing.
"""

import numpy as np
from sklearn.svm import SVC

from skmil._product import product
from skmil._threads import one_blas_thread

PENALTIES = 10.0 ** np.arange(-4, 4)  # of ridge regression for targets, on a kernel of unit variance

Machine = tuple[np.ndarray, np.ndarray]  # coefficients (bags, columns) and offsets (columns)


def targets(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Which bags are of the class of each column: the second of two, or every one of more."""
    return codes[:, None] == ([1] if n_classes == 2 else np.arange(n_classes))


def machines(K, codes, w, prices, n_classes: int) -> list[Machine]:
    """One for each price of a bag on the wrong side."""
    if n_classes == 2:
        return [_separating(K, codes, w, C) for C in prices]
    return _regressing(K, 2.0 * targets(codes, n_classes) - 1.0, w, prices)


def decisions(K, machine: Machine) -> np.ndarray:
    """Values f of the bags in the rows of K, one column for each of the machine's."""
    alpha, offsets = machine
    return product(K, alpha.T) + offsets


def _separating(K, codes, w, C: float) -> Machine:
    svm = SVC(kernel="precomputed", C=C).fit(K, codes, sample_weight=w)
    alpha = np.zeros((len(K), 1))
    alpha[svm.support_, 0] = svm.dual_coef_[0]
    return alpha, svm.intercept_.copy()


def _regressing(K, Y, w, prices) -> list[Machine]:
    r"""Minimise :math:`\sum_i w_i |y_i - f_i|^2 + |f|^2 / C`; one decomposition for all classes and prices.

    Each class is against the rest. Machines that separate two classes each, and vote, know less about
    every pair, and a vote says little about how probable a class is.
    """
    s = np.sqrt(w)[:, None]
    with one_blas_thread():
        values, vectors = np.linalg.eigh(s * K * s.T)
        turned, ones = vectors.T @ (s * Y), vectors.T @ s
        found = []
        for C in prices:
            shrunk = 1.0 / (np.maximum(values, 0.0) + 1.0 / C)[:, None]
            offsets = (ones * shrunk).T @ turned / ((ones * shrunk).T @ ones)
            found.append((s * (vectors @ (shrunk * (turned - ones * offsets))), offsets[0]))
    return found


def kernel_ridge(K: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients of ridge regression for targets, and the penalty of smallest error of bags left out."""
    best = (np.inf, np.zeros(len(y)), 0.0)
    for penalty in PENALTIES:
        inverse = np.linalg.inv(K + np.diag(penalty / w))
        alpha = inverse @ y
        error = float(w @ (alpha / np.diag(inverse)) ** 2)
        best = min(best, (error, alpha, float(penalty)), key=lambda found: found[0])
    return best[1], best[2]
