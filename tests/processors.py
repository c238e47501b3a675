"""Run a part of the suite as processors without AVX-512, and without AVX, would run it.

Instructions decide the order and the rounding of sums, so a test that passes by the last digit passes on
one machine only. ``python tests/processors.py`` runs the tests where digits decide most; other arguments go
to pytest instead of that choice.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parents[1]
WHOLE = ["test_trees", "test_kernels", "test_laws", "test_revisions"]
DIGITS = [f"tests/{name}.py" for name in [*WHOLE, "test_sklearn"]]
DIGITS += ["-k", " or ".join([*WHOLE, "sample_weight_equivalence", "class_weight"])]


def processors() -> dict[str, dict[str, str]]:
    """Names and settings of the processors that this one can play."""
    newer = [f for f in __cpu_dispatch__ if f.startswith("AVX512") or f in ("X86_V4", "AVX10")]
    plain = {"NUMBA_CPU_NAME": "generic", "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__)}
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {"generic": plain}
    found = {"nehalem": {**plain, "OPENBLAS_CORETYPE": "Nehalem"}}
    if __cpu_features__.get("X86_V3") or __cpu_features__.get("AVX2"):
        found["haswell"] = {
            "NUMBA_CPU_NAME": "haswell",
            "NUMBA_CPU_FEATURES": "",  # those of the name; Numba would add all that this processor has
            "OPENBLAS_CORETYPE": "Haswell",
            "NPY_DISABLE_CPU_FEATURES": " ".join(newer),
        }
    return found


def start(name: str, settings: dict[str, str], arguments: list[str]) -> subprocess.Popen:
    """Pytest in a process of its own; what Numba compiles for one processor is kept apart."""
    kept = ROOT / ".processors" / name
    env = {**os.environ, **settings, "NUMBA_CACHE_DIR": str(kept / "numba"), "SKMIL_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "log.txt").open("w") as log:
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT)


def main(arguments: list[str]) -> int:
    """Start all, wait for all, show the end of each log and all of it where a test failed."""
    running = {name: start(name, s, arguments or DIGITS) for name, s in processors().items()}
    worst = 0
    try:
        for name, process in running.items():
            worst = max(worst, abs(process.wait()))
            text = (ROOT / ".processors" / name / "log.txt").read_text("utf-8")
            print(f"{name}: {text if process.returncode else text.splitlines()[-1]}", flush=True)
    finally:
        for process in running.values():
            process.kill()
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
