"""Things on disk and on the command line: kinds by content, labels, models that hold their source."""

import csv
import io

import numpy as np
import pytest
from PIL import Image

import skmil
from skmil.cli import main
from skmil.datasets.pictures import paint
from skmil.evaluation import cross_validate_bags
from skmil.learners import BagPipeline
from skmil.persistence import load_model, save_model
from skmil.sources import ImageBags, TextBags, find
from skmil.sources.find import find_things, kind_of

FASTA = ">one first\nMKVLWCGPCKAAWY\nKLMN\n>two\nACDEFGHIKLMNPQ\n"
SMILES = "name,smiles,label\nethanol,CCO,0\nbenzene,c1ccccc1,1\npropane,CCC,0\nphenol,Oc1ccccc1,1\n"
SDF = """methane
     skmil

  1  0  0  0  0  0            999 V2000
    0.0000    0.0000    0.0000 C   0  0
M  END
> <activity>
high

$$$$
water
     skmil

  1  0  0  0  0  0            999 V2000
    0.0000    0.0000    0.0000 O   0  0
M  END
> <activity>
low

$$$$
"""


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder: code, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("SKMIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def command(*args):
        code = main([str(a) for a in args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


@pytest.fixture
def pictures(tmp_path):
    """A folder with two subfolders of pictures, and notes beside them."""
    for kind in ("sunset", "field"):
        (tmp_path / "pictures" / kind).mkdir(parents=True)
        for s in range(6):
            Image.fromarray(paint(kind, (48, 64), s)).save(tmp_path / "pictures" / kind / f"{s}.png")
    (tmp_path / "pictures" / "README.txt").write_text("what these pictures are")
    (tmp_path / "pictures" / ".hidden").write_text("no")
    return tmp_path / "pictures"


@pytest.fixture
def texts(tmp_path):
    words = {"cat": "the cat sat and purred on the mat", "car": "the engine of a car needs oil and fuel"}
    for kind, text in words.items():
        (tmp_path / "texts" / kind).mkdir(parents=True)
        for s in range(6):
            (tmp_path / "texts" / kind / f"{s}").write_text(f"{text} {s} " * 20)
    return tmp_path / "texts"


def picture_bytes(kind="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(paint("field", (16, 16), 0)).save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a", picture_bytes(), "images"),
        ("a.txt", picture_bytes("JPEG"), "images"),
        ("a.gif", picture_bytes("GIF"), "images"),
        ("a.tif", picture_bytes("TIFF"), "images"),
        ("broken.jpg", b"oh", "images"),
        ("a.txt", b"plain words", "texts"),
        ("no_ending", "Grüße aus Köln".encode(), "texts"),
        ("a.pdf", b"%PDF-1.7 ...", "texts"),
        ("a", SDF.encode(), "molecules"),
        ("a.txt", FASTA.encode(), "sequences"),
        ("a.csv", SMILES.encode(), "molecules"),
        ("a.csv", b"bag,label,f1\n1,0,0.5\n", None),
        ("a.npz", b"PK\x03\x04", None),
        ("a.bin", bytes(range(256)), None),
    ],
)
def test_the_kind_is_told_from_the_content(tmp_path, name, content, kind):
    (tmp_path / name).write_bytes(content)
    assert kind_of(tmp_path / name) == kind


def test_a_folder_gives_names_labels_and_what_was_left_out(pictures):
    found = find_things(pictures)
    assert found.kind == "images" and len(found) == 12 and found.ignored == ("README.txt",)
    assert found.things[0].name == "field/0.png" and found.labels.tolist() == ["field"] * 6 + ["sunset"] * 6
    assert find_things(pictures / "field").labels is None


def test_a_folder_of_two_kinds_needs_a_word(pictures):
    for s in range(6):
        (pictures / f"{s}.txt").write_text("a text")
    with pytest.raises(ValueError, match="12 images and 7 texts; say which with --source images"):
        find_things(pictures)
    assert len(find_things(pictures, "texts")) == 7
    assert find_things(pictures, "images").labels is not None
    with pytest.raises(ValueError, match="no source 'sounds'; there are images, texts"):
        find_things(pictures, "sounds")


def test_files_that_hold_many_things(tmp_path):
    (tmp_path / "a.fasta").write_text(FASTA)
    (tmp_path / "a.sdf").write_text(SDF)
    (tmp_path / "a.csv").write_text(SMILES)
    assert [t.name for t in find_things(tmp_path / "a.fasta").things] == ["one", "two"]
    assert find_things(tmp_path / "a.sdf", label="activity").labels.tolist() == ["high", "low"]
    with pytest.raises(ValueError, match="'methane' has no field <weight>"):
        find_things(tmp_path / "a.sdf", label="weight")
    found = find_things(tmp_path / "a.csv")
    assert found.labels.tolist() == ["0", "1", "0", "1"] and found.things[1].name == "benzene"


@pytest.mark.parametrize(
    "table",
    [
        "one,1\ntwo,0\n",
        "id,label\none,1\ntwo,0\none,1\n",
        "label\tid\n1\tone\n0\ttwo\n",
        "\ufeffid;label\none;1\ntwo;0\n",
    ],
)
def test_labels_come_from_a_table(tmp_path, table):
    (tmp_path / "a.fasta").write_text(FASTA)
    (tmp_path / "labels").write_text(table, encoding="utf-8")
    assert find_things(tmp_path / "a.fasta", labels=tmp_path / "labels").labels.tolist() == ["1", "0"]


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("one,1\n", r"no label for 1 of 2 things \(two\); add"),
        ("one\n", "two columns"),
        ("", "empty file"),
        ("one,1\ntwo,0\none,0\n", "'one' is both '1' and '0'; keep one"),
        ("one," + "\1" * 9, "labels: it is not text"),
    ],
)
def test_labels_that_do_not_fit_are_named(tmp_path, table, what):
    (tmp_path / "a.fasta").write_text(FASTA)
    (tmp_path / "labels").write_text(table)
    with pytest.raises(ValueError, match=what):
        find_things(tmp_path / "a.fasta", labels=tmp_path / "labels")


