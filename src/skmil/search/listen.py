"""Answering on a port of this machine, by uvicorn."""

import os
import socket
from collections.abc import Callable, Iterable

import uvicorn

from skmil.search.routes import make_app
from skmil.search.server import Server


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens already: a port that is taken is said at once, and a browser waits for us."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if os.name == "posix":  # else a page that was open keeps the port for a minute after a restart
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen()
    except OSError as error:
        bound.close()
        raise ValueError(f"{host}:{port}: {error.strerror}; name another port with --port") from None
    return bound


def serve(
    server: Server,
    bound: socket.socket,
    host: str,
    allow: Iterable[str] = (),
    ready: Callable | None = None,
) -> None:
    """Answer until interrupted; ``ready`` is called with the address of the page."""
    port = bound.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    app = make_app(server, [*own_names(shown, port), *allow])
    if ready is not None:
        ready(f"http://{shown}:{port}/")
    try:
        uvicorn.Server(_config(app)).run(sockets=[bound])
    finally:
        server.ranker.stop()  # Python would wait for its threads


def own_names(host: str, port: int) -> list[str]:
    """What browsers send as ``Host``: the usual port of HTTP is not named there."""
    names = ("127.0.0.1", "localhost", "[::1]", host)
    return [f"{n}:{port}" for n in names] + (list(names) if port == 80 else [])


def _config(app) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
