"""A folder with one file per bag becomes a store: every format, bad files, stop and resume."""

import csv
import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import skmil
from skmil.cli import main
from skmil.formats.folder import read_bag, read_labels, width
from skmil.store import convert_folder

RANDOM = np.random.default_rng(0)
BAGS = [RANDOM.random((3 + i, 4)).astype(np.float32) for i in range(6)]


def save_npy(path, X):
    np.save(path, X)


def save_npz(path, X):
    np.savez(path, features=X, coords=np.zeros((len(X), 2)))


def save_csv(path, X):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "d"], *X.tolist()])


def save_parquet(path, X):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(X, columns=list("abcd")).to_parquet(path)


def save_h5(path, X):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["features"] = X
        file["coords"] = np.zeros((len(X), 2))


def save_safetensors(path, X):
    pytest.importorskip("safetensors")
    from safetensors.numpy import save_file

    save_file({"features": X}, path)


def save_pt(path, X):
    torch = pytest.importorskip("torch")
    torch.save(torch.from_numpy(X), path)


WRITERS = {
    ".npy": save_npy,
    ".npz": save_npz,
    ".csv": save_csv,
    ".parquet": save_parquet,
    ".h5": save_h5,
    ".hdf5": save_h5,
    ".safetensors": save_safetensors,
    ".pt": save_pt,
}


@pytest.fixture
def folder(tmp_path):
    """Six bags as .npy, and a table of labels."""
    (tmp_path / "in").mkdir()
    for i, X in enumerate(BAGS):
        np.save(tmp_path / "in" / f"s{i}.npy", X)
    write_labels(tmp_path, [[f"s{i}", "yes" if i % 2 else "no"] for i in range(6)])
    return tmp_path


