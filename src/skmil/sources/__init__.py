"""Things -> Bags: the first step of a pipeline, one kind of thing a file."""

from skmil.sources.base import BagSource, Extract, progress
from skmil.sources.images import ImageBags
from skmil.sources.parts import Boxes, Regions
from skmil.sources.things import BadThing, Failure, SourceError, Thing

__all__ = [
    "BadThing",
    "BagSource",
    "Boxes",
    "Extract",
    "Failure",
    "ImageBags",
    "Regions",
    "SourceError",
    "Thing",
    "progress",
]
