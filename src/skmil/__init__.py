"""skmil: multiple-instance learning for scikit-learn, with kernels at its heart."""

from importlib import import_module
from typing import TYPE_CHECKING

from skmil._version import __version__

if TYPE_CHECKING:
    from skmil import datasets, embeddings, extend, kernels, learners, preprocessing, sources
    from skmil._threads import threads
    from skmil.bags import Bags, as_bags
    from skmil.registry import method, methods, published

__all__ = [
    "Bags",
    "__version__",
    "as_bags",
    "datasets",
    "embeddings",
    "extend",
    "kernels",
    "learners",
    "method",
    "methods",
    "preprocessing",
    "published",
    "sources",
    "threads",
]
# Where each name lives: it is imported when it is first asked for, so that to start costs nothing.
_HOMES = {
    "Bags": "bags",
    "as_bags": "bags",
    "method": "registry",
    "methods": "registry",
    "published": "registry",
    "threads": "_threads",
}


def __getattr__(name: str):
    if name in _HOMES:
        found = getattr(import_module(f"skmil.{_HOMES[name]}"), name)
    elif name in __all__:
        found = import_module(f"skmil.{name}")
    else:
        raise AttributeError(f"module 'skmil' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
