"""How alike things are: the set kernel of standardised instances, a column of the Gram matrix at a time."""

import threading

import numpy as np

from skmil.bags import Bags
from skmil.kernels import SetKernel
from skmil.preprocessing import BagScaler

_KEPT = 2000  # columns in memory: 160 MB for 10,000 things


class Similarity:
    """Columns of the Gram matrix of a collection, computed when first asked for and kept.

    Scale and width come from the whole collection, so that a column stays true from round to round. Sparse
    bags are compared by the cosine of their means.

    Examples
    --------
    >>> from skmil import Bags
    >>> from skmil.search.similarity import Similarity
    >>> alike = Similarity(Bags.from_list([[[0.0]], [[0.1]], [[5.0]]]))
    >>> alike.column("first", alike.bags[:1]).argsort()[::-1].tolist()
    [0, 1, 2]
    """

    def __init__(self, bags: Bags):
        self.bags = bags
        self.scaler = None if bags.is_sparse else BagScaler().fit(bags)
        if bags.is_sparse:
            self.kernel = SetKernel("linear", normalization="cosine")
        else:
            self.kernel = SetKernel(gamma=1.0 / bags.n_features, normalization="cosine")
        self._scaled = self._scale(bags)
        self._columns: dict[str, np.ndarray] = {}
        self._lock = threading.Lock()

    def column(self, key: str, bag: Bags) -> np.ndarray:
        """Similarity of all things to one, which is known by a key."""
        with self._lock:
            if key not in self._columns:
                if len(self._columns) >= _KEPT:
                    self._columns.clear()
                self._columns[key] = self.kernel(self._scaled, self._scale(bag)).ravel()
            return self._columns[key]

    def shares(self, bags: Bags, to: Bags) -> list[np.ndarray]:
        """Share of each instance in the mean similarity of its bag to some others."""
        return bags.split(self.kernel.instance_gram(self._scale(bags), self._scale(to)).mean(axis=1))

    def _scale(self, bags: Bags) -> Bags:
        return bags if self.scaler is None else self.scaler.transform(bags)
