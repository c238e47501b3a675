"""Learners: classifiers and regressors of bags."""

from skmil._engines.hausdorff import hausdorff
from skmil.learners.annealing import MICA, AnnealedSVM, InstanceLabelSVM, WitnessSVM
from skmil.learners.apr import APR
from skmil.learners.auto import AutoClassifier, AutoRegressor, BlendKernel, EmbeddingKernel
from skmil.learners.base import (
    BagClassifier,
    BagEstimator,
    BagRegressor,
    BinaryBagClassifier,
    leave_one_out,
)
from skmil.learners.boost import BallBoost
from skmil.learners.calibrated import CalibratedBagClassifier
from skmil.learners.cce import CCE
from skmil.learners.citation import CitationKNN, CitationKNNRegressor
from skmil.learners.density import (
    DD,
    DDSVM,
    EMDD,
    DDRegressor,
    EMDDRegressor,
    MarginalizedSVC,
    MarginalizedSVR,
)
from skmil.learners.gmil import GMIL1, GMIL2
from skmil.learners.milboost import MILBoost
from skmil.learners.miles import MILES
from skmil.learners.misssvm import MissSVM
from skmil.learners.pipeline import BagPipeline
from skmil.learners.positive import PositiveClass
from skmil.learners.sil import SIL
from skmil.learners.svm import BagSVC, BagSVR
from skmil.learners.tlc import TLC
from skmil.learners.wide import WideLinearSVC
from skmil.learners.winnow import BoxWinnow

__all__ = [
    "APR",
    "CCE",
    "DD",
    "DDSVM",
    "EMDD",
    "GMIL1",
    "GMIL2",
    "MICA",
    "MILES",
    "SIL",
    "TLC",
    "AnnealedSVM",
    "AutoClassifier",
    "AutoRegressor",
    "BagClassifier",
    "BagEstimator",
    "BagPipeline",
    "BagRegressor",
    "BagSVC",
    "BagSVR",
    "BallBoost",
    "BinaryBagClassifier",
    "BlendKernel",
    "BoxWinnow",
    "CalibratedBagClassifier",
    "CitationKNN",
    "CitationKNNRegressor",
    "DDRegressor",
    "EMDDRegressor",
    "EmbeddingKernel",
    "InstanceLabelSVM",
    "MILBoost",
    "MarginalizedSVC",
    "MarginalizedSVR",
    "MissSVM",
    "PositiveClass",
    "WideLinearSVC",
    "WitnessSVM",
    "hausdorff",
    "leave_one_out",
]
