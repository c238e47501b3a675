"""Things -> Bags: the first step of a pipeline, one kind of thing a file."""

from skmil.sources.alignment import PairwiseAlignment
from skmil.sources.base import BagSource, Extract, progress
from skmil.sources.images import ImageBags
from skmil.sources.molecules import MoleculeBags, read_sdf, read_smiles
from skmil.sources.parts import Boxes, Conformers, Regions, Residues, Spans
from skmil.sources.sequences import SequenceBags, read_fasta
from skmil.sources.texts import TextBags
from skmil.sources.things import BadThing, Failure, SourceError, Thing

__all__ = [
    "BadThing",
    "BagSource",
    "Boxes",
    "Conformers",
    "Extract",
    "Failure",
    "ImageBags",
    "MoleculeBags",
    "PairwiseAlignment",
    "Regions",
    "Residues",
    "SequenceBags",
    "SourceError",
    "Spans",
    "TextBags",
    "Thing",
    "progress",
    "read_fasta",
    "read_sdf",
    "read_smiles",
]
