"""Seconds to an answer of every learner on the search page: ``python benchmarks/search_latency.py OUT.md``.

Fifteen marks; the first answer shows what the learner has scored after 0.7 s and similarity below that, the
last one is the learner's alone. Scoring is given up after five seconds.
"""

import sys
from pathlib import Path

from bench_search import LEARNERS, answers, collection

from skmil import methods

LIMIT, THREADS, SIZES = 5.0, 2, (1000, 10_000)


def cell(c, learner: str) -> str:
    """First and last answer."""
    try:
        first, _, last = answers(c, learner, THREADS, LIMIT)
    except RuntimeError as error:
        return str(error)
    return f"{first:.2f} s, " + (f"more than {LIMIT:.0f} s" if last is None else f"{last:.2f} s")


def main(out: str) -> None:
    """Write the table: what the page begins with, then the rest of the menu."""
    small, found = collection(200), [collection(n) for n in SIZES]
    head = ["learner", *(f"{n:,} pictures: first answer, all scored" for n in SIZES)]
    lines = [head, ["---"] * len(head)]
    for learner in dict.fromkeys([*LEARNERS, *methods("classification")]):
        cell(small, learner)  # compiled
        lines.append([f"`{learner}`", *(cell(c, learner) for c in found)])
        print(*lines[-1], file=sys.stderr, flush=True)
    Path(out).write_text("".join(f"| {' | '.join(r)} |\n" for r in lines), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
