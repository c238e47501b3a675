"""skmil: multiple-instance learning for scikit-learn, with kernels at its heart."""

from skmil import datasets, embeddings, extend, kernels, learners, preprocessing, sources
from skmil._threads import threads
from skmil._version import __version__
from skmil.bags import Bags, as_bags
from skmil.registry import method, methods, published

__all__ = [
    "Bags",
    "__version__",
    "as_bags",
    "datasets",
    "embeddings",
    "extend",
    "kernels",
    "learners",
    "method",
    "methods",
    "preprocessing",
    "published",
    "sources",
    "threads",
]
