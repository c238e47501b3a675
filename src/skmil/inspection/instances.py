"""Which instances carried a bag: a text and a plot."""

import numpy as np

from skmil.bags import as_bags
from skmil.inspection._axes import new_axes


def explain(model, X, i: int, *, names=None, top: int = 10) -> str:
    """The instances that count most for one bag, as text.

    Parameters
    ----------
    model : fitted method with ``score_instances``
    X : bags
    i : number of the bag
    names : one name per instance of all bags, optional
    top : how many instances to list

    Examples
    --------
    >>> import skmil
    >>> from skmil.inspection import explain
    >>> model = skmil.method("MI-Kernel").fit([[[0.0]], [[4.0], [0.0]]], ["no", "yes"])
    >>> print(explain(model, [[[0.2], [4.0]]], 0))
    bag 0: predicted yes
    instance ...
    """
    bags = as_bags(X)
    scores = _scores(model, bags, i)
    labels = _labels(bags, i, names)
    order = np.argsort(-np.abs(scores), kind="stable")[:top]
    width = max(8, *(len(labels[k]) for k in order))
    unit = np.abs(scores).max() or 1.0
    lines = [f"bag {bags.ids[i]}: predicted {model.predict(bags[i : i + 1])[0]}"]
    lines += [f"{'instance':{width}}  {'score':>10}"]
    for k in order:
        bar = ("+" if scores[k] >= 0 else "-") * round(30 * abs(scores[k]) / unit)
        lines.append(f"{labels[k]:{width}}  {scores[k]:10.4g}  {bar}".rstrip())
    left = len(scores) - len(order)
    return "\n".join(lines + [f"and {left} more"] * (left > 0))


def plot_instances(model, X, i: int, *, names=None, top: int = 30, ax=None):
    """Bar plot of the instance scores of one bag, strongest first.

    Parameters
    ----------
    model, X, i, names : as in ``explain``
    top : how many instances to draw
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    bags = as_bags(X)
    scores = _scores(model, bags, i)
    labels = _labels(bags, i, names)
    order = np.argsort(-np.abs(scores), kind="stable")[:top]
    if ax is None:
        ax = new_axes(6.4, 1.2 + 0.24 * len(order))
    colours = np.where(scores[order] >= 0, "#23618f", "#c2542f")
    ax.barh(np.arange(len(order)), scores[order], color=colours, height=0.7)
    ax.set_yticks(np.arange(len(order)), [labels[k] for k in order])
    ax.invert_yaxis()
    ax.axvline(0, color="0.4", linewidth=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("score of the instance")
    shown = f", strongest {len(order)} of {len(scores)}" if len(order) < len(scores) else ""
    ax.set_title(f"bag {bags.ids[i]}: predicted {model.predict(bags[i : i + 1])[0]}{shown}", loc="left")
    return ax


def _scores(model, bags, i) -> np.ndarray:
    if not hasattr(model, "score_instances"):
        raise TypeError(f"{type(model).__name__} has no score_instances; use a method of skmil")
    if not 0 <= i < len(bags):
        raise ValueError(f"no bag {i}; there are {len(bags)}, numbered from 0")
    return np.asarray(model.score_instances(bags[i : i + 1])[0])


def _labels(bags, i, names) -> list[str]:
    """Names of the instances of a bag; their numbers in the bag where there are none."""
    if names is None:
        return [str(k) for k in range(int(bags.sizes[i]))]
    return [str(n) for n in names[bags.offsets[i] : bags.offsets[i + 1]]]
