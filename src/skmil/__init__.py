"""skmil: multiple-instance learning for scikit-learn, with kernels at its heart."""

from skmil import datasets, embeddings, extend, kernels, learners, preprocessing, sources, store
from skmil._threads import threads
from skmil._version import __version__
from skmil.bags import Bags, as_bags
from skmil.cluster import cluster
from skmil.kernels.tiles import gram
from skmil.registry import method, methods, published
from skmil.store import BagStore, open_bags, write_bags

__all__ = [
    "BagStore",
    "Bags",
    "__version__",
    "as_bags",
    "cluster",
    "datasets",
    "embeddings",
    "extend",
    "gram",
    "kernels",
    "learners",
    "method",
    "methods",
    "open_bags",
    "preprocessing",
    "published",
    "sources",
    "store",
    "threads",
    "write_bags",
]
