"""What the search page refuses: strangers, paths, hostile names, wrong requests and uploads."""

import os
import signal
import socket
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote

import pytest

import skmil
from skmil.cli import main
from skmil.search import Index
from skmil.search.routes import MAX_JSON, MAX_UPLOAD
from tests.searching import HOST, HOSTILE, Client, anyio, httpx, ids, open_client, ranking, teach


def bomb():
    """A PNG of a few bytes that says it has 30,000 x 30,000 pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    ("content", "code", "word"),
    [
        (b"<svg onload=alert(1)>", 415, "no picture"),
        (b"%!PS-Adobe", 415, "no picture"),
        (b"", 415, "no picture"),
        (b"\x89PNG\r\n\x1a\n cut", 422, "cannot be used"),
        (bomb(), 422, "30000 x 30000"),
        (b"\xff\xd8\xff" + bytes(MAX_UPLOAD), 413, "send less"),
    ],
    ids=["svg", "postscript", "empty", "damaged", "bomb", "long"],
)
def test_uploads_that_are_refused(client, content, code, word):
    answer = client.post("/api/example", content=content)
    assert answer.status_code == code and word in answer.json()["error"]
    assert not (client.server.index.folder / "searches" / "examples").exists()
    assert ranking(client)["marks"]["wanted"] == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8000"},
        {"Host": "127.0.0.1:9999"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=lambda h: " ".join(h.values()) or "empty",
)
@pytest.mark.parametrize(("verb", "path"), [("GET", "/"), ("GET", "/api/ranking"), ("POST", "/api/mark")])
def test_strangers_are_refused(client, headers, verb, path):
    answer = client.request(verb, path, headers=headers)
    assert answer.status_code == 403
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_post_must_say_where_it_comes_from(folder):
    client = open_client(folder)
    bare = Client(client.app, {})
    assert bare.post("/api/refresh").status_code == 403
    assert bare.get("/api/state").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/thing/..%2f..%2fetc%2fpasswd/picture",
        "/thing/../../../etc/passwd",
        "/thing/broken.png/picture",
        "/example/..%2f..%2fsecret",
        "/example/example-0123456789abcdef",
        "/example/example-../../../../x",
        "/page/server.py",
        "/../server.py",
        "/index.npz",
    ],
)
def test_paths_lead_nowhere(client, path):
    # The client would collapse dots, so the path goes in as it is.
    sent = []

    async def ask():
        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": unquote(path), "raw_path": path.encode()}
        scope |= {"query_string": b"", "headers": [(b"host", HOST.encode())], "http_version": "1.1"}
        scope |= {
            "scheme": "http",
            "server": ("127.0.0.1", 8000),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        await client.app(scope, receive, send)

    anyio.run(ask)
    assert sent[0]["status"] in (400, 404)


def test_names_are_never_html(client):
    known = ids(client)
    assert HOSTILE in known
    answer = client.get("/api/ranking")
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["x-content-type-options"] == "nosniff"
    known = teach(client)
    why = client.get(f"/thing/{known[HOSTILE]}/why").text
    assert "<img src=x" not in why and "&lt;img src=x" in why
    for name in ("", "page.js", "page.css"):
        page = client.get(f"/{name}")
        assert page.status_code == 200 and "script-src 'self'" in page.headers["content-security-policy"]
    script = client.get("/page.js").text
    assert "innerHTML" not in script and "insertAdjacentHTML" not in script and "eval(" not in script
    markup = client.get("/").text
    assert "http" not in markup and "style=" not in markup and " on" + "click" not in markup


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/api/mark", b"no json", 400),
        ("/api/mark", b"[" * 10_000, 400),
        ("/api/mark", b"x" * (MAX_JSON + 1), 413),
        ("/api/mark", b'{"search": "first search", "thing": "0", "mark": "y", "tab": ""}', 404),
        ("/api/mark", b'{"search": "first search", "thing": "0", "mark": "q", "tab": ""}', 400),
        ("/api/mark", b'{"search": 1, "thing": [], "mark": {}, "tab": ""}', 400),
        ("/api/undo", b'{"search": "none", "tab": ""}', 404),
        ("/api/search", b'{"name": "\\ud800"}', 400),
    ],
)
def test_bad_requests_are_answered_in_one_line(client, path, body, code):
    answer = client.post(path, content=body)
    assert answer.status_code == code and "\n" not in answer.json()["error"]


@pytest.mark.parametrize("announced", ["99000000000", "9" * 40])
def test_a_request_that_announces_too_much_is_refused_before_it_comes(client, announced):
    async def never():
        raise AssertionError("the body was asked for")
        yield b""

    answer = client.post("/api/example", content=never(), headers={"Content-Length": announced})
    assert answer.status_code == 413 and "send less" in answer.json()["error"]


@pytest.mark.parametrize("query", ["start=-1", "start=x", "count=9999999999", "show=all", "learner=no"])
def test_bad_questions_are_answered_in_one_line(client, query):
    assert client.get(f"/api/ranking?{query}").status_code == 400


def test_the_verb_says_what_is_wrong(tmp_path, capsys):
    assert main(["search", str(tmp_path / "none")]) == 2
    assert main(["search", str(tmp_path)]) == 2
    assert main(["search", str(tmp_path), "--method", "no such"]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 3 and "no such file or folder" in told[0] and "holds no pictures" in told[1]


def test_a_port_that_is_taken_is_said_before_anything_is_indexed(folder, monkeypatch, capsys):
    monkeypatch.setattr(Index, "open", None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["search", str(folder), "--port", str(taken.getsockname()[1])]) == 2
    assert "name another port with --port" in capsys.readouterr().err


def test_the_usual_port_is_not_named_in_host():
    listen = pytest.importorskip("skmil.search.listen", reason="the search page needs uvicorn")
    assert "localhost" in listen.own_names("127.0.0.1", 80)
    assert "localhost" not in listen.own_names("127.0.0.1", 8000)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to one process")
def test_ctrl_c_ends_the_page(folder):
    pytest.importorskip("uvicorn", reason="the search page needs uvicorn: pip install skmil[search]")
    env = {**os.environ, "PYTHONPATH": str(Path(skmil.__file__).parents[1])}
    command = [sys.executable, "-m", "skmil", "search", str(folder), "--no-browser"]
    # A shell that starts tests in the background makes its children deaf to Ctrl-C.
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as page:
        assert httpx.get(page.stdout.readline().strip(), trust_env=False, timeout=60).status_code == 200
        page.send_signal(signal.SIGINT)
        told = page.communicate(timeout=60)[1]
    assert page.returncode == 130 and "Traceback" not in told
