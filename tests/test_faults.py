"""Real processes that are killed, disks that are full, workers that are too small: nothing is lost."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skmil
from skmil.cli import main
from tests import faults

ROOT = Path(__file__).resolve().parents[1]
POSIX = pytest.mark.skipif(os.name != "posix", reason="SIGKILL and mounts")
TILES = 36  # of a symmetric matrix of 16 bags in tiles of 2


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def start(*arguments) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.faults", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True)


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()


def wait_for(condition, seconds=180.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def store(tmp_path):
    bags = [np.random.default_rng(i).random((1 + i, 3)) for i in range(16)]
    skmil.write_bags(tmp_path / "x.zarr", skmil.Bags.from_list(bags, ids=[f"b{i}" for i in range(16)]))
    return skmil.open_bags(tmp_path / "x.zarr")


def expected(store):
    means = [bag.mean() for bag in store]
    return np.outer(means, means)


def finished(part) -> int:
    return len([f for f in Path(part).glob("c/*/*") if not f.name.startswith(".")])


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])


@POSIX
@pytest.mark.parametrize("workers, who", [(2, os.getpid), (1, os.getppid)], ids=["worker", "its keeper"])
def test_a_worker_is_killed(store, tmp_path, workers, who):
    """Or what keeps the only one: the matrix is the same, and no finished tile is computed again."""
    log, out = tmp_path / "log", tmp_path / "k.zarr"
    with skmil.cluster(workers) as client:
        victim = next(iter(client.run(who).values()))

        def strike() -> None:
            wait_for(lambda: finished(f"{out}.part") > 20)
            os.kill(victim, signal.SIGKILL)

        thread = threading.Thread(target=strike)
        thread.start()
        K = skmil.gram(faults.SlowKernel(str(log)).fit(store[:2]), store, out=out, tile=2)
        thread.join()
    assert_allclose(K[:], expected(store), rtol=1e-12)
    counts = Counter(faults.calls(log))
    assert len(counts) == TILES
    # The victim may have computed one tile and have been writing another: these two are done again.
    assert sum(counts.values()) <= TILES + 2


@POSIX
@pytest.mark.parametrize("workers", [0, 2])
def test_the_client_is_killed(store, tmp_path, workers):
    """The same call computes only what is missing, and no worker is left behind."""
    log, out = tmp_path / "log", tmp_path / "k.zarr"
    client = start("gram", store.path, log, out, workers)
    pids = [int(p) for p in client.stdout.readline().split()] if workers else []
    wait_for(lambda: finished(f"{out}.part") > 10)
    kill(client)
    wait_for(lambda: not any(_alive(p) for p in pids))
    (Path(f"{out}.part") / "c" / "0" / ".1.torn.tmp").write_bytes(b"killed while writing")
    before, done = len(faults.calls(log)), _pairs(finished(f"{out}.part"))
    assert not out.exists() and done < TILES
    K = skmil.gram(faults.SlowKernel(str(log)).fit(store[:2]), store, out=out, tile=2)
    assert_allclose(K[:], expected(store), rtol=1e-12)
    assert len(faults.calls(log)) - before <= TILES - done
    assert len(set(faults.calls(log))) == TILES
    assert not Path(f"{out}.part").exists() and not list(out.rglob("*.tmp"))


def _pairs(files: int) -> int:
    """At least so many tiles of a symmetric matrix are complete if so many files are there."""
    return files // 2


def _alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    if status.exists():
        return status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return not Path("/proc/self").exists()


@POSIX
@pytest.mark.parametrize("seed", range(4))
def test_the_writer_is_killed(tmp_path, seed):
    """Whole bags only, and the next writer goes on after the last of them."""
    path, random = tmp_path / "x.zarr", np.random.default_rng(seed)
    for _ in range(3):
        enough = _lines(path) + 3
        process = start("write", path, 10_000)
        wait_for(lambda enough=enough: _lines(path) >= enough)
        time.sleep(random.uniform(0.0, 0.4))
        kill(process)
    with pytest.raises(FileNotFoundError, match="not finished"):
        skmil.open_bags(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults.arrays, "CHUNK_BYTES", 400)
        with skmil.store.writer(path, resume=True) as out:
            n = len(out.ids)
            out.add("last", np.zeros((1, 5)), 1)
    store = skmil.open_bags(path)
    assert store.ids.tolist() == [f"bag {i}" for i in range(n)] + ["last"] and n > 0
    for i, bag in enumerate(store[:n]):
        assert_array_equal(bag, faults.bag(i))
    assert not list(tmp_path.glob("*.part"))


def _lines(path) -> int:
    journal = Path(f"{path}.part") / "journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


@pytest.fixture
def small_disk(tmp_path):
    """A file system of two megabytes, where the system lets us make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if (
        sys.platform != "linux"
        or os.geteuid() != 0
        or subprocess.run(mount, capture_output=True).returncode
    ):
        pytest.skip("mounting a small file system needs root and Linux")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_full_disk(small_disk, tmp_path, capsys):
    bags = [np.random.default_rng(i).random((4000, 8)) for i in range(20)]
    for call in (
        lambda: skmil.write_bags(small_disk / "x.zarr", bags),
        lambda: skmil.gram(
            skmil.kernels.SetKernel("linear"), np.eye(900), out=small_disk / "k.zarr", tile=300
        ),
    ):
        with pytest.raises(OSError, match="No space left") as error:
            call()
        assert str(small_disk) in str(error.value.filename)
    assert not [p for p in small_disk.iterdir() if p.suffix == ".zarr"]
    (tmp_path / "in").mkdir()
    for i in range(20):
        np.save(tmp_path / "in" / f"{i}.npy", bags[i])
    subprocess.run(["rm", "-r", *map(str, small_disk.iterdir())], check=False)
    assert main(["convert", str(tmp_path / "in"), str(small_disk / "x.zarr")]) == 2
    assert "No space left" in capsys.readouterr().err
    # Room is made: the same command goes on and loses nothing.
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    assert main(["convert", str(tmp_path / "in"), str(small_disk / "x.zarr")]) == 0
    store = skmil.open_bags(small_disk / "x.zarr")
    assert len(store) == 20
    assert_array_equal(store[store.ids.tolist().index("7")], bags[7].astype(np.float32))


