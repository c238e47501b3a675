r"""CCE, constructive clustering ensemble (Zhou & Zhang, KAIS 2007)."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skmil._memo import once
from skmil._random import random_key
from skmil._threads import one_blas_thread
from skmil.bags import Bags
from skmil.learners.base import BagClassifier


class CCE(BagClassifier):
    r"""Which clusters does a bag visit? One classifier per number of clusters, and a vote [1]_.

    For each d in ``n_clusters`` the instances of all bags are clustered into d groups, and a bag is

    .. math:: \phi_j(B) = \mathbb{1}[\text{some } x \in B \text{ falls in group } j], \quad j = 1, ..., d.

    Each classifier votes for one class; where votes are equal the sum of squashed margins
    :math:`m / (1 + |m|)` decides, which is never enough to overrule a vote. ``score_instances`` leaves
    instances out.

    Cost: k-means for each d; then classifiers of n short vectors. Works on sparse features.

    Parameters
    ----------
    n_clusters : sequence of int
        The numbers d; the number of training instances where there are fewer.
    estimator : classifier, optional
        Of binary vectors, with ``decision_function``; a linear ``SVC`` where not given.
    class_weight : dict, "balanced" or None
    random_state : int, RandomState or None
        Starts the clusterings.

    Attributes
    ----------
    clusterings_, estimators_ : lists, one entry per number of clusters

    References
    ----------
    .. [1] Z.-H. Zhou, M.-L. Zhang, "Solving multi-instance problems with classifier ensemble based on
       constructive clustering", Knowledge and Information Systems 11, 2007.

    Examples
    --------
    >>> from skmil.learners import CCE
    >>> X = [[[0.0], [9.0]], [[0.1]], [[9.1], [0.2]], [[0.3], [0.0]]]
    >>> CCE(n_clusters=(2, 3), random_state=0).fit(X, ["yes", "no", "yes", "no"]).predict([[[9.2]]])
    array(['yes'], dtype='<U3')
    """

    def __init__(
        self, n_clusters=(5, 10, 20, 40, 80), estimator=None, class_weight=None, random_state=None
    ):
        self.n_clusters = n_clusters
        self.estimator = estimator
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit_classes(self, bags, codes, w):
        estimator = SVC(kernel="linear") if self.estimator is None else self.estimator
        seed = int(random_key(self.random_state)) % 2**32
        self.clusterings_ = [once(_cluster, bags, w, d, seed) for d in _numbers(self.n_clusters)]
        inputs = [_visits(bags, c) for c in self.clusterings_]
        self.estimators_ = [clone(estimator).fit(Z, codes, sample_weight=w) for Z in inputs]

    def _decisions(self, bags):
        """Votes, ties broken by margins."""
        members = zip(self.clusterings_, self.estimators_, strict=True)
        margins = [e.decision_function(_visits(bags, c)) for c, e in members]
        return np.mean([_vote(m) for m in margins], axis=0) + np.mean(
            [m / (1 + np.abs(m)) for m in margins], axis=0
        ) / (2 * len(margins) + 2)


def _numbers(n_clusters) -> list[int]:
    numbers = list(np.ravel(n_clusters))
    if not numbers or any(d != int(d) or d < 1 for d in numbers):
        raise ValueError(f"n_clusters is {n_clusters!r}; give one or more integers of at least 1")
    return [int(d) for d in numbers]


def _cluster(bags: Bags, w: np.ndarray, d: int, seed: int) -> KMeans:
    X = _writeable(bags)
    kmeans = KMeans(min(d, X.shape[0]), n_init=1, random_state=seed)
    # Same bits on any number of threads.
    with warnings.catch_warnings(), one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        # Fewer different instances than clusters leave clusters that no bag visits: no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kmeans.fit(X, sample_weight=np.repeat(w, bags.sizes))


def _visits(bags: Bags, clustering: KMeans) -> np.ndarray:
    """1 where a bag has an instance in a cluster, 0 elsewhere."""
    Z = np.zeros((len(bags), clustering.n_clusters))
    Z[bags.owner, clustering.predict(_writeable(bags))] = 1.0
    return Z


def _writeable(bags: Bags):
    """The instances; a copy where they are sparse, as k-means of scikit-learn asks for write access."""
    return bags.instances.copy() if bags.is_sparse else bags.instances


def _vote(margin: np.ndarray) -> np.ndarray:
    """+1 or -1 for two classes; 1 for the winner and 0 for the others where there are more."""
    if margin.ndim == 1:
        return np.where(margin > 0, 1.0, -1.0)
    return np.eye(margin.shape[1])[margin.argmax(axis=1)]
