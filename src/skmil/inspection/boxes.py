"""Box concepts that a person can read: which boxes a bag must hit, and which it must miss."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmil.bags import as_bags
from skmil.embeddings.boxes import BoxEmbedding
from skmil.inspection._axes import new_axes
from skmil.learners.gmil import GMIL1
from skmil.preprocessing import BagScaler


@dataclass(frozen=True)
class BoxConcept:
    """Boxes with weights, the heaviest first.

    Parameters
    ----------
    lower, upper : arrays (n_boxes, n_features)
        Corners in the units of the features; infinite where a box is free.
    weight : array (n_boxes,)
        What a bag gains by an instance in the box, in the decision value of a linear machine or in the sum
        of Winnow: positive for attraction boxes, which it should hit, negative for repulsion boxes, which
        it should miss.
    names : list of str
        Of the features.
    """

    lower: np.ndarray
    upper: np.ndarray
    weight: np.ndarray
    names: list[str]

    @property
    def attraction(self) -> "BoxConcept":
        """The boxes to hit."""
        return self._part(self.weight > 0)

    @property
    def repulsion(self) -> "BoxConcept":
        """The boxes to miss."""
        return self._part(self.weight < 0)

    def __len__(self) -> int:
        return len(self.weight)

    def __str__(self) -> str:
        return "\n".join(self._line(i) for i in range(len(self)))

    def _part(self, keep) -> "BoxConcept":
        return BoxConcept(self.lower[keep], self.upper[keep], self.weight[keep], self.names)

    def _line(self, i: int) -> str:
        bounds = [
            _bound(name, low, high)
            for name, low, high in zip(self.names, self.lower[i], self.upper[i], strict=True)
            if np.isfinite(low) or np.isfinite(high)
        ]
        word = "hit " if self.weight[i] > 0 else "miss"
        return f"{word} {self.weight[i]:+.3g}: {', '.join(bounds) or 'anywhere'}"


def box_concept(model, n_boxes: int | None = 10) -> BoxConcept:
    """The boxes that a model looks at, in the units of the features.

    Parameters
    ----------
    model : fitted ``GMIL1``, ``GMIL2``, ``BoxWinnow``, or a pipeline that ends in one of them or in a
    linear
        machine (one with ``coef_``) behind a ``BoxEmbedding``; of two classes
        Steps before may be ``BagScaler`` (but for lengths of 1), whose scaling is undone.
    n_boxes : int, optional
        How many, the heaviest first; all but those of weight 0 where None.

    Examples
    --------
    >>> from skmil.datasets import make_gmil
    >>> from skmil.inspection import box_concept
    >>> from skmil.learners import GMIL1
    >>> made = make_gmil(60, n_attraction=1, n_repulsion=0, random_state=0)
    >>> concept = box_concept(GMIL1(random_state=0).fit(made.data, made.target), n_boxes=1)
    >>> bool(concept.weight[0] > 0), concept.lower.shape
    (True, (1, 2))
    """
    check_is_fitted(model)
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    if len(model.classes_) > 2:
        raise ValueError(f"the model has {len(model.classes_)} classes; pass one of its estimators_")
    *before, last = steps
    if isinstance(last, GMIL1):
        lower, upper, weight = _of_winnow(last)
    else:
        units = [s for s in before if hasattr(s, "max_abs_")]
        *before, boxes = [s for s in before if s not in units]
        lower, upper, weight = _of_machine(boxes, units, last)
    for step in reversed(before):
        lower, upper = _unscaled(step, lower, upper)
    order = np.argsort(-np.abs(weight), kind="stable")[:n_boxes]
    order = order[weight[order] != 0]
    names = getattr(steps[0], "feature_names_in_", [f"x{k}" for k in range(lower.shape[1])])
    return BoxConcept(lower[order], upper[order], weight[order], [str(n) for n in names])


def plot_concept(concept: BoxConcept, features=(0, 1), *, X=None, y=None, ax=None):
    """Boxes in two features: those to hit in blue, those to miss in red, dark where they weigh much.

    Parameters
    ----------
    concept : BoxConcept
    features : (int, int)
    X, y : bags and labels, optional
        Their instances are drawn as points, those of positive bags (the larger label) filled.
    ax : matplotlib axes, optional

    Returns
    -------
    the axes
    """
    from matplotlib.patches import Rectangle

    ax = new_axes() if ax is None else ax
    a, b = features
    X = X if X is None else as_bags(X)
    values = X.instances[:, [a, b]] if X is not None else _finite(concept, features)
    ends = np.array([values.min(axis=0), values.max(axis=0)])
    low, high = ends + np.array([[-0.05], [0.05]]) * np.ptp(ends, axis=0)
    for i in np.argsort(np.abs(concept.weight)):
        corner = np.maximum(concept.lower[i, [a, b]], low)
        size = np.minimum(concept.upper[i, [a, b]], high) - corner
        alpha = 0.1 + 0.5 * abs(concept.weight[i]) / np.abs(concept.weight).max()
        color = "tab:blue" if concept.weight[i] > 0 else "tab:red"
        ax.add_patch(Rectangle(corner, *size, alpha=alpha, facecolor=color, edgecolor=color))
    if X is not None:
        inside = (
            np.zeros(len(values), bool) if y is None else np.repeat(np.asarray(y) == np.max(y), X.sizes)
        )
        ax.scatter(*values[inside].T, s=8, color="black")
        ax.scatter(*values[~inside].T, s=8, facecolors="none", edgecolors="black", linewidths=0.5)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set(xlabel=concept.names[a], ylabel=concept.names[b])
    return ax


def _of_winnow(model: GMIL1):
    """Corners, and by how much a hit raises the sum."""
    weight = model.size_ * (np.exp(model.hit_) - np.exp(model.missed_))
    return *model.grid_.edges(model.lower_, model.upper_), weight


def _of_machine(boxes, units, machine):
    """Corners, and by how much the first point in each box raises the decision value."""
    coef = np.ravel(getattr(machine, "coef_", []))
    if not isinstance(boxes, BoxEmbedding) or len(coef) != boxes.starts_[-1]:
        raise ValueError(
            "give a GMIL or Winnow machine, or a linear one of two classes behind a BoxEmbedding"
        )
    first = boxes.starts_[:-1]
    value = np.sqrt(boxes.weights_) * boxes.factor_
    for step in units:  # MaxAbsScaler
        value = value / step.scale_[first]
    return boxes.lower_, boxes.upper_, coef[first] * value


def _unscaled(step, lower, upper):
    if not isinstance(step, BagScaler) or step.method == "unit":
        raise ValueError(
            f"boxes cannot be carried back through {step!r}; put a BagScaler, or nothing, there"
        )
    return lower * step.scale_ + step.center_, upper * step.scale_ + step.center_


def _finite(concept: BoxConcept, features) -> np.ndarray:
    corners = np.vstack([concept.lower, concept.upper])[:, list(features)]
    ends = [c[np.isfinite(c)] for c in corners.T]
    return np.array([[c.min(), c.max()] if len(c) else [0.0, 1.0] for c in ends]).T


def _bound(name: str, low: float, high: float) -> str:
    if not np.isfinite(low):
        return f"{name} < {high:.4g}"
    return f"{name} > {low:.4g}" if not np.isfinite(high) else f"{low:.4g} < {name} < {high:.4g}"
