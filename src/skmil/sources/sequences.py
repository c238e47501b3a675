"""Proteins as bags of residues, as Tao et al. (IEEE TPAMI 2008, section 8.3) made them."""

import re
from io import StringIO

import numpy as np

from skmil._parameters import NOT_NEGATIVE, one_of, whole
from skmil.sources._reading import decode, file_text
from skmil.sources._residues import AMINO_ACIDS, SCALES, residues, smooth, table
from skmil.sources.base import BagSource, Extract
from skmil.sources.parts import Residues
from skmil.sources.things import BadThing, Thing


class SequenceBags(BagSource):
    """A bag per protein: an instance per residue, its physico-chemical properties and its position [1]_.

    Properties are smoothed along the sequence by a Gaussian, so that an instance tells of its surroundings.
    The paper finds a motif (thioredoxin: ``C..C``), keeps 30 residues before and 180 after it and counts
    positions from it: ``SequenceBags(motif="C..C")``.

    Parameters
    ----------
    indices : sequence of str, or dict of scales, optional
        All seven by default: "ges" and "kyte_doolittle" (hydropathy), "solubility", "polarity",
        "isoelectric_point", "alpha_helix", "molecular_weight" [2]_. Own scales as
        ``{"name": {"A": 1.8, ...}}`` with a value for each of the twenty amino acids.
    sigma : float
        Width of the smoothing, in residues; 0 for none.
    position : bool
        Whether to add the position as a feature.
    letters : bool
        Whether to add the letter as a number (A is 0), for ``PairwiseAlignment``, which takes it out again.
    motif : str, optional
        Regular expression; the window lies around its first match, and positions count from its start.
    before, after : int
        Residues of the window before the motif's start and after its end, where there are as many.
    gaps : "drop" or "column"
        Of aligned sequences: leave ``-`` and ``.`` out and count residues, or count columns.
    unknown : "mean" or "raise"
        X and other letters that are no amino acid get the mean of all twenty (B, Z, J that of the two they
        stand for, U and O the values of C and K), or are refused.
    on_error : "raise" or "skip"
        Raise one error about all sequences that give no bag, or leave them out with a warning.
    n_jobs : int, optional
        Sequences at a time.
    cache : ignored
        Nothing is kept: this is faster than looking it up.

    Attributes
    ----------
    failures_ : list of Failure
        What the last call left out.

    Notes
    -----
    A thing is a string of one-letter codes (small letters count as capitals, a stop at the end does not), a
    record in FASTA, Biopython's ``Seq`` or ``SeqRecord``, or the path of a file with one sequence.
    ``read_fasta`` gives the sequences of a file that holds many.

    References
    ----------
    .. [1] Q. Tao, S. Scott, N. V. Vinodchandran, T. Osugi, B. Mueller, "Kernels for generalized
       multiple-instance learning", IEEE TPAMI 30(12), 2008.
    .. [2] J. Kim, E. N. Moriyama, C. G. Warr, P. J. Clyne, J. R. Carlson, "Identification of novel
       multi-transmembrane proteins from genomic databases using quasi-periodic structural properties",
       Bioinformatics 16(9), 2000, chose the properties. The values: D. M. Engelman, T. A. Steitz,
       A. Goldman 1986 (ges); J. Kyte, R. F. Doolittle 1982; R. Grantham 1974 (polarity); J. M. Zimmerman,
       N. Eliezer, R. Simha 1968 (isoelectric point); G. Deléage, B. Roux 1987 (alpha helix); H.-D. Belitz,
       W. Grosch, P. Schieberle, "Food Chemistry", table 1.4 (solubility in g/100 g of water at 25 °C), and
       for the six that it lacks K. Hayashi et al. 1966 (R), J. Huuskonen 2000 (N, Q, T), PubChem (C, K).

    Examples
    --------
    >>> from skmil.sources import SequenceBags
    >>> source = SequenceBags(motif="WC..C", before=2, after=3)
    >>> bags = source.fit_transform(["MKTAWCGPCKMIA", "AAWCAAC"])
    >>> bags
    Bags(2 bags, 17 instances, 8 features; sizes 7 to 10, median 8.5)
    >>> bags[1][:, 7]
    array([-2., -1.,  0.,  1.,  2.,  3.,  4.])
    """

    _suffixes = (".fasta", ".fa", ".faa", ".fas", ".mfa", ".pep", ".seq")
    _parameter_constraints: dict = {
        **BagSource._parameter_constraints,
        "indices": ["array-like", dict, None],
        "sigma": [NOT_NEGATIVE],
        "position": ["boolean"],
        "letters": ["boolean"],
        "motif": [str, re.Pattern, None],
        "before": [whole(0)],
        "after": [whole(0)],
        "gaps": [one_of("drop", "column")],
        "unknown": [one_of("mean", "raise")],
    }

    def __init__(
        self,
        indices=None,
        sigma=2.0,
        position=True,
        letters=False,
        motif=None,
        before=30,
        after=180,
        gaps="drop",
        unknown="mean",
        on_error="raise",
        n_jobs=None,
        cache=None,
    ):
        self.indices = indices
        self.sigma = sigma
        self.position = position
        self.letters = letters
        self.motif = motif
        self.before = before
        self.after = after
        self.gaps = gaps
        self.unknown = unknown
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.cache = cache

    def _check(self):
        if self.motif is not None:
            _compiled(self.motif)
        if not self._scales() and not self.position and not self.letters:
            raise ValueError("there are no features: give indices, or position=True")

    def _scales(self) -> dict[str, dict[str, float]]:
        """Value of each amino acid, by the name of the index."""
        chosen = SCALES if self.indices is None else self.indices
        named = {} if isinstance(chosen, dict) else {str(name): _known(name) for name in chosen}
        for name, scale in chosen.items() if isinstance(chosen, dict) else ():
            named[str(name)] = _scale(name, scale)
        return named

    def _name(self, content):
        """The identifier of a record."""
        if isinstance(content, str) and content.startswith(">"):
            return content[1:].split("\n", 1)[0].split(None, 1)[0] if content[1:2].strip() else None
        return getattr(content, "id", None)

    def _extract(self, content, thing):
        text = _sequence(content)
        letters, places, columns = residues(text, self.unknown)
        start, end, motif = self._window(letters)
        positions = columns if self.gaps == "column" else np.arange(len(letters))
        positions = positions[start:end] - (0 if motif is None else positions[motif[0]])
        span = None if motif is None else (int(places[motif[0]]), 1 + int(places[motif[1] - 1]))
        parts = Residues(text, places[start:end], positions, span)
        return Extract(self._features(letters[start:end], positions), parts)

    def _window(self, letters: str) -> tuple[int, int, tuple[int, int] | None]:
        """First and last residue of the window, and those of the motif."""
        if self.motif is None:
            return 0, len(letters), None
        found = _compiled(self.motif).search(letters)
        if found is None or found.start() == len(letters):
            raise BadThing(f"the motif {self.motif!r} is not in it")
        end = max(found.end(), found.start() + 1)
        window = max(found.start() - self.before, 0), min(end + self.after, len(letters))
        return *window, (found.start(), end)

    def _features(self, letters: str, positions: np.ndarray) -> np.ndarray:
        codes = np.frombuffer(letters.encode("ascii"), np.uint8) - 65
        columns = [smooth(table(self._scales())[codes], self.sigma)]
        if self.position:
            columns.append(positions[:, None].astype(float))
        if self.letters:
            columns.append(codes[:, None].astype(float))
        return np.hstack(columns)

    def _feature_names(self):
        extra = ["position"] * bool(self.position) + ["letter"] * bool(self.letters)
        return [*self._scales(), *extra]

    def _key_parameters(self):
        return None


