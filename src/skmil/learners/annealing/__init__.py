"""Annealed support vector machines (Gehler & Chapelle, AISTATS 2007) and the heuristics they improve on.

``assumptions.py`` has the p-steps, ``dual.py`` and ``primal.py`` the w-steps, ``expansion.py`` what they
work on, ``estimator.py`` the schedule.
"""

from skmil.learners.annealing.estimator import AnnealedSVM
from skmil.learners.annealing.named import MICA, InstanceLabelSVM, WitnessSVM

__all__ = ["MICA", "AnnealedSVM", "InstanceLabelSVM", "WitnessSVM"]
