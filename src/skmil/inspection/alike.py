"""The training bags that a bag is most like."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from skmil._schema import check_bags
from skmil.bags import Bags
from skmil.kernels import SetKernel
from skmil.preprocessing import BagScaler


@dataclass(frozen=True)
class Neighbour:
    """A training bag, its label and how alike it is, 1 at most."""

    bag: Any
    label: Any
    similarity: float


class RememberBags(TransformerMixin, BaseEstimator):
    """A step of a pipeline that changes nothing and keeps the training bags and their labels.

    So that an explanation can name those which a new bag is most like. Dense bags are compared by the set
    kernel of standardised instances, normalised to 1 for a bag with itself; sparse ones by the cosine of
    their means.

    Examples
    --------
    >>> from skmil.inspection import RememberBags
    >>> kept = RememberBags().fit([[[0.0]], [[4.0], [5.0]]], ["low", "high"])
    >>> [str(n.label) for n in kept.alike([[[4.5]]], 1)[0]]
    ['high']
    """

    _keeps_float32 = True

    def fit(self, X, y=None):
        """Keep bags and labels."""
        self.bags_ = check_bags(self, X, reset=True, tables=True).owned()
        self.labels_ = None if y is None else np.array(y)
        self.scaler_ = BagScaler().fit(self.bags_)
        return self

    def transform(self, X) -> Bags:
        """The same bags, with their features as in ``fit``."""
        check_is_fitted(self)
        return check_bags(self, X, reset=False, tables=True)

    def alike(self, X, n: int = 5) -> list[list[Neighbour]]:
        """For each bag the training bags most like it, the first first."""
        similarity = self._similarity(self.transform(X))
        order = np.argsort(-similarity, axis=1, kind="stable")[:, :n]
        return [[self._neighbour(k, s[k]) for k in row] for row, s in zip(order, similarity, strict=True)]

    def _neighbour(self, k: int, similarity: float) -> Neighbour:
        label = None if self.labels_ is None else self.labels_[k]
        return Neighbour(self.bags_.ids[k], label, float(similarity))

    def _similarity(self, bags: Bags) -> np.ndarray:
        if bags.is_sparse:
            return (_means(bags) @ _means(self.bags_).T).toarray()
        kernel = SetKernel(gamma=1.0 / bags.n_features, normalization="cosine")
        return kernel(self.scaler_.transform(bags), self.scaler_.transform(self.bags_))

    def set_output(self, *, transform=None):
        """Bags stay bags: there is no other container to choose."""
        return self


def _means(bags: Bags):
    """Mean of each sparse bag, of length 1."""
    from scipy import sparse

    n = len(bags.owner)
    sums = (
        sparse.csr_matrix((np.ones(n), (bags.owner, np.arange(n))), shape=(len(bags), n)) @ bags.instances
    )
    return normalize(sums)
