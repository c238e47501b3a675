"""Data sets: Musk1 and Musk2 inside the package, loaders for files, generators."""

from skmil.datasets.annealing import make_annealing_toy
from skmil.datasets.assumptions import make_assumption
from skmil.datasets.gmil import make_counts, make_gmil
from skmil.datasets.lennard_jones import make_lj
from skmil.datasets.loaders import load_bags, load_musk1, load_musk2
from skmil.datasets.mixture import make_mixture_bags
from skmil.datasets.pictures import make_pictures
from skmil.datasets.profiles import make_profiles
from skmil.datasets.sequences import make_sequences
from skmil.datasets.speaker import make_speaker_like

__all__ = [
    "load_bags",
    "load_musk1",
    "load_musk2",
    "make_annealing_toy",
    "make_assumption",
    "make_counts",
    "make_gmil",
    "make_lj",
    "make_mixture_bags",
    "make_pictures",
    "make_profiles",
    "make_sequences",
    "make_speaker_like",
]
