"""skmil: multiple-instance learning for scikit-learn, with kernels at its heart."""

from importlib import import_module
from typing import TYPE_CHECKING

from skmil._version import __version__

if TYPE_CHECKING:
    from skmil import (
        datasets,
        embeddings,
        evaluation,
        extend,
        formats,
        inspection,
        kernels,
        learners,
        persistence,
        preprocessing,
        records,
        registry,
        report,
        search,
        sources,
        store,
    )
    from skmil._cluster import cluster
    from skmil._schema import TableWarning
    from skmil._threads import threads
    from skmil.bags import Bags, as_bags
    from skmil.kernels.tiles import gram
    from skmil.registry import method, methods, published
    from skmil.store import BagStore, open_bags, write_bags

__all__ = [
    "BagStore",
    "Bags",
    "TableWarning",
    "__version__",
    "as_bags",
    "cluster",
    "datasets",
    "embeddings",
    "evaluation",
    "extend",
    "formats",
    "gram",
    "inspection",
    "kernels",
    "learners",
    "method",
    "methods",
    "open_bags",
    "persistence",
    "preprocessing",
    "published",
    "records",
    "registry",
    "report",
    "search",
    "sources",
    "store",
    "threads",
    "write_bags",
]
# Where each name lives: it is imported when it is first asked for, so that to start costs nothing.
_HOMES = {
    "BagStore": "store",
    "Bags": "bags",
    "TableWarning": "_schema",
    "as_bags": "bags",
    "cluster": "_cluster",
    "gram": "kernels.tiles",
    "method": "registry",
    "methods": "registry",
    "open_bags": "store",
    "published": "registry",
    "threads": "_threads",
    "write_bags": "store",
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
