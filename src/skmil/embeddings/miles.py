r"""Similarity of a bag to every training instance, the map of MILES (Chen, Bi & Wang, PAMI 2006)."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmil._engines.nearest import nearest
from skmil._engines.widths import resolve_gamma
from skmil._lazy import groups, sample
from skmil._parameters import COUNT, GAMMA, SEED
from skmil._random import random_key
from skmil._schema import check_bags
from skmil.bags import as_bags
from skmil.embeddings.base import BagEmbedding


class MilesEmbedding(BagEmbedding):
    r"""A bag becomes its largest similarity to each training instance [1]_.

    .. math::
        \Phi_k(B) = \max_{x \in B} \exp(-\gamma \lVert x - x_k \rVert^2), \quad k = 1, ..., N

    with :math:`\gamma = 1 / \sigma^2` in the paper's letters. The largest similarity belongs to the
    nearest instance, so one exponential per bag and prototype is enough.

    Cost: :math:`O(N_B N d)` time, half of that for the training bags themselves; memory for the
    result and one block per thread, never instances x instances.

    Parameters
    ----------
    gamma : float, "scale" or "median"
        As in ``SetKernel``; "median" is one over the median squared distance of two instances.
    n_prototypes : int, optional
        Similarity to a random sample of this many training instances; to all where not given.
    random_state : int, RandomState or None
        Draws the sample.

    Attributes
    ----------
    gamma_ : float
    prototypes_ : array or CSR matrix (N, d)
        The training instances, one for each column of ``transform``.
    owner_ : array (N,)
        Number of the training bag that each of them comes from.

    References
    ----------
    .. [1] Y. Chen, J. Bi, J. Z. Wang, "MILES: Multiple-instance learning via embedded instance
       selection", IEEE Transactions on Pattern Analysis and Machine Intelligence 28(12), 2006.

    Examples
    --------
    >>> from skmil.embeddings import MilesEmbedding
    >>> MilesEmbedding(gamma=1.0).fit_transform([[[0.0], [1.0]], [[3.0]]]).round(3)
    array([[1.   , 1.   , 0.018],
           [0.   , 0.018, 1.   ]])
    """

    _parameter_constraints: dict = {
        "gamma": GAMMA,
        "n_prototypes": [COUNT, None],
        "random_state": SEED,
    }

    _streams = True

    def __init__(self, gamma="median", n_prototypes=None, random_state=None):
        self.gamma = gamma
        self.n_prototypes = n_prototypes
        self.random_state = random_state

    def fit_transform(self, X, y=None, **fit_params):
        """``fit``, then the map of the training bags; half the work of ``transform``."""
        self.fit(X, y, **fit_params)
        if self.n_prototypes is not None:
            return self.transform(X)
        bags = check_bags(self, X, reset=False, stream=False)
        return np.exp(-self.gamma_ * nearest(bags, bags.instances))

    def select(self, columns) -> "MilesEmbedding":
        """The fitted map with only some of its columns."""
        check_is_fitted(self)
        part = MilesEmbedding(self.gamma_)
        part.gamma_, part.n_features_in_ = self.gamma_, self.n_features_in_
        part.prototypes_, part.owner_ = self.prototypes_[columns], self.owner_[columns]
        part.n_columns_ = len(part.owner_)
        return part

    def contributions(self, X, w) -> list[np.ndarray]:
        """Share of each instance in <Phi(B), w>; the shares of a bag add up to it.

        Each column's value goes to the nearest instance of the bag, in equal parts where several
        are equally near (section 3.4 of the paper).
        """
        check_is_fitted(self)
        bags, w = check_bags(self, X, reset=False, stream=False), np.ravel(w)
        used = np.flatnonzero(w)
        Z = self.prototypes_[used]
        return [self._shares(bags[i : i + 1], Z, w[used]) for i in range(len(bags))]

    def _fit(self, bags, y):
        self.gamma_ = resolve_gamma(self.gamma, bags)
        if self.n_prototypes is None:
            bags = as_bags(bags)
            self.prototypes_, self.owner_ = bags.owned().instances, bags.owner
            return
        rows = sample(random_key(self.random_state), int(bags.sizes.sum()), self.n_prototypes)
        self.prototypes_ = bags.rows(rows)
        self.owner_ = np.searchsorted(np.cumsum(bags.sizes), rows, side="right")

    def _transform(self, bags):
        parts = [nearest(bags[s], self.prototypes_) for s in groups(bags.sizes)]
        return np.exp(-self.gamma_ * np.concatenate(parts))

    def _shares(self, bag, Z, w):
        D = nearest(bag.one_by_one(), Z)
        least = D.min(axis=0, initial=np.inf)
        # Copies of an instance may differ in the last digits of their distances.
        first = D <= least + 1e-12 * (1.0 + least)
        return first @ (w * np.exp(-self.gamma_ * least) / first.sum(axis=0))
