"""Answering on a port of this machine, by uvicorn."""

import socket
from collections.abc import Callable, Iterable

import uvicorn

from skmil.search.routes import make_app
from skmil.search.server import Server


def serve(
    server: Server, host: str, port: int, allow: Iterable[str] = (), ready: Callable | None = None
) -> None:
    """Answer until interrupted; ``ready`` is called with the address of the page."""
    with _listening(host, port) as bound:
        port = bound.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        app = make_app(server, [*_own_names(shown, port), *allow])
        if ready is not None:
            ready(f"http://{shown}:{port}/")
        try:
            uvicorn.Server(_config(app)).run(sockets=[bound])
        finally:
            server.ranker.stop()  # Python would wait for its threads


def _config(app) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens already, so that a browser that is told the address waits for us."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.bind((host, port))
        bound.listen()
    except OSError as error:
        bound.close()
        raise ValueError(f"{host}:{port}: {error.strerror}; name another port with --port") from None
    return bound


def _own_names(host: str, port: int) -> list[str]:
    """What browsers send as ``Host``: the usual port of HTTP is not named there."""
    names = ("127.0.0.1", "localhost", "[::1]", host)
    return [f"{n}:{port}" for n in names] + (list(names) if port == 80 else [])
