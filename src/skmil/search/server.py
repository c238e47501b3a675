"""The page's server: pictures by id, marks, rankings; Starlette, run by uvicorn."""

import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from skmil.inspection import explain_parts, page
from skmil.persistence import save_model
from skmil.registry import methods
from skmil.search.gallery import Gallery, small_png
from skmil.search.guard import Guard
from skmil.search.index import Collection, Index
from skmil.search.ranking import SHOWS, Job, Ranker
from skmil.search.session import EXAMPLE, MARKS, Searches
from skmil.search.web import (
    answer,
    download,
    json_object,
    one_of,
    plain,
    said,
    short_text,
    static,
    whole_number,
)
from skmil.sources import BadThing, Thing
from skmil.sources.find import is_picture

FIRST = "first search"
MAX_JSON, MAX_UPLOAD, MAX_PIXELS = 2**14, 2**24, 2**25  # 16 KB, 16 MB, 33 million pixels
SIDE = 1024  # pixels of the longer side of a picture that is kept as an example
MOST = 120  # things in one answer
_PAGE = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
}
# The page of an explanation brings its own, stricter policy; frames can only be forbidden by a header.
_OWN_POLICY = "frame-ancestors 'none'; object-src 'none'; base-uri 'none'"


class Server:
    """What the routes share: the index, its collection as of now, the searches and the ranker.

    Parameters
    ----------
    index : Index
    collection : what ``index.open()`` gave
    learner : chosen on the page at first
    patience : seconds after which an answer shows what there is
    """

    def __init__(self, index: Index, collection: Collection, learner: str = "auto", patience: float = 0.7):
        self.index, self.learner, self.patience = index, learner, patience
        self.searches = Searches(index.folder)
        if not self.searches.names():
            self.searches.create(FIRST)
        self.gallery = Gallery(index.folder)
        self._refreshing = threading.Lock()
        self._use(collection)

    def _use(self, collection: Collection) -> None:
        self._examples: dict[str, object] = {}
        self.ranker = Ranker(collection, self._example, self.index.folder)

    @property
    def collection(self) -> Collection:
        """The collection that the page shows."""
        return self.ranker.collection

    def refresh(self) -> str:
        """Look at the files again."""
        with self._refreshing:
            found, old = self.index.open(), self.ranker
            self._use(found)
            old.stop()
        return str(self.index.changes)

    def job(self, request: Request) -> Job:
        """The ranking of the search that a request names."""
        search = request.query_params.get("search", FIRST)
        learner = request.query_params.get("learner", self.learner)
        if learner not in methods("classification"):
            raise ValueError(f"no learner {learner[:80]!r}")
        return self.ranker.start(search, self.searches.marks(search), learner)

    def row(self, request: Request) -> tuple[Ranker, int]:
        """The thing that a request names by its id; the ranker whose collection holds it."""
        ranker = self.ranker
        i = ranker.collection.row.get(request.path_params["id"])
        if i is None:
            raise HTTPException(404, "no such thing")
        return ranker, i

    def _example(self, key: str):
        """The bag of a person's own picture; ``None`` where there is none."""
        if not key.startswith(EXAMPLE) or self.collection.kind != "images":
            return None
        if key not in self._examples:
            path = self.searches.example(key)
            self._examples[key] = self.collection.bag_of(Thing(path, key)) if path.exists() else None
        return self._examples[key]


def make_app(server: Server, hosts: Iterable[str]):
    """The ASGI application, behind its guard."""
    r = _Routes(server)
    routes = [
        *(Route(f"/{name}", static(*file)) for name, file in _PAGE.items()),
        Route("/favicon.ico", answer(lambda request, body: Response(status_code=204))),
        Route("/thing/{id}/picture", answer(r.picture)),
        Route("/thing/{id}/shade", answer(r.shade)),
        Route("/thing/{id}/why", answer(r.why)),
        Route("/example/{id}", answer(r.example)),
        Route("/api/state", answer(r.state)),
        Route("/api/ranking", answer(r.ranking)),
        Route("/api/support", answer(r.support)),
        Route("/api/marks.csv", answer(r.marks_csv)),
        Route("/api/ranking.csv", answer(r.ranking_csv)),
        Route("/api/model.skops", answer(r.model)),
        Route("/api/mark", answer(r.mark, MAX_JSON), methods=["POST"]),
        Route("/api/undo", answer(r.undo, MAX_JSON), methods=["POST"]),
        Route("/api/search", answer(r.create, MAX_JSON), methods=["POST"]),
        Route("/api/refresh", answer(r.refresh, MAX_JSON), methods=["POST"]),
        Route("/api/example", answer(r.upload, MAX_UPLOAD), methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={HTTPException: said}), hosts)


