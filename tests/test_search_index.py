"""The search page's index: made once, kept true, for every kind of thing."""

import io
import os

import numpy as np
import pytest
from PIL import Image

import skmil
from skmil.formats import write_bags
from skmil.search import Index
from skmil.search import index as index_module
from skmil.search.gallery import _begin
from skmil.sources import MoleculeBags, progress
from tests.searching import (
    HOST,
    OWN,
    Client,
    Server,
    ids,
    make_app,
    mark,
    open_client,
    png,
    ranking,
    teach,
    write_pictures,
)


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [("one  two\nthree", "one two…"), ("one two", "one two"), ("uninterrupted", "uninterrup…")],
)
def test_what_a_card_shows_of_a_text_ends_with_a_word(text, shown):
    assert _begin(text, 11) == shown


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


def test_molecules_are_drawn(tmp_path, monkeypatch):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    table = tmp_path / "molecules.csv"
    table.write_text("smiles,name\nCCO,a\nCCCO,b\nc1ccccc1,c\nc1ccccc1C,d\n")
    client = open_client(table)
    known = ids(client)
    mark(client, known["c"], "y")
    mark(client, known["a"], "n")
    told = ranking(client)
    assert told["error"] is None and [t["name"] for t in told["things"]][:2] == ["c", "d"]
    monkeypatch.setattr(MoleculeBags, "_extract", None)  # to show one, its shapes are not found again
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


def test_a_file_that_changed_since_is_not_taken_for_what_was_indexed(client):
    known = teach(client)
    version = ranking(client)["version"]
    thing = known["sunset 3.png"]
    path = client.server.index.path / "sunset 3.png"
    path.write_bytes(png("flower", 5, (80, 40)))
    os.utime(path, ns=(1, 1))
    for what in ("picture", "shade", "why"):
        answer = client.get(f"/thing/{thing}/{what}", params={"version": version})
        assert answer.status_code == 404 and "has changed" in answer.json()["error"], what
    said = client.get("/api/support", params={"version": version, "ids": thing}).json()
    assert said[thing]["pieces"] == [["this file has changed: look for new files", 0]]
    client.post("/api/refresh")
    assert client.get(f"/thing/{thing}/picture").status_code == 200


def test_a_file_that_goes_while_we_look_is_no_reason_to_stop(folder, monkeypatch):
    real = index_module._stamp

    def late(thing):
        if thing.name == "field 2.png":
            thing.content.unlink(missing_ok=True)
        return real(thing)

    monkeypatch.setattr(index_module, "_stamp", late)
    found = Index(folder).open()
    assert "field 2.png" in [f.name for f in found.failures] and len(found) == 12


def test_changed_bags_are_noticed(tmp_path):
    path = tmp_path / "bags.csv"
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(3, 2)) for _ in range(5)]
    write_bags(path, bags, None)
    index = Index(path)
    index.open()
    assert str(index.changes) == "5 new, 0 changed, 0 deleted"
    bags[2] = bags[2] + 1.0
    write_bags(path, bags[:4], None)
    index.open()
    assert str(index.changes) == "0 new, 1 changed, 1 deleted"
