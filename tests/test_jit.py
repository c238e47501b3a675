"""Threads, random streams and the exponential."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmil import threads
from skmil._jit import exp, njit
from skmil._random import mix, random_key, uniform
from skmil._threads import map_blocks, n_threads, slices


@njit
def _exp_all(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = exp(x[i])
    return out


@njit
def _stream(key, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = uniform(key, np.uint64(i))
    return out


def test_exponential():
    x = -np.concatenate([np.geomspace(1e-300, 708, 20000), [0.0]])
    assert_allclose(_exp_all(x), np.exp(x), rtol=4e-16)
    assert _exp_all(np.array([-1e6, -np.inf])).max() < 1e-300


def test_streams_are_uniform_and_differ():
    u = _stream(np.uint64(1), 100_000)
    assert 0 <= u.min() and u.max() < 1
    assert abs(u.mean() - 0.5) < 0.005 and abs(u.var() - 1 / 12) < 0.002
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.02
    v = _stream(mix(np.uint64(1), np.uint64(7)), 100_000)
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.02
    assert_array_equal(u, _stream(np.uint64(1), 100_000))


def test_keys():
    assert random_key(3) == random_key(np.int64(3)) != random_key(4)
    assert random_key(None) != random_key(None)
    assert random_key(np.random.RandomState(0)) == random_key(np.random.RandomState(0))
    assert random_key(np.random.default_rng(0)) == random_key(np.random.default_rng(0))
    with pytest.raises(ValueError, match="random_state is 'x'"):
        random_key("x")


def test_threads_are_given_back():
    with threads(2):
        assert n_threads() == 2
        with threads(1):
            assert n_threads() == 1
        assert n_threads() == 2


def test_inside_a_worker_there_is_one_thread():
    seen = []
    worker = threading.Thread(target=lambda: seen.append(n_threads()))
    worker.start()
    worker.join()
    assert seen == [1]
    code = (
        "from joblib import Parallel, delayed; from skmil._threads import n_threads;"
        "print(Parallel(2)(delayed(n_threads)() for _ in range(2)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[1, 1]"


def test_blocks_come_back_in_order():
    with threads(2):
        assert map_blocks(lambda s: s.start, slices(10, 3)) == [0, 3, 6, 9]
    assert slices(0, 3) == [] and slices(3, 5) == [slice(0, 3)]


def test_an_error_in_a_block_comes_out():
    with threads(2), pytest.raises(ZeroDivisionError):
        map_blocks(lambda i: 1 // i, [1, 0, 2])


def test_environment_sets_the_number_of_threads():
    code = "from skmil._threads import n_threads; print(n_threads())"
    import os

    env = {**os.environ, "SKMIL_NUM_THREADS": "3"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert out.stdout.strip() == "3"


def test_compiled_code_is_found_again_by_a_second_process():
    code = (
        "from skmil.kernels import SetKernel; from skmil._engines.pairs import _segment_sums;"
        "SetKernel(gamma=1.0)([[[0.0]], [[1.0]]]); print(sum(_segment_sums.stats.cache_hits.values()))"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(out.stdout) >= 1
