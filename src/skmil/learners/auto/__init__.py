"""``skmil.method("auto")``: one estimator for whoever does not know which method to take.

``parts.py`` says what is compared, ``decision.py`` has the part that learns from labels, ``blend.py`` says
how the parts become one kernel, ``estimator.py`` what a user sees.
"""

from skmil.learners.auto.blend import BlendKernel
from skmil.learners.auto.estimator import AutoClassifier, AutoRegressor
from skmil.learners.auto.parts import EmbeddingKernel

__all__ = ["AutoClassifier", "AutoRegressor", "BlendKernel", "EmbeddingKernel"]
