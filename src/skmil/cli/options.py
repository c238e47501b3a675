"""Options that several verbs share, each declared once."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(help="A file of bags, or the name of a data set.")]
Task = Annotated[str | None, typer.Option(help="classification or regression; told from the labels.")]
Name = Annotated[str, typer.Option("--method", "-m", help="A method; `skmil methods` lists them.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="A parameter: key=value; repeatable.")]


@dataclass(frozen=True)
class Reading:
    """How a file of bags is to be read."""

    bag: Annotated[str | None, typer.Option(help="Column with the bag ids: a name, or its number.")] = None
    label: Annotated[str | None, typer.Option(help="Column with the labels: a name, or its number.")] = None
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None
    decimal: Annotated[str, typer.Option(help="Decimal mark of a CSV: '.' or ','.")] = "."
    features: Annotated[int | None, typer.Option(help="Number of features of an .svm file.")] = None

    def options(self) -> dict:
        """As keywords of ``read_bags``."""
        return {
            "bag": self.bag,
            "label": self.label,
            "ignore": tuple(self.ignore or ()),
            "decimal": self.decimal,
            "n_features": self.features,
        }


def reads(verb: Callable) -> Callable:
    """Give a verb the options of ``Reading`` in place of its parameter ``read``."""
    own = inspect.signature(verb)
    names = [f.name for f in fields(Reading)]
    hints = inspect.get_annotations(Reading)
    more = [
        inspect.Parameter(
            f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name]
        )
        for f in fields(Reading)
    ]

    @wraps(verb)
    def call(*args, **named):
        read = Reading(**{n: named.pop(n) for n in names if n in named})
        return verb(*args, read=read, **named)

    kept = [
        p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.parameters.values() if p.name != "read"
    ]
    call.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in [*kept, *more]}
    return call
