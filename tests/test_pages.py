"""Pages that show things: everything escaped, a strict policy, every part drawn where it lies."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image
from sklearn.pipeline import make_pipeline

import skmil
from skmil.cli import main
from skmil.datasets.pictures import paint
from skmil.inspection import RememberBags, explain_parts, explain_things, page
from skmil.inspection._dom import h
from skmil.inspection.drawings import _outline, drawing
from skmil.learners import BagPipeline
from skmil.sources import Boxes, ImageBags, Regions, Residues, SequenceBags, Spans, TextBags, Thing

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


class Tags(HTMLParser):
    """All tags with their attributes, and the texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [a for t, a in self.tags if t == tag]


def pictures(n=4):
    kinds = ["sunset", "field"] * n
    return [paint(k, (48, 64), s) for s, k in enumerate(kinds)], kinds


@pytest.fixture(scope="module")
def model():
    X, y = pictures()
    steps = [("source", ImageBags()), ("training", RememberBags()), ("method", skmil.method("MI-Kernel"))]
    return BagPipeline(steps).fit([Thing(x, f"p{i}") for i, x in enumerate(X)], y)


def test_an_explanation_is_data_first(model):
    thing = paint("sunset", (48, 64), 50)
    (told,) = explain_things(model, [Thing(thing, "new")])
    assert told.told.prediction == "sunset" and len(told.parts) == len(told.told.support)
    assert told.told.names[0] == "region 0"
    assert len(told.alike) == 5 and told.alike[0].label == "sunset"
    similar = [n.similarity for n in told.alike]
    assert similar == sorted(similar, reverse=True) and 0 < similar[-1] <= similar[0] <= 1
    plain = told.to_dict()
    assert plain["bag"] == "new" and plain["alike"][0]["label"] == "sunset"
    assert "most like p" in told.to_text() and str(told) == told.to_text()


def test_a_training_bag_is_most_like_itself():
    X, y = skmil.datasets.make_gmil(20, random_state=0, return_X_y=True)
    for n, near in enumerate(RememberBags().fit(X, y).alike(X, 1)):
        assert near[0].bag == n and near[0].similarity == pytest.approx(1) and near[0].label == y[n]


def test_sparse_bags_have_neighbours_too():
    texts = ["red apple " * 30, "green pear " * 30, "blue car " * 30]
    bags = TextBags().fit_transform(texts)
    near = RememberBags().fit(bags, [0, 1, 2]).alike(bags[[1]], 1)[0][0]
    assert near.label == 1 and near.similarity == pytest.approx(1)


def test_the_page_is_complete_strict_and_escaped(model):
    thing = paint("field", (48, 64), 60)
    text = page(explain_things(model, [Thing(thing, HOSTILE), Thing(thing, "two")]))
    found = Tags(text)
    assert len(found.all("script")) == 1 and len(found.all("article")) == 2
    assert not [a for _, attrs in found.tags for a in attrs if a.startswith("on") or a == "style"]
    assert not [a for a in found.all("img")] and HOSTILE in found.texts
    rule = next(a["content"] for a in found.all("meta") if "http-equiv" in a)
    assert "default-src 'none'" in rule and "unsafe" not in rule
    for tag in ("style", "script"):
        inside = re.search(f"<{tag}>(.*?)</{tag}>", text, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in rule
    outside = [v for _, attrs in found.tags for k, v in attrs.items() if k in ("href", "src")]
    assert all(v.startswith(("#", "data:image/jpeg")) for v in outside)
    assert "width=device-width" in text and "prefers-color-scheme: dark" in text


def test_every_region_is_drawn_over_its_pixels():
    rng = np.random.default_rng(0)
    mask = np.repeat(np.repeat(rng.integers(0, 2, (5, 7)).astype(bool), 4, axis=0), 4, axis=1)
    drawn = np.zeros(mask.shape, dtype=int)
    for left, top, right, bottom in re.findall(r"M(\d+) (\d+)H(\d+)V(\d+)H\d+z", _outline(mask)):
        drawn[int(top) : int(bottom), int(left) : int(right)] += 1
    assert np.array_equal(drawn, mask.astype(int))


def test_shades_follow_support():
    picture = np.zeros((8, 8, 3), dtype=np.uint8)
    labels = np.repeat([[0] * 8, [1] * 8], 4, axis=0)
    svg = str(drawing(Regions(picture, labels), np.array([2.0, -1.0])))
    assert 'class="part for s9" data-strength="100.0"' in svg
    assert 'class="part against s4" data-strength="50.0"' in svg
    tiles = drawing(Boxes(picture, np.array([[0, 0, 4, 4], [4, 4, 8, 8]])), np.array([0.0, 0.0]))
    assert str(tiles).count("<rect") == 2


def test_overlapping_passages_are_averaged_and_the_text_is_whole():
    text = "aaaa bbbb <cccc>"
    spans = Spans(text, np.array([[0, 9], [5, 16]]))
    found = Tags(str(drawing(spans, np.array([1.0, -1.0]))))
    assert "".join(t for t in found.texts) == text
    assert [a["data-strength"] for a in found.all("mark")] == ["100.0", "0.0", "100.0"]
    assert [a["data-part"] for a in found.all("mark")] == ["0", "0 1", "1"]


def test_residues_carry_their_numbers():
    parts = Residues("ACDEF", np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0]), (2, 4))
    found = Tags(str(drawing(parts, np.array([0.5, 1.0, -1.0]))))
    assert [a["title"] for a in found.all("mark")] == ["C2: +0.50", "D3: +1.00", "E4: -1.00"]
    assert ["motif" in a["class"] for a in found.all("mark")] == [False, True, True]
    assert [a["data-part"] for a in found.all("mark")] == ["0", "1", "2"]


