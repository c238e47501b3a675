"""How methods grow: ``python benchmarks/growth.py [--seconds 10] [--methods A,B] [--again] [--page]``.

One method after the other is fitted on made bags of growing size. A point is the seconds of processor
time of a fit, its peak of memory, and the seconds to predict one bag; points are kept in ``growth.jsonl``
as soon as they are known, so that the script may be stopped and started again. A method that runs out of
its seconds or of memory is not tried on larger sizes. Ten thousand bags come last, two methods at a time.
``--page`` writes docs/growth.md and its pictures from what is known, ``--again`` measures the named
methods anew.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy.optimize import isotonic_regression

ROOT = Path(__file__).resolve().parents[1]
KNOWN, PAGE = Path(__file__).with_suffix(".jsonl"), ROOT / "docs" / "growth.md"
MIDDLE = {"bags": 100, "instances": 5, "features": 20}
MUSK1 = {**MIDDLE, "features": 166, "data": "musk1"}
SIZES = {
    "bags": [100, 300, 1000, 3000, 10_000, 30_000],
    "instances": [5, 50, 500, 5000],
    "features": [2, 20, 200, 2000],
}
MEMORY, ROOM = 24e9, 6e9  # bytes of the machine that the page speaks of, and that a fit may take here
SEEN = 3e7  # bytes from which a peak says something about the method
FLAT = 0.7  # exponent of memory up to which it does not tell where it ends
SECONDS, LONG = 10.0, 3600.0  # that a fit may take, and one of ten thousand bags
AT_ONCE = 2  # methods on ten thousand bags
TEN_THOUSAND = {**MIDDLE, "bags": 10_000, "long": True}
OVER = 77  # exit code of a process whose seconds are over
LETTER = 0.024  # height of a name, as a share of the picture
REPEATS = 5  # bags predicted, of which the fastest counts


def points(axis: str) -> list[dict]:
    """Sizes along one axis, the others in the middle."""
    return [{**MIDDLE, axis: size} for size in SIZES[axis]]


def work(name: str, rows: list[dict], long: bool, seconds: float) -> None:
    """Measure in this process what ``rows`` do not know; it ends where its seconds are over.

    Writes a line before a point, with its size, and one after it.
    """
    import resource
    import warnings

    import skmil

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (int(_status("VmSize") + ROOM), resource.RLIM_INFINITY))
    watch = Watch()
    found = {json.dumps(row["size"], sort_keys=True): row for row in rows}
    for sizes in [[TEN_THOUSAND]] if long else [[MUSK1], *(points(axis) for axis in SIZES)]:
        for before, size in zip([{}, *sizes], sizes, strict=False):
            key, last = json.dumps(size, sort_keys=True), found.get(json.dumps(before, sort_keys=True), {})
            if key in found and "failed" not in found[key]:
                continue
            if key in found or too_large(last, before, size, seconds):
                break
            print(json.dumps({"size": size}), flush=True)
            X, y = (musk if "data" in size else made)(*_shape(size))
            watch.start(LONG)
            with suppress(ValueError):  # refused
                skmil.method(name).fit(*made(12, 3, min(size["features"], 200)))  # loads compiled code
            watch.start(seconds)
            found[key] = {"size": size, **measure(skmil.method(name), X, y)}
            print(json.dumps(found[key]), flush=True)
            if "failed" in found[key]:
                break


class Watch:
    """Ends this process where it has used the seconds that it was given.

    A limit of the system would do the same, but let the clock of the process tick hundreds of times slower.
    """

    def __init__(self):
        self.end = float("inf")
        threading.Thread(target=self._look, daemon=True).start()

    def start(self, seconds: float) -> None:
        """So many from now on."""
        self.end = time.process_time() + seconds

    def _look(self) -> None:
        while time.process_time() < self.end:
            time.sleep(0.1)
        os._exit(OVER)


def measure(model, X, y) -> dict:
    """Seconds and bytes of one fit, and seconds of predicting one bag; says why where there are none."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before, start = _status("VmRSS"), time.process_time()
    try:
        model.fit(X, y)
    except MemoryError:
        return {"failed": f"over {ROOM / 1e9:.0f} GB"}
    except ValueError as error:
        return {
            "failed": f"refused: {str(error).splitlines()[0]}",
            "fit": round(time.process_time() - start, 5),
        }
    fit, peak = time.process_time() - start, _status("VmHWM")
    model.predict(X[:1])
    times = []
    for i in range(REPEATS):
        start = time.process_time()
        model.predict(X[i : i + 1])
        times.append(time.process_time() - start)
    return {"fit": round(fit, 5), "one": round(min(times), 6), "peak": max(peak - before, 0)}


def _shape(size: dict) -> tuple[int, int, int]:
    return size["bags"], size["instances"], size["features"]