def write_labels(path, rows, header=("slide_id", "label")):
    with open(path / "labels.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def skmil_(*arguments) -> int:
    return main([str(a) for a in arguments])


@pytest.mark.parametrize("ending", WRITERS)
def test_every_kind_of_file(tmp_path, ending):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    WRITERS[ending](tmp_path / "in" / f"one{ending}", BAGS[0])
    WRITERS[ending](tmp_path / "in" / "deep" / f"two{ending}", BAGS[1])
    (tmp_path / "in" / "notes.txt").write_text("not a bag")
    found = convert_folder(tmp_path / "in", tmp_path / "x.zarr")
    store = skmil.open_bags(tmp_path / "x.zarr")
    assert (found.written, found.failed) == (2, []) and store.dtype == np.float32
    bags = dict(zip(store.ids.tolist(), store, strict=True))
    assert_array_equal(bags["one"], BAGS[0])
    assert_array_equal(bags["deep/two"], BAGS[1])


def test_sparse_bags_and_leading_ones(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_matrix(BAGS[0]))
    assert (read_bag(tmp_path / "a.npz") != sparse.csr_matrix(BAGS[0])).nnz == 0
    np.save(tmp_path / "b.npy", BAGS[0][None])
    assert_array_equal(read_bag(tmp_path / "b.npy"), BAGS[0])


def test_a_dataset_by_name(tmp_path):
    np.savez(tmp_path / "a.npz", left=BAGS[0], right=BAGS[1])
    assert_array_equal(read_bag(tmp_path / "a.npz", "right"), BAGS[1])
    with pytest.raises(
        ValueError, match=r"a.npz: which dataset .* 'left', 'right'; name it with --dataset"
    ):
        read_bag(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="no dataset 'up'"):
        read_bag(tmp_path / "a.npz", "up")


def test_nothing_in_a_file_is_run(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"a\.npy: "):
        read_bag(tmp_path / "a.npy")


def test_the_way_from_a_folder_to_a_model(folder, capsys):
    out = folder / "slides.zarr"
    assert skmil_("convert", folder / "in", out, "--labels", folder / "labels.csv") == 0
    assert "6 bags" in capsys.readouterr().out
    assert skmil_("fit", out, folder / "m.skops", "--method", "Simple-MI") == 0
    assert skmil_("predict", folder / "m.skops", out, "--out", folder / "p.csv") == 0
    assert (folder / "p.csv").read_text().splitlines()[1].startswith("s0,")
    assert skmil_("gram", out, folder / "k.zarr", "--tile", "4") == 0
    assert skmil_("data", out) == 0
    assert skmil_("bench", "--data", out, "--methods", "Simple-MI,MI-Kernel", "--folds", "2",
                  "--out", folder / "b") == 0  # fmt: skip
    capsys.readouterr()
    assert skmil_("convert", out, folder / "back.npz") == 0
    assert skmil_("convert", folder / "back.npz", folder / "again.zarr") == 0
    assert skmil.open_bags(folder / "again.zarr").load() == skmil.open_bags(out).load().astype(np.float64)


def test_a_corrupt_file_is_named_and_the_rest_goes_on(folder, capsys):
    (folder / "in" / "s2.npy").write_bytes((folder / "in" / "s2.npy").read_bytes()[:-7])
    np.save(folder / "in" / "s3.npy", np.full((2, 4), np.nan, np.float32))
    np.save(folder / "in" / "s4.npy", np.empty((0, 4), np.float32))
    assert skmil_("convert", folder / "in", folder / "x.zarr") == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and all(f"s{i}" in line for i, line in zip((2, 3, 4), lines, strict=True))
    assert skmil.open_bags(folder / "x.zarr").ids.tolist() == ["s0", "s1", "s5"]


def bad_width(folder):
    np.save(folder / "in" / "s5.npy", np.zeros((2, 3), np.float32))
    return [folder / "in"], "s5.npy: 3 features, and s0.npy has 4"


def bad_width_of_text(folder):
    (folder / "in" / "a.csv").write_text("1,2,3\n4,5,6\n")
    return [folder / "in"], "s0.npy: 4 features, and a.csv has 3"


def bad_width_in_an_archive(folder):
    np.savez(folder / "in" / "z.npz", features=np.zeros((2, 3), np.float32), tiles=np.zeros(2))
    return [folder / "in"], "z.npz: 3 features, and s0.npy has 4"


def bad_width_of_sparse_features(folder):
    sparse.save_npz(folder / "in" / "z.npz", sparse.eye(2, 3, format="csr"))
    return [folder / "in"], "z.npz: 3 features, and s0.npy has 4"


def bad_width_of_a_frame(folder):
    frame = pytest.importorskip("pandas").DataFrame(np.zeros((2, 3)), index=["a", "b"])
    pytest.importorskip("pyarrow")
    frame.rename(columns=str).to_parquet(folder / "in" / "z.parquet")
    return [folder / "in"], "z.parquet: 3 features, and s0.npy has 4"


def bad_width_of_tensors(folder):
    save = pytest.importorskip("safetensors.numpy").save_file
    save({"features": np.zeros((2, 3), np.float32)}, folder / "in" / "z.safetensors")
    return [folder / "in"], "z.safetensors: 3 features, and s0.npy has 4"


def bad_width_below_the_head(folder):
    (folder / "in" / "z.csv").write_text("a,b,c,d\n1,2,3\n")
    return [folder / "in"], "z.csv: 3 features; the files before it have 4"


def label_without_a_bag(folder):
    write_labels(folder, [["s0", 1], ["s99", 0]])
    return [folder / "in", "--labels", folder / "labels.csv"], "labels for 's99'"


def labels_of_others(folder):
    write_labels(folder, [["s0", 1], ["s0", 0]])
    return [folder / "in", "--labels", folder / "labels.csv"], "'s0' twice"


def labels_without_names(folder):
    write_labels(folder, [["s0", 1]], header=("what", "ever"))
    return [folder / "in", "--labels", folder / "labels.csv"], "name it with --bag"


def nothing_there(folder):
    (folder / "empty").mkdir()
    return [folder / "empty"], "empty"


def all_corrupt(folder):
    (folder / "bad").mkdir()
    (folder / "bad" / "a.npy").write_text("x")
    return [folder / "bad"], "no file could be read"


@pytest.mark.parametrize(
    "make",
    [bad_width, bad_width_of_text, bad_width_in_an_archive, bad_width_of_sparse_features,
     bad_width_of_a_frame, bad_width_of_tensors, bad_width_below_the_head, label_without_a_bag,
     labels_of_others, labels_without_names, nothing_there, all_corrupt],
)  # fmt: skip
def test_bad_folders_are_one_line_and_exit_2(folder, capsys, make):
    (source, *options), message = make(folder)
    assert skmil_("convert", source, folder / "x.zarr", *options) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (folder / "x.zarr").exists()
    assert make is bad_width_below_the_head or not (folder / "x.zarr.part").exists()


def test_without_pyarrow_a_frame_tells_its_width_when_it_is_read(folder, monkeypatch):
    pytest.importorskip("pandas").DataFrame(np.zeros((2, 4))).rename(columns=str).to_parquet(
        folder / "in" / "z.parquet"
    )
    assert width(folder / "in" / "z.parquet") == 4
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert width(folder / "in" / "z.parquet") is None


def test_a_file_of_one_bag_says_where_to_put_it(folder, capsys):
    for name in ("s0.npy", "s1.h5", "s2.safetensors"):
        (folder / name).write_bytes(b"\x89HDF and more")
        assert skmil_("data", folder / name) == 2
        error = capsys.readouterr().err
        assert f"{name}: a file of one bag" in error and "skmil convert" in error and error.count("\n") == 1


def test_bad_stores_are_one_line_and_exit_2(folder, capsys):
    path = folder / "x.zarr"
    assert skmil_("convert", folder / "in", path, "--labels", folder / "labels.csv") == 0
    assert skmil_("convert", folder / "in", path) == 2  # it is there
    root = json.loads((path / "zarr.json").read_text())
    root["attributes"]["skmil"]["format"] = 9
    (path / "zarr.json").write_text(json.dumps(root))
    capsys.readouterr()
    for arguments in (["fit", path, folder / "m.skops"], ["data", path], ["gram", path, folder / "k.zarr"]):
        assert skmil_(*arguments) == 2
        error = capsys.readouterr().err
        assert "version 9" in error and error.count("\n") == 1
    assert skmil_("data", folder / "no.zarr") == 2
    assert skmil_("data", folder / "in") == 2
    assert "skmil convert" in capsys.readouterr().err


def test_a_truncated_chunk_is_one_line_and_exit_2(folder, capsys):
    path = folder / "x.zarr"
    skmil_("convert", folder / "in", path, "--labels", folder / "labels.csv")
    chunk = path / "instances" / "c" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-8])
    capsys.readouterr()
    assert skmil_("fit", path, folder / "m.skops", "--method", "Simple-MI") == 2
    error = capsys.readouterr().err
    assert "c/0/0" in error.replace("\\", "/") and error.count("\n") == 1
    assert not (folder / "m.skops").exists()


