"""Options that several verbs share, each declared once."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from functools import wraps
from typing import Annotated, get_type_hints

import typer

from skmil.sources.find import SOURCES

Data = Annotated[
    str, typer.Argument(help="A file of bags, a folder or file of things, or the name of a data set.")
]
Task = Annotated[str | None, typer.Option(help="classification or regression; told from the labels.")]
Name = Annotated[str, typer.Option("--method", "-m", help="A method; `skmil methods` lists them.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="A parameter: key=value; repeatable.")]
Impute = Annotated[
    str | None,
    typer.Option(help="Fill in missing values: median, mean or most_frequent of the training instances."),
]


@dataclass(frozen=True)
class Reading:
    """How a file of bags is to be read: the options of every verb that reads one."""

    bag: Annotated[
        str | None, typer.Option(help="Column with the bag ids: a name, or a number from 0.")
    ] = None
    label: Annotated[str | None, typer.Option(help="Column with the labels: a name, or a number.")] = None
    instance: Annotated[str | None, typer.Option(help="Column with names of instances.")] = None
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None
    decimal: Annotated[str | None, typer.Option(help="Decimal mark of a table: '.' or ','.")] = None
    features: Annotated[int | None, typer.Option(help="Number of features of a sparse text.")] = None
    source: Annotated[
        str | None, typer.Option(help=f"What things are: {', '.join(SOURCES)}; told from the content.")
    ] = None
    labels: Annotated[
        str | None, typer.Option(help="Table of names and labels, where subfolders do not say them.")
    ] = None

    def options(self) -> dict:
        """As keywords of ``read_bags``."""
        return {
            "bag": self.bag,
            "label": self.label,
            "instance": self.instance,
            "ignore": tuple(self.ignore or ()),
            "decimal": self.decimal,
            "n_features": self.features,
        }

    def completed(self, bag: str | None, label: str | None) -> "Reading":
        """The same, with the columns of the training data where none were named."""
        return replace(self, bag=self.bag or bag, label=self.label or label)


def reads(verb: Callable) -> Callable:
    """Give a verb the options of ``Reading`` in place of its parameter ``read``."""
    hints = get_type_hints(Reading, include_extras=True)
    more = [_keyword(f.name, hints[f.name], f.default) for f in fields(Reading)]
    own = [
        _keyword(p.name, p.annotation, p.default)
        for p in inspect.signature(verb).parameters.values()
        if p.name != "read"
    ]

    @wraps(verb)
    def call(**named):
        read = Reading(**{p.name: named.pop(p.name) for p in more})
        return verb(read=read, **named)

    call.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in [*own, *more]}
    return call


def _keyword(name: str, annotation, default) -> inspect.Parameter:
    empty = default is inspect.Parameter.empty or default is MISSING
    default = inspect.Parameter.empty if empty else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
