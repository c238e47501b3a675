r"""p-posterior mixture-model kernel, PPMM (Wang, Yang & Zha, ICML 2008)."""

import warnings
from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, SVR
from sklearn.utils.multiclass import type_of_target
from threadpoolctl import threadpool_limits

from skmil._cluster import map_bags
from skmil._engines.statistics import bag_means
from skmil._lazy import GROUP, groups
from skmil._parameters import COUNT, NOT_NEGATIVE, SEED, naming, one_of
from skmil._random import random_key
from skmil._schema import check_lengths
from skmil._threads import map_blocks, slices
from skmil.bags import Bags, as_bags
from skmil.embeddings.base import BagEmbedding, some_instances

COMBINE = ("best", "cv", "all")
COVARIANCES = {"diag": "diag", "full": "full", "spherical": "spherical"}
P_GRID = np.linspace(0.05, 3.0, 60)


class PosteriorEmbedding(BagEmbedding):
    r"""How much of each pattern a bag holds, raised to a power that is learned [1]_.

    A mixture of K components is fitted to all instances. The aggregate posteriors of a bag are

    .. math::
        \psi(X) = \frac{1}{|X|} \sum_{x \in X} \Bigl( \frac{w_1 p_1(x)}{\sum_j w_j p_j(x)}, ...,
        \frac{w_K p_K(x)}{\sum_j w_j p_j(x)} \Bigr), \qquad
        k_p(X, Y) = \langle \psi(X)^p, \psi(Y)^p \rangle,

    and ``transform`` gives :math:`\psi^p`. A small p lets rare patterns decide (one witness makes a bag
    positive), a large p the majority. p is learned from the labels: it maximises the alignment

    .. math::
        \frac{\langle K_p, T \rangle_F}{\lVert K_p \rVert_F \lVert T \rVert_F}, \qquad T = y y^T.

    For more than two classes T is the centred ideal kernel (1 where two labels are equal), for
    numbers it is made from the centred targets. In the limit p = 0 the presence of a pattern decides,
    however little of it there is; p may be given as 0. Powers of sums are not sums, so an instance has no
    exact share of :math:`\psi^p`; instance scores come from leaving instances out.

    Cost: ``n_init`` fits of the mixture to at most ``max_instances`` instances; :math:`O(n K^2)` for each p
    tried, without the n x n matrix.

    Parameters
    ----------
    n_components : int
        The number of patterns K; never more than there are instances.
    mixture : "kmeans", "diag", "full" or "spherical"
        K-means counts instances per cluster and takes sparse bags; the others are Gaussian mixtures
        with that kind of covariance.
    p : float, optional
        Learned in (0, 3] where not given; 1 if there are no labels to learn from.
    unlabeled : bags or a table of instances, optional
        More instances for the mixture, with the features that reach this step; in a ``BagPipeline`` as they
        come, since it sends them through the steps before.
    n_init : int
        Seeds tried.
    combine : "best", "cv" or "all"
        What becomes of the mixtures of all seeds. The one of highest alignment is kept (without labels,
        the one that fits the instances best); or the one with which a linear machine is most accurate in
        five folds of the training bags; or all of them, their :math:`\psi` side by side, with one p.
    max_instances : int
        The mixture is fitted to a random sample of the bags' instances where there are more.
    random_state : int, RandomState or None

    Attributes
    ----------
    p_ : float
    mixtures_ : list
        The fitted ``KMeans`` or ``GaussianMixture`` models in use: one, or ``n_init`` where all are.
    mixture_ : the first of them
    alignment_ : float
        Alignment reached on the training bags; ``nan`` without labels.
    alignment_curve_ : array (60, 2)
        A grid of p and the alignment at each; empty without labels.

    References
    ----------
    .. [1] H.-Y. Wang, Q. Yang, H. Zha, "Adaptive p-posterior mixture-model kernels for multiple instance
       learning", ICML 2008.

    Examples
    --------
    >>> from skmil.embeddings import PosteriorEmbedding
    >>> bags = [[[0.0], [0.1], [5.0]], [[5.1], [5.0]]]
    >>> psi = PosteriorEmbedding(n_components=2, p=1.0, random_state=0).fit_transform(bags)
    >>> psi.max(axis=1).round(2), psi.sum(axis=1)
    (array([0.67, 1.  ]), array([1., 1.]))
    """

    _parameter_constraints: dict = {
        "n_components": [COUNT],
        "mixture": [one_of("kmeans", *COVARIANCES)],
        "p": [NOT_NEGATIVE, None],
        "unlabeled": [Bags, "array-like", "sparse matrix", None],
        "n_init": [COUNT],
        "combine": [one_of(*COMBINE)],
        "max_instances": [COUNT],
        "random_state": SEED,
    }

    _streams = _keeps_float32 = True

    def __init__(
        self,
        n_components=30,
        mixture="kmeans",
        p=None,
        unlabeled=None,
        n_init=10,
        combine="best",
        max_instances=2**16,
        random_state=None,
    ):
        self.n_components = n_components
        self.mixture = mixture
        self.p = p
        self.unlabeled = unlabeled
        self.n_init = n_init
        self.combine = combine
        self.max_instances = max_instances
        self.random_state = random_state

    def _fit(self, bags, y):
        X = self._all_instances(bags)
        target = None if y is None else ideal(check_lengths(y, bags))
        seeds = np.random.SeedSequence(int(random_key(self.random_state))).generate_state(self.n_init)
        mixtures = map_blocks(lambda seed: self._fit_mixture(X, int(seed)), seeds)
        groups = [mixtures] if self.combine == "all" else [[m] for m in mixtures]
        if target is None:
            self.mixtures_ = max(groups, key=lambda group: _fit_quality(group[0]))
            self.p_, self.alignment_ = 1.0 if self.p is None else float(self.p), np.nan
            self.alignment_curve_ = np.empty((0, 2))
        else:
            self._keep_best(groups, bags, y, target)
        self.mixture_ = self.mixtures_[0]
        if self.unlabeled is not None:
            _warn_if_elsewhere(self.mixture_, bags)

    def _keep_best(self, groups, bags, y, target) -> None:
        """Of all groups of mixtures the one whose best p aligns best with the labels, or predicts best."""
        psis = [_side_by_side(group, bags) for group in groups]
        found = [best_power(psi, target, self.p) for psi in psis]
        if self.combine == "cv":
            scores = [inner_score(power(psi, p), y) for psi, (p, _, _) in zip(psis, found, strict=True)]
        else:
            scores = [alignment for _, alignment, _ in found]
        best = int(np.argmax(scores))
        self.mixtures_ = groups[best]
        self.p_, self.alignment_, curve = found[best]
        self.alignment_curve_ = np.column_stack([P_GRID, curve])

    def _transform(self, bags):
        return power(_side_by_side(self.mixtures_, bags), self.p_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.mixture == "kmeans"
        return tags

    def _all_instances(self, bags: Bags):
        """What the mixture is fitted to: the training instances and those without a label."""
        if bags.is_sparse and self.mixture != "kmeans":
            raise TypeError(
                f"mixture={self.mixture!r} needs dense features and got a sparse matrix; "
                "use mixture='kmeans', or pass bags.to_dense() if it fits in memory"
            )
        instances = some_instances(bags, self.max_instances, self.random_state).instances
        if self.unlabeled is None:
            return instances
        with naming("unlabeled"):
            more = as_bags(self.unlabeled).instances
        if more.shape[1] != bags.n_features:
            raise ValueError(f"unlabeled has {more.shape[1]} features and the bags have {bags.n_features}")
        if bags.is_sparse:
            return sparse.vstack([instances, sparse.csr_matrix(more)], format="csr")
        return np.vstack([instances, more.toarray() if sparse.issparse(more) else more])

    def _fit_mixture(self, X, seed: int):
        K = min(self.n_components, X.shape[0])
        if self.mixture == "kmeans":
            model = KMeans(K, n_init=1, random_state=seed)
        else:
            model = GaussianMixture(K, covariance_type=COVARIANCES[self.mixture], random_state=seed)
        # One OpenMP thread: sums in one order give the same bits on every machine; seeds run in
        # parallel instead. Empty clusters and a slow last digit of the likelihood do no harm here.
        with threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X)