def test_labels_choose_the_bags_and_keep_their_kind(folder):
    write_labels(folder, [["s1.npy", 1], ["s4", 0]], header=("file", "y"))
    found = convert_folder(folder / "in", folder / "x.zarr", labels=folder / "labels.csv")
    store = skmil.open_bags(folder / "x.zarr")
    assert store.ids.tolist() == ["s1", "s4"] and store.target.tolist() == [1, 0]
    assert found.unlabelled == ["s0", "s2", "s3", "s5"]
    write_labels(folder, [["s1", 0.5]], header=("thing", "value"))
    assert read_labels(folder / "labels.csv", "thing", "value") == {"s1": 0.5}


def test_a_conversion_that_was_stopped_goes_on(folder, monkeypatch):
    class Stop(Exception):
        pass

    seen = []

    def stop(done, total):
        seen.append(done / total)
        if len(seen) == 3:
            raise Stop

    monkeypatch.setattr("skmil.store.writing.SECONDS", 0.0)
    with pytest.raises(Stop):
        convert_folder(folder / "in", folder / "x.zarr", progress=stop)
    reads = []
    monkeypatch.setattr("skmil.store.convert.read_bag", lambda p, d: reads.append(p.name) or read_bag(p, d))
    found = convert_folder(
        folder / "in", folder / "x.zarr", progress=lambda done, total: seen.append(done / total)
    )
    assert found.resumed == 3 and reads == ["s3.npy", "s4.npy", "s5.npy"]
    assert seen == sorted(seen) and seen[-1] == 1.0
    store = skmil.open_bags(folder / "x.zarr")
    for i, bag in enumerate(store):
        assert_array_equal(bag, BAGS[i])


def test_what_was_begun_with_other_labels_is_refused(folder, monkeypatch):
    monkeypatch.setattr("skmil.store.writing.SECONDS", 0.0)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_folder(folder / "in", folder / "x.zarr", labels=folder / "labels.csv", progress=stop)
    write_labels(folder, [["s0", "other"]])
    with pytest.raises(ValueError, match="begun with other files or labels"):
        convert_folder(folder / "in", folder / "x.zarr", labels=folder / "labels.csv")