def read_fasta(path) -> list[Thing]:
    """The sequences of a FASTA file, each with its identifier as name.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    list of Thing, whose content is the sequence as a string
    """
    records = _records(file_text(path))
    if not records:
        raise ValueError(f"{path}: no sequence; a record of FASTA begins with a line '>identifier'")
    names = [
        title.split(None, 1)[0] if title.strip() else str(i + 1) for i, (title, _) in enumerate(records)
    ]
    return [Thing(sequence, name) for name, (_, sequence) in zip(names, records, strict=True)]


def _records(text: str) -> list[tuple[str, str]]:
    """Title and sequence of each record."""
    try:
        from Bio.SeqIO.FastaIO import SimpleFastaParser
    except ImportError:
        raise ImportError("FASTA needs Biopython: pip install skmil[sequences]") from None
    return list(SimpleFastaParser(StringIO(text)))


def _sequence(content) -> str:
    """The sequence as text from whatever a thing may be."""
    if isinstance(content, bytes):
        content = decode(content)
    if isinstance(content, str):
        if not content.lstrip().startswith(">"):
            return content
        records = _records(content)
        if len(records) != 1:
            raise BadThing(f"it holds {len(records)} sequences; read_fasta gives a list of them")
        return records[0][1]
    content = getattr(content, "seq", content)
    if not hasattr(content, "translate"):  # Biopython's Seq is no str
        raise BadThing(f"it is of type {type(content).__name__}; expected a sequence or a path")
    return str(content)


def _known(name) -> dict[str, float]:
    if not isinstance(name, str) or name not in SCALES:
        raise ValueError(f"indices holds {name!r}; there are {', '.join(SCALES)}")
    return dict(zip(AMINO_ACIDS, SCALES[name], strict=True))


def _scale(name, scale) -> dict[str, float]:
    if not isinstance(scale, dict):
        return _known(name)
    missing = [a for a in AMINO_ACIDS if not np.isfinite(scale.get(a, np.nan))]
    if missing:
        raise ValueError(f"the scale {name!r} has no value for {', '.join(missing)}")
    return {a: float(scale[a]) for a in AMINO_ACIDS}


def _compiled(motif) -> re.Pattern:
    try:
        return re.compile(motif, re.IGNORECASE)
    except (re.error, TypeError) as error:
        raise ValueError(f"motif is {motif!r}, which is no regular expression: {error}") from None
