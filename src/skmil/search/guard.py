"""Who may talk to the server: requests to a known Host, from our own page, and not too long."""

from collections.abc import Iterable

from starlette.responses import PlainTextResponse

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SAFE = ("GET", "HEAD")


class Guard:
    """Checks every request before the application sees it, and adds the headers to every answer.

    A page of another site can reach 127.0.0.1 through the browser of the person who reads it. ``Host``
    tells a name that was pointed here (rebinding), ``Sec-Fetch-Site`` and ``Origin`` tell who asks.
    Neighbours on other ports of this machine count as strangers, too.

    Parameters
    ----------
    app : ASGI application
    hosts : the values of ``Host`` that are ours, such as "127.0.0.1:8000"
    """

    def __init__(self, app, hosts: Iterable[str]):
        self.app = app
        self.hosts = frozenset(h.lower() for h in hosts)

    async def __call__(self, scope, receive, send):
        """Refuse, or pass on."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        names = [k.lower() for k, _ in scope["headers"]]
        reason = self._refusal(scope["method"], headers, names.count(b"host"))
        app = self.app if reason is None else PlainTextResponse(reason + "\n", 403)
        return await app(scope, receive, _with_headers(send))

    def _refusal(self, method: str, headers: dict[str, str], n_hosts: int) -> str | None:
        host = headers.get("host", "").lower()
        if n_hosts != 1 or host not in self.hosts:
            return "this server does not answer to that Host; --allow NAME:PORT adds one"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "requests from other sites are refused"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            return "requests from other origins are refused"
        if method not in SAFE and "sec-fetch-site" not in headers and origin is None:
            return "say where the request comes from: send an Origin header"
        return None


def _with_headers(send):
    async def sending(message):
        if message["type"] == "http.response.start":
            there = {k.lower() for k, _ in message["headers"]}
            more = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
            message["headers"] = [*message["headers"], *(kv for kv in more if kv[0] not in there)]
        await send(message)

    return sending
