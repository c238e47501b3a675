"""Marks of the search page, what is saved, and a person's own pictures."""

import csv
import io

from skmil.cli import main
from skmil.search import Searches
from tests.searching import ids, mark, open_client, png, ranking, teach


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
