"""The Gram matrix inside a method's pipeline."""

import numpy as np
from sklearn.base import clone

from skmil.bags import as_source
from skmil.kernels.base import BagKernel
from skmil.kernels.set import SetKernel


def method_gram(estimator, X, y=None) -> np.ndarray | None:
    """Gram matrix of the bags as the learner of an unfitted kernel method sees it.

    The steps before the kernel are fitted on the bags, as ``fit`` would.

    Returns
    -------
    ndarray (n_bags, n_bags), or None where the method has no kernel on bags

    Examples
    --------
    >>> import skmil
    >>> from skmil.inspection import method_gram
    >>> method_gram(skmil.method("MI-Kernel"), [[[0.0], [1.0]], [[5.0]]]).diagonal()
    array([1., 1.])
    >>> method_gram(skmil.method("Simple-MI"), [[[0.0]], [[5.0]]]) is None
    True
    """
    found = method_kernel(estimator, X, y)
    if found is None:
        return None
    kernel, bags = found
    return clone(kernel).fit_transform(bags, y)


def method_kernel(estimator, X, y=None):
    """The unfitted kernel of a method and the bags that it sees; None where it has none.

    The steps before the kernel are fitted on the bags, as ``fit`` would; a store stays a store.
    """
    bags = as_source(X)
    steps = [s for _, s in getattr(estimator, "steps", [("", estimator)])]
    place = next((k for k, s in enumerate(steps) if _kernel(s) is not None), None)
    if place is None:
        return None
    for step in steps[:place]:
        bags = clone(step).fit_transform(bags, y)
    return _kernel(steps[place]), bags


def _kernel(step) -> BagKernel | None:
    """The kernel that a step is or holds."""
    if isinstance(step, BagKernel):
        return step
    if not hasattr(step, "kernel"):
        return None
    kernel = SetKernel() if step.kernel is None else step.kernel
    return kernel if isinstance(kernel, BagKernel) else None
