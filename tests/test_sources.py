"""What all sources share, tried on one that counts the letters of words."""

import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import skmil
from skmil.sources import BadThing, BagSource, Extract, Failure, SourceError, Thing, progress
from skmil.sources.base import _memory
from skmil.sources.cache import DiskCache, MemoryCache, decode, encode, fingerprint
from skmil.sources.pool import ordered


class Words(BagSource):
    """An instance per word: its length and its number of vowels; learns the longest word."""

    calls: list = []

    def __init__(self, vowels="aeiou", learn=False, on_error="raise", n_jobs=None, cache=None):
        self.vowels, self.learn = vowels, learn
        self.on_error, self.n_jobs, self.cache = on_error, n_jobs, cache

    def _is_path(self, x):
        return isinstance(x, Path)

    def _extract(self, content, thing):
        text = content.decode() if isinstance(content, bytes) else content
        self.calls.append(text)
        if "!" in text:
            raise BadThing("it shouts")
        words = text.split()
        values = [[len(w), sum(c in self.vowels for c in w)] for w in words]
        return Extract(np.array(values, dtype=float).reshape(-1, 2), words)

    def _feature_names(self):
        return ["length", "vowels"]

    def _learns(self):
        return self.learn

    def _fit(self, extracts):
        self.longest_ = max(e[:, 0].max() for e in extracts)


@pytest.fixture(autouse=True)
def fresh():
    Words.calls = []
    _memory.kept.clear()
    _memory.used = 0


def test_ids_names_and_parts_follow_the_order_of_things(tmp_path):
    (tmp_path / "a.txt").write_text("two words")
    source = Words().fit(["x"])
    bags = source.transform(["one", tmp_path / "a.txt", Thing("here are three", "mine")])
    assert bags.ids.tolist() == ["0", str(tmp_path / "a.txt"), "mine"]
    assert bags.feature_names.tolist() == ["length", "vowels"] == source.get_feature_names_out().tolist()
    assert bags.sizes.tolist() == [1, 2, 3] and bags[1].tolist() == [[3, 1], [5, 1]]
    assert source.parts(tmp_path / "a.txt") == ["two", "words"]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_bags_and_their_parts_come_from_one_reading(n_jobs):
    things = ["one", "no!", "here are three"]
    source = Words(on_error="skip", n_jobs=n_jobs).fit(["x"])
    with pytest.warns(UserWarning, match="1 of 3 things"):
        bags, parts = source.transform_with_parts(things)
    assert sorted(Words.calls) == sorted(things) and [f.index for f in source.failures_] == [1]
    assert bags == source.transform(["one", Thing("here are three", "2")])
    assert parts == [["one"], ["here", "are", "three"]] == [source.parts(t) for t in (things[0], things[2])]
    with pytest.raises(SourceError, match="it gives no instances"):
        source.parts(" ")


@pytest.mark.parametrize(
    "hold",
    [
        list, tuple, np.array, pd.Series, pl.Series, lambda x: np.array(x)[:, None],
        lambda x: [[t] for t in x],
        lambda x: pd.DataFrame({"text": x}), lambda x: pl.DataFrame({"text": x}),
    ],
)  # fmt: skip
def test_one_column_in_any_container(hold):
    assert Words().fit_transform(hold(["one two", "three"])).sizes.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("things", "what"),
    [
        ("one", "put a single thing into a list"),
        (Path("one"), "put a single thing into a list"),
        ([], "there are no things"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "the columns a, b; expected one column"),
        (np.array([["x", "y"]]), r"shape \(1, 2\); expected one column"),
        ([["x", "y"]], "up to 2 entries; expected one column"),
        (np.zeros((2, 3, 4)), r"pass list\(array\)"),
        (3, "expected a list of things"),
    ],
)
def test_what_is_no_column_of_things_is_refused(things, what):
    with pytest.raises((ValueError, TypeError), match=what):
        Words().fit(things)


BAD = ["fine", "loud!", "also fine", None, Path("nowhere.txt"), "", "end"]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_all_failures_are_raised_at_once(n_jobs):
    with pytest.raises(SourceError, match="4 of 7 things") as error:
        Words(n_jobs=n_jobs).fit_transform(BAD)
    assert [(f.index, f.reason) for f in error.value.failures] == [
        (1, "it shouts"),
        (3, "it is missing"),
        (4, "No such file or directory"),
        (5, "it gives no instances"),
    ]
    assert "1 ('1'): it shouts" in str(error.value) and "on_error='skip'" in str(error.value)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_skipped_things_keep_the_order_of_the_others(n_jobs):
    source = Words(on_error="skip", n_jobs=n_jobs)
    with pytest.warns(UserWarning, match="4 of 7 things were left out"):
        bags = source.fit_transform(BAD)
    assert bags.ids.tolist() == ["0", "2", "6"]
    assert source.failures_[0] == Failure(1, "1", "it shouts")
    assert source.transform(["fine"]).ids.tolist() == ["0"] and source.failures_ == []


def test_nothing_left_is_an_error_in_both_modes():
    with pytest.raises(SourceError, match="repair or drop them\n0"):
        Words(on_error="skip").fit_transform(["!"])


def test_on_error_is_checked():
    with pytest.raises(ValueError, match="'on_error' parameter of Words must be"):
        Words(on_error="ignore").fit(["x"])


