"""Explanations as one page that needs nothing else: no file, no font and no script from outside."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from skmil.inspection._dom import Element, h
from skmil.inspection.drawings import LEVELS, drawing, part_name, shade, strength_of

if TYPE_CHECKING:
    from skmil.inspection.things import ThingExplanation

_ROWS = 30  # instances in the table of a thing


def page(
    explanations: "Sequence[ThingExplanation]",
    title: str = "skmil explains",
    leaderboard: Sequence[dict] = (),
) -> str:
    """All explanations on one page, in their order; at the end the leaderboard of the model."""
    if not explanations:
        raise ValueError("no explanations, so there is nothing to show")
    style = _file("page.css") + "".join(_shades())
    script = _file("page.js")
    rule = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = h(
        "head", h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=rule),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("title", f"{title}: {explanations[0].told.bag}" if len(explanations) == 1 else title),
        h("style", style),
    )  # fmt: skip
    articles = [*(_article(e, k) for k, e in enumerate(explanations)), _views(leaderboard)]
    body = h("body", _header(title, explanations), _slider(), h("main", *articles), h("script", script))
    return f"<!doctype html>\n{h('html', head, body, lang='en')}\n"


def _header(title: str, explanations) -> Element:
    links = [
        h("a", f"{e.told.bag}: {_prediction(e)}", href=f"#t{k}")
        for k, e in enumerate(explanations)
        if len(explanations) > 1
    ]
    legend = h(
        "p", h("span", "+ speaks for the prediction", class_="key part for s9"), " ",
        h("span", "− speaks against it", class_="key part against s9"),
    )  # fmt: skip
    return h("header", h("h1", title), h("nav", *links) if links else None, legend)


def _slider() -> Element:
    """The threshold, which stays in view while the page scrolls."""
    return h("div", h(
        "label", "hide what is weaker than ", h("output", "0 %", id="level"), " of the strongest part",
        h("input", type="range", id="threshold", min=0, max=100, value=0),
    ), class_="slider")  # fmt: skip


def _article(e: "ThingExplanation", k: int) -> Element:
    told = []
    if e.told.decision is not None:
        told.append(f"decision value {e.told.decision:.4g}")
    if e.told.probability is not None:
        told.append(f"probability {e.told.probability:.2f}")
    return h(
        "article", h("h2", str(e.told.bag)),
        h("p", "predicted ", h("b", _prediction(e)), f" ({', '.join(told)})" if told else ""),
        drawing(e.parts, e.told.support), _table(e), _alike(e), id=f"t{k}",
    )  # fmt: skip


def _prediction(e) -> str:
    return f"{e.told.prediction:.6g}" if e.told.regression else str(e.told.prediction)


def _table(e) -> Element:
    first, last = e.told.shown(_ROWS)
    unit = np.abs(e.told.support).max() or 1.0
    what = part_name(e.parts)
    rows = [_row(e, int(k), unit) for k in first]
    left = len(e.told.support) - len(first) - len(last)
    if left:
        rows.append(h("tr", h("td", f"{left} between", colspan=3, class_="soft")))
    rows += [_row(e, int(k), unit) for k in last]
    head = h("tr", h("th", what), h("th", e.told.meaning), h("th", "", aria_hidden="true"))
    return h("table", h("thead", head), h("tbody", *rows))


def _row(e, k: int, unit: float) -> Element:
    value = float(e.told.support[k])
    mark = h("b", " witness") if k == e.told.witness else None
    bar = h(
        "rect", x=0, y=2, width=f"{100 * abs(value) / unit:.1f}", height=10, class_=shade(value) + " bar"
    )
    picture = h(
        "svg", bar, viewBox="0 0 100 14", class_="bars", preserveAspectRatio="none", aria_hidden="true"
    )
    return h(
        "tr", h("td", e.told.names[k], mark), h("td", f"{value:+.4g}"), h("td", picture),
        data_strength=strength_of(value / unit), data_part=k,
    )  # fmt: skip


def _alike(e) -> Element | None:
    if not e.alike:
        return None
    items = [
        h("li", str(n.bag), h("span", f" {n.label}" if n.label is not None else "", class_="soft"),
          f" {n.similarity:.2f}")
        for n in e.alike
    ]  # fmt: skip
    return h("section", h("h3", "Training bags it is most like"), h("ol", *items))


def _views(rows: Sequence[dict]) -> Element | None:
    if not rows:
        return None
    head = h("tr", h("th", "view"), h("th", "weight"), h("th", ""))
    body = [
        h("tr", h("td", row["part"]), h("td", f"{row['weight']:.2f}"), h("td", row["note"], class_="soft"))
        for row in rows
    ]
    table = h("table", h("thead", head), h("tbody", *body))
    return h("section", h("h2", "What the model looked at"), table)


def _shades() -> list[str]:
    """One rule per shade, so that no element needs a style of its own."""
    rules = []
    for k in range(LEVELS + 1):
        share = 0.06 + 0.54 * k / LEVELS
        rules.append(f".s{k}{{--share:{share:.2f};}}")
    return rules


def _file(name: str) -> str:
    return files("skmil.inspection").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