@POSIX
def test_a_file_that_may_not_grow(tmp_path):
    """The limit of the system on the size of files stands for a full disk where nothing can be mounted."""
    code = (
        "import resource, signal, sys, numpy as np, skmil\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))\n"
        "try:\n"
        "    skmil.write_bags(sys.argv[1], [np.ones((10000, 8))] * 30)\n"
        "except OSError as error:\n"
        "    print(error.filename, error.strerror)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "x.zarr")]
    found = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert "x.zarr.part" in found.stdout and "too large" in found.stdout.lower(), found.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def read_only(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        mount = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(folder)]
        if sys.platform != "linux" or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("root may write everywhere, and nothing can be mounted")
        yield folder
        subprocess.run(["umount", "-l", str(folder)], check=False)
    else:
        folder.chmod(0o500)
        yield folder
        folder.chmod(0o700)


def test_a_read_only_folder(read_only, store, capsys):
    with pytest.raises(OSError, match=r"x\.zarr"):
        skmil.write_bags(read_only / "x.zarr", [[[1.0]]])
    with pytest.raises(OSError, match=r"k\.zarr"):
        skmil.gram(skmil.kernels.SetKernel(gamma=1.0), store, out=read_only / "k.zarr")
    assert main(["convert", str(store.path), str(read_only / "y.zarr")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "y.zarr" in error
    assert not list(read_only.iterdir())


@POSIX
def test_workers_with_too_little_memory(store, tmp_path, monkeypatch):
    """Refused before anything runs where it is known; explained where workers die of it."""
    log = tmp_path / "log"
    monkeypatch.setattr(sys.modules["skmil._cluster"], "_worker_memory", lambda n: 600_000_000)
    with skmil.cluster(1):
        large = skmil.Bags(np.zeros((2_000_000, 6)), [0, 1_000_000, 2_000_000])
        with pytest.raises(
            MemoryError, match=r"needs about \d+ MiB and the smallest worker may use 401 MiB"
        ):
            skmil.gram(faults.SlowKernel(str(log)), large, out=tmp_path / "a.zarr", tile=1)
        assert faults.calls(log) == []
        greedy = faults.SlowKernel(str(log), n_bytes=2**30).fit(store[:2])
        with pytest.raises(MemoryError, match="ended several workers"):
            skmil.gram(greedy, store, out=tmp_path / "b.zarr", tile=16)
    assert not (tmp_path / "b.zarr").exists()
