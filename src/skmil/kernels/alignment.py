"""Pairwise alignment of profiles by the best shift (proposed in Tao et al. 2008, section 8.3)."""

import numpy as np
from sklearn.base import BaseEstimator

from skmil._parameters import INDEX, check_parameters


class ProfileAlignment(BaseEstimator):
    r"""Positions of two sequences of measurements, shifted so that the measurements agree best.

    For ``BoxKernel(align=ProfileAlignment())``, where one feature of an instance is its position in a
    sequence and the others are measured there. Of all shifts at which half of the shorter sequence has a
    partner, that of the smallest mean squared difference is taken,

    .. math:: \arg\min_s \frac{1}{|C_s|} \sum_{t \in C_s} \sum_k \frac{(p_k(t) - q_k(t + s))^2}{v_k},

    with :math:`C_s` the positions that both have and :math:`v_k` the variance of feature k over both. Then
    both count positions from the start of the first. It moves sequences as a whole: for insertions and
    deletions there is ``skmil.sources.PairwiseAlignment``.

    Cost: :math:`O(n_P n_Q d)` for each pair of bags.

    Parameters
    ----------
    position : int
        The feature that holds the position, in whole steps.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil.kernels import ProfileAlignment
    >>> P = np.array([[0.0, 1.0], [1.0, 5.0], [2.0, 1.0]])
    >>> Q = P + [40.0, 0.0]
    >>> ProfileAlignment()(P, Q)[1][:, 0]
    array([0., 1., 2.])
    """

    _parameter_constraints: dict = {
        "position": [INDEX],
    }

    def __init__(self, position=0):
        self.position = position

    def __call__(self, P, Q) -> tuple[np.ndarray, np.ndarray]:
        """Both bags with positions relative to the first one's, at the best shift of the second."""
        check_parameters(self)
        P, Q = np.array(P, dtype=float), np.array(Q, dtype=float)
        k = self.position
        P[:, k] -= P[:, k].min()
        Q[:, k] -= Q[:, k].min()
        Q[:, k] += self._best_shift(P, Q)
        return P, Q

    def _best_shift(self, P, Q) -> int:
        spread = np.vstack([P, Q]).std(axis=0)
        a, b = (
            _by_position(X / np.where(spread > 0, spread, 1.0), X[:, self.position], self.position)
            for X in (P, Q)
        )
        least = max(1, min(len(P), len(Q)) // 2)
        shifts = range(least - len(b), len(a) - least + 1)
        costs = np.array([_difference(a, b, s, least) for s in shifts])
        # Of equally good shifts the one at which most positions have a partner.
        best = np.array(shifts)[costs <= costs.min() + 1e-12]
        return int(max(best, key=lambda s: min(len(a), len(b) + s) - max(0, s)))


def _by_position(X, position, column: int) -> np.ndarray:
    """A row for each position from 0, NaN where the sequence has none; the position itself left out."""
    place = np.rint(position).astype(int)
    out = np.full((place.max() + 1, X.shape[1] - 1), np.nan)
    out[place] = np.delete(X, column, axis=1)
    return out


def _difference(a, b, shift: int, least: int) -> float:
    """Mean squared difference where b, moved by the shift, lies over a; infinite where too short."""
    start, stop = max(0, shift), min(len(a), len(b) + shift)
    d = (
        np.square(a[start:stop] - b[start - shift : stop - shift]).sum(axis=1)
        if stop > start
        else np.empty(0)
    )
    known = d[~np.isnan(d)]
    return float(known.mean()) if len(known) >= least else np.inf
