"""Options that several verbs share, each declared once."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, get_type_hints

import typer

from skmil.sources.find import SOURCES

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file of bags, a folder or file of things, the name of a data set, or - for a table "
        "from the standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `skmil fit` wrote.")]
Target = Annotated[
    Path, typer.Argument(metavar="TARGET", help="Where to write; its ending says the format, - is a CSV.")
]
Task = Annotated[
    str | None, typer.Option(metavar="TASK", help="classification or regression; told from the labels.")
]
Name = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help="A method; `skmil methods` lists them.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter; repeatable.")
]
STATISTICS = ("median", "mean", "most_frequent")


def _statistic(name: str | None) -> str | None:
    """A statistic that fills in missing values, by its name."""
    if name is not None and name not in STATISTICS:
        raise ValueError(f"--impute {name}: give one of {', '.join(STATISTICS)}")
    return name


Impute = Annotated[
    str | None,
    typer.Option(
        metavar="STATISTIC",
        callback=_statistic,
        help=f"Fill in missing values with a statistic of the training instances: {', '.join(STATISTICS)}.",
    ),
]


@dataclass(frozen=True)
class Reading:
    """How a file of bags is to be read: the options of every verb that reads one."""

    bag: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the bag ids: a name, or a number from 0."),
    ] = None
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the labels: a name, or a number.")
    ] = None
    instance: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with names of instances.")
    ] = None
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; repeatable.")
    ] = None
    decimal: Annotated[
        str | None, typer.Option(metavar="MARK", help="Decimal mark of a table: '.' or ','.")
    ] = None
    features: Annotated[
        int | None, typer.Option(metavar="N", help="Number of features of a sparse text.")
    ] = None
    source: Annotated[
        str | None,
        typer.Option(metavar="KIND", help=f"What things are: {', '.join(SOURCES)}; told from the content."),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Table of names and labels, where subfolders do not say them."),
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

    def is_table(self, path: Path) -> bool:
        """Whether what was said is said of a table with a row per instance."""
        named = self.bag or self.instance or self.ignore
        return bool(named) and self.source is None and not path.is_dir()

    @property
    def columns(self) -> dict[str, str | list[str] | None]:
        """The columns that were named, for a model to remember."""
        return {"bag": self.bag, "label": self.label, "instance": self.instance, "ignore": self.ignore}

    def completed(self, known: dict) -> "Reading":
        """The same, with the columns of the training data where none were named."""
        return replace(self, **{k: v for k, v in known.items() if not getattr(self, k)})


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
