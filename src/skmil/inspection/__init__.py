"""Looking inside: spectra of Gram matrices, traces of learning, instances that carry a bag."""

from skmil.inspection.gram import method_gram
from skmil.inspection.instances import explain, plot_instances

__all__ = ["explain", "method_gram", "plot_instances"]