def test_conformers_are_drawn_with_their_share():
    pytest.importorskip("rdkit")
    from skmil.sources import MoleculeBags

    source = MoleculeBags(n_conformers=3, rmsd=0.0).fit(["CCCO"])
    parts = source.parts("CCCCO")
    svg = str(drawing(parts, np.linspace(1, 0.2, len(parts))))
    assert svg.count("<figure") == len(parts) and "conformer 0: +1.00" in svg and ">O</title>" in svg


@pytest.mark.parametrize("source", [TextBags(), SequenceBags()])
def test_pages_of_texts_and_sequences(source):
    things = ["MKVLWCGPCKAAWYKLMN", "ACDEFGHIKLMNPQRSTV", "MKVLWCGPCKAA", "ACDEFGHIKLM"]
    model = make_pipeline(source, skmil.method("Simple-MI")).fit(things, [0, 1, 0, 1])
    (told,) = explain_things(model, things[:1])
    assert told.alike == () and "<mark" in told.to_html()
    assert told._repr_html_().startswith("<iframe srcdoc=") and "<script>" not in told._repr_html_()


def test_bags_without_a_thing_get_a_page_too():
    X, y = skmil.datasets.make_gmil(10, random_state=0, return_X_y=True)
    model = skmil.method("MI-Kernel").fit(X, y)
    assert page(explain_parts(model, X[:2], None)).count("<article") == 2
    named = [f"shape {k}" for k in range(X.offsets[2])]
    assert all(n in page(explain_parts(model, X[:2], None, names=named)) for n in named)
    with pytest.raises(TypeError, match="does not begin with a source"):
        explain_things(model, X)
    with pytest.raises(ValueError, match="nothing to show"):
        page([])


def test_raw_text_cannot_leave_its_element():
    with pytest.raises(ValueError, match="cannot hold its own end"):
        str(h("script", "</script><b>"))
    assert str(h("p", "<b>", title='"')) == '<p title="&quot;">&lt;b&gt;</p>'
    assert str(h("input", disabled=True, value=None)) == "<input disabled>"


def test_the_command_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKMIL_CACHE", "")
    X, y = pictures()
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        (tmp_path / "p" / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(x).save(tmp_path / "p" / label / f"{i}.png")
    assert main(["fit", "p", "m.skops"]) == 0
    assert main(["explain", "m.skops", "p/sunset/0.png", "--html", "one.html"]) == 0
    assert main(["explain", "m.skops", "p", "--html", "all.html"]) == 0
    assert "page: all.html" in capsys.readouterr().out
    text = (tmp_path / "one.html").read_text("utf-8")
    assert "Training bags it is most like" in text and "sunset/0.png" in text
    assert (tmp_path / "all.html").read_text("utf-8").count("<article") == 8
    assert main(["explain", "m.skops", "p", "--html", "no/where.html"]) == 2
