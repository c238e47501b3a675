"""The verb ``search``: a page that finds things like the marked ones."""

import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from skmil.cli.options import Name, Settings
from skmil.cli.support import err, out, settings
from skmil.cli.things import only_source, reading
from skmil.registry import find, methods
from skmil.search import Collection, Index
from skmil.sources.find import SOURCES


def search(
    collection: Annotated[
        Path,
        typer.Argument(
            metavar="COLLECTION", help="A folder or file of things, or bags in a file or a .zarr."
        ),
    ],
    name: Name = "auto",
    port: Annotated[
        int, typer.Option(metavar="N", help="Port of the page; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to answer on; other machines reach others.")
    ] = "127.0.0.1",
    allow: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A Host (NAME:PORT) to answer to; repeatable.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    index: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to keep the index; beside the collection.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="KIND", help=f"What things are: {', '.join(SOURCES)}; told from the content."),
    ] = None,
    set_: Settings = None,
) -> None:
    """Find things like these on a page that learns from your marks.

    Marks are kept beside the collection; Ctrl-C ends the page and loses none.
    """
    if name not in methods("classification"):
        find(name)
        raise ValueError(f"{name} has no form for classification")
    listen = _listen()
    opened = Index(collection, source, only_source(settings(set_ or [])), index)
    with listen.listening(host, port) as bound:
        with reading(source or "index"):
            found = opened.open()
        _tell_of(opened, found)
        if host not in ("127.0.0.1", "::1", "localhost"):
            _tell(f"warning: everybody who can reach {host} can see and mark this collection")
        listen.serve(listen.Server(opened, found, name), bound, host, allow or (), partial(_ready, browser))


def _listen():
    """What needs the extra ``search``, before anything is indexed."""
    try:
        from skmil.search import listen
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise ImportError(f"the search page needs {error.name}: pip install 'skmil[search]'") from None
    return listen


def _ready(browser: bool, address: str) -> None:
    out.print(address, highlight=False, soft_wrap=True)
    if browser:
        webbrowser.open(address)


def _tell_of(index: Index, found: Collection) -> None:
    """What the collection is, and what is not in it."""
    _tell(f"{index.path}: {len(found)} {found.kind}; {index.changes}")
    if found.failures:
        first = found.failures[0]
        _tell(f"{len(found.failures)} left out, such as {first.name}: {first.reason}")
    if index.ignored:
        _tell(f"{len(index.ignored)} files left out, such as {index.ignored[0]}")


def _tell(text: str) -> None:
    err.print(text, highlight=False, markup=False, soft_wrap=True)
