"""Rankings of the search page: by similarity, by any learner, in parts, shaded."""

import io
import threading
import time
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from skmil._threads import map_blocks, n_threads, stop_flag
from skmil.search import Index, Ranker
from skmil.search import ranking as ranking_module
from tests.searching import ids, mark, open_client, png, ranking, teach


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
    assert (np.asarray(over)[..., 3] == 255).any()  # a line around what carried the match
    assert client.get(f"/thing/{thing}/shade", params={"version": "old"}).status_code == 404
    why = client.get(f"/thing/{thing}/why")
    assert "predicted" in why.text and "frame-ancestors 'none'" in why.headers["content-security-policy"]


class Waiting:
    """A learner that learns until it is told to stop."""

    begun: ClassVar[list] = []

    def fit(self, bags, y):
        self.flag, self.n_threads = stop_flag(), n_threads()
        self.begun.append(self)
        map_blocks(lambda b: time.sleep(0.01), range(6000))


@pytest.fixture
def waiting(monkeypatch):
    monkeypatch.setattr(ranking_module, "method", lambda name: Waiting())
    monkeypatch.setattr(Waiting, "begun", [])
    return Waiting.begun


def begun(waiting, n):
    end = time.monotonic() + 30
    while len(waiting) < n and time.monotonic() < end:
        time.sleep(0.01)
    return waiting


def two_marks(collection):
    return {collection.ids[0]: "wanted", collection.ids[-1]: "not wanted"}


def test_a_ranking_uses_the_threads_that_it_may(folder, waiting):
    ranker = Ranker(Index(folder).open(), n_threads=3)
    job = ranker.start("s", two_marks(ranker.collection), "MILES")
    assert begun(waiting, 1)[0].n_threads == 3
    ranker.stop()
    assert job.done.wait(20)


def test_what_no_tab_looks_at_any_more_is_given_up(folder, waiting):
    ranker = Ranker(Index(folder).open())
    marks = two_marks(ranker.collection)
    first = ranker.start("s", marks, "MILES", "a")
    assert ranker.start("s", marks, "MILES", "b") is first
    ranker.start("s", marks, "DD", "a")
    assert not first.stop[0]  # the other tab still waits for it
    ranker.start("s", marks, "DD", "b")
    assert first.stop[0] and first.done.is_set() and begun(waiting, 2)[0].flag[0]
    with pytest.raises(ValueError, match="given up"):
        ranker.model(first)
    assert ranker.start("s", marks, "MILES", "a") is not first  # who comes back begins again
    ranker.stop()


def test_a_ranking_does_not_depend_on_the_order_of_the_marks(folder):
    collection = Index(folder).open()
    marks = [(collection.ids[i], "wanted" if i % 2 else "not wanted") for i in range(8)]
    scores = []
    for order in (marks, marks[::-1]):
        job = Ranker(collection).start("s", dict(order), "MI-Kernel")
        assert job.done.wait(60)
        scores.append(job.scores)
    assert np.array_equal(*scores)


def test_before_the_first_mark_some_of_everything_is_offered(client):
    offered = [t["name"] for t in ranking(client, show="informative")["things"]]
    in_order = [t["name"] for t in ranking(client)["things"]]
    assert sorted(offered) == sorted(in_order) and offered != in_order
