"""Learners: classifiers and regressors of bags."""

from skmil.learners.base import BagClassifier, BagEstimator, BagRegressor, leave_one_out
from skmil.learners.pipeline import BagPipeline
from skmil.learners.sil import SIL
from skmil.learners.svm import BagSVC, BagSVR

__all__ = [
    "SIL",
    "BagClassifier",
    "BagEstimator",
    "BagPipeline",
    "BagRegressor",
    "BagSVC",
    "BagSVR",
    "leave_one_out",
]
