"""Coordinates of a pair of sequences from its alignment, as Tao et al. (2008, section 8.3) propose."""

from functools import cache

import numpy as np
from sklearn.base import BaseEstimator

from skmil._parameters import ANY, INDEX, check_parameters

LIKE = {"U": "C", "O": "K", "J": "L"}  # letters that the matrices lack, and the closest they have


class PairwiseAlignment(BaseEstimator):
    """Positions from the alignment of each pair of sequences, for ``BoxKernel(align=PairwiseAlignment())``.

    A position in the sequence means little after insertions and deletions, and one alignment of all
    sequences is hard to come by; that of two is easy. The letters of both bags are aligned, and each
    residue's position becomes its column in that alignment. The letter itself is set to 0 for all, so that
    it multiplies every count by the same factor and tells nothing.

    Parameters
    ----------
    position, letter : int
        Their columns among the features: the last two of ``SequenceBags(letters=True)``.
    matrix : str
        A substitution matrix of Biopython.
    open_gap, extend_gap : float
        Scores of the first and of each further residue of a gap.
    end_gap : float
        Score of a residue that stands out at either end.

    Notes
    -----
    The same two sequences have the same alignment in either order. A kernel with a coordinate system for
    each pair need not be positive semidefinite. Time is that of Biopython's aligner: the product of both
    lengths, below a millisecond for 200 residues.

    Examples
    --------
    >>> from skmil.sources import PairwiseAlignment, SequenceBags
    >>> P, Q = SequenceBags([], letters=True).fit_transform(["WCGPCKMIAP", "WCGPCHHHHHKMIAP"])
    >>> P, Q = PairwiseAlignment()(P, Q)
    >>> P[:, 0]
    array([ 0.,  1.,  2.,  3.,  4., 10., 11., 12., 13., 14.])
    """

    _parameter_constraints: dict = {
        "position": [INDEX],
        "letter": [INDEX],
        "matrix": [str],
        "open_gap": [ANY],
        "extend_gap": [ANY],
        "end_gap": [ANY],
    }

    def __init__(
        self, position=-2, letter=-1, matrix="BLOSUM62", open_gap=-10.0, extend_gap=-0.5, end_gap=0.0
    ):
        self.position = position
        self.letter = letter
        self.matrix = matrix
        self.open_gap = open_gap
        self.extend_gap = extend_gap
        self.end_gap = end_gap

    def __call__(self, P, Q) -> tuple[np.ndarray, np.ndarray]:
        """Two bags (arrays of raw features) in the coordinates of their alignment."""
        check_parameters(self)
        P, Q = np.array(P, dtype=float), np.array(Q, dtype=float)
        p, q = self._letters(P), self._letters(Q)
        # Ties between alignments are broken by the order of the sequences: give them one.
        swap = (len(q), q) < (len(p), p)
        first, second = self._columns(q, p) if swap else self._columns(p, q)
        P[:, self.position], Q[:, self.position] = (second, first) if swap else (first, second)
        P[:, self.letter] = Q[:, self.letter] = 0.0
        return P, Q

    def _letters(self, bag: np.ndarray) -> str:
        if bag.shape[1] < max(2, -self.letter, -self.position):
            raise ValueError(
                f"the bags have {bag.shape[1]} features; make them with SequenceBags(letters=True)"
            )
        codes = bag[:, self.letter]
        if not (np.isin(codes, np.arange(26))).all():
            raise ValueError(
                f"feature {self.letter} holds {codes[~np.isin(codes, np.arange(26))][0]:g}, which is no "
                "letter; make bags with SequenceBags(letters=True) and do not scale them"
            )
        return "".join(LIKE.get(chr(65 + int(c)), chr(65 + int(c))) for c in codes)

    def _columns(self, p: str, q: str) -> list[np.ndarray]:
        """Column of each residue in the alignment of two sequences."""
        aligner = _aligner(self.matrix, self.open_gap, self.extend_gap, self.end_gap)
        return [np.flatnonzero(row >= 0).astype(float) for row in aligner.align(p, q)[0].indices]


@cache
def _aligner(matrix: str, open_gap: float, extend_gap: float, end_gap: float):
    """Biopython's aligner, made once: its matrix is read from a file."""
    try:
        from Bio.Align import PairwiseAligner, substitution_matrices
    except ImportError:
        raise ImportError("PairwiseAlignment needs Biopython: pip install skmil[sequences]") from None
    if matrix not in substitution_matrices.load():
        raise ValueError(f"matrix is {matrix!r}; Biopython has {', '.join(substitution_matrices.load())}")
    aligner = PairwiseAligner(mode="global")
    aligner.substitution_matrix = substitution_matrices.load(matrix)
    aligner.open_gap_score, aligner.extend_gap_score, aligner.end_gap_score = open_gap, extend_gap, end_gap
    return aligner
