"""How methods grow: ``python benchmarks/growth.py [--seconds 60] [--most 30000] [--methods A,B] [--page]``.

Each point is a process of its own: one method fitted on one size of made bags, its seconds, its peak of
memory, and the seconds to predict one bag. Points are kept in ``growth.jsonl`` as soon as they are known,
so that the script may be stopped and started again; a method that runs out of its seconds or of memory is
not tried on larger sizes. ``--page`` writes docs/growth.md and its pictures from what is known.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
KNOWN, PAGE = Path(__file__).with_suffix(".jsonl"), ROOT / "docs" / "growth.md"
MIDDLE = {"bags": 100, "instances": 5, "features": 20}
MUSK1 = {**MIDDLE, "features": 166, "data": "musk1"}
SIZES = {
    "bags": [100, 300, 1000, 3000, 10_000, 30_000],
    "instances": [5, 50, 500, 5000],
    "features": [2, 20, 200, 2000],
}
MEMORY = 24e9  # bytes of the machine that the page speaks of


def points(axis: str, most: int) -> list[dict]:
    """Sizes along one axis, the others in the middle."""
    return [{**MIDDLE, axis: size} for size in SIZES[axis] if size <= most]


def measure(name: str, size: dict) -> dict:
    """Fit and predict in this process; compiled before the clock starts."""
    import resource
    import time
    import warnings

    from skmil import method

    warnings.simplefilter("ignore")
    clock = time.perf_counter
    method(name).fit(*made(40, 3, size["features"]))
    X, y = (musk if size.get("data") == "musk1" else made)(*_shape(size))
    before = _memory(resource)
    start = clock()
    model = method(name).fit(X, y)
    fit, peak = clock() - start, _memory(resource)
    model.predict(X[:1])
    times = []
    for i in range(5):
        start = clock()
        model.predict(X[i : i + 1])
        times.append(clock() - start)
    return {"fit": fit, "one": min(times), "peak": peak - before}


def _shape(size: dict) -> tuple[int, int, int]:
    return size["bags"], size["instances"], size["features"]


def _memory(resource) -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def made(n: int, m: int, d: int):
    """Bags of noise; in each positive one an instance lies near one point. Some labels are wrong."""
    from skmil import Bags

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n * m, d)), np.arange(n) % 2
    target = rng.normal(size=d)
    first = np.arange(n)[y == 1] * m
    X[first] = target + 0.7 * rng.normal(size=(len(first), d))
    return Bags(X, np.arange(0, n * m + 1, m)), np.where(rng.random(n) < 0.05, 1 - y, y)


def musk(*_shape):
    """Musk1, for the latency that people know."""
    from skmil.datasets import load_musk1

    return load_musk1(return_X_y=True)


def run(name: str, size: dict, seconds: float) -> dict:
    """One point in a process of its own; says why where there is none."""
    command = [sys.executable, __file__, "--point", json.dumps({"name": name, "size": size})]
    environment = {**os.environ, "SKMIL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds + 60, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"over {seconds:.0f} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"failed": lines[-1][:200] if lines else f"exit code {done.returncode}"}
    found = json.loads(done.stdout.splitlines()[-1])
    return found if found["fit"] <= seconds else {**found, "failed": f"over {seconds:.0f} s"}


def known() -> dict:
    """The points of the file, by name and size."""
    if not KNOWN.exists():
        return {}
    rows = [json.loads(line) for line in KNOWN.read_text("utf-8").splitlines()]
    return {(r["name"], json.dumps(r["size"], sort_keys=True)): r for r in rows}


def fill(names: list[str], most: int, seconds: float) -> None:
    """Measure what is not known yet, the smallest sizes first."""
    for name in names:
        for axis in SIZES:
            for size in [MUSK1, *points(axis, most)]:
                key = name, json.dumps(size, sort_keys=True)
                row = known().get(key)
                if row is None:
                    row = {"name": name, "size": size, **run(name, size, seconds)}
                    with KNOWN.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
                    print(json.dumps(row), flush=True)
                if "failed" in row and "data" not in size:
                    break


def exponent(sizes, values) -> float:
    """Slope of log value over log size, through the three largest points."""
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[-3:]), np.log(np.maximum(values[-3:], 1e-4)), 1)[0])


def largest(sizes, peaks) -> float:
    """The size at which memory reaches that of the machine, by the slope of the last two points."""
    if len(sizes) < 2 or peaks[-1] < 3e7:
        return float("nan")
    slope = max(exponent(sizes[-2:], peaks[-2:]), 0.5)
    return float(sizes[-1] * (MEMORY / peaks[-1]) ** (1 / slope))


def page(names: list[str]) -> str:
    """The page: one table per axis, and the latency on Musk1."""
    rows = known()
    text = [
        "# How methods grow",
        "",
        "Made by `benchmarks/growth.py`: defaults, one thread, made bags with 5 % wrong labels; one axis "
        f"grows, the others stay at {MIDDLE['bags']} bags of {MIDDLE['instances']} instances with "
        f"{MIDDLE['features']} features. Seconds and memory are those of the largest size that was done in "
        "time; exponents are slopes through the last three sizes, so 1 is linear and 2 quadratic; the last "
        "column says where 24 GB end, by the slope of memory.",
    ]
    for axis in SIZES:
        text += [
            "",
            f"## {axis.capitalize()}",
            "",
            f"![fit seconds over {axis}](images/growth_{axis}.svg)",
            "",
        ]
        text += [f"| method | {axis} | fit, s | one bag, ms | memory, MB | fit ~ | memory ~ | 24 GB at |"]
        text += ["|---|---|---|---|---|---|---|---|"]
        text += [_line(n, *series(rows, n, axis), axis) for n in names if len(series(rows, n, axis)[0])]
    text += ["", "## One bag of Musk1", "", "| method | ms |", "|---|---|"]
    for name in names:
        found = [
            r for (n, _), r in rows.items() if n == name and r["size"].get("data") == "musk1" and "one" in r
        ]
        text += [f"| {name} | {1000 * found[0]['one']:.1f} |"] if found else []
    return "\n".join(text) + "\n"


def series(rows, name, axis):
    """Sizes, and fit, one and peak at each, along an axis."""
    found = []
    for size in points(axis, 10**9):
        row = rows.get((name, json.dumps(size, sort_keys=True)), {})
        if "fit" in row:
            found.append((size[axis], row["fit"], row["one"], row["peak"]))
    return tuple(np.array(part) for part in zip(*found, strict=True)) if found else ([], [], [], [])


def _line(name, sizes, fit, one, peak, axis) -> str:
    end = largest(sizes, peak)
    cells = [name, f"{sizes[-1]:,}", f"{fit[-1]:.3g}", f"{1000 * one[-1]:.3g}", f"{peak[-1] / 1e6:.0f}"]
    cells += [f"{exponent(sizes, fit):.1f}", f"{exponent(sizes, peak):.1f}" if peak[-1] > 3e7 else ""]
    return "| " + " | ".join([*cells, "" if np.isnan(end) else f"{end:.1g}"]) + " |"


def draw(names: list[str]) -> None:
    """Seconds of fitting over each axis, one line per method."""
    from matplotlib.figure import Figure

    rows = known()
    for axis in SIZES:
        figure = Figure(figsize=(7, 5), layout="constrained")
        plot = figure.subplots()
        for name in names:
            sizes, fit, *_ = series(rows, name, axis)
            if len(sizes) > 1:
                plot.loglog(sizes, fit, marker=".", linewidth=0.8)
                plot.annotate(name, (sizes[-1], fit[-1]), fontsize=6)
        plot.set(xlabel=axis, ylabel="seconds to fit")
        figure.savefig(PAGE.parent / "images" / f"growth_{axis}.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="most seconds of a fit")
    parser.add_argument("--most", type=int, default=30_000, help="largest number along an axis")
    parser.add_argument("--methods", default="all")
    parser.add_argument("--page", action="store_true", help="only write the page from what is known")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(measure(**json.loads(options.point))))
        return
    import skmil

    names = list(skmil.methods()) if options.methods == "all" else options.methods.split(",")
    if not options.page:
        fill(names, options.most, options.seconds)
    draw(list(skmil.methods()))
    PAGE.write_text(page(list(skmil.methods())), "utf-8")


if __name__ == "__main__":
    main()
