"""Lines in a file: whole or not there, whoever writes, whatever is killed."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from skmil._journal import Journal


def rows(journal):
    return [row for _, row in journal.entries()]


@pytest.mark.parametrize("torn", [b'{"a": 3', b"\0\0\0", "{'ä".encode()[:-1], b"x" * 200_000])
def test_a_torn_last_line_never_fuses_with_the_next(tmp_path, torn):
    journal = Journal(tmp_path / "j.jsonl")
    journal.append([{"a": 1}, {"a": "ä"}])
    with open(journal.path, "ab") as file:
        file.write(torn)
    assert rows(journal) == [{"a": 1}, {"a": "ä"}]
    journal.append([{"a": 4}])
    assert rows(journal) == [{"a": 1}, {"a": "ä"}, {"a": 4}]
    assert all(json.loads(line) for line in journal.path.read_text("utf-8").splitlines())


def test_a_file_that_is_nothing_but_a_torn_line(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.path.write_text('{"a"')
    assert rows(journal) == []
    journal.append([{"a": 1}])
    assert rows(journal) == [{"a": 1}]


def test_nothing_to_add_makes_no_file(tmp_path):
    Journal(tmp_path / "j.jsonl").append([])
    assert not list(tmp_path.iterdir())


def test_packed_lines_come_first_and_once(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.append([{"a": 1}, {"a": 2}])
    journal.pack()
    assert [p.name for p in tmp_path.iterdir()] == ["j.jsonl.gz"] and rows(journal) == [{"a": 1}, {"a": 2}]
    before = journal.packed.read_bytes()
    journal.pack()
    journal.append([{"a": 2}, {"a": 3}])
    assert (
        rows(journal) == [{"a": 1}, {"a": 2}, {"a": 2}, {"a": 3}] and journal.packed.read_bytes() == before
    )
    journal.pack()
    assert gzip.decompress(journal.packed.read_bytes()) == b'{"a": 1}\n{"a": 2}\n{"a": 3}\n'


def test_a_wrong_line_is_named(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.path.write_text('{"a": 1}\nnonsense\n')
    with pytest.raises(ValueError, match=r"j\.jsonl, line 2: Expecting value"):
        rows(journal)


WRITER = """
import sys
from pathlib import Path
from skmil._journal import Journal
journal = Journal(sys.argv[1])
for k in range(60):
    journal.append([{"who": sys.argv[2], "k": k, "text": "x" * 30_000}])
    if k % 20 == 19:
        journal.pack()
"""


def test_several_programs_write_and_pack_one_file(tmp_path):
    path = tmp_path / "j.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, who]) for who in "abc"]
    assert [w.wait(timeout=120) for w in writers] == [0, 0, 0]
    found = [(r["who"], r["k"]) for r in rows(Journal(path))]
    assert sorted(set(found)) == [(who, k) for who in "abc" for k in range(60)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_is_named(tmp_path):
    (tmp_path / "j.jsonl").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"j\.jsonl"):
        Journal(tmp_path / "j.jsonl").append([{"a": 1}])
