"""What the tests of the search page share: pictures, a client in process, marks."""

import io

import pytest
from PIL import Image

from skmil.datasets.pictures import paint
from skmil.search import Index

pytest.importorskip("starlette", reason="the search page needs starlette: pip install skmil[search]")
anyio = pytest.importorskip("anyio")
httpx = pytest.importorskip("httpx", reason="these tests need httpx")

from skmil.search.routes import make_app  # noqa: E402
from skmil.search.server import Server  # noqa: E402

HOST = "127.0.0.1:8000"
HOSTILE = "<img src=x onerror=alert(1)>&amp;'.png"
OWN = {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}


def png(kind="sunset", seed=0, shape=(48, 64)):
    buffer = io.BytesIO()
    Image.fromarray(paint(kind, shape, seed)).save(buffer, "PNG")
    return buffer.getvalue()


def write_pictures(folder, n=6):
    folder.mkdir(exist_ok=True)
    for k in range(n):
        (folder / f"sunset {k}.png").write_bytes(png("sunset", k))
        (folder / f"field {k}.png").write_bytes(png("field", k))
    return folder


def write_collection(folder):
    """Sunsets, fields, a flower of a hostile name and a broken file, with their index."""
    write_pictures(folder)
    (folder / HOSTILE).write_bytes(png("flower", 1))
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and nothing more")
    Index(folder).open()
    return folder


class Client:
    """A browser's part: requests to the application, in process."""

    def __init__(self, app, headers):
        self.app, self.headers = app, headers

    def request(self, verb, path, headers=None, **options):
        async def ask():
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(self.app), base_url=f"http://{HOST}"
            ) as client:
                return await client.request(
                    verb, path, headers={**self.headers, **(headers or {})}, **options
                )

        return anyio.run(ask)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


def open_client(folder, **options):
    index = Index(folder)
    server = Server(index, index.open(), **({"learner": "MI-Kernel", "patience": 200.0} | options))
    found = Client(make_app(server, [HOST]), OWN)
    found.server = server
    return found


def ranking(client, **query):
    answer = client.get("/api/ranking", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(client):
    return {t["name"]: t["id"] for t in ranking(client, show="collection")["things"]}


def mark(client, thing, what, tab="a", search="first search"):
    answer = client.post("/api/mark", json={"search": search, "thing": thing, "mark": what, "tab": tab})
    assert answer.status_code == 200, answer.text
    return answer.json()


def teach(client):
    known = ids(client)
    for k in (0, 1):
        mark(client, known[f"sunset {k}.png"], "y")
        mark(client, known[f"field {k}.png"], "n")
    return known
