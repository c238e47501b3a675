"""Learners: classifiers and regressors of bags."""

from skmil.learners.balls import BallBoost
from skmil.learners.base import BagClassifier, BagEstimator, BagRegressor, leave_one_out
from skmil.learners.cce import CCE
from skmil.learners.milboost import MILBoost
from skmil.learners.miles import MILES
from skmil.learners.misssvm import MissSVM
from skmil.learners.pipeline import BagPipeline
from skmil.learners.sil import SIL
from skmil.learners.svm import BagSVC, BagSVR
from skmil.learners.tlc import TLC

__all__ = [
    "CCE",
    "MILES",
    "SIL",
    "TLC",
    "BagClassifier",
    "BagEstimator",
    "BagPipeline",
    "BagRegressor",
    "BagSVC",
    "BagSVR",
    "BallBoost",
    "MILBoost",
    "MissSVM",
    "leave_one_out",
]