def test_a_short_name_that_may_mean_two_things_is_refused(pictures, tmp_path):
    (tmp_path / "labels").write_text("".join(f"{k}.png,a\n" for k in range(20)))
    with pytest.raises(ValueError, match=r"'(\d)\.png' may mean 'field/\1.png' or 'sunset/\1.png'; give"):
        find_things(pictures, labels=tmp_path / "labels")


def test_an_explanation_of_one_thing_reads_no_other(run, texts, tmp_path, monkeypatch):
    assert run("fit", texts, "m.skops", "--method", "Simple-MI")[0] == 0
    name = sorted(p.relative_to(texts).as_posix() for p in texts.rglob("*") if p.is_file())[0]
    read = []
    extract = TextBags._extract
    monkeypatch.setattr(
        TextBags, "_extract", lambda s, c, thing: read.append(thing.name) or extract(s, c, thing)
    )
    assert run("explain", "m.skops", texts, "--id", name, "--html", "page.html")[0] == 0 and read == [name]
    assert (
        run("explain", "m.skops", texts, "--html", "page.html")[0] == 0 and len(set(read)) == len(read) - 1
    )
    first = " ".join((texts / name).read_text().split())[:15]
    assert first in run("explain", "m.skops", texts, "--id", name)[1]


def test_a_model_of_pictures_predicts_and_explains_a_picture(run, pictures, tmp_path):
    options = ("--set", "source__max_segments=5", "--method", "MI-Kernel", "--set", "C=10")
    assert run("fit", pictures, "model.skops", *options)[0] == 0
    model = load_model(tmp_path / "model.skops")
    source = model.steps[0][1]
    assert source.max_segments == 5 and source.cache is None
    Image.fromarray(paint("sunset", (48, 64), 77)).save(tmp_path / "new.jpg")
    code, out, _ = run("predict", "model.skops", "new.jpg")
    assert code == 0 and out.splitlines()[1].startswith("new.jpg,sunset,")
    code, out, _ = run("explain", "model.skops", "new.jpg", "--id", "new.jpg")
    assert code == 0 and "bag new.jpg: predicted sunset" in out
    code, out, _ = run("predict", "model.skops", pictures)
    rows = list(csv.reader(io.StringIO(out)))[1:]
    assert [r[1] for r in rows] == [r[0].split("/")[0] for r in rows] and len(rows) == 12


def test_a_model_of_texts_predicts_a_text(run, texts, tmp_path):
    assert run("fit", texts, "model.skops")[0] == 0
    (tmp_path / "new.txt").write_text("a cat purred " * 30)
    assert run("predict", "model.skops", "new.txt")[1].splitlines()[1].startswith("new.txt,cat,")


def test_sequences_with_a_table_of_labels(run, tmp_path):
    rng = np.random.default_rng(0)
    names = [f"s{i}" for i in range(12)]
    parts = [("AILV" if i % 2 else "DEKR") for i in range(12)]
    text = "".join(f">{n}\n{''.join(rng.choice(list(p), 30))}\n" for n, p in zip(names, parts, strict=True))
    (tmp_path / "a.fasta").write_text(text)
    (tmp_path / "y.csv").write_text("".join(f"{n},{i % 2}\n" for i, n in enumerate(names)))
    assert run("fit", "a.fasta", "m.skops", "--labels", "y.csv", "--method", "Simple-MI")[0] == 0
    (tmp_path / "new.fa").write_text(">n\nAILVAILVVLIAAILV\n")
    assert run("predict", "m.skops", "new.fa")[1].splitlines()[1].startswith("n,1,")