def _status(field: str) -> int:
    """A number of bytes that Linux knows about this process."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


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


def run(name: str, long: bool, seconds: float) -> None:
    """Measure what is not known of a method; where a process ends at a point, the next one goes on."""
    environment = {**os.environ, **dict.fromkeys(("SKMIL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    while True:
        rows = [row for (of, _), row in known().items() if of == name]
        task = json.dumps({"name": name, "rows": rows, "long": long, "seconds": seconds})
        command = [sys.executable, __file__, "--work", task]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            row: dict = {}
            for line in process.stdout:
                row = json.loads(line)
                if len(row) > 1:
                    keep({"name": name, **row})
            code = process.wait()
        if not row or (code == 0 and len(row) > 1):
            return
        keep({"name": name, **row, "failed": _end(code, seconds)})


def _end(code: int, seconds: float) -> str:
    return f"over {seconds:.0f} s" if code == OVER else f"ended with {code}"


def too_large(found: dict, size: dict, following: dict, seconds: float) -> bool:
    """Whether the following size would take too long even if time grew no faster than it."""
    return bool(found) and found["fit"] * np.prod(_shape(following)) / np.prod(_shape(size)) > seconds


def keep(row: dict) -> None:
    """Add a point to the file."""
    with KNOWN.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(json.dumps(row), flush=True)


def known() -> dict:
    """The points of the file, by name and size; the last one counts."""
    if not KNOWN.exists():
        return {}
    rows = [json.loads(line) for line in KNOWN.read_text("utf-8").splitlines()]
    return {_key(r["name"], r["size"]): r for r in rows}


def _key(name: str, size: dict) -> tuple[str, str]:
    return name, json.dumps(size, sort_keys=True)


def forget(names: list[str]) -> None:
    """Leave out what is known of some methods."""
    rows = [row for (name, _), row in known().items() if name not in names]
    KNOWN.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def exponent(sizes, values) -> float:
    """Slope of log value over log size, through the three largest points."""
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[-3:]), np.log(np.maximum(values[-3:], 1e-4)), 1)[0])


def largest(sizes, peaks) -> float:
    """The size at which memory reaches that of the machine, by the slope of the last two points."""
    slope = exponent(sizes[-2:], peaks[-2:])
    if not slope > FLAT or peaks[-1] < SEEN:
        return float("nan")
    return float(sizes[-1] * (MEMORY / peaks[-1]) ** (1 / slope))


def page(names: list[str], seconds: float) -> str:
    """The page: one table per axis, and the latency on Musk1."""
    rows = known()
    text = [
        "# How methods grow",
        "",
        "Made by `benchmarks/growth.py`: defaults, one thread, made bags with 5 % wrong labels; one axis "
        f"grows, the others stay at {MIDDLE['bags']} bags of {MIDDLE['instances']} instances with "
        f"{MIDDLE['features']} features. Seconds are those of the processor, so that other work on the "
        "machine hardly shows, after the compiled code is loaded; memory is the peak of the process "
        "during `fit`, less what it held before. A row shows the largest size that was done; larger ones "
        f"were not, for the reason in the last column: a fit may take {seconds:.0f} s and "
        f"{ROOM / 1e9:.0f} GB, and a size that would take longer even by linear growth is not tried. "
        "Exponents are slopes through the last three sizes, so 1 is linear and 2 quadratic; those of short "
        "fits mean little. Where 24 GB end is estimated from the slope of memory, up to ten thousand bags.",
    ]
    missing = [n for n in names if _key(n, MUSK1) not in rows]
    text += ["", f"Not measured yet: {', '.join(missing)}."] if missing else []
    for axis in SIZES:
        text += ["", f"## {axis.capitalize()}", ""]
        text += [f"![Seconds to fit over {axis}](images/growth_{axis}.svg)", ""]
        text += [
            f"| method | {axis} | fit, s | one bag, ms | memory, MB | fit ~ | memory ~ | 24 GB at | end |"
        ]
        text += ["|---|---|---|---|---|---|---|---|---|"]
        text += [_line(rows, n, axis, seconds) for n in names if len(series(rows, n, axis)[0])]
    text += ["", "## Ten thousand bags", ""]
    text += [
        f"Of the same kind, in any case: a fit may take {LONG:.0f} s. {AT_ONCE} methods at a time, "
        "each on a core of its own.",
        "",
    ]
    text += ["| method | fit, s | one bag, ms | memory, MB |", "|---|---|---|---|"]
    text += [_whole(n, rows[_key(n, TEN_THOUSAND)]) for n in names if _key(n, TEN_THOUSAND) in rows]
    text += ["", "## One bag of Musk1", "", "The fastest of five, after one to warm up.", ""]
    text += ["| method | ms |", "|---|---|"]
    found = [(rows.get(_key(n, MUSK1), {}).get("one"), n) for n in names]
    text += [f"| {n} | {1000 * one:.1f} |" for one, n in found if one is not None]
    return "\n".join(text) + "\n"


def series(rows, name, axis):
    """Sizes, and fit, one and peak at each, along an axis."""
    found = []
    for size in points(axis):
        row = rows.get(_key(name, size), {})
        if "one" in row:
            found.append((size[axis], row["fit"], row["one"], row["peak"]))
    return tuple(np.array(part) for part in zip(*found, strict=True)) if found else ([], [], [], [])


def _peaks(rows, name, axis):
    """Sizes and peaks along an axis; of bags ten thousand, too, however long they took."""
    sizes, _, _, peaks = series(rows, name, axis)
    whole = rows.get(_key(name, TEN_THOUSAND), {})
    if axis == "bags" and "peak" in whole and sizes[-1] < TEN_THOUSAND["bags"]:
        return np.append(sizes, TEN_THOUSAND["bags"]), np.append(peaks, whole["peak"])
    return sizes, peaks


def _line(rows, name, axis, seconds) -> str:
    sizes, fit, one, peak = series(rows, name, axis)
    end, seen = largest(*_peaks(rows, name, axis)), peak[-1] > SEEN
    cells = [name, f"{sizes[-1]:,}", _two(fit[-1]), _two(1000 * one[-1])]
    cells += [f"{peak[-1] / 1e6:.0f}" if seen else ""]
    cells += [f"{exponent(sizes, fit):.1f}" if len(sizes) > 1 else ""]
    cells += [
        f"{exponent(sizes, peak):.1f}" if seen and len(sizes) > 1 else "",
        "" if np.isnan(end) else f"{float(f'{end:.2g}'):,.0f}",
    ]
    return "| " + " | ".join([*cells, _reason(rows, name, axis, sizes[-1], seconds)]) + " |"


def _whole(name: str, row: dict) -> str:
    if "failed" in row:
        return f"| {name} | {row['failed']} | | |"
    return f"| {name} | {_two(row['fit'])} | {_two(1000 * row['one'])} | {row['peak'] / 1e6:.0f} |"


def _two(value: float) -> str:
    """Two digits, and no exponent."""
    return f"{float(f'{value:.2g}'):g}"


def _reason(rows, name, axis, size, seconds) -> str:
    """Why there is no larger size."""
    larger = [s for s in points(axis) if s[axis] > size]
    if not larger:
        return ""
    if row := rows.get(_key(name, larger[0])):
        return row["failed"]
    last = {**MIDDLE, axis: int(size)}
    late = too_large(rows[_key(name, last)], last, larger[0], seconds)
    return f"over {seconds:.0f} s" if late else "not measured yet"


def draw(names: list[str]) -> None:
    """Seconds of fitting over each axis, one line per method."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = "growth"  # the same picture from the same points
    rows = known()
    for axis in SIZES:
        figure = Figure(figsize=(8, 7), layout="constrained")
        plot = figure.subplots()
        ends = []
        for name in names:
            sizes, fit, *_ = series(rows, name, axis)
            if len(sizes) > 1:
                (line,) = plot.loglog(sizes, fit, marker=".", linewidth=0.8)
                ends.append((fit[-1], sizes[-1], name, line.get_color()))
        plot.set(xlabel=axis, ylabel="seconds to fit")
        _name(plot, sorted(ends), 1.6 * max(size for _, size, *_ in ends))
        figure.savefig(PAGE.parent / "images" / f"growth_{axis}.svg", metadata={"Date": None})


