"""Calls in processes: what they give, how they fail, and that a limit ends even compiled code."""

import os

import numba
import pytest

from skmil._workers import TimeLimit, run_limited


def nothing():
    return None


def double(x):
    print("a method may print")
    return 2 * x


@numba.njit
def _forever(x):
    while x > 0:
        x = x + 1e-9 if x < 5 else 1.0
    return x


def compiled_forever():
    return _forever(1.0)


def fail(error):
    raise error


class Stubborn(Exception):
    """An exception that cannot be pickled and read again."""

    def __init__(self, a, b):
        super().__init__(f"{a} {b}")


def stubborn():
    raise Stubborn(1, 2)


def answers(calls, limit=30.0, n_jobs=1):
    return dict(run_limited((nothing, ()), calls, limit, n_jobs))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_calls_give_what_they_give(n_jobs):
    assert answers([(double, (k,)) for k in range(5)], n_jobs=n_jobs) == {k: 2 * k for k in range(5)}


def test_a_limit_stops_compiled_code_and_the_next_call_is_done():
    first, second = run_limited((_forever, (-1.0,)), [(compiled_forever, ()), (double, (1,))], 1.0, 1)
    assert first[0] == 0 and isinstance(first[1], TimeLimit) and second == (1, 2)


def test_exceptions_travel_and_a_killed_process_is_reported():
    calls = [(fail, (ValueError("no luck"),)), (stubborn, ()), (os._exit, (3,)), (double, (4,))]
    found = answers(calls)
    assert str(found[0]) == "no luck" and isinstance(found[0], ValueError)
    assert isinstance(found[1], RuntimeError) and "Stubborn" in str(found[1])
    assert isinstance(found[2], MemoryError) and found[3] == 8
