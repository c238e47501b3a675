"""Threads: a search's results reach them, BLAS gets its own back, blocks stay within their memory."""

import threading
import tracemalloc
from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info, threadpool_limits

from skmil import Bags, threads
from skmil._engines.boxes import shared
from skmil._engines.pairs import InstanceKernel, pair_sums, self_sums
from skmil._memo import once, searching
from skmil._threads import map_blocks, one_blas_thread

Lengths = namedtuple("Lengths", ["z", "offsets"])
computed = []


def slowly(x):
    computed.append(x)
    threading.Event().wait(0.01)  # long enough for another thread to ask for the same
    return np.full(3, x)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_what_a_search_keeps_reaches_the_threads_of_a_pool(n):
    computed.clear()
    with searching(), threads(n):
        found = map_blocks(lambda i: once(slowly, i % 3), range(9))
        again = map_blocks(lambda i: once(slowly, i), range(3))
    assert sorted(computed) == [0, 1, 2]
    assert_allclose(found, [[i % 3] * 3 for i in range(9)])
    assert_allclose(again, [[i] * 3 for i in range(3)])


def test_a_failure_in_one_thread_does_not_hold_the_others():
    def fails(x):
        raise ValueError(x)

    with searching(), threads(2):
        for _ in range(2):
            with pytest.raises(ValueError, match="7"):
                map_blocks(lambda _: once(fails, 7), range(4))


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_two_threads_give_blas_back_in_any_order():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait()

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        worker = threading.Thread(target=other)
        with one_blas_thread():
            worker.start()
            inside.wait()
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}  # the other is still inside
        leave.set()
        worker.join()
        assert blas_threads() == before


def test_blas_comes_back_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(KeyError), one_blas_thread(), one_blas_thread():
            raise KeyError
        assert blas_threads() == before


def peak(function):
    tracemalloc.start()
    function()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_pair_sums_need_their_result_and_one_block():
    A = Bags(np.random.default_rng(0).normal(size=(2500, 2)), np.arange(2501))
    kernel, result = InstanceKernel(gamma=0.5), 8 * 2500**2
    pair_sums(A[:3], A[:3], kernel)
    with threads(1):
        assert peak(lambda: pair_sums(A, A, kernel)) < 1.2 * result
        assert peak(lambda: pair_sums(A[:1250], A, kernel)) < 1.2 * result / 2


def test_sums_within_bags_take_many_bags_at_a_time():
    rng = np.random.default_rng(0)
    A = Bags.from_list([rng.normal(size=(m, 3)) for m in [700, *rng.integers(1, 6, 400)]])
    entries = []

    def product(X, Y):
        entries.append(len(X) * len(Y))
        return X @ Y.T

    u = rng.random((A.offsets[-1], 2))
    assert_allclose(
        self_sums(A, InstanceKernel("linear"), u), pair_sums(A, A, InstanceKernel("linear"), u).diagonal()
    )
    self_sums(A, InstanceKernel(product))
    assert len(entries) < 40
    assert sum(entries) < 0.7 * 700**2 + 200 * A.offsets[-1]  # half of the large bag, blocks along the rest


def test_masks_of_small_bags_are_small():
    z = np.random.default_rng(0).random((4000, 10))
    M = shared.masks(Lengths(z, np.arange(4001)))
    assert sum(part.nbytes for part in M) < 8 * z.nbytes
    boxes = np.random.default_rng(1).random((5, 10)) * 0.3
    expected = (z >= boxes[:, None]).all(axis=2)
    assert_allclose(shared.inside(Lengths(z, np.arange(4001)), M, boxes), expected)


def test_masks_count_in_bags_of_any_size():
    rng = np.random.default_rng(0)
    offsets = np.cumsum([0, 1, 63, 1, 64, 65, 200, 3, 128])
    z = rng.random((offsets[-1], 4))
    T, boxes = Lengths(z, offsets), rng.random((20, 4)) * 0.5
    expected = np.add.reduceat((z >= boxes[:, None]).all(axis=2), offsets[:-1], axis=1)
    assert_allclose(shared.inside(T, shared.masks(T), boxes), expected)
