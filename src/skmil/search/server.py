"""What the routes share: the index, its collection as of now, the searches and the ranker."""

import threading

from skmil.bags import Bags
from skmil.registry import methods
from skmil.search.gallery import Gallery
from skmil.search.index import Collection, Index
from skmil.search.ranking import Job, Ranker
from skmil.search.session import EXAMPLE, FIRST, Searches
from skmil.sources import Thing


class Server:
    """The state of a page that is open.

    Parameters
    ----------
    index : Index
    collection : what ``index.open()`` gave
    learner : chosen on the page at first
    patience : seconds after which an answer shows what there is
    """

    def __init__(self, index: Index, collection: Collection, learner: str = "auto", patience: float = 0.7):
        self.index, self.learner, self.patience = index, learner, patience
        self.searches = Searches(index.folder)
        if not self.searches.names():
            self.searches.create(FIRST)
        self.gallery = Gallery(index.folder)
        self._refreshing = threading.Lock()
        self.ranker = self._ranker(collection)

    @property
    def collection(self) -> Collection:
        """The collection that the page shows."""
        return self.ranker.collection

    def refresh(self) -> str:
        """Look at the files again."""
        with self._refreshing:
            old, self.ranker = self.ranker, self._ranker(self.index.open())
            old.stop()
        return str(self.index.changes)

    def job(self, search: str, learner: str, tab: str) -> tuple[Ranker, Job]:
        """The ranking of a search; the ranker, whose collection may be another one a moment later."""
        if learner not in methods("classification"):
            raise ValueError(f"no learner {learner[:80]!r}")
        ranker = self.ranker
        return ranker, ranker.start(search, self.searches.marks(search), learner, tab)

    def _ranker(self, collection: Collection) -> Ranker:
        known: dict[str, Bags | None] = {}

        def example(key: str) -> Bags | None:
            """The bag of a person's own picture; ``None`` where there is none."""
            if not key.startswith(EXAMPLE) or collection.kind != "images":
                return None
            if key not in known:
                path = self.searches.example(key)
                known[key] = collection.bag_of(Thing(path, key)) if path.exists() else None
            return known[key]

        return Ranker(collection, example, self.index.folder)
