"""Run benchmarks by name: ``python benchmarks/run.py [NAME ...]`` prints one JSON line for each.

A benchmark is a function in a ``bench_*.py`` file beside this one, listed in its ``BENCHMARKS``
dictionary. It returns a dictionary with at least ``ratio``: time of a named reference divided by our
time, measured in the same run on the same number of threads, after compiling.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def collect() -> dict:
    """All benchmarks by name."""
    found: dict = {}
    for path in sorted(HERE.glob("bench_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= module.BENCHMARKS
    return found


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    benchmarks = collect()
    unknown = [n for n in names if n not in benchmarks]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(benchmarks)}", file=sys.stderr)
        return 2
    for name in names or benchmarks:
        start = time.perf_counter()
        result = benchmarks[name]()
        seconds = round(time.perf_counter() - start, 1)
        print(json.dumps({"name": name, **result, "benchmark_seconds": seconds}), flush=True)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    raise SystemExit(main(sys.argv[1:]))
