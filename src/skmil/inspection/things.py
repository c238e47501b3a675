"""Explanations that show the thing itself, shaded by what its parts say about the prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from skmil.inspection.alike import Neighbour, RememberBags
from skmil.inspection.drawings import part_labels
from skmil.inspection.explanation import Explanation, explain_all
from skmil.inspection.page import page
from skmil.learners import BagPipeline


@dataclass(frozen=True)
class ThingExplanation:
    """What the parts of a thing say about its prediction.

    Parameters
    ----------
    told : Explanation
        Prediction, decision value and what each instance says.
    parts : where the instances lie in the thing (``skmil.sources.Regions``, ``Spans``, ...), or None
    alike : training bags that the thing is most like; empty where the model kept none
    """

    told: Explanation
    parts: Any = None
    alike: tuple[Neighbour, ...] = ()

    def to_text(self, top: int = 10) -> str:
        """As ``Explanation.to_text``, and the training bags it is most like."""
        near = [f"{n.bag} ({n.label}, {n.similarity:.2f})" for n in self.alike]
        return "\n".join([self.told.to_text(top)] + [f"most like {', '.join(near)}"] * bool(near))

    def to_dict(self) -> dict:
        """Plain values."""
        alike = [
            {"bag": str(n.bag), "label": _plain(n.label), "similarity": n.similarity} for n in self.alike
        ]
        return self.told.to_dict() | {"alike": alike}

    def to_html(self) -> str:
        """A page of its own that needs nothing else."""
        return page([self])

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        # A frame keeps the styles of page and notebook apart; its scripts cannot reach outside.
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" sandbox="allow-scripts" '
            'style="width:100%;height:36rem;border:0"></iframe>'
        )


def explain_things(model, things: Sequence, *, n_alike: int = 5) -> list[ThingExplanation]:
    """Explain the predictions for things by their parts.

    Parameters
    ----------
    model : fitted pipeline whose first step is a source
        A step ``RememberBags`` after the source lets the explanation name similar training things.
    things : list of things, as the source takes them
    n_alike : how many similar training things to name

    Examples
    --------
    >>> import numpy as np, skmil
    >>> from sklearn.pipeline import make_pipeline
    >>> from skmil.inspection import explain_things
    >>> from skmil.sources import ImageBags
    >>> dark, bright = np.zeros((16, 16, 3)), np.ones((16, 16, 3))
    >>> model = make_pipeline(ImageBags(), skmil.method("Simple-MI")).fit([dark, bright], ["no", "yes"])
    >>> print(explain_things(model, [bright])[0].told.prediction)
    yes
    """
    steps = getattr(model, "steps", [])
    if not steps or not hasattr(steps[0][1], "parts"):
        raise TypeError("the model does not begin with a source; use skmil.inspection.explain for bags")
    source, rest = steps[0][1], BagPipeline(steps[1:])
    bags, parts = source.transform_with_parts(things)
    return explain_parts(rest, bags, parts, n_alike)


def explain_parts(
    model, bags, parts: Sequence | None, n_alike: int = 5, names=None
) -> list[ThingExplanation]:
    """``explain_things`` where bags and parts, or only the names of instances, are there already."""
    names = names if parts is None else [n for p in parts for n in part_labels(p)]
    told = explain_all(model, bags, names=names)
    memory = next((s for _, s in getattr(model, "steps", []) if isinstance(s, RememberBags)), None)
    alike = [[] for _ in told] if memory is None else memory.alike(bags, n_alike)
    shown = [None] * len(told) if parts is None else parts
    return [ThingExplanation(t, p, tuple(a)) for t, p, a in zip(told, shown, alike, strict=True)]


def _plain(value):
    return value.item() if hasattr(value, "item") else value