def test_molecules_go_from_a_table_to_predictions(run, tmp_path):
    pytest.importorskip("rdkit")
    (tmp_path / "a.csv").write_text(SMILES)
    options = ("--set", "source__n_conformers=2", "--method", "Simple-MI")
    assert run("fit", "a.csv", "m.skops", *options)[0] == 0
    (tmp_path / "new.smi").write_text("Cc1ccccc1 toluene\n")
    assert run("predict", "m.skops", "new.smi")[1].splitlines()[1].startswith("toluene,1,")


def test_bench_and_convert_take_things(run, pictures):
    code, out, err = run("bench", "--data", pictures, "--methods", "Simple-MI", "--folds", 3, "--out", "b")
    assert code == 0 and "3 folds run" in out and "1 files left out, such as README.txt" in err
    assert "0 folds run, 3 from" in run(
        "bench", "--data", pictures, "--methods", "Simple-MI", "--folds", 3, "--out", "b"
    )[1].replace("\n", " ")
    assert run("convert", pictures, "bags.csv", "--set", "source__features=chroma")[0] == 0
    assert "12 bags" in run("data", "bags.csv")[1] and "2 classes" in run("data", pictures)[1]


def test_bad_things_are_one_line_or_skipped(run, pictures):
    (pictures / "field" / "broken.png").write_bytes(b"no picture")
    code, out, err = run("fit", pictures, "model.skops")
    assert code == 2 and err.count("\n") == 2 and "field/broken.png" in err and not out
    assert "leave them out with --set source__on_error=skip" in err
    for k in range(9):
        (pictures / "sunset" / f"broken {k}.png").write_bytes(b"no picture")
    code, out, err = run("fit", pictures, "model.skops")
    assert "10 of 22 things" in err and "and 5 more; repair" in err and err.count("broken") == 5
    for k in range(9):
        (pictures / "sunset" / f"broken {k}.png").unlink()
    code, out, err = run("fit", pictures, "model.skops", "--set", "source__on_error=skip")
    assert code == 0 and "fitted on 12 bags" in out and "1 of 13 things were left out" in err


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("fit", "pictures/field", "m"), "no labels found; put the things into one subfolder per label"),
        (
            ("fit", "pictures", "m", "--set", "source__colour=1"),
            "no parameter source__colour; the source has",
        ),
        (("fit", "pictures", "m", "--source", "molecules"), "no molecules found among its 13 files"),
        (("bench", "--data", "pictures", "--set", "C=1"), "--set C: here only a source can be set"),
        (("fit", "bags.csv", "m", "--set", "source__tile=8"), "holds no things"),
        (("fit", "pictures", "m", "--labels", "none.csv"), "No such file"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(run, pictures, tmp_path, args, what):
    (tmp_path / "bags.csv").write_text("bag,label,f1\n1,0,0.5\n2,1,0.7\n")
    code, out, err = run(*args)
    assert code == 2 and what in err and out == ""


def test_a_learning_source_is_fitted_inside_the_fold(texts):
    found = find_things(texts)
    seen = []

    class Watched(TextBags):
        def _fit(self, extracts):
            seen.append(len(extracts))
            super()._fit(extracts)

        def fit_transform(self, things, y=None):
            return self.fit(things).transform(things)

    records = cross_validate_bags("Simple-MI", found.things, found.labels, folds=3, source=Watched())
    assert seen == [12, 8, 8, 8] and len(records) == 3
    assert records[0].settings["source"] == "Watched"


def test_a_pipeline_with_a_source_scores_instances_and_is_saved(pictures, tmp_path):
    found = find_things(pictures)
    paths = [t.content for t in found.things]
    for name in ("MI-Kernel", "Simple-MI"):
        model = BagPipeline([("source", ImageBags()), ("method", skmil.method(name))])
        model.fit(paths, found.labels)
        scores = model.score_instances(paths[:2])
        assert [len(s) for s in scores] == [len(model.steps[0][1].parts(p)) for p in paths[:2]]
        save_model(model, tmp_path / "m.skops")
        again = load_model(tmp_path / "m.skops")
        assert again.predict(paths).tolist() == model.predict(paths).tolist()


def test_a_file_that_may_not_be_read_stops_no_folder(tmp_path, monkeypatch):
    for name in ("one.png", "two.png", "three.png"):
        Image.fromarray(paint("field", (16, 16), 0)).save(tmp_path / name)
    real = find.kind_of

    def closed(path):
        if path.name == "two.png":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(find, "kind_of", closed)
    found = find_things(tmp_path)
    assert [t.name for t in found.things] == ["one.png", "three.png", "two.png"] and found.kind == "images"
