"""HTML and SVG as a tree; all its texts and attributes are escaped in one place, when it is written."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

_EMPTY = ("meta", "input", "img", "br")
_RAW = ("style", "script")  # written as they are: only our own files go in there


@dataclass(frozen=True)
class Element:
    """A tag, its attributes and what is inside: elements and texts."""

    tag: str
    attributes: dict[str, Any] = field(default_factory=dict)
    children: tuple[Any, ...] = ()

    def __str__(self) -> str:
        written = "".join(
            f" {name}" if value is True else f' {name}="{escape(str(value))}"'
            for name, value in self.attributes.items()
            if value is not None and value is not False
        )
        if self.tag in _EMPTY:
            return f"<{self.tag}{written}>"
        inside = "".join(_text(c, self.tag) for c in self.children)
        return f"<{self.tag}{written}>{inside}</{self.tag}>"


def h(tag: str, *children, **attributes) -> Element:
    """An element; ``class_`` and ``data_x`` stand for ``class`` and ``data-x``, ``None`` is left out."""
    named = {k.rstrip("_").replace("_", "-"): v for k, v in attributes.items()}
    return Element(tag, named, tuple(c for c in children if c is not None))


def _text(child, tag: str) -> str:
    if isinstance(child, Element):
        return str(child)
    if tag in _RAW:
        if f"</{tag}" in str(child):
            raise ValueError(f"a {tag} cannot hold its own end")
        return str(child)
    return escape(str(child))