def power(psi: np.ndarray, p: float) -> np.ndarray:
    """psi^p, with the limit at p = 0: 1 where a pattern is present."""
    return psi**p if p > 0 else (psi > 0).astype(float)


def inner_score(Z: np.ndarray, y: np.ndarray) -> float:
    """How well a linear machine on the features does in five folds of the training bags."""
    if type_of_target(y) == "continuous":
        return float(cross_val_score(SVR(kernel="linear", C=10.0), Z, y, cv=min(5, len(y))).mean())
    folds = min(5, int(np.unique(y, return_counts=True)[1].min()))
    if folds < 2:
        raise ValueError("combine='cv' needs two bags of each class; use combine='best'")
    return float(cross_val_score(SVC(kernel="linear", C=10.0), Z, y, cv=folds).mean())


def _side_by_side(mixtures, bags) -> np.ndarray:
    return map_bags(partial(_hstacked, mixtures), bags)


def _hstacked(mixtures, bags: Bags) -> np.ndarray:
    return np.hstack([aggregate(m, bags) for m in mixtures])


def _warn_if_elsewhere(mixture, bags: Bags) -> None:
    """Say so where the training instances fill almost none of the components: the others lie elsewhere."""
    share = np.add.reduce(_side_by_side([mixture], bags) * bags.sizes[:, None]) / bags.sizes.sum()
    used = np.exp(-np.sum(share * np.log(np.maximum(share, 1e-300))))  # effective number
    if len(share) >= 4 and used < max(1.5, len(share) / 10):
        warnings.warn(
            f"the training instances fall into {used:.0f} of {len(share)} components, the rest holds "
            "unlabeled ones: are these scaled like the bags? Give them as they reach this step",
            UserWarning,
            stacklevel=3,
        )


