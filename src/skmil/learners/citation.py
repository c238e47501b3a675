r"""Citation-kNN (Wang & Zucker, ICML 2000): nearest bags by Hausdorff distance, read in both directions."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skmil._engines.hausdorff import BagIndex, kth_smallest
from skmil._parameters import CLASS_WEIGHT, COUNT, one_of, whole
from skmil._schema import check_bags
from skmil._threads import slices
from skmil.bags import Bags
from skmil.learners.base import BagClassifier, BagRegressor


class _Citation(BaseEstimator):
    """What both tasks share: the training bags, and how far each of them looks for citers."""

    def _remember(self, bags: Bags) -> None:
        """Keep the bags; each cites what is at most as far away as its C-th nearest other bag."""
        self.index_ = BagIndex(bags, self.distance)
        some = self.n_citers > 0
        self.reach_ = self.index_.kth_distances(self.n_citers) if some else np.full(len(bags), -1.0)

    def _votes(self, bags: Bags) -> np.ndarray:
        """Sums of the ballots over the references and the citers of each bag."""

        def count(row):
            references, citers = row <= kth_smallest(row, self.n_references), row <= self.reach_
            return (references.astype(float) + citers) @ self.ballots_

        return self.index_.rows(bags, self.n_references, self.reach_, count)


class CitationKNN(_Citation, BagClassifier):
    r"""The nearest bags of a bag, and the bags that it is nearest to, vote on its class [1]_.

    The references of a bag are its R nearest training bags; its citers are the training bags that
    count it among their own C nearest. Each votes once in each role. Bags are as far apart as

    .. math::
        \min_{a, b} \lVert a - b \rVert, \qquad
        \max \{ \max_a \min_b \lVert a - b \rVert, \max_b \min_a \lVert a - b \rVert \}, \qquad
        \frac{\sum_a \min_b \lVert a - b \rVert + \sum_b \min_a \lVert a - b \rVert}{|A| + |B|}

    ("minimal", "maximal" and "average" Hausdorff distance). Equal distances have equal rank, so the
    order of the training bags does not matter. A tie between two classes goes to ``classes_[0]``, as
    in the paper; one between several to the first of them.

    Cost: at worst :math:`O(N^2 d)` time for N instances. Pairs of bags and of instances that cannot
    matter are ruled out by 16 projections, and distances are abandoned once they are too large; what
    is left is exact. Memory: two copies of the instances.

    Parameters
    ----------
    n_references, n_citers : int
        R and C.
    distance : "minimal", "maximal" or "average"
    class_weight : dict, "balanced" or None
        Votes of a bag count as much as its weight.

    References
    ----------
    .. [1] J. Wang, J.-D. Zucker, "Solving the multiple-instance problem: a lazy learning approach",
       ICML 2000.

    Examples
    --------
    >>> from skmil.learners import CitationKNN
    >>> bags = [[[0.0], [9.0]], [[1.0], [8.5]], [[2.0]], [[3.0]]]
    >>> model = CitationKNN(n_references=1, n_citers=1).fit(bags, ["far", "far", "near", "near"])
    >>> model.predict([[[8.0]], [[2.5], [5.0]]]).tolist()
    ['far', 'near']
    """

    _parameter_constraints: dict = {
        "n_references": [COUNT],
        "n_citers": [whole(0)],
        "distance": [one_of("minimal", "maximal", "average")],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(self, n_references=2, n_citers=4, distance="minimal", class_weight=None):
        self.n_references = n_references
        self.n_citers = n_citers
        self.distance = distance
        self.class_weight = class_weight

    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance: how much nearer it is to bags of its bag's class than to others.

        The mean distance from the instance, taken as a bag of its own, to the R nearest bags of
        other classes less that to the R nearest of the class (``classes_[1]`` if there are two, the
        predicted one if more).
        """
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)
        D = self._nearness(bags)
        if len(self.classes_) == 2:
            return bags.split(D[:, 0] - D[:, 1])
        won = self.decision_function(bags).argmax(axis=1)[bags.owner]
        rows = np.arange(len(D))
        own = D[rows, won]
        D[rows, won] = np.inf
        return bags.split(D.min(axis=1) - own)

    def _fit_classes(self, bags, codes, w):
        self._remember(bags)
        self.ballots_ = np.eye(len(self.classes_))[codes] * w[:, None]

    def _decisions(self, bags):
        """Share of the votes for ``classes_[1]`` less that for ``classes_[0]``; else a share per class."""
        votes = self._votes(bags)
        share = votes / votes.sum(axis=1, keepdims=True)
        return share[:, 1] - share[:, 0] if len(self.classes_) == 2 else share

    def _nearness(self, bags: Bags) -> np.ndarray:
        """Mean distance from each instance to the R nearest bags of each class."""
        parts = []
        for block in slices(bags.offsets[-1], 1024):
            D = self.index_.all_distances(
                Bags(bags.instances[block], np.arange(block.stop - block.start + 1))
            )
            near = [np.sort(D[:, b > 0], axis=1)[:, : self.n_references] for b in self.ballots_.T]
            parts.append(np.column_stack([d.mean(axis=1) for d in near]))
        return np.concatenate(parts)


class CitationKNNRegressor(_Citation, BagRegressor):
    """Mean target of the references and citers of a bag; see ``CitationKNN``.

    Instances are scored by leaving them out.

    Parameters
    ----------
    n_references, n_citers : int
    distance : "minimal", "maximal" or "average"

    Examples
    --------
    >>> from skmil.learners import CitationKNNRegressor
    >>> model = CitationKNNRegressor(n_references=1, n_citers=1)
    >>> model.fit([[[0.0], [9.0]], [[1.0]], [[2.0]]], [5.0, 1.0, 3.0]).predict([[[2.1], [4.0]]])
    array([3.])
    """

    _parameter_constraints: dict = {
        "n_references": [COUNT],
        "n_citers": [whole(0)],
        "distance": [one_of("minimal", "maximal", "average")],
    }

    def __init__(self, n_references=2, n_citers=4, distance="minimal"):
        self.n_references = n_references
        self.n_citers = n_citers
        self.distance = distance

    def _fit(self, bags, y, w):
        self._remember(bags)
        self.ballots_ = np.column_stack([w, w * y])

    def _predict(self, bags):
        votes = self._votes(bags)
        return votes[:, 1] / votes[:, 0]
