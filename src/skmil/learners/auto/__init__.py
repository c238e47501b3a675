"""``skmil.method("auto")``: one estimator for whoever does not know which method to take.

``parts.py`` says what is compared, ``embedded.py`` and ``decision.py`` have the kernels of vectors and of
what machines decide, ``blend.py`` says how the parts become one kernel, ``estimator.py`` what a user sees.
"""

from skmil.learners.auto.blend import BlendKernel
from skmil.learners.auto.embedded import EmbeddingKernel
from skmil.learners.auto.estimator import AutoClassifier, AutoRegressor

__all__ = ["AutoClassifier", "AutoRegressor", "BlendKernel", "EmbeddingKernel"]
