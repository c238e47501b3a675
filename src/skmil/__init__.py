"""skmil: multiple-instance learning for scikit-learn, with kernels at its heart."""

__version__ = "0.1.0"

from skmil import datasets, embeddings, kernels, learners, preprocessing
from skmil._jit import threads
from skmil.bags import Bags, as_bags
from skmil.methods import method, methods, published

__all__ = [
    "Bags",
    "as_bags",
    "datasets",
    "embeddings",
    "kernels",
    "learners",
    "method",
    "methods",
    "preprocessing",
    "published",
    "threads",
]
