"""TextBags: passages against a plain loop, weights against scikit-learn, files of every kind."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import skmil
from skmil.sources import SourceError, Spans, TextBags
from skmil.sources._passages import passages
from skmil.sources._reading import decode, html_text, markdown_text, read_text
from skmil.sources.things import BadThing

TEXTS = [
    "The quick brown fox jumps over the lazy dog while the cat sleeps all day long",
    "Stars shine at night",
    "A market fell sharply today as traders sold shares of every bank in the city",
]


def loop(text, size, overlap):
    """Passages word by word."""
    words = [m.span() for m in re.finditer(r"\S+", text)]
    out, i = [], 0
    while words:
        out.append((words[i][0], words[min(i + size, len(words)) - 1][1]))
        if i + size >= len(words):
            break
        i += size - overlap
    return out


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "bc", " ", "\n", "\n\n", "d.", "É,", "\t"])), st.data())
def test_passages_are_those_of_the_loop(pieces, data):
    size = data.draw(st.integers(1, 9))
    overlap = data.draw(st.integers(0, size - 1))
    text = "".join(pieces)
    assert passages(text, "words", size, overlap) == loop(text, size, overlap)


@pytest.mark.parametrize("unit", ["words", "sentences", "paragraphs"])
@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (3, 1), (4, 2), (5, 0)])
def test_passages_cover_all_words_in_order(unit, size, overlap):
    text = "One two. Three! Four five six?\n\nSeven. Eight nine.\n \nTen eleven. Twelve\n\n"
    spans = np.array(passages(text, unit, size, overlap))
    covered = np.zeros(len(text), bool)
    for a, b in spans:
        covered[a:b] = True
        assert text[a:b] == text[a:b].strip() != ""
    assert "".join(c for c, k in zip(text, covered, strict=True) if not k).isspace() or covered.all()
    assert (np.diff(spans[:, 0]) > 0).all() and (np.diff(spans[:, 1]) > 0).all()


def test_sentences_end_where_a_reader_ends_them():
    text = (
        'Dr. Smith (cf. Fig. 2) came, e.g. by bus. He left! "Why?" asked she. It cost 3.5 pounds. "No."\n\n'
        "A title without a stop\n\nThe end… Or not. 今日は。明日は。"
    )
    assert [text[a:b] for a, b in passages(text, "sentences", 1, 0)] == [
        "Dr. Smith (cf. Fig. 2) came, e.g. by bus.",
        "He left!",
        '"Why?" asked she.',
        "It cost 3.5 pounds.",
        '"No."',
        "A title without a stop",
        "The end…",
        "Or not.",
        "今日は。",
        "明日は。",
    ]


def test_characters_without_spaces_count_as_words():
    assert passages("中文字 abc 日本", "words", 2, 0) == [(0, 2), (2, 7), (8, 10)]


def test_a_huge_text_and_a_huge_word_take_one_pass():
    assert len(passages("word " * 1_000_000, "words", 50, 25)) == 39_999
    assert passages("x" * 10_000_000, "words", 50, 25) == [(0, 10_000_000)]


def test_weights_are_those_of_the_vectoriser_on_the_passages():
    source = TextBags(size=5, overlap=2)
    bags = source.fit_transform(TEXTS)
    cut = [t[a:b] for t in TEXTS for a, b in loop(t, 5, 2)]
    reference = TfidfVectorizer()
    expected = reference.fit_transform(cut)
    assert bags.is_sparse and bags.sizes.tolist() == [len(loop(t, 5, 2)) for t in TEXTS]
    assert (bags.instances != expected).nnz == 0
    assert bags.feature_names.tolist() == reference.get_feature_names_out().tolist()
    again = clone(source).fit(TEXTS).transform(TEXTS)
    assert source.transform(TEXTS) == again
    assert np.allclose(again.instances.toarray(), expected.toarray(), rtol=1e-14, atol=0)


def test_fifty_words_overlapping_by_half_unless_told_otherwise():
    text = " ".join(f"w{i}" for i in range(100))
    assert TextBags().fit_transform([text]).sizes.tolist() == [3]
    assert TextBags(size=20).fit_transform([text]).sizes.tolist() == [9]
    assert TextBags(unit="sentences").fit_transform(["It is so. It was."]).sizes.tolist() == [2]
    assert TextBags(unit="paragraphs").fit_transform(["It is. So.\n\nIt was."]).sizes.tolist() == [2]


def test_words_of_test_texts_are_not_learned():
    source = TextBags(size=4).fit(TEXTS[:2])
    bags = source.transform(["zebra stars unheard"])
    assert "zebra" not in source.get_feature_names_out()
    assert bags.instances.nnz == 1
    model = make_pipeline(TextBags(), skmil.method("Simple-MI"))
    texts = ["good fine well " * 5] * 6 + ["bad poor ill " * 5] * 6
    assert cross_val_score(model, texts, [0] * 6 + [1] * 6, cv=3).mean() == 1.0


@pytest.mark.parametrize(
    ("vectorizer", "sparse", "n"),
    [
        (CountVectorizer(binary=True), True, None),
        (HashingVectorizer(n_features=64), True, 64),
        (make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)), False, 2),
    ],
)
def test_any_vectoriser(vectorizer, sparse, n):
    source = TextBags(size=5, vectorizer=vectorizer)
    bags = source.fit_transform(TEXTS)
    assert bags.is_sparse == sparse and bags.n_features == (n or bags.n_features)
    assert not hasattr(vectorizer, "vocabulary_")
    assert np.allclose(source.transform(TEXTS).to_dense().instances, bags.to_dense().instances)


def test_spans_lie_in_the_text_that_was_read(tmp_path):
    page = tmp_path / "a.html"
    page.write_text("<h1>Title</h1><p>First &amp; second.</p><script>no()</script><p>Third")
    source = TextBags(unit="paragraphs").fit([page])
    parts = source.parts(page)
    assert isinstance(parts, Spans) and len(parts) == 3
    assert [parts.text[a:b] for a, b in parts.spans] == ["Title", "First & second.", "Third"]
    assert source.transform([page]).ids.tolist() == [str(page)]


def pdf(text: str) -> bytes:
    """A PDF of one page with one line."""
    stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET" if text else ""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for k, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{k} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{p:010d} 00000 n \n" for p in places)
    trailer = f"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 6\n0000000000 65535 f \n{table}{trailer}".encode()


def test_pdf_whatever_its_name(tmp_path):
    pytest.importorskip("pypdf")
    for name in ("a.pdf", "b.txt"):
        (tmp_path / name).write_bytes(pdf("Words on a page"))
    bags = TextBags().fit_transform([tmp_path / "a.pdf", tmp_path / "b.txt"])
    assert bags.feature_names.tolist() == ["on", "page", "words"]


def test_markdown_keeps_its_length():
    text = "---\ntitle: x\n---\n# Head\n\nSee [the page](http://a.b/c_(d)?e) <b>now</b> <!-- no --> 3 < 4"
    plain = markdown_text(text)
    assert len(plain) == len(text) and "title" not in plain and "no" not in plain.replace("now", "")
    assert "the page" in plain and "now" in plain and "3 < 4" in plain


def test_html_is_what_a_reader_sees():
    page = (
        "<html><head><title>T</title><style>p{}</style></head><body><p>One<br>two <b>b</b>old</p>"
        "<svg><text>no</text></svg><table><tr><td>a</td><td>b</td></tr></table>"
        "<pre>x\n  y</pre>&eacute;</body>"
    )
    assert html_text(page) == "T\n\nOne\ntwo bold\n\na b\n\nx\n y\n\né"
    assert html_text("<p>never closed <div>nor this") == "never closed\n\nnor this"


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_told_apart(codec):
    assert decode("Größe\r\nça va\r".encode(codec)) == "Größe\nça va\n"


def test_an_encoding_that_is_given_or_declared():
    assert decode("Привет".encode("koi8-r"), "koi8-r") == "Привет"
    page = '<meta charset="koi8-r"><p>Привет'.encode("koi8-r")
    assert read_text(page, ".html") == "Привет"
    assert read_text('<meta charset="nonsense"><p>é'.encode(), ".html") == "é"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", "the file is empty"),
        ("a.txt", b" \n\t ", "it holds no words"),
        ("a.txt", bytes(range(256)) * 4, "it is not text"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is not text"),
        ("a.txt", "text".encode("utf-16-le"), "zero byte at 1"),
        ("a.txt", b"bell \a rings", "control character '\\x07' at character 5"),
        ("a.txt", b"\xff\xfe\x00", "it is damaged"),
        ("a.txt", b"caf\x81", "neither UTF-8 nor Windows-1252: byte 0x81 at 3"),
        ("a.pdf", b"not a pdf", "it is no PDF"),
        ("a.pdf", b"%PDF-1.4\nrubbish", "cannot be read"),
        ("a.pdf", pdf(""), "without text"),
        ("a.html", b"<script>only()</script>", "it holds no words"),
    ],
)
def test_broken_files_are_named(tmp_path, name, content, reason):
    pytest.importorskip("pypdf")
    (tmp_path / name).write_bytes(content)
    source = TextBags(on_error="skip")
    with pytest.warns(UserWarning, match="1 of 2 things"):
        bags = source.fit_transform([tmp_path / name, "some words"])
    assert bags.ids.tolist() == ["1"]
    assert reason in source.failures_[0].reason and source.failures_[0].name == str(tmp_path / name)


def test_a_few_control_characters_do_not_make_a_text_unreadable(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"_\bL_\bo_\bg_\bi_\bc in b\bbold, and a bell\a that rings for long")
    text = TextBags().fit(["some words"]).parts(tmp_path / "a.txt").text
    assert text == "Logic in bold, and a bell  that rings for long"


def test_texts_that_are_none():
    with pytest.raises(SourceError) as error:
        TextBags().fit(["", 3, None, "missing.txt", "a fine text.", Path("no/such/file")])
    assert [f.index for f in error.value.failures] == [0, 1, 2, 3, 5]
    assert error.value.failures[1].reason == "it is of type int; expected a text or the path of one"


def test_a_wrong_encoding_is_an_error_about_the_text():
    with pytest.raises(BadThing, match="it is not ascii"):
        decode("é".encode(), "ascii")


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"unit": "letters"}, "'unit' parameter of TextBags must be"),
        ({"size": 0}, "'size' parameter"),
        ({"size": 4, "overlap": 4}, "overlap 4"),
        ({"size": 2.5}, "'size' parameter .* int"),
        ({"overlap": -1}, "'overlap' parameter"),
        ({"encoding": "utf-9"}, "which Python does not know"),
        ({"vectorizer": "tfidf"}, "'vectorizer' parameter .* implementing 'fit' and 'transform'"),
    ],
)
def test_parameters_are_checked(parameters, what):
    with pytest.raises((ValueError, TypeError), match=what):
        TextBags(**parameters).fit(TEXTS)


def test_clone_pickle_and_threads_give_the_same_bags(tmp_path):
    paths = []
    for i, text in enumerate(TEXTS * 10):
        paths.append(tmp_path / f"{i}.md")
        paths[-1].write_text(f"# {i}\n{text}")
    source = TextBags(size=6, n_jobs=3)
    bags = source.fit_transform(paths)
    assert bags == clone(source).set_params(n_jobs=1).fit_transform(paths)
    assert pickle.loads(pickle.dumps(source)).transform(paths[:2]) == bags[:2]


def test_endless_words_make_no_endless_names():
    source = TextBags(vectorizer=TfidfVectorizer())
    bags = source.fit_transform(["y" * 100_000 + " word", "z" * 100_000 + " " + "z" * 100_001])
    assert bags.feature_names.dtype.itemsize < 300 and len(set(bags.feature_names)) == 4