def aggregate(mixture, bags: Bags) -> np.ndarray:
    """The aggregate posteriors psi: one row per bag, which sums to one."""
    return np.concatenate([_aggregate(mixture, bags[s]) for s in groups(bags.sizes)])


def _aggregate(mixture, bags: Bags) -> np.ndarray:
    N = int(bags.offsets[-1])
    parts = (bags.instances[s].astype(np.float64, copy=False) for s in slices(N, GROUP))
    if isinstance(mixture, GaussianMixture):
        return bag_means(bags.with_instances(np.concatenate([mixture.predict_proba(X) for X in parts])))
    centers = mixture.cluster_centers_
    K = len(centers)
    # Not mixture.predict: it refuses sparse matrices that are read-only, as those of bags are.
    half = np.square(centers).sum(axis=1)
    nearest = np.concatenate([np.argmin(half - 2 * (X @ centers.T), axis=1) for X in parts])
    votes = bags.owner * K + nearest
    return np.bincount(votes, minlength=len(bags) * K).reshape(-1, K) / bags.sizes[:, None]


def ideal(y: np.ndarray) -> np.ndarray:
    """Y (n x k) such that Y Y^T is the ideal kernel of the labels."""
    if type_of_target(y) == "continuous":
        return (y - y.mean())[:, None]
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) <= 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    Y = np.eye(len(classes))[codes]
    return Y - Y.mean(axis=0)


def alignment(psi: np.ndarray, p: float, Y: np.ndarray) -> float:
    """<K_p, Y Y^T> / (|K_p| |Y Y^T|) by K x K matrices: |Z^T Y|^2 / (|Z^T Z| |Y^T Y|), Z = psi^p."""
    Z = power(psi, p)
    size = np.linalg.norm(Z.T @ Z) * np.linalg.norm(Y.T @ Y)
    return float(np.sum((Z.T @ Y) ** 2) / size) if size > 0 else 0.0


def best_power(psi: np.ndarray, Y: np.ndarray, p: float | None) -> tuple[float, float, list[float]]:
    """(p, alignment, curve): the best p of the grid, then of its neighbourhood; or the given p."""
    values = [alignment(psi, q, Y) for q in P_GRID]
    if p is not None:
        return float(p), alignment(psi, p, Y), values
    k = int(np.argmax(values))
    low, high = P_GRID[max(k - 1, 0)], P_GRID[min(k + 1, len(P_GRID) - 1)]
    fine = minimize_scalar(lambda q: -alignment(psi, q, Y), bounds=(low, high), method="bounded")
    if -fine.fun > values[k]:
        return float(fine.x), -float(fine.fun), values
    return float(P_GRID[k]), values[k], values


def _fit_quality(mixture) -> float:
    return mixture.lower_bound_ if isinstance(mixture, GaussianMixture) else -mixture.inertia_
