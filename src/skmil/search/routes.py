"""What the page asks for: its files, pictures by id, marks, rankings, things to save."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from skmil.inspection import explain_parts, page
from skmil.persistence import save_model
from skmil.registry import methods
from skmil.search.gallery import small_png
from skmil.search.guard import Guard
from skmil.search.index import Collection
from skmil.search.ranking import SHOWS, Job, Ranker
from skmil.search.server import Server
from skmil.search.session import EXAMPLE, FIRST, MARKS
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

    # What is shown.

    def state(self, request, body):
        s, c = self.server, self.server.collection
        return {
            "collection": plain(s.index.path.resolve().name),
            "kind": c.kind,
            "size": len(c),
            "failed": [{"name": plain(f.name), "reason": plain(f.reason)} for f in c.failures],
            "searches": s.searches.names(),
            "learners": methods("classification"),
            "learner": s.learner,
        }

    def ranking(self, request, body):
        ranker, job = self._job(request)
        show = one_of(request, "show", SHOWS)
        start, count = whole_number(request, "start", 0), min(MOST, whole_number(request, "count", 48))
        hide = request.query_params.get("hide") == "1"
        job.done.wait(self.server.patience)
        c = ranker.collection
        order = ranker.order(job, show if job.marks or show != "best" else "collection")
        rows = [i for i in order.tolist() if not (hide and c.ids[i] in job.marks)]
        return {
            "version": job.version,
            "learner": job.learner,
            "error": job.error,
            "learned": job.learned.is_set(),
            "done": job.done.is_set(),
            "scored": job.scored,
            "total": len(rows),
            "size": len(c),
            "marks": _counts(job.marks),
            "examples": [k for k in job.marks if k.startswith(EXAMPLE)],
            "things": [_thing(c, job, i) for i in rows[start : start + count]],
        }

    def support(self, request, body):
        """What the parts of some things say: shades for pictures, pieces of text for others."""
        ranker = self.server.ranker
        c, job = ranker.collection, ranker.current(request.query_params.get("version", ""))
        rows = [c.row[x] for x in request.query_params.get("ids", "").split(",")[:MOST] if x in c.row]
        if job is not None:
            ranker.explain(job, rows)
        return {c.ids[i]: self._shown(c, i, job) for i in rows}

    def _shown(self, c: Collection, i: int, job: Job | None) -> dict:
        if trouble := c.trouble(i):
            return {"shaded": False, "by": "similarity", "pieces": [[trouble, 0]]}
        support = None if job is None else job.support_of(i)
        return {
            "shaded": support is not None and c.kind == "images",
            "by": "model" if job is not None and job.model is not None else "similarity",
            "pieces": self.server.gallery.pieces(c, i, support),
        }

    def picture(self, request, body):
        ranker, i = self._row(request)
        found = self.server.gallery.picture(ranker.collection, i)
        if found is None:
            raise HTTPException(404, "this thing is no picture")
        return Response(found[0], media_type=found[1])

    def shade(self, request, body):
        ranker, i = self._row(request)
        job = ranker.current(request.query_params.get("version", ""))
        if job is None or ranker.collection.kind != "images":
            raise HTTPException(404, "this ranking is gone")
        ranker.explain(job, [i])
        support = job.support_of(i)
        if support is None:
            raise HTTPException(404, "nothing is marked")
        return Response(self.server.gallery.shade(ranker.collection, i, support), media_type="image/png")

    def why(self, request, body):
        """A page about one thing, as ``skmil explain`` writes it."""
        ranker, job = self._job(request)
        i = self._row(request, ranker)[1]
        model, c = ranker.model(job), ranker.collection
        parts = None if c.source is None else [c.source.parts(c.things[i])]
        told = page(explain_parts(model, c.bags[i : i + 1], parts))
        return Response(told, media_type="text/html", headers={"Content-Security-Policy": _OWN_POLICY})

    def example(self, request, body):
        path = self.server.searches.example(request.path_params["id"])
        if not path.exists():
            raise HTTPException(404, "no such example")
        return Response(path.read_bytes(), media_type="image/png")

    # What is saved.

    def marks_csv(self, request, body):
        search = request.query_params.get("search", FIRST)
        return download(self.server.searches.to_csv(search), "text/csv", "marks.csv")

    def ranking_csv(self, request, body):
        ranker, job = self._job(request)
        job.done.wait(120)
        return download(ranker.to_csv(job), "text/csv", "ranking.csv")

    def model(self, request, body):
        ranker, job = self._job(request)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.skops"
            save_model(ranker.fitted(job), path)
            return download(path.read_bytes(), "application/octet-stream", "model.skops")

    # What a person does.

    def mark(self, request, body):
        told = json_object(body)
        search, mark, thing, tab = (short_text(told, k) for k in ("search", "mark", "thing", "tab"))
        if mark not in MARKS:
            raise ValueError("mark with y, n or u")
        s, c = self.server, self.server.collection
        if thing in c.row:
            name = c.name(c.row[thing])
        elif thing in s.searches.marks(search):  # a person's own example, or a file that is gone
            name = thing
        else:
            raise HTTPException(404, "no such thing")
        s.searches.mark(search, thing, name, mark, tab)
        return self._marks(search)

    def undo(self, request, body):
        told = json_object(body)
        search, tab = (short_text(told, k) for k in ("search", "tab"))
        undone = self.server.searches.undo(search, tab)
        what = None if undone is None else {"thing": undone.thing, "name": undone.name}
        return self._marks(search) | {"undone": what}

    def create(self, request, body):
        name = short_text(json_object(body), "name").strip()
        self.server.searches.create(name)
        return {"name": name, "searches": self.server.searches.names()}

    def refresh(self, request, body):
        return {"changes": self.server.refresh(), "size": len(self.server.collection)}

    def upload(self, request, body):
        s, query = self.server, request.query_params
        if s.collection.kind != "images":
            raise HTTPException(409, "only a collection of pictures takes a picture as an example")
        if not is_picture(body):
            raise HTTPException(415, "this is no picture of a known kind (JPEG, PNG, GIF, BMP, TIFF, WebP)")
        try:
            clean = small_png(body, SIDE, MAX_PIXELS)
            s.collection.bag_of(Thing(clean, "example"))
        except BadThing as error:
            raise HTTPException(422, f"this picture cannot be used: {error}") from None
        search = query.get("search", FIRST)
        key = s.searches.add_example(search, clean, query.get("tab", "")[:40])
        return {"example": key} | self._marks(search)

    # What they share.

    def _job(self, request) -> tuple[Ranker, Job]:
        query = request.query_params
        named = query.get("search", FIRST), query.get("learner", self.server.learner)
        return self.server.job(*named, query.get("tab", "")[:40])

    def _row(self, request, ranker: Ranker | None = None) -> tuple[Ranker, int]:
        """The thing that a request names by its id; the ranker whose collection holds it."""
        ranker = ranker or self.server.ranker
        i = ranker.collection.row.get(request.path_params["id"])
        if i is None:
            raise HTTPException(404, "no such thing")
        if trouble := ranker.collection.trouble(i):
            raise HTTPException(404, trouble)
        return ranker, i

    def _marks(self, search: str) -> dict:
        marks = self.server.searches.marks(search)
        return {"marks": marks, "counts": _counts(marks)}


def _thing(c: Collection, job: Job, i: int) -> dict:
    score = job.scores[i]
    return {
        "id": c.ids[i],
        "name": c.name(i),
        "mark": job.marks.get(c.ids[i]),
        "score": None if np.isnan(score) else round(float(score), 4),
        "similarity": round(float(job.prior[i]), 4) if job.marks else None,
        "picture": c.kind in ("images", "molecules"),
    }


def _counts(marks: dict[str, str]) -> dict[str, int]:
    values = list(marks.values())
    return {"wanted": values.count("wanted"), "not_wanted": values.count("not wanted")}
