"""Which share of the instances of a positive bag ``AnnealedSVM`` expects to be positive."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

from skmil._moments import mostly_zero
from skmil._parameters import naming

SHARES = np.round(np.linspace(0.1, 1.0, 10), 1)  # that ``positive_share="cv"`` tries
OF_TEXTS, OF_OTHERS = 0.2, 0.8  # what ``positive_share="auto"`` expects


def expected_share(model, bags, y, w) -> float | np.ndarray | None:
    """The share to expect: none, one for all bags, or one for each."""
    given = model.positive_share
    if given is None:
        return None
    if isinstance(given, str):
        if given == "cv":
            return _chosen(model, bags, y, w)
        return OF_TEXTS if mostly_zero(bags) else OF_OTHERS
    with naming("positive_share"):
        share = np.array([given(bag) for bag in bags] if callable(given) else given, dtype=float)
    wanted = "give a number in (0, 1], one for each training bag, a function of a bag, 'auto', 'cv' or None"
    if share.ndim and share.shape != (len(bags),):
        raise ValueError(
            f"positive_share has the shape {share.shape} and there are {len(bags)} training bags of "
            f"positive weight; {wanted}"
        )
    asked = share[y > 0] if share.ndim else share
    if not ((asked > 0) & (asked <= 1)).all():
        raise ValueError(f"positive_share is {given!r}; {wanted}")
    return share if share.ndim else float(share)


def pooling_for(share, y) -> str:
    """The mean where most of a positive bag is expected to be positive, else the largest number."""
    if share is None:
        return "max"
    return "mean" if np.mean(share[y > 0] if np.ndim(share) else share) > 0.5 else "max"


def _chosen(model, bags, y, w) -> float:
    """The share of best accuracy on held-out training bags; the middle one among equals."""
    folds = min(3, int(min(np.sum(y > 0), np.sum(y < 0))))
    if folds < 2:
        raise ValueError(
            "positive_share='cv' needs two bags of each class to choose from; give a number instead"
        )
    cv = StratifiedKFold(folds, shuffle=True, random_state=model.random_state)
    part = clone(model).set_params(class_weight=None)
    scores = [
        cross_val_score(
            clone(part).set_params(positive_share=s), bags, y, cv=cv, params={"sample_weight": w}
        ).mean()
        for s in SHARES
    ]
    best = np.flatnonzero(scores == np.max(scores))
    return float(SHARES[best[len(best) // 2]])
