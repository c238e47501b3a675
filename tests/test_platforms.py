"""Nothing that only one system has, nothing that must be written."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skmil
from tests.processors import processors

PACKAGE = Path(skmil.__file__).parent
NOT_EVERYWHERE = {"fcntl", "grp", "msvcrt", "posix", "pwd", "resource", "termios", "winreg"}

# What Python has on some systems only goes away before the package is imported.
ELSEWHERE = """
import os, joblib, numba, numpy, scipy, sklearn, threadpoolctl
for name in ("sched_getaffinity", "process_cpu_count", "fork", "getuid", "O_DIRECTORY", "O_NOFOLLOW"):
    if hasattr(os, name):
        delattr(os, name)
import skmil
from skmil._threads import n_threads
assert n_threads() == (os.cpu_count() or 1)
print(skmil.kernels.SetKernel(gamma=1.0)([[[0.0]], [[0.0], [0.0]]]).sum())
"""


def run(code, **env):
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **env}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
    )


def test_a_kernel_works_without_what_only_linux_has():
    out = run(ELSEWHERE, SKMIL_NUM_THREADS="")
    assert out.stdout.strip() == "4.0", out.stderr


def test_modules_of_one_system_are_imported_behind_a_question():
    for path in PACKAGE.rglob("*.py"):
        top = ast.parse(path.read_text("utf-8")).body
        names = {a.name for node in top if isinstance(node, ast.Import) for a in node.names}
        names |= {node.module for node in top if isinstance(node, ast.ImportFrom)}
        assert not names & NOT_EVERYWHERE, path


def test_where_nothing_is_writable_code_is_compiled_for_the_process(tmp_path):
    # A file where a folder should be cannot be written into by anybody, not even by an administrator.
    shutil.copytree(PACKAGE, tmp_path / "skmil", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "skmil", *(p for p in (tmp_path / "skmil").rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_text("")
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "folder")
    homes = dict.fromkeys(
        ["HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE", "NUMBA_CACHE_DIR"], nowhere
    )
    code = "import skmil; from skmil._random import mix; print(skmil.__file__, mix(1, 2) == mix(1, 2))"
    out = run(code, **homes, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1")
    assert out.returncode == 0, out.stderr
    assert out.stdout.split() == [str(tmp_path / "skmil" / "__init__.py"), "True"]


@pytest.mark.parametrize("name", ["process_cpu_count", "sched_getaffinity", None])
def test_cores_by_whatever_the_system_has(monkeypatch, name):
    from skmil import _threads

    for known in ("process_cpu_count", "sched_getaffinity"):
        monkeypatch.delattr(os, known, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5 if name is None else 99)
    if name == "process_cpu_count":
        monkeypatch.setattr(os, name, lambda: 5, raising=False)
    elif name == "sched_getaffinity":
        monkeypatch.setattr(os, name, lambda _: range(5), raising=False)
    assert _threads._cores() == 5


def test_lowest_versions_are_those_declared():
    from tests.lowest import lowest

    project = {
        "dependencies": ["numpy >= 2.0", "numba >= 0.60"],
        "optional-dependencies": {
            "cli": ["rich >= 13"],
            "all": ["skmil[cli]"],
            "test": ["skmil[all]", "dask[distributed] >= 2024.5", "ruff == 0.1", "numpy >= 1.0"],
        },
    }
    assert lowest(project) == ["dask[distributed]==2024.5", "numba==0.60", "numpy==2.0", "rich==13"]


PLAYED = """
import re
import numba, numpy, scipy.linalg, threadpoolctl

@numba.njit
def move(a, b):
    for i in range(len(a)):
        a[i] = a[i] * b[i] + a[i]

move(numpy.ones(9), numpy.ones(9))
code = next(iter(move.inspect_asm().values()))
print(*{i.get("architecture") for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"})
print(*sorted(set(re.findall(r"[xyz]mm(?=[0-9])", code))))
"""


@pytest.mark.parametrize("name", processors())
def test_a_played_processor_has_no_newer_instructions(name):
    blas, registers = run(PLAYED, **processors()[name]).stdout.splitlines()
    newer = {"nehalem": {"ymm", "zmm"}, "haswell": {"zmm"}}.get(name, set())
    assert not newer & set(registers.split())
    assert name == "generic" or blas.lower() in (name, "none")  # none where it is not OpenBLAS
