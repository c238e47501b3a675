"""Predictions of a fold -> scores."""

import warnings

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)


def decision_values(model, bags) -> np.ndarray | None:
    """One number per bag: for the second of two classes, for the winning one of more; or None."""
    values = decisions(model, bags)
    if values is None or values.ndim == 1:
        return values
    return values[:, 1] if values.shape[1] == 2 else values.max(axis=1)


def decisions(model, bags) -> np.ndarray | None:
    """What a model decides by: one number per bag, or one per bag and class; None where it has none."""
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(bags), dtype=float)
    return None


def regression_scores(true, predicted) -> dict[str, float | None]:
    """R² (None for a single bag), root mean squared and mean absolute error."""
    return {
        "r2": float(r2_score(true, predicted)) if len(true) > 1 else None,
        "rmse": float(root_mean_squared_error(true, predicted)),
        "mae": float(mean_absolute_error(true, predicted)),
    }


def class_scores(true, predicted, decision, classes) -> dict[str, float | None]:
    """Accuracy, balanced accuracy over the classes of the fold, and AUC.

    ``decision`` has one number per bag, for the second of two ``classes``, or a column for each of them.
    """
    with warnings.catch_warnings():
        # A fold may lack a class that is predicted there: balanced accuracy is over those present.
        warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
        warnings.filterwarnings("ignore", message="A single label was found")
        return {
            "accuracy": float(accuracy_score(true, predicted)),
            "balanced_accuracy": float(balanced_accuracy_score(true, predicted)),
            "auc": area_under_curve(np.asarray(true), decision, classes),
        }


def area_under_curve(true: np.ndarray, decision: np.ndarray | None, classes) -> float | None:
    """AUC of two classes; of more, the mean of each against the rest, as far as the fold holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil._scores import area_under_curve
    >>> scores = np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    >>> area_under_curve(np.array([0, 1, 2]), scores, [0, 1, 2])
    1.0
    """
    if decision is None:
        return None
    if decision.ndim == 2 and decision.shape[1] == 2:
        decision = decision[:, 1]
    if decision.ndim == 1:
        columns = {classes[1]: decision} if len(classes) == 2 else {}
    else:
        columns = dict(zip(classes, decision.T, strict=True)) if len(classes) == decision.shape[1] else {}
    areas = [
        roc_auc_score(true == c, values)
        for c, values in columns.items()
        if 0 < (true == c).sum() < len(true)
    ]
    return float(np.mean(areas)) if areas else None
