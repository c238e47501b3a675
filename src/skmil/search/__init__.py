"""Find things like these: a page in the browser that learns from marks."""

from skmil.search.index import Collection, Index
from skmil.search.ranking import Ranker
from skmil.search.session import Searches

__all__ = ["Collection", "Index", "Ranker", "Searches"]
