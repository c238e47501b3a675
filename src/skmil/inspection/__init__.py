"""Looking inside: spectra of Gram matrices, traces of learning, instances that carry a bag."""

from skmil.inspection.alignment import plot_alignment
from skmil.inspection.annealing import plot_annealing
from skmil.inspection.gram import method_gram
from skmil.inspection.instances import explain, plot_instances
from skmil.inspection.spectrum import Spectrum, spectrum

__all__ = [
    "Spectrum",
    "explain",
    "method_gram",
    "plot_alignment",
    "plot_annealing",
    "plot_instances",
    "spectrum",
]
