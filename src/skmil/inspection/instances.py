"""A plot of which instances carried a bag."""

import numpy as np

from skmil.inspection._axes import new_axes
from skmil.inspection.explanation import AGAINST, FOR, explain


def plot_instances(model, X, i: int = 0, *, names=None, top: int = 30, ax=None):
    """Bar plot of how much the instances of one bag speak for its prediction, the strongest on top.

    Parameters
    ----------
    model, X, i, names : as in ``explain``
    top : how many instances to draw, from both ends
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    told = explain(model, X, i, names=names)
    first, last = told.shown(top)
    drawn = np.concatenate([first, last])
    if ax is None:
        ax = new_axes(6.4, 1.2 + 0.24 * len(drawn))
    support = told.support[drawn]
    places = np.arange(len(drawn)) + (np.arange(len(drawn)) >= len(first)) * 0.6  # a gap for those between
    ax.barh(places, support, color=np.where(support >= 0, FOR, AGAINST), height=0.7)
    labels = [told.names[k] + (" (witness)" if k == told.witness else "") for k in drawn]
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.axvline(0, color="0.4", linewidth=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(told.meaning)
    left = len(told.support) - len(drawn)
    ax.set_title(
        told.heading + (f"; {left} between not drawn" if left else ""), loc="left", fontsize="medium"
    )
    return ax
