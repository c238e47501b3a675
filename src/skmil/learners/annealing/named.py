"""The three heuristics that annealing improves on, under names of their own."""

from skmil.learners.annealing.estimator import AnnealedSVM

# Parameters of annealing, and of assumptions that the heuristics do not make.
_FIXED = {
    "assumption",
    "start_temperature",
    "cooling",
    "positive_share",
    "share_cost",
    "n_positive",
    "pooling",
}


class _Heuristic(AnnealedSVM):
    """``AnnealedSVM`` without annealing and with one assumption."""

    _assumption: str
    _parameter_constraints: dict = {
        name: allowed for name, allowed in AnnealedSVM._parameter_constraints.items() if name not in _FIXED
    }

    def __init__(
        self,
        C=1.0,
        loss="hinge",
        kernel="rbf",
        gamma="median",
        gamma_factor=1.0,
        degree=3,
        coef0=1.0,
        n_components="auto",
        class_weight=None,
        tol=2e-3,
        max_iter=100,
        random_state=0,
        threshold="zero",
    ):
        super().__init__(
            assumption=self._assumption,
            loss=loss,
            C=C,
            kernel=kernel,
            gamma=gamma,
            gamma_factor=gamma_factor,
            degree=degree,
            coef0=coef0,
            start_temperature=None,
            n_components=n_components,
            class_weight=class_weight,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            threshold=threshold,
        )


class InstanceLabelSVM(_Heuristic):
    """mi-SVM (Andrews, Tsochantaridis & Hofmann, NIPS 2002): a label for each instance.

    Each instance of a positive bag starts positive; SVM and labels alternate, and a positive bag always
    keeps its best instance. The same as ``AnnealedSVM(assumption="labels", start_temperature=None)``,
    with the hinge loss of its authors; parameters and attributes are described there.

    Examples
    --------
    >>> from skmil.datasets import load_musk1
    >>> from skmil.learners import InstanceLabelSVM
    >>> X, y = load_musk1(return_X_y=True)
    >>> InstanceLabelSVM(C=10).fit(X, y).score(X, y) > 0.9
    True
    """

    _assumption = "labels"


class WitnessSVM(_Heuristic):
    """MI-SVM (Andrews, Tsochantaridis & Hofmann, NIPS 2002): the best instance stands for its bag.

    The first SVM spreads the cost of a positive bag evenly over its instances; from then on only the
    instance of largest f counts. The same as ``AnnealedSVM(assumption="witness", start_temperature=None)``,
    with the hinge loss of its authors; parameters and attributes are described there.

    Examples
    --------
    >>> from skmil.datasets import load_musk1
    >>> from skmil.learners import WitnessSVM
    >>> X, y = load_musk1(return_X_y=True)
    >>> WitnessSVM(C=10).fit(X, y).score(X, y) > 0.9
    True
    """

    _assumption = "witness"


class MICA(_Heuristic):
    """MICA (Mangasarian & Wild 2005): a convex combination of instances stands for its bag.

    The same as ``AnnealedSVM(assumption="convex", start_temperature=None)`` with the hinge loss; parameters
    and attributes are described there. As in Gehler & Chapelle (2007), the norm of w is the 2-norm, where
    the authors took the 1-norm, and combinations are taken in feature space.

    Examples
    --------
    >>> from skmil.datasets import load_musk1
    >>> from skmil.learners import MICA
    >>> X, y = load_musk1(return_X_y=True)
    >>> MICA(C=10).fit(X, y).score(X, y) > 0.9
    True
    """

    _assumption = "convex"
