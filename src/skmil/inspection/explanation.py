"""Which instances carried a bag: first as data, then as text, a dictionary or HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from skmil.bags import as_source

FOR, AGAINST = "#23618f", "#c2542f"  # told apart by the colour-blind, too; signs say the same


@dataclass(frozen=True)
class Explanation:
    """What speaks for and against the prediction for one bag.

    Parameters
    ----------
    bag : id of the bag
    prediction : label or target
    decision : decision value for the predicted class; None for a regressor
    probability : of the prediction; None where the model has none
    support : array
        One number per instance: how much it speaks for the prediction, or raises it where it is a number.
    names : one per instance
    witness : number of the instance that decides alone, where the method has such a one; else None
    regression : whether the prediction is a number
    """

    bag: Any
    prediction: Any
    decision: float | None
    probability: float | None
    support: np.ndarray
    names: tuple[str, ...]
    witness: int | None
    regression: bool

    @property
    def order(self) -> np.ndarray:
        """Numbers of the instances, the one that speaks most for the prediction first."""
        return np.argsort(-self.support, kind="stable")

    @property
    def heading(self) -> str:
        """The prediction in one line."""
        told = []
        if self.decision is not None:
            told.append(f"decision value {self.decision:.4g} for it")
        if self.probability is not None:
            told.append(f"probability {self.probability:.2f}")
        shown = f"{self.prediction:.6g}" if self.regression else str(self.prediction)
        return f"bag {self.bag}: predicted {shown}" + (f" ({', '.join(told)})" if told else "")

    @property
    def meaning(self) -> str:
        """What a positive number of ``support`` says."""
        return "raises the prediction" if self.regression else f"speaks for {self.prediction}"

    def shown(self, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of ``order``, ``top`` instances in all: two thirds for, one third against."""
        if top < 1:
            raise ValueError(f"top is {top}; ask for at least one instance")
        n = len(self.support)
        if n <= top:
            return self.order, self.order[:0]
        last = top // 3
        return self.order[: top - last], self.order[n - last :]

    def to_text(self, top: int = 10) -> str:
        """A line per instance: the strongest for, then the strongest against the prediction."""
        first, last = self.shown(top)
        width = max(8, *(len(self.names[k]) for k in (*first, *last)))
        lines = [self.heading, f"{'instance':{width}}  {self.meaning}"]
        lines += [self._line(k, width) for k in first]
        left = len(self.support) - len(first) - len(last)
        lines += [f"... {left} between"] * (left > 0)
        return "\n".join(lines + [self._line(k, width) for k in last])

    def to_dict(self) -> dict:
        """Plain values, the strongest instance first."""
        instances = [
            {"instance": int(k), "name": self.names[k], "support": float(self.support[k])}
            | ({"witness": True} if k == self.witness else {})
            for k in self.order
        ]
        prediction = self.prediction.item() if hasattr(self.prediction, "item") else self.prediction
        return {
            "bag": str(self.bag),
            "prediction": prediction,
            "decision": self.decision,
            "probability": self.probability,
            "meaning": self.meaning,
            "instances": instances,
        }

    def to_html(self, top: int = 30) -> str:
        """A table with a bar per instance, to put into a page."""
        first, last = self.shown(top)
        left = len(self.support) - len(first) - len(last)
        rows = "".join(self._row(k) for k in first)
        rows += f'<tr><td colspan="3">{left} between</td></tr>' if left else ""
        rows += "".join(self._row(k) for k in last)
        return (
            f"<table class='explanation'><caption>{escape(self.heading)}</caption>"
            f"<thead><tr><th>instance</th><th>{escape(self.meaning)}</th><th></th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    def _length(self, k: int) -> float:
        """Length of the bar of an instance, relative to the longest."""
        return float(abs(self.support[k]) / (np.abs(self.support).max() or 1.0))

    def _line(self, k: int, width: int) -> str:
        bar = ("+" if self.support[k] >= 0 else "-") * round(30 * self._length(k))
        mark = "  <- witness" if k == self.witness else ""
        return f"{self.names[k]:{width}}  {self.support[k]:10.4g}  {bar}".rstrip() + mark

    def _row(self, k: int) -> str:
        colour = FOR if self.support[k] >= 0 else AGAINST
        bar = (
            f'<div style="background:{colour};height:.8em;width:{12 * self._length(k):.2f}em" '
            f'role="img" aria-label="{"for" if self.support[k] >= 0 else "against"}"></div>'
        )
        mark = " <b>witness</b>" if k == self.witness else ""
        name = escape(self.names[k])
        return f"<tr><td>{name}{mark}</td><td>{self.support[k]:.4g}</td><td>{bar}</td></tr>"


def explain(model, X, i: int = 0, *, names=None) -> Explanation:
    """Explain the prediction for one bag by its instances.

    Parameters
    ----------
    model : fitted method with ``score_instances``
    X : bags
    i : number of the bag
    names : one name per instance of all bags, optional

    Examples
    --------
    >>> import skmil
    >>> from skmil.inspection import explain
    >>> model = skmil.method("MI-Kernel").fit([[[0.0]], [[4.0], [0.0]]], ["no", "yes"])
    >>> told = explain(model, [[[0.2], [4.0]]])
    >>> told.order, told.meaning
    (array([1, 0]), 'speaks for yes')
    """
    bags = as_source(X, missing=True)
    if not 0 <= i < len(bags):
        raise ValueError(f"no bag {i}; there are {len(bags)}, numbered from 0")
    own = None if names is None else names[bags.offsets[i] : bags.offsets[i + 1]]
    return explain_all(model, bags[i : i + 1], names=own)[0]


def explain_all(model, X, *, names=None) -> list[Explanation]:
    """``explain`` for every bag, at the cost of one call of the model."""
    if not hasattr(model, "score_instances"):
        raise TypeError(f"{type(model).__name__} has no score_instances; use a method of skmil")
    bags = as_source(X, missing=True)
    predicted, scores = model.predict(bags), model.score_instances(bags)
    regression = is_regressor(model)
    decisions = None if regression else _decisions(model, bags, predicted)
    chances = _chances(model, bags, predicted)
    has_witness = getattr(model, "has_witness", False)
    cuts = zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
    return [
        Explanation(
            bags.ids[i],
            predicted[i],
            None if decisions is None else float(decisions[i]),
            None if chances is None else float(chances[i]),
            _support(model, np.asarray(scores[i]), predicted[i]),
            _names(names, start, stop),
            _witness(model, scores[i]) if has_witness else None,
            regression,
        )
        for i, (start, stop) in enumerate(cuts)
    ]


def _support(model, scores: np.ndarray, predicted) -> np.ndarray:
    """Scores speak for ``classes_[1]`` of two classes, and for the predicted one of more."""
    classes = list(getattr(model, "classes_", []))
    return -scores if len(classes) == 2 and predicted == classes[0] else scores


def _witness(model, scores) -> int:
    """The instance that speaks most for the positive class: of two, scores speak for ``classes_[1]``."""
    two = len(getattr(model, "classes_", [])) == 2
    return int(np.argmin(scores) if two and getattr(model, "positive_", 1) == 0 else np.argmax(scores))


def _decisions(model, bags, predicted) -> np.ndarray | None:
    """Decision values for the predicted class."""
    if not hasattr(model, "decision_function"):
        return None
    values = np.asarray(model.decision_function(bags))
    if values.ndim == 1:
        return np.where(predicted == model.classes_[1], values, -values)
    return values[np.arange(len(bags)), _codes(model, predicted)]


def _chances(model, bags, predicted) -> np.ndarray | None:
    if not hasattr(model, "predict_proba"):
        return None
    return model.predict_proba(bags)[np.arange(len(bags)), _codes(model, predicted)]


def _codes(model, predicted) -> np.ndarray:
    return np.searchsorted(model.classes_, predicted)


def _names(names: Sequence | None, start: int, stop: int) -> tuple[str, ...]:
    """Names of the instances of a bag; their numbers in the bag where there are none."""
    if names is None:
        return tuple(str(k) for k in range(stop - start))
    return tuple(str(n) for n in names[start:stop])
