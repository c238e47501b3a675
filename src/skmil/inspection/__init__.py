"""Looking inside: spectra of Gram matrices, traces of learning, instances that carry a bag."""

from skmil.inspection.alignment import plot_alignment
from skmil.inspection.alike import Neighbour, RememberBags
from skmil.inspection.annealing import plot_annealing
from skmil.inspection.boxes import BoxConcept, box_concept, plot_concept
from skmil.inspection.explanation import Explanation, explain, explain_all
from skmil.inspection.gram import method_gram
from skmil.inspection.importance import permutation_importance
from skmil.inspection.instances import plot_instances
from skmil.inspection.page import page
from skmil.inspection.spectrum import Spectrum, spectrum
from skmil.inspection.things import ThingExplanation, explain_parts, explain_things

__all__ = [
    "BoxConcept",
    "Explanation",
    "Neighbour",
    "RememberBags",
    "Spectrum",
    "ThingExplanation",
    "box_concept",
    "explain",
    "explain_all",
    "explain_parts",
    "explain_things",
    "method_gram",
    "page",
    "permutation_importance",
    "plot_alignment",
    "plot_annealing",
    "plot_concept",
    "plot_instances",
    "spectrum",
]
