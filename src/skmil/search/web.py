"""Requests to plain values and back: limits, kinds, one line about what is wrong."""

import json
from collections.abc import Callable
from functools import wraps
from importlib.resources import files
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from skmil.search.session import NoSearch


def answer(function: Callable, limit: int = 0):
    """A route from a plain function; what is wrong with a request is said in one line."""

    @wraps(function)
    async def route(request: Request) -> Response:
        body = await _body(request, limit)
        try:
            found = await run_in_threadpool(function, request, body)
        except ValueError as error:
            code = 404 if isinstance(error, NoSearch) else 400
            raise HTTPException(code, " ".join(str(error).split())[:500]) from None
        return found if isinstance(found, Response) else JSONResponse(found)

    return route


async def _body(request: Request, limit: int) -> bytes:
    """All bytes of a request; where they are too many, as announced or as they come, no more is read."""
    announced = request.headers.get("content-length", "0")
    too_many = HTTPException(413, f"more than {limit} bytes; send less")
    if len(announced) > 18 or (announced.isdecimal() and int(announced) > limit):
        raise too_many
    parts, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise too_many
        parts.append(chunk)
    return b"".join(parts)


async def said(request: Request, error: Any) -> Response:
    """An error as JSON, in one line."""
    return JSONResponse({"error": plain(error.detail)}, error.status_code)


def static(name: str, kind: str):
    """A route to a file of the page."""

    async def route(request: Request) -> Response:
        return Response(files("skmil.search").joinpath("page", name).read_bytes(), media_type=kind)

    return route


def download(content, kind: str, name: str) -> Response:
    """Something to be saved."""
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def json_object(body: bytes) -> dict:
    """The object in a body."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise ValueError("expected a JSON object")
    return said


def short_text(said: dict, key: str) -> str:
    """A text of an object, none longer than a name may be."""
    value = said.get(key)
    if not isinstance(value, str) or len(value) > 200:
        raise ValueError(f"expected a short text for {key!r}")
    return value


def whole_number(request: Request, key: str, default: int) -> int:
    """A number in the query."""
    text = request.query_params.get(key, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"expected a whole number for {key!r}")
    return int(text)


def one_of(request: Request, key: str, known: tuple[str, ...]) -> str:
    """One of some words in the query, the first where there is none."""
    value = request.query_params.get(key, known[0])
    if value not in known:
        raise ValueError(f"expected one of {', '.join(known)} for {key!r}")
    return value


def plain(text) -> str:
    """Text that UTF-8 can hold, whatever a file's name was made of."""
    return str(text).encode("utf-8", "replace").decode("utf-8")
