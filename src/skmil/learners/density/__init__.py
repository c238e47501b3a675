"""Learners built on Diverse Density."""

from skmil.learners.density.dd import DD, EMDD, DDRegressor, EMDDRegressor
from skmil.learners.density.ddsvm import DDSVM
from skmil.learners.density.marginalized import MarginalizedSVC, MarginalizedSVR

__all__ = ["DD", "DDSVM", "EMDD", "DDRegressor", "EMDDRegressor", "MarginalizedSVC", "MarginalizedSVR"]
