"""The search page's index, marks, rankings and server, in process."""

import csv
import io
import os
import shutil
import struct
import threading
import time
import zlib
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

import skmil
from skmil.cli import main
from skmil.datasets.pictures import paint
from skmil.formats import write_bags
from skmil.search import Index, Ranker, Searches
from skmil.search import index as index_module
from skmil.sources import progress

pytest.importorskip("starlette", reason="the search page needs starlette: pip install skmil[search]")
anyio = pytest.importorskip("anyio")
httpx = pytest.importorskip("httpx", reason="these tests need httpx")

from skmil.search.server import MAX_JSON, MAX_UPLOAD, Server, make_app  # noqa: E402

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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of pictures with its index, to be copied."""
    folder = write_pictures(tmp_path_factory.mktemp("made") / "pictures")
    (folder / HOSTILE).write_bytes(png("flower", 1))
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and nothing more")
    Index(folder).open()
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "pictures"))


@pytest.fixture
def client(folder):
    return open_client(folder)


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


# The index.


def test_an_index_is_made_once_and_notices_what_changes(folder, monkeypatch):
    index = Index(folder)
    first = index.open()
    assert (folder / ".skmil" / "index.npz").exists()
    assert len(first) == 13 and [f.name for f in first.failures] == ["broken.png"]
    with monkeypatch.context() as patch:
        patch.setattr(index_module, "_extracted", None)  # nothing changed, so nothing is extracted
        again = Index(folder).open()
    assert again.bags == first.bags and again.ids == first.ids and len(again.failures) == 1
    (folder / "field 0.png").unlink()
    (folder / "new.png").write_bytes(png("mountain", 9))
    (folder / "field 1.png").write_bytes(png("flower", 9))
    os.utime(folder / "field 1.png", ns=(1, 1))
    index = Index(folder)
    now = index.open()
    assert str(index.changes) == "1 new, 1 changed, 1 deleted"
    row = {now.name(i): i for i in range(len(now))}
    assert "field 0.png" not in row and "new.png" in row
    same = {first.name(i): i for i in range(len(first))}["sunset 3.png"]
    assert np.array_equal(now.bags[row["sunset 3.png"]], first.bags[same])
    assert not np.array_equal(
        now.bags[row["field 1.png"]],
        first.bags[[first.name(i) for i in range(len(first))].index("field 1.png")],
    )


def test_an_interrupted_index_goes_on_where_it_stopped(tmp_path, monkeypatch):
    from skmil.sources import ImageBags

    folder = write_pictures(tmp_path / "pictures", 4)

    def stop(done, total):
        if done == 5:
            raise KeyboardInterrupt

    with progress(stop), pytest.raises(KeyboardInterrupt):
        Index(folder).open()
    assert not (folder / ".skmil" / "index.npz").exists()
    made = []
    extract = ImageBags._extract
    monkeypatch.setattr(ImageBags, "_extract", lambda self, *a: made.append(1) or extract(self, *a))
    assert len(Index(folder).open()) == 8 and len(made) <= 3


def test_a_damaged_index_is_made_again(folder):
    first = Index(folder).open()
    (folder / ".skmil" / "index.npz").write_bytes(b"PK\x03\x04 damaged")
    assert Index(folder).open().bags == first.bags


def test_links_that_lead_outside_are_left_out(folder, tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(png("mountain", 3))
    try:
        (folder / "link.png").symlink_to(secret)
    except OSError:
        pytest.skip("this system makes no links")
    index = Index(folder)
    names = [t.name for t in index.open().things]
    assert "link.png" not in names and "link.png" in index.ignored


def test_a_thing_that_became_a_link_is_not_shown(folder, tmp_path):
    client = open_client(folder)
    thing = ids(client)["sunset 0.png"]
    secret = tmp_path / "secret.png"
    secret.write_bytes(png("mountain", 3))
    (folder / "sunset 0.png").unlink()
    try:
        (folder / "sunset 0.png").symlink_to(secret)
    except OSError:
        pytest.skip("this system makes no links")
    assert client.get(f"/thing/{thing}/picture").status_code == 404


def test_texts_sequences_bags_and_stores_can_be_searched(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for k in range(6):
        about = "sails and harbours and the sea" if k % 2 else "wheat and barley on wide fields"
        (texts / f"{k}.txt").write_text(f"Number {k} is about {about}.")
    fasta = tmp_path / "proteins.fasta"
    fasta.write_text("".join(f">p{k}\n{'MKV' * (k + 2)}{'WWC' * k}LIVAG\n" for k in range(6)))
    bags = tmp_path / "bags.csv"
    rng = np.random.default_rng(0)
    write_bags(bags, [rng.normal(k % 2 * 4, 1, (3, 2)) for k in range(8)], None)
    store = tmp_path / "bags.zarr"
    skmil.write_bags(store, [rng.normal(k % 2 * 4, 1, (3, 2)) for k in range(8)])
    for path in (texts, fasta, bags, store):
        client = open_client(path)
        things = ranking(client)["things"]
        mark(client, things[1]["id"], "y")
        assert ranking(client)["things"][0]["id"] == things[1]["id"], path
        mark(client, things[0]["id"], "n")
        told = ranking(client)
        assert told["error"] is None and told["learner"] == "MI-Kernel" and told["done"], path
        shown = client.get(
            "/api/support", params={"version": told["version"], "ids": things[1]["id"]}
        ).json()
        assert any(level for _, level in shown[things[1]["id"]]["pieces"]), path
        levels = [level for _, level in shown[things[1]["id"]]["pieces"]]
        assert path is not texts or levels[0] == max(levels)  # the strongest passage comes first
        assert client.get(f"/thing/{things[1]['id']}/why").status_code == 200
    assert (tmp_path / ".bags.csv.skmil").is_dir() and (tmp_path / ".bags.zarr.skmil").is_dir()


def test_molecules_are_drawn(tmp_path):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    table = tmp_path / "molecules.csv"
    table.write_text("smiles,name\nCCO,a\nCCCO,b\nc1ccccc1,c\nc1ccccc1C,d\n")
    client = open_client(table)
    known = ids(client)
    mark(client, known["c"], "y")
    mark(client, known["a"], "n")
    told = ranking(client)
    assert told["error"] is None and [t["name"] for t in told["things"]][:2] == ["c", "d"]
    drawn = client.get(f"/thing/{known['d']}/picture")
    assert drawn.headers["content-type"] == "image/svg+xml" and b"<svg" in drawn.content
    shown = client.get("/api/support", params={"version": told["version"], "ids": known["d"]}).json()
    assert "conformer" in shown[known["d"]]["pieces"][0][0]
    assert client.post("/api/example", content=png()).status_code == 409


def test_tiles_are_shaded_where_they_overlap(folder):
    index = Index(folder, options={"cut": "tiles", "tile": 16})
    server = Server(index, index.open(), "MI-Kernel", 200.0)
    client = Client(make_app(server, [HOST]), OWN)
    client.server = server
    known = teach(client)
    query = {"version": ranking(client)["version"]}
    shade = client.get(f"/thing/{known['sunset 3.png']}/shade", params=query)
    assert Image.open(io.BytesIO(shade.content)).size == (64, 48)
    with pytest.raises(ValueError, match="no parameter source__colour"):
        Index(folder, options={"colour": 1}).open()


# Marks.


def test_marks_survive_a_restart_and_can_be_taken_back(folder):
    client = open_client(folder)
    known = teach(client)
    again = open_client(folder)
    assert ranking(again)["marks"] == {"wanted": 2, "not_wanted": 2}
    assert mark(again, known["sunset 0.png"], "u")["counts"]["wanted"] == 1
    said = again.post("/api/undo", json={"search": "first search", "tab": "a"}).json()
    assert said["counts"]["wanted"] == 2 and said["undone"]["name"] == "sunset 0.png"


def test_two_tabs_keep_each_others_marks(folder):
    one, two = open_client(folder), open_client(folder)  # even two servers
    known = ids(one)
    names = list(known)[:6]
    for k, name in enumerate(names):
        mark((one, two)[k % 2], known[name], "yn"[k % 2], tab="ab"[k % 2])
    assert ranking(one)["marks"] == ranking(two)["marks"] == {"wanted": 3, "not_wanted": 3}
    one.post("/api/undo", json={"search": "first search", "tab": "a"})
    left = one.server.searches.marks("first search")
    assert known[names[4]] not in left and known[names[5]] in left


def test_a_mark_that_was_cut_short_by_a_crash_loses_no_other(tmp_path):
    searches = Searches(tmp_path)
    searches.create("one")
    searches.mark("one", "a", "a", "y")
    (file,) = (tmp_path / "searches").glob("*.jsonl")
    with open(file, "ab") as f:
        f.write(b'{"thing": "b", "na')
    searches.mark("one", "c", "c", "n")
    assert searches.marks("one") == {"a": "wanted", "c": "not wanted"}


def test_a_search_whose_beginning_was_cut_short_begins_again(tmp_path):
    searches = Searches(tmp_path)
    searches.create("one")
    (file,) = (tmp_path / "searches").glob("*.jsonl")
    file.write_bytes(b'{"sear')
    assert searches.names() == []
    searches.create("one")
    searches.mark("one", "a", "a", "y")
    assert searches.names() == ["one"] and searches.marks("one") == {"a": "wanted"}


def test_searches_have_names_of_any_kind(client):
    for name in ("Boote & Häfen", "../../etc/passwd", "日本", "<b>bold</b>", "boote & häfen"):
        assert client.post("/api/search", json={"name": name}).json()["name"] == name
    names = client.get("/api/state").json()["searches"]
    assert names[:3] == ["first search", "Boote & Häfen", "../../etc/passwd"] and len(names) == 6
    written = list((client.server.index.folder / "searches").glob("*.jsonl"))
    assert len(written) == 6
    mark(client, ids(client)["sunset 0.png"], "y", search="日本")
    assert ranking(client, search="日本")["marks"]["wanted"] == 1
    assert ranking(client)["marks"]["wanted"] == 0
    for bad in ("", "x" * 81, "a\nb", 7):
        assert client.post("/api/search", json={"name": bad}).status_code == 400
    assert client.get("/api/ranking", params={"search": "none"}).status_code == 404


# Rankings.


def test_wanted_marks_alone_rank_by_similarity(client):
    known = ids(client)
    mark(client, known["sunset 0.png"], "y")
    told = ranking(client)
    assert told["learner"] is None and told["things"][0]["name"] == "sunset 0.png"
    assert told["things"][0]["similarity"] == 1.0
    scores = [t["similarity"] for t in told["things"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("learner", ["auto", "MI-Kernel", "MILES", "DD", "k_and emp", "Citation-kNN"])
def test_any_learner_ranks(client, learner):
    teach(client)
    told = ranking(client, learner=learner)
    assert told["error"] is None and told["learner"] == learner and told["scored"] == 13
    best = [t["name"] for t in told["things"][:6]]
    assert sum(name.startswith("sunset") for name in best) >= 4


def test_unmarked_things_near_the_boundary_are_offered(client):
    teach(client)
    told = ranking(client, show="informative")
    assert len(told["things"]) == 9 and not any(t["mark"] for t in told["things"])
    sizes = [abs(t["score"]) for t in told["things"]]
    assert sizes == sorted(sizes)
    assert len(ranking(client, show="marked")["things"]) == 4
    assert len(ranking(client, hide=1)["things"]) == 9
    assert [t["name"] for t in ranking(client, start=2, count=3)["things"]] == [
        t["name"] for t in ranking(client)["things"][2:5]
    ]


def test_a_slow_learner_answers_in_parts(folder, monkeypatch):
    from skmil.search import ranking as module

    client = open_client(folder, patience=0.05)
    monkeypatch.setattr(module, "_BLOCK", 4)
    real = module.decision_values
    monkeypatch.setattr(module, "decision_values", lambda m, b: time.sleep(0.3) or real(m, b))
    teach(client)
    first = ranking(client)
    assert not first["done"] and first["scored"] < 13
    assert len(first["things"]) == 13  # what it has not seen is there, by similarity
    for _ in range(100):
        last = ranking(client)
        if last["done"]:
            break
    assert last["scored"] == 13 and last["version"] == first["version"]


def test_a_learner_that_cannot_learn_says_so(client, monkeypatch):
    from skmil.search import ranking as module

    def fail(name):
        raise ValueError("too few bags")

    monkeypatch.setattr(module, "method", fail)
    teach(client)
    told = ranking(client)
    assert "too few bags" in told["error"] and told["things"][0]["name"].startswith("sunset")
    assert client.get("/api/model.skops").status_code == 400


def test_a_ranking_does_not_depend_on_when_one_looks(folder):
    index = Index(folder)
    collection = index.open()
    marks = {collection.ids[0]: "wanted", collection.ids[-1]: "not wanted"}
    jobs = [Ranker(collection).start("s", marks, "MI-Kernel") for _ in range(2)]
    assert all(job.done.wait(60) for job in jobs)
    assert np.array_equal(jobs[0].scores, jobs[1].scores)


def test_columns_of_the_gram_matrix_are_kept_on_disk(folder, monkeypatch):
    from skmil.kernels import SetKernel

    client = open_client(folder)
    teach(client)
    before = ranking(client)
    again = open_client(folder)
    monkeypatch.setattr(SetKernel, "__call__", None)  # similarity is not computed again
    mark(again, again.server.collection.ids[0], "u")
    assert again.server.ranker._prior(again.server.searches.marks("first search")).shape == (13,)
    monkeypatch.undo()
    assert ranking(open_client(folder))["things"] == before["things"]
    (folder / "new.png").write_bytes(png("mountain", 4))
    open_client(folder)
    assert len(list((folder / ".skmil" / "columns").iterdir())) == 1


def test_two_tabs_may_learn_in_two_ways(client):
    teach(client)
    versions = [ranking(client, learner=m)["version"] for m in ("MI-Kernel", "MILES", "MI-Kernel", "MILES")]
    assert versions[:2] == versions[2:] and versions[0] != versions[1]


def test_shades_follow_the_model_once_it_is_there(client, monkeypatch):
    from skmil.search import ranking as module

    gate = threading.Event()
    real = module.method
    monkeypatch.setattr(module, "method", lambda name: gate.wait(60) and real(name))
    client.server.patience = 0.01
    known = teach(client)
    first = ranking(client)
    query = {"version": first["version"], "ids": known["sunset 3.png"]}
    assert client.get("/api/support", params=query).json()[known["sunset 3.png"]]["by"] == "similarity"
    gate.set()
    client.server.patience = 60
    assert ranking(client)["done"]
    assert client.get("/api/support", params=query).json()[known["sunset 3.png"]]["by"] == "model"


def test_regions_are_shaded(client):
    known = teach(client)
    version = ranking(client)["version"]
    thing = known["sunset 3.png"]
    said = client.get("/api/support", params={"version": version, "ids": thing}).json()
    assert said[thing]["shaded"]
    shade = client.get(f"/thing/{thing}/shade", params={"version": version})
    picture = client.get(f"/thing/{thing}/picture")
    assert shade.headers["content-type"] == "image/png" and picture.headers["content-type"] == "image/jpeg"
    over, under = (Image.open(io.BytesIO(r.content)) for r in (shade, picture))
    assert over.size == under.size and over.mode == "RGBA"
    assert len(np.unique(np.asarray(over).reshape(-1, 4), axis=0)) > 1
    assert client.get(f"/thing/{thing}/shade", params={"version": "old"}).status_code == 404
    why = client.get(f"/thing/{thing}/why")
    assert "predicted" in why.text and "frame-ancestors 'none'" in why.headers["content-security-policy"]


# Saved.


def test_marks_model_and_ranking_can_be_saved(folder, tmp_path, capsys):
    client = open_client(folder)
    assert client.get("/api/model.skops").status_code == 400
    teach(client)
    rows = list(csv.reader(io.StringIO(client.get("/api/marks.csv").text)))
    assert rows[0] == ["name", "label"] and ["field 1.png", "not wanted"] in rows and len(rows) == 5
    rows = list(csv.reader(io.StringIO(client.get("/api/ranking.csv").text)))
    assert rows[0] == ["rank", "name", "score", "by", "mark"] and len(rows) == 14
    assert [float(r[2]) for r in rows[1:]] == sorted((float(r[2]) for r in rows[1:]), reverse=True)
    model = tmp_path / "model.skops"
    model.write_bytes(client.get("/api/model.skops").content)
    assert main(["predict", str(model), str(folder / "sunset 4.png")]) == 0
    assert "sunset 4.png,wanted" in capsys.readouterr().out


# A person's own picture.


def test_a_persons_own_picture_is_an_example(client):
    known = ids(client)
    answer = client.post("/api/example", params={"tab": "a"}, content=png("sunset", 77))
    assert answer.status_code == 200, answer.text
    key = answer.json()["example"]
    told = ranking(client)
    assert told["examples"] == [key] and told["marks"]["wanted"] == 1
    assert told["things"][0]["name"].startswith("sunset")
    assert client.get(f"/example/{key}").headers["content-type"] == "image/png"
    mark(client, known["field 0.png"], "n")
    assert ranking(client)["learner"] == "MI-Kernel"
    assert client.get("/api/model.skops").status_code == 200
    again = open_client(client.server.index.path)
    assert ranking(again)["examples"] == [key]
    mark(again, key, "u")
    assert ranking(again)["examples"] == []


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


# Strangers.


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


@pytest.mark.parametrize("query", ["start=-1", "start=x", "count=9999999999", "show=all", "learner=no"])
def test_bad_questions_are_answered_in_one_line(client, query):
    assert client.get(f"/api/ranking?{query}").status_code == 400


def test_files_that_go_while_the_page_is_open(client):
    known = ids(client)
    folder = client.server.index.path
    (folder / "sunset 0.png").unlink()
    (folder / "new.png").write_bytes(png("mountain", 12))
    assert client.get(f"/thing/{known['sunset 0.png']}/picture").status_code == 404
    mark(client, known["sunset 0.png"], "y")
    assert client.post("/api/refresh").json()["changes"] == "1 new, 0 changed, 1 deleted"
    assert ranking(client)["marks"]["wanted"] == 0  # the mark is kept, for when the file is back
    assert "new.png" in ids(client)
    (folder / "sunset 0.png").write_bytes(png("sunset", 0))
    client.post("/api/refresh")
    assert ranking(client)["marks"]["wanted"] == 1


# The command line.


def test_the_verb_says_what_is_wrong(tmp_path, capsys):
    assert main(["search", str(tmp_path / "none")]) == 2
    assert main(["search", str(tmp_path)]) == 2
    assert main(["search", str(tmp_path), "--method", "no such"]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 3 and "no such file or folder" in told[0] and "holds no pictures" in told[1]
