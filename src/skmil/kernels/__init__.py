"""Kernels on bags: bag x bag -> number."""

from skmil._engines.pairs import InstanceKernel
from skmil.kernels.alignment import ProfileAlignment
from skmil.kernels.base import BagKernel, EmpiricalMap, Normalized, Power, Product, Sum
from skmil.kernels.box import BoxKernel
from skmil.kernels.graph import GraphKernel
from skmil.kernels.isolation import IsolationKernel
from skmil.kernels.marginalized import MarginalizedKernel
from skmil.kernels.minimax import MinimaxKernel
from skmil.kernels.repaired import Repaired
from skmil.kernels.set import SetKernel

__all__ = [
    "BagKernel",
    "BoxKernel",
    "EmpiricalMap",
    "GraphKernel",
    "InstanceKernel",
    "IsolationKernel",
    "MarginalizedKernel",
    "MinimaxKernel",
    "Normalized",
    "Power",
    "Product",
    "ProfileAlignment",
    "Repaired",
    "SetKernel",
    "Sum",
]
