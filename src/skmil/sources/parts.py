"""Where the instances of a bag lie in the thing they come from, in the order of the instances.

Each kind holds what a page needs to show the thing itself.
"""

from dataclasses import dataclass

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
