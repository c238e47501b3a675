"""What an estimator asks of bags, labels and weights, and remembers of them: the schema of a model."""

import warnings

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from skmil._checks import check_lengths, check_targets, is_frame, is_table, refuse_table, remember
from skmil._parameters import start_fit
from skmil.bags import Bags, as_bags, as_source


class TableWarning(UserWarning):
    """Something was fitted on one 2-D table: each of its rows is a bag of one instance."""


def check_bags(estimator, X, *, reset: bool, tables: bool = False, stream: bool | None = None) -> Bags:
    """``as_bags`` for an estimator, which remembers (``reset``) or asks for the same features.

    Part of a fitted estimator are the number, names and order of its features (``n_features_in_``,
    ``feature_names_in_`` where the bags have names), whether they were sparse (``sparse_in_``) and the size
    of the largest bag (``largest_bag_in_``). Later bags with the same names in another order are put in
    order, dense ones made sparse and sparse ones dense.

    ``tables`` takes a 2-D table, each row a bag of one instance, without a word. Where ``stream`` is true
    (the estimator's ``_streams`` where not given) a store comes back as it is, else loaded. An estimator
    without code for float32 (``_keeps_float32``) gets float64. With ``reset`` a fit begins: parameters are
    checked, and what an earlier fit has learned is forgotten.
    """
    if reset:
        start_fit(estimator)
    stream = getattr(estimator, "_streams", False) if stream is None else stream
    missing = getattr(estimator, "_takes_missing", False)
    bags = as_source(X, missing) if stream else as_bags(X, missing)
    bags = bags if getattr(estimator, "_keeps_float32", False) else bags.astype(np.float64)
    if reset:
        if not tables and is_table(X):
            _warn_table(bags)
        validate_data(estimator, X if is_frame(X) else bags, skip_check_array=True)
        remember(estimator, bags)
        return bags
    if not tables and is_table(X):
        refuse_table(estimator, bags)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and bags.feature_names is not None and not is_frame(X):
        bags = bags.with_features(names, type(estimator).__name__)  # scikit-learn wants frames in order
    else:
        validate_data(estimator, X if is_frame(X) else bags, reset=False, skip_check_array=True)
    was_sparse = getattr(estimator, "sparse_in_", bags.is_sparse)
    return bags if was_sparse == bags.is_sparse else bags.to_sparse() if was_sparse else bags.to_dense()


def _warn_table(bags: Bags) -> None:
    warnings.warn(
        f"each row of the table ({len(bags)} rows) counts as a bag of one instance; for larger bags "
        "pass a list of 2-D arrays or Bags.from_table(table, bag_ids)",
        TableWarning,
        stacklevel=4,
    )


def check_bags_y(estimator, X, y, *, classification: bool):
    """Check bags and labels for ``fit``: (bags, codes, classes), or (bags, y, None) to regress."""
    bags = check_bags(estimator, X, reset=True)
    return bags, *check_labels(estimator, bags, y, classification=classification)


def check_labels(estimator, bags: Bags, y, *, classification: bool):
    """One label per bag as (codes, classes), or one target per bag as (y, None)."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    y = check_lengths(y, bags)
    if not classification:
        return check_targets(y), None
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"all {len(y)} bags are of one class, {str(classes[0])!r}; a classifier needs two")
    return codes, classes


def check_weights(sample_weight, bags: Bags) -> np.ndarray:
    """Check one weight per bag; ones where ``None``."""
    n = len(bags)
    sample_weight = None if sample_weight is None else np.asarray(sample_weight)
    if sample_weight is not None and sample_weight.shape not in [(), (n,)]:
        raise ValueError(f"{n} bags but sample_weight has shape {sample_weight.shape}")
    w = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64)
    if (w < 0).any():
        i = int(np.argmax(w < 0))
        raise ValueError(f"the weight of {bags.describe(i)} is {w[i]:g}; weights are not negative")
    return w