def test_a_missing_library_is_no_failure_of_a_thing():
    class Needs(Words):
        def _extract(self, content, thing):
            raise ImportError("pip install skmil[texts]")

    with pytest.raises(ImportError, match="texts"):
        Needs(on_error="skip").fit_transform(["x"])


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_thing_is_read_once_and_again_when_it_or_a_parameter_changes(tmp_path, on_disk):
    cache = tmp_path / "cache" if on_disk else None
    path = tmp_path / "a.txt"
    path.write_text("one two")
    source = Words(cache=cache)
    first = source.fit_transform([path, "three"])
    assert clone(source).fit_transform([path, "three"]) == first and len(Words.calls) == 2
    path.write_text("one two three")
    assert source.transform([path]).sizes.tolist() == [3] and len(Words.calls) == 3
    assert Words(vowels="o", cache=cache).fit_transform(["three"])[0].tolist() == [[5, 0]]
    assert len(Words.calls) == 4


@pytest.mark.parametrize("on_disk", [False, True])
def test_failures_are_kept_too(tmp_path, on_disk):
    source = Words(cache=tmp_path if on_disk else None)
    for _ in range(2):
        with pytest.raises(SourceError, match="it shouts"):
            source.fit_transform(["ok", "no!"])
    assert sorted(Words.calls) == ["no!", "ok"]


def test_what_was_read_before_an_interruption_is_not_read_again(tmp_path):
    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    texts = [f"word {i}" for i in range(8)]
    with pytest.raises(KeyboardInterrupt), progress(stop):
        Words(cache=tmp_path, n_jobs=1).fit_transform(texts)
    assert Words.calls == texts[:3]
    Words(cache=tmp_path).fit_transform(texts)
    assert sorted(Words.calls) == texts


def test_progress_counts_things():
    seen = []
    with progress(lambda done, total: seen.append((done, total))):
        Words().fit_transform(["a", "b", "c"])
    Words().fit_transform(["a"])
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_fit_reads_only_what_it_learns_from():
    Words().fit(["never read"])
    assert Words.calls == []
    source = Words(learn=True).fit(["some longwords"])
    source.transform(["averyverylongword"])
    assert source.longest_ == 9


def test_nothing_of_test_things_is_learned_in_cross_validation():
    texts, y = ["aa bb"] * 6 + ["eee iii ooo uu"] * 6, [0] * 6 + [1] * 6
    model = make_pipeline(Words(learn=True), skmil.method("Simple-MI"))
    assert cross_val_score(model, texts, y, cv=3).mean() == 1.0


def test_few_things_are_begun_ahead_and_results_keep_their_order():
    begun, lock, most = [0], threading.Lock(), [0]

    def work(i):
        with lock:
            begun[0] += 1
        time.sleep(0.02 if i % 5 == 0 else 0)
        return i

    out = []
    for i in ordered(work, range(40), 3):
        out.append(i)
        most[0] = max(most[0], begun[0] - len(out))
    assert out == list(range(40)) and most[0] <= 5


def test_the_cache_in_memory_drops_what_was_used_longest_ago():
    cache = MemoryCache(limit=10)
    cache.put("a", b"12345")
    cache.put("b", b"12345")
    assert cache.get("a") == b"12345"
    cache.put("c", b"1")
    assert cache.get("b") is None and cache.get("a") and cache.get("c")


def test_a_file_that_is_no_cache_is_named(tmp_path):
    (tmp_path / "things.sqlite").write_text("not a database, but long enough to be looked at" * 30)
    with pytest.raises(ValueError, match=r"things\.sqlite: not a cache of things"):
        DiskCache(tmp_path)


def test_values_come_back_from_bytes():
    table = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(decode(encode(table)), table)
    assert decode(encode(["ä", 1, None])) == ["ä", 1, None]


def test_functions_are_told_apart_by_their_code():
    def one(k):
        return lambda x: x + k

    assert fingerprint(one(1)) == fingerprint(one(1)) != fingerprint(one(2))
    assert fingerprint(lambda x: x * 2) != fingerprint(lambda x: x * 3)


def test_a_clone_says_the_same_and_warnings_do_not_hide(tmp_path):
    source = Words(vowels="y", on_error="skip", n_jobs=2, cache=tmp_path)
    assert clone(source).get_params() == source.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source.fit_transform(["good"])


def _fill(folder, start):
    source = Words(cache=folder, n_jobs=2)
    texts = [f"word {i}" for i in range(start, start + 60)]
    return source.fit_transform(texts).sizes.sum()


def test_processes_share_a_cache(tmp_path):
    done = Parallel(n_jobs=3)(delayed(_fill)(tmp_path, 20 * k) for k in range(6))
    assert done == [120] * 6
    assert DiskCache(tmp_path).db.execute("SELECT count(*) FROM kept").fetchone() == (160,)


def test_what_the_disk_does_not_take_is_said_and_read_again(tmp_path):
    cache = DiskCache(tmp_path)
    cache.db.execute("PRAGMA query_only=ON")
    with pytest.warns(RuntimeWarning, match="not kept"):
        cache.put("a", b"1")
    assert cache.get("a") is None
    cache.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_is_heard_though_a_library_takes_it_in_a_thread():
    code = """
import ctypes, os, signal, threading, time
from skmil.sources.pool import ordered

def greedy(_):
    ctypes.CDLL(None).signal(signal.SIGINT, ctypes.c_void_p(1))  # ignored, and Python does not know
    time.sleep(30)

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    list(ordered(greedy, range(4), 2))
except KeyboardInterrupt:
    print("heard", time.monotonic() - start < 10, flush=True)
    os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["heard", "True"], done.stderr
