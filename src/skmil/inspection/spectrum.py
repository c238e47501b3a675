"""What the eigenvalues of a Gram matrix say about a kernel."""

from dataclasses import dataclass

import numpy as np

from skmil.inspection._axes import new_axes


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of a Gram matrix and what follows from them.

    Parameters
    ----------
    eigenvalues : array, largest first
    negative_share : float
        Share of eigenvalues below zero by more than rounding (n * eps * largest).
    negative_size : float
        Size of the most negative eigenvalue relative to the largest; 0 where there is none.
    effective_rank : float
        exp of the entropy of the absolute eigenvalues: between 1 and n.
    diagonal_dominance : float
        Median of ``log10(sqrt(K_ii K_jj) / |K_ij|)``, i != j: 50 on Musk for box counts; near 0 is healthy.
    """

    eigenvalues: np.ndarray
    negative_share: float
    negative_size: float
    effective_rank: float
    diagonal_dominance: float

    def plot(self, ax=None):
        """Draw the eigenvalues on a symmetric logarithmic axis, negative ones in red; returns the axes."""
        ax = new_axes() if ax is None else ax
        v = self.eigenvalues
        index = np.arange(1, len(v) + 1)
        ax.vlines(index, 0, v, colors=np.where(v < 0, "tab:red", "tab:blue"))
        ax.set_yscale("symlog", linthresh=max(1e-6 * np.abs(v).max(), 1e-300))
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xlabel("eigenvalue number")
        ax.set_ylabel("eigenvalue")
        ax.set_title(
            f"{100 * self.negative_share:.1f} % negative, effective rank {self.effective_rank:.1f}"
        )
        return ax


def spectrum(K) -> Spectrum:
    """Eigenvalues of a symmetric Gram matrix, the share of negative ones, effective rank, dominance.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil.inspection import spectrum
    >>> s = spectrum(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> s.negative_share, s.negative_size
    (0.5, 1.0)
    """
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"K has shape {K.shape}; expected a square Gram matrix")
    if not np.isfinite(K).all():
        raise ValueError("K holds NaN or infinity; give finite kernel values")
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * np.abs(K).max()):
        raise ValueError("K is not symmetric; give k(X), not k(X, Y)")
    values = np.linalg.eigvalsh(K)[::-1]
    n, largest = len(values), np.abs(values).max()
    negative = values < -n * np.finfo(float).eps * largest
    p = np.abs(values) / max(np.abs(values).sum(), 1e-300)
    entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
    return Spectrum(
        values,
        float(negative.mean()),
        float(-values[-1] / largest) if negative.any() else 0.0,
        float(np.exp(entropy)),
        _dominance(K),
    )


def _dominance(K: np.ndarray) -> float:
    """Median over off-diagonal entries of log10(sqrt(K_ii K_jj) / |K_ij|)."""
    off = ~np.eye(len(K), dtype=bool)
    d = np.sqrt(np.abs(np.outer(K.diagonal(), K.diagonal())))
    if not off.any():
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log10(d[off] / np.abs(K[off]))
    return float(np.median(np.where(np.isnan(ratio), 0.0, ratio)))
