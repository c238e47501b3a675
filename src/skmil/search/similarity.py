"""How alike things are: the set kernel of standardised instances, a column of the Gram matrix at a time."""

import hashlib
import shutil
import threading
import weakref
from pathlib import Path

import numpy as np

from skmil.bags import Bags
from skmil.kernels import SetKernel
from skmil.preprocessing import BagScaler
from skmil.sources.cache import DiskCache, MemoryCache, decode, encode


class Similarity:
    """Columns of the Gram matrix of a collection, computed when first asked for and kept on disk.

    Scale and width come from the whole collection, so that a column stays true from round to round. Sparse
    bags are compared by the cosine of their means. Columns of bags that are no more are deleted.

    Parameters
    ----------
    bags : of the whole collection
    folder : of the index; columns are kept in memory only where ``None``

    Examples
    --------
    >>> from skmil import Bags
    >>> from skmil.search.similarity import Similarity
    >>> alike = Similarity(Bags.from_list([[[0.0]], [[0.1]], [[5.0]]]))
    >>> alike.column("first", alike.bags[:1]).argsort()[::-1].tolist()
    [0, 1, 2]
    """

    def __init__(self, bags: Bags, folder=None):
        self.bags = bags
        self.scaler = None if bags.is_sparse else BagScaler().fit(bags)
        if bags.is_sparse:
            self.kernel = SetKernel("linear", normalization="cosine")
        else:
            self.kernel = SetKernel(gamma=1.0 / bags.n_features, normalization="cosine")
        self._scaled = self._scale(bags)
        self._lock = threading.Lock()
        self._kept: MemoryCache | DiskCache = MemoryCache()
        if folder is not None:
            own = Path(folder) / "columns" / _digest(bags)
            for other in own.parent.glob("*"):
                if other != own:
                    shutil.rmtree(other, ignore_errors=True)
            self._kept = DiskCache(own)
            # Not before: another thread may still rank what this belongs to.
            weakref.finalize(self, self._kept.close)

    def column(self, key: str, bag: Bags) -> np.ndarray:
        """Similarity of all things to one, which is known by a key."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                found = encode(self.kernel(self._scaled, self._scale(bag)).ravel())
                self._kept.put(key, found)
            return decode(found)

    def shares(self, bags: Bags, to: Bags) -> list[np.ndarray]:
        """Share of each instance in the mean similarity of its bag to some others."""
        return bags.split(self.kernel.instance_gram(self._scale(bags), self._scale(to)).mean(axis=1))

    def _scale(self, bags: Bags) -> Bags:
        return bags if self.scaler is None else self.scaler.transform(bags)


def _digest(bags: Bags) -> str:
    """A name for bags by their content."""
    table = bags.instances
    arrays = [table.data, table.indices, table.indptr] if bags.is_sparse else [table]
    digest = hashlib.blake2b(digest_size=10)
    for array in (*arrays, bags.offsets):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
