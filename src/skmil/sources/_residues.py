"""Amino acids as numbers: published scales, and what the letters of a sequence mean."""

import numpy as np
from scipy.ndimage import convolve1d

from skmil.sources.things import BadThing

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
# One row per scale, values in the order of ``AMINO_ACIDS``.
SCALES = {
    # Water to membrane, kcal/mol, hydrophobic positive: Engelman, Steitz & Goldman, Ann. Rev. Biophys.
    # Biophys. Chem. 15, 1986 (AAindex ENGD860101 with the other sign).
    "ges": (
        1.6, -12.3, -4.8, -9.2, 2.0, -4.1, -8.2, 1.0, -3.0, 3.1,
        2.8, -8.8, 3.4, 3.7, -0.2, 0.6, 1.2, 1.9, -0.7, 2.6,
    ),
    # Kyte & Doolittle, J. Mol. Biol. 157, 1982 (AAindex KYTJ820101).
    "kyte_doolittle": (
        1.8, -4.5, -3.5, -3.5, 2.5, -3.5, -3.5, -0.4, -3.2, 4.5,
        3.8, -3.9, 1.9, 2.8, -1.6, -0.8, -0.7, -0.9, -1.3, 4.2,
    ),
    # Free amino acid in g per 100 g of water at 25 °C: Belitz, Grosch & Schieberle, Food Chemistry, table
    # 1.4 (Met and Ser as DL). What it lacks: R by the equation of Hayashi et al., Agr. Biol. Chem. 1966;
    # N, Q and T from the log S of Huuskonen, J. Chem. Inf. Comput. Sci. 40, 2000; C from PubChem (277 g/l);
    # K dissolves in less than its own weight of water, which is all that is known.
    "solubility": (
        16.51, 20.57, 2.40, 0.5, 27.7, 4.12, 0.843, 24.99, 4.29, 4.117,
        2.19, 100.0, 3.381, 2.965, 162.3, 5.023, 9.68, 1.136, 0.045, 8.85,
    ),
    # Grantham, Science 185, 1974 (AAindex GRAR740102).
    "polarity": (
        8.1, 10.5, 11.6, 13.0, 5.5, 10.5, 12.3, 9.0, 10.4, 5.2,
        4.9, 11.3, 5.7, 5.2, 8.0, 9.2, 8.6, 5.4, 6.2, 5.9,
    ),
    # Isoelectric point: Zimmerman, Eliezer & Simha, J. Theor. Biol. 21, 1968 (AAindex ZIMJ680104).
    "isoelectric_point": (
        6.00, 10.76, 5.41, 2.77, 5.05, 5.65, 3.22, 5.97, 7.59, 6.02,
        5.98, 9.74, 5.74, 5.48, 6.30, 5.68, 5.66, 5.89, 5.66, 5.96,
    ),
    # Conformational parameter: Deléage & Roux, Protein Engineering 1, 1987.
    "alpha_helix": (
        1.489, 1.224, 0.772, 0.924, 0.966, 1.164, 1.504, 0.510, 1.003, 1.003,
        1.236, 1.172, 1.363, 1.195, 0.492, 0.739, 0.785, 1.090, 0.787, 0.990,
    ),
    # Free amino acid, g/mol, from the standard atomic weights.
    "molecular_weight": (
        89.09, 174.20, 132.12, 133.10, 121.16, 146.14, 147.13, 75.07, 155.15, 131.17,
        131.17, 146.19, 149.21, 165.19, 115.13, 105.09, 119.12, 204.23, 181.19, 117.15,
    ),
}  # fmt: skip
# Letters that stand for one of two, and the two rare amino acids by their closest relatives.
STANDS_FOR = {"B": "DN", "Z": "EQ", "J": "IL", "U": "C", "O": "K"}
LETTERS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
GAPS = "-."
NUCLEOTIDES = set("ACGTUN")
LEAST_DNA = 12  # letters before a word of A, C, G and T alone is taken for DNA


def table(indices: dict[str, dict[str, float]]) -> np.ndarray:
    """Values of the letters A to Z, a column per index; X and unknown letters have the mean."""
    out = np.empty((26, len(indices)))
    for k, scale in enumerate(indices.values()):
        out[:, k] = np.mean([scale[a] for a in AMINO_ACIDS])
        for letter in AMINO_ACIDS:
            out[ord(letter) - 65, k] = scale[letter]
        for letter, meant in STANDS_FOR.items():
            out[ord(letter) - 65, k] = np.mean([scale[a] for a in meant])
    return out


def residues(text: str, unknown: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Letters of a sequence in capitals, where each stands in the text, and its column, gaps counted.

    White space does not count; stops at the end, and gaps, are no residues. What else is no letter, and
    DNA, is refused.
    """
    kept = [(i, c) for i, c in enumerate(text.upper()) if not c.isspace()]
    while kept and kept[-1][1] == "*":
        kept.pop()
    columns = [k for k, (_, c) in enumerate(kept) if c not in GAPS]
    places = np.array([kept[k][0] for k in columns], dtype=np.int64)
    letters = "".join(kept[k][1] for k in columns)
    _check_letters(letters, places, unknown)
    return letters, places, np.array(columns, dtype=np.int64)


def _check_letters(letters: str, places: np.ndarray, unknown: str) -> None:
    if not letters:
        raise BadThing("it holds no residues")
    allowed = set(AMINO_ACIDS) if unknown == "raise" else LETTERS
    strange = next((k for k, c in enumerate(letters) if c not in allowed), None)
    if strange is not None:
        stop = letters[strange] == "*"
        what = "a stop" if stop else f"{letters[strange]!r}, which is no amino acid,"
        raise BadThing(f"it holds {what} at character {places[strange]}")
    if len(letters) >= LEAST_DNA and set(letters) <= NUCLEOTIDES and len(set(letters) - {"N"}) > 2:
        raise BadThing("it looks like DNA or RNA; translate it into amino acids first")


def smooth(values: np.ndarray, sigma: float) -> np.ndarray:
    r"""Gaussian mean along the sequence, :math:`\sum_j w_{ij} v_j / \sum_j w_{ij}`, to four sigma."""
    if sigma == 0:
        return values
    reach = int(np.ceil(4 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    # Near the ends the weights that are left count as all.
    total = convolve1d(np.ones(len(values)), kernel, mode="constant")
    return convolve1d(values, kernel, axis=0, mode="constant") / total[:, None]