def _name(plot, ends: list[tuple], column: float) -> None:
    """Names in a column beside the lines, in the order of their ends, each with a thread to its own."""
    low, high = np.log10(plot.get_ylim())
    places = spread([np.log10(seconds) for seconds, *_ in ends], low, high)
    for (seconds, size, name, color), place in zip(ends, places, strict=True):
        plot.annotate(
            name,
            (size, seconds),
            (column, 10**place),
            fontsize=6,
            color=color,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "linewidth": 0.3, "color": color, "relpos": (0, 0.5)},
        )


def spread(wanted: list[float], low: float, high: float) -> np.ndarray:
    """Places near those wanted, which rise, with room for a name between any two."""
    gap = (high - low) * min(LETTER, 1 / max(1, len(wanted) - 1))
    steps = np.arange(len(wanted))
    # Less the gaps below it, a place may be that of the one before, but not lower.
    free = isotonic_regression(np.array(wanted) - gap * steps).x
    return np.clip(free, low, high - gap * (len(wanted) - 1)) + gap * steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="most seconds of a fit")
    parser.add_argument("--methods", default="all")
    parser.add_argument("--again", action="store_true", help="measure these methods anew")
    parser.add_argument("--page", action="store_true", help="only write the page from what is known")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(**json.loads(options.work))
        return
    import skmil

    names = list(skmil.methods()) if options.methods == "all" else options.methods.split(",")
    if options.again:
        forget(names)
    if not options.page:
        for name in names:
            run(name, False, options.seconds)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda name: run(name, True, LONG), names))
    draw(list(skmil.methods()))
    PAGE.write_text(page(list(skmil.methods()), options.seconds), "utf-8")


if __name__ == "__main__":
    main()
