"""Where the instances of a bag lie in the thing they come from, in the order of the instances.

Each kind holds what a page needs to show the thing itself.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Regions:
    """A picture cut into segments.

    ``picture`` (h, w, 3), uint8, as it was after turning and reducing; ``labels`` (h, w), the number of the
    instance each pixel belongs to.
    """

    picture: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class Boxes:
    """A picture and tiles that may overlap: ``boxes`` (n, 4) holds top, left, bottom, right in pixels."""

    picture: np.ndarray
    boxes: np.ndarray

    def __len__(self) -> int:
        return len(self.boxes)


@dataclass(frozen=True)
class Spans:
    """A text and its passages: ``spans`` (n, 2) holds the first character and the one after the last."""

    text: str
    spans: np.ndarray

    def __len__(self) -> int:
        return len(self.spans)


@dataclass(frozen=True)
class Conformers:
    """A molecule and its shapes.

    ``mol`` is an RDKit molecule with its hydrogens; ``ids`` (n) the conformer of each instance, for RDKit's
    ``confId``; ``energies`` (n) in kcal/mol above the lowest, NaN where no force field knows the molecule;
    ``force_field`` "MMFF94s", "UFF" or "".
    """

    mol: Any
    ids: np.ndarray
    energies: np.ndarray
    force_field: str

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Residues:
    """A sequence and its residues.

    ``sequence`` is the text as it was given; instance i is its character ``places[i]`` (n integers), at the
    coordinate ``positions[i]``; ``motif`` is the span of the motif in the text, or None.
    """

    sequence: str
    places: np.ndarray
    positions: np.ndarray
    motif: tuple[int, int] | None

    def __len__(self) -> int:
        return len(self.places)
