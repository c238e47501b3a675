"""Box-counting kernels: how many axis-parallel boxes contain points of two bags."""

from skmil.kernels.box.kernel import BoxKernel, count

__all__ = ["BoxKernel", "count"]
