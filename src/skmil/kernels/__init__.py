"""Kernels on bags: bag x bag -> number."""

from skmil.kernels.base import BagKernel, EmpiricalMap, Normalized, Power, Product, Sum
from skmil.kernels.instance import InstanceKernel
from skmil.kernels.minimax import MinimaxKernel
from skmil.kernels.set import SetKernel

__all__ = [
    "BagKernel",
    "EmpiricalMap",
    "InstanceKernel",
    "MinimaxKernel",
    "Normalized",
    "Power",
    "Product",
    "SetKernel",
    "Sum",
]
