"""Which features a model uses: what it loses when one is shuffled among instances (Breiman 2001)."""

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state

from skmil.bags import Bags, as_bags


def permutation_importance(model, X, y, *, scoring=None, n_repeats: int = 5, random_state=None) -> Bunch:
    """What the score of a fitted model loses when a feature is shuffled among all instances.

    scikit-learn's function of this name shuffles columns of a table, and bags are none. Here an instance is
    given the value of another one, of any bag.

    Parameters
    ----------
    model : fitted method
    X, y : bags and their labels; such as were not fitted on say more
    scoring : scikit-learn's name of a score, or a callable; the model's own where ``None``
    n_repeats : how often each feature is shuffled
    random_state : seed

    Returns
    -------
    Bunch
        ``importances`` (features, repeats), ``importances_mean``, ``importances_std``, and
        ``feature_names`` where the bags have names.

    Examples
    --------
    >>> import skmil
    >>> from skmil.inspection import permutation_importance
    >>> X, y = [[[0.0, 1.0]], [[5.0, 1.1]], [[0.2, 1.0]], [[5.1, 1.1]]], [0, 1, 0, 1]
    >>> model = skmil.method("MI-Kernel").fit(X, y)
    >>> permutation_importance(model, X, y, random_state=0).importances.shape
    (2, 5)
    """
    if n_repeats < 1:
        raise ValueError(f"n_repeats is {n_repeats}; shuffle at least once")
    bags, score = as_bags(X).to_dense(), check_scoring(model, scoring)
    rng = check_random_state(random_state)
    whole = score(model, bags, y)
    lost = np.array(
        [
            [whole - score(model, _shuffled(bags, k, rng), y) for _ in range(n_repeats)]
            for k in range(bags.n_features)
        ]
    )
    named = {} if bags.feature_names is None else {"feature_names": bags.feature_names}
    return Bunch(importances=lost, importances_mean=lost.mean(1), importances_std=lost.std(1), **named)


def _shuffled(bags: Bags, k: int, rng) -> Bags:
    """The bags with one feature shuffled among all instances."""
    instances = bags.instances.copy()
    instances[:, k] = rng.permutation(instances[:, k])
    return Bags(instances, bags.offsets, bags.ids, bags.feature_names)
