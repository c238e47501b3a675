"""Data sets: Musk1 and Musk2 inside the package, loaders for files, generators."""

from skmil.datasets.loaders import load_bags, load_musk1, load_musk2

__all__ = ["load_bags", "load_musk1", "load_musk2"]
