"""The trace of an annealed SVM."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmil.inspection._axes import new_axes


def plot_annealing(model, *, axes=None):
    """Objective, and how undecided the instances were, at each alternation.

    Parameters
    ----------
    model : fitted ``AnnealedSVM`` (or pipeline that ends in one) of two classes
        For more classes, pass one of its ``estimators_``.
    axes : two matplotlib axes, optional

    Returns
    -------
    array of two axes
        Above the objective without the entropy term; below the entropy per instance, and on a scale of its
        own the temperature. Steps at temperature 0 are shaded.

    Examples
    --------
    >>> from skmil.datasets import make_annealing_toy
    >>> from skmil.inspection import plot_annealing
    >>> from skmil.learners import AnnealedSVM
    >>> model = AnnealedSVM(C=100, gamma=0.5).fit(*make_annealing_toy(random_state=0, return_X_y=True))
    >>> top, bottom = plot_annealing(model)
    >>> top.get_ylabel()
    'objective'
    """
    check_is_fitted(model)
    if not hasattr(model, "history_"):
        raise ValueError("the model has no single trace; pass one of its estimators_")
    history = model.history_
    top, bottom = new_axes(6, 5, rows=2) if axes is None else axes
    step = np.arange(1, len(history["objective"]) + 1)
    top.plot(step, history["objective"], color="C0")
    top.set_ylabel("objective")
    bottom.plot(step, history["entropy"], color="C1", label="entropy")
    bottom.set_ylabel("entropy per instance", color="C1")
    bottom.set_xlabel("alternation")
    _draw_temperature(bottom, step, history["temperature"])
    for ax in (top, bottom):
        ax.axvspan(
            step[-1] + 0.5 - np.sum(history["temperature"] == 0), step[-1] + 0.5, color="0.9", zorder=0
        )
    return np.array([top, bottom])


def _draw_temperature(ax, step, T) -> None:
    warm = T > 0
    if warm.any():
        right = ax.twinx()
        right.plot(step[warm], T[warm], color="C3", linestyle="--")
        right.set_yscale("log")
        right.set_ylabel("temperature", color="C3")
