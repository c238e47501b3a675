"""Looking inside: spectra of Gram matrices, traces of learning, instances that carry a bag."""

from skmil.inspection.alignment import plot_alignment
from skmil.inspection.annealing import plot_annealing
from skmil.inspection.explanation import Explanation, explain, explain_all
from skmil.inspection.gram import method_gram
from skmil.inspection.instances import plot_instances
from skmil.inspection.spectrum import Spectrum, spectrum

__all__ = [
    "Explanation",
    "Spectrum",
    "explain",
    "explain_all",
    "method_gram",
    "plot_alignment",
    "plot_annealing",
    "plot_instances",
    "spectrum",
]
