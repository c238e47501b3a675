"""skmil: multiple-instance learning for scikit-learn, with kernels at its heart."""

from importlib import import_module
from typing import TYPE_CHECKING

from skmil._version import __version__

if TYPE_CHECKING:
    from skmil import datasets, embeddings, extend, kernels, learners, preprocessing, sources, store
    from skmil._cluster import cluster
    from skmil._threads import threads
    from skmil.bags import Bags, as_bags
    from skmil.kernels.tiles import gram
    from skmil.registry import method, methods, published
    from skmil.store import BagStore, open_bags, write_bags

__all__ = [
    "BagStore",
    "Bags",
    "__version__",
    "as_bags",
    "cluster",
    "datasets",
    "embeddings",
    "extend",
    "gram",
    "kernels",
    "learners",
    "method",
    "methods",
    "open_bags",
    "preprocessing",
    "published",
    "sources",
    "store",
    "threads",
    "write_bags",
]
# Where each name lives: it is imported when it is first asked for, so that to start costs nothing.
_HOMES = {
    "BagStore": "store",
    "Bags": "bags",
    "as_bags": "bags",
    "cluster": "_cluster",
    "gram": "kernels.tiles",
    "open_bags": "store",
    "write_bags": "store",
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