class _Routes:
    """One method a route; each takes the request and its body."""

    def __init__(self, server: Server):
        self.server = server

    def state(self, request, body):
        s, c = self.server, self.server.collection
        return {
            "collection": s.index.path.resolve().name,
            "kind": c.kind,
            "size": len(c),
            "failed": [{"name": plain(f.name), "reason": plain(f.reason)} for f in c.failures],
            "searches": s.searches.names(),
            "learners": methods("classification"),
            "learner": s.learner,
        }

    def ranking(self, request, body):
        s = self.server
        job = s.job(request)
        show = one_of(request, "show", SHOWS)
        start, count = whole_number(request, "start", 0), min(MOST, whole_number(request, "count", 48))
        hide = request.query_params.get("hide") == "1"
        job.done.wait(s.patience)
        c = s.ranker.collection
        order = s.ranker.order(job, show if job.marks or show != "best" else "collection")
        rows = [i for i in order.tolist() if not (hide and c.ids[i] in job.marks)]
        return {
            "version": job.version,
            "learner": job.learner,
            "error": job.error,
            "done": job.done.is_set(),
            "scored": job.scored,
            "total": len(rows),
            "size": len(c),
            "marks": _counts(job.marks),
            "examples": [k for k in job.marks if k.startswith(EXAMPLE)],
            "things": [self._thing(c, job, i) for i in rows[start : start + count]],
        }

    def _thing(self, c: Collection, job: Job, i: int) -> dict:
        score = job.scores[i]
        return {
            "id": c.ids[i],
            "name": c.name(i),
            "mark": job.marks.get(c.ids[i]),
            "score": None if np.isnan(score) else round(float(score), 4),
            "similarity": round(float(job.prior[i]), 4) if job.marks else None,
            "picture": c.kind in ("images", "molecules"),
        }

    def support(self, request, body):
        """What the parts of some things say: shades for pictures, pieces of text for others."""
        s = self.server
        c, job = s.ranker.collection, s.ranker.current(request.query_params.get("version", ""))
        rows = [c.row[x] for x in request.query_params.get("ids", "").split(",")[:MOST] if x in c.row]
        if job is not None:
            s.ranker.explain(job, rows)
        return {c.ids[i]: self._shown(c, i, job) for i in rows}

    def _shown(self, c: Collection, i: int, job: Job | None) -> dict:
        support = None if job is None else job.support_of(i)
        try:
            if c.kind != "bags" and not c.readable(i):
                return {"shaded": False, "pieces": [["this file is gone", 0]]}
            pieces = self.server.gallery.pieces(c, i, support)
        except ValueError:
            return {"shaded": False, "pieces": [["this file has changed: look for new files", 0]]}
        shaded = support is not None and c.kind == "images"
        by = "model" if job is not None and job.model is not None else "similarity"
        return {"shaded": shaded, "by": by, "pieces": pieces}

    def picture(self, request, body):
        ranker, i = self.server.row(request)
        found = self.server.gallery.picture(*self._readable(ranker, i))
        if found is None:
            raise HTTPException(404, "this thing is no picture")
        return Response(found[0], media_type=found[1])

    def shade(self, request, body):
        ranker, i = self.server.row(request)
        job = ranker.current(request.query_params.get("version", ""))
        if job is None or ranker.collection.kind != "images":
            raise HTTPException(404, "this ranking is gone")
        ranker.explain(job, [i])
        support = job.support_of(i)
        if support is None:
            raise HTTPException(404, "nothing is marked")
        c, _ = self._readable(ranker, i)
        return Response(self.server.gallery.shade(c, i, support), media_type="image/png")

    def why(self, request, body):
        """A page about one thing, as ``skmil explain`` writes it."""
        ranker, i = self.server.row(request)
        job = self.server.job(request)
        job.done.wait(60)
        if job.model is None:
            raise HTTPException(409, "mark at least one thing as wanted and one as not wanted first")
        c = ranker.collection
        parts = None
        if c.source is not None:
            self._readable(ranker, i)
            parts = [c.source.parts(c.things[i])]
        told = page(explain_parts(job.model, c.bags[i : i + 1], parts))
        return Response(told, media_type="text/html", headers={"Content-Security-Policy": _OWN_POLICY})

    def example(self, request, body):
        path = self.server.searches.example(request.path_params["id"])
        if not path.exists():
            raise HTTPException(404, "no such example")
        return Response(path.read_bytes(), media_type="image/png")

    def marks_csv(self, request, body):
        search = request.query_params.get("search", FIRST)
        return download(self.server.searches.to_csv(search), "text/csv", "marks.csv")

    def ranking_csv(self, request, body):
        job = self.server.job(request)
        job.done.wait(120)
        return download(self.server.ranker.to_csv(job), "text/csv", "ranking.csv")

    def model(self, request, body):
        job = self.server.job(request)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.skops"
            save_model(self.server.ranker.fitted(job), path)
            return download(path.read_bytes(), "application/octet-stream", "model.skops")

    def mark(self, request, body):
        s, said = self.server, json_object(body)
        search, mark, thing = (
            short_text(said, "search"),
            short_text(said, "mark"),
            short_text(said, "thing"),
        )
        if mark not in MARKS:
            raise ValueError("mark with y, n or u")
        c = s.collection
        if thing in c.row:
            name = c.name(c.row[thing])
        elif thing in s.searches.marks(search):  # a person's own example, or a file that is gone
            name = thing
        else:
            raise HTTPException(404, "no such thing")
        s.searches.mark(search, thing, name, mark, short_text(said, "tab"))
        return self._marks(search)

    def undo(self, request, body):
        said = json_object(body)
        search = short_text(said, "search")
        undone = self.server.searches.undo(search, short_text(said, "tab"))
        told = None if undone is None else {"thing": undone.thing, "name": undone.name}
        return self._marks(search) | {"undone": told}

    def create(self, request, body):
        name = short_text(json_object(body), "name").strip()
        self.server.searches.create(name)
        return {"name": name, "searches": self.server.searches.names()}

    def refresh(self, request, body):
        return {"changes": self.server.refresh(), "size": len(self.server.collection)}

    def upload(self, request, body):
        s = self.server
        if s.collection.kind != "images":
            raise HTTPException(409, "only a collection of pictures takes a picture as an example")
        search, tab = request.query_params.get("search", FIRST), request.query_params.get("tab", "")
        if not is_picture(body):
            raise HTTPException(415, "this is no picture of a known kind (JPEG, PNG, GIF, BMP, TIFF, WebP)")
        try:
            clean = small_png(body, SIDE, MAX_PIXELS)
            s.collection.bag_of(Thing(clean, "example"))
        except BadThing as error:
            raise HTTPException(422, f"this picture cannot be used: {error}") from None
        key = s.searches.add_example(search, clean, tab[:40])
        return {"example": key} | self._marks(search)

    def _marks(self, search: str) -> dict:
        marks = self.server.searches.marks(search)
        return {"marks": marks, "counts": _counts(marks)}

    def _readable(self, ranker: Ranker, i: int) -> tuple[Collection, int]:
        if not ranker.collection.readable(i):
            raise HTTPException(404, "this file is gone")
        return ranker.collection, i


def serve(
    server: Server, host: str, port: int, allow: Iterable[str] = (), ready: Callable | None = None
) -> None:
    """Answer until interrupted; ``ready`` is called with the address of the page."""
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as bound:
        try:
            bound.bind((host, port))
        except OSError as error:
            raise ValueError(f"{host}:{port}: {error.strerror}; name another port with --port") from None
        bound.listen()  # so that a browser that is told the address waits instead of being refused
        port = bound.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        hosts = [f"{h}:{port}" for h in ("127.0.0.1", "localhost", "[::1]", shown)]
        app = make_app(server, [*hosts, *allow])
        if ready is not None:
            ready(f"http://{shown}:{port}/")
        config = uvicorn.Config(
            app, log_level="warning", server_header=False, proxy_headers=False, ws="none"
        )
        uvicorn.Server(config).run(sockets=[bound])


def _counts(marks: dict[str, str]) -> dict[str, int]:
    values = list(marks.values())
    return {"wanted": values.count("wanted"), "not_wanted": values.count("not wanted")}
