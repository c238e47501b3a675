"""Where work runs: here, or on the workers of a Dask cluster. This is the one place that decides it.

A task is a function of a plan and a number. The plan (an estimator, a store, bounds of blocks) is written
to a file once; a worker gets its path and the number and keeps the plan it read last. So nothing large goes
through the scheduler and nothing is lost with a worker: another one reads the same files.
"""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial, wraps
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from skmil._lazy import BLOCK_BYTES, LazyBags, cut
from skmil._threads import one_blas_thread, threads
from skmil.bags import Bags
from skmil.store import BagStore, open_bags, write_bags

SECONDS_TO_CONNECT, SECONDS_TO_START = 10, 120
SECONDS_ALONE = 40  # after which a worker without a scheduler ends; busy machines start one in half
SECONDS_TO_NOTICE = 1.0  # that a worker has ended
USABLE = 0.7  # share of a worker's memory at which Dask begins to slow it down
BASE_BYTES = 2**28  # a worker with this package and nothing else

_client: ContextVar[Any] = ContextVar("client", default=None)
_ending = Lock()


@contextmanager
def cluster(where) -> Iterator[Any]:
    """Run blocks of work on Dask workers inside this context; the bits are the same as without.

    Blocks of bags, tiles of a Gram matrix, folds and cells of a table go there. Workers must see the files
    of the stores, and the folder ``$SKMIL_SCRATCH`` for plans (the temporary folder where it is not set).

    Parameters
    ----------
    where : int, str or dask.distributed.Client
        A number of processes to start here, each with one thread; the address of a scheduler
        (``tcp://...``); or a client that is connected.

    Yields
    ------
    dask.distributed.Client

    Examples
    --------
    >>> import skmil
    >>> X = [[[0.0], [1.0]], [[1.0]], [[5.0]]]
    >>> with skmil.cluster(1):  # doctest: +SKIP
    ...     K = skmil.gram(skmil.kernels.SetKernel(gamma=1.0), X)
    """
    distributed = _import_distributed()
    with _connected(distributed, where) as client:
        token = _client.set(client)
        try:
            yield client
        finally:
            _client.reset(token)


def active() -> bool:
    """Whether work goes to a cluster."""
    return _client.get() is not None


def run(
    task: Callable, plan, items: Iterable, n_bytes: int = 0, end: Callable | None = None
) -> Iterator[tuple[Any, Any]]:
    """Pairs (item, ``task(plan, item)``), in the order in which tasks end.

    Parameters
    ----------
    task : function of a module, so that workers find it
    plan : whatever all tasks share; written to a file once
    items : numbers, or other small things
    n_bytes : memory that one task needs; a cluster whose workers have less is refused
    end : function of (plan, item, result of the task), whose result takes the place of the task's; optional
        It waits for the disk and computes nothing: a worker begins its next task meanwhile.
    """
    client = _client.get()
    if client is None:
        for item in items:
            result = task(plan, item)
            yield item, result if end is None else end(plan, item, result)
        return
    _check_memory(client, n_bytes)
    with _spooled(plan) as path:
        yield from _run_there(client, partial(_call, task, end, path), list(items), n_bytes)


def map_bags(function: Callable, bags) -> Any:
    """``function`` of bags, which gives one row per bag, by blocks: of a store, or on workers.

    ``function`` is a method of a fitted estimator.
    """
    if active() and isinstance(bags, Bags) and _n_bytes(bags) > BLOCK_BYTES:
        with spilled(bags) as store:
            return map_bags(function, store)
    if isinstance(bags, Bags):
        return function(bags)
    if not active():
        return stack([function(block) for block in bags.blocks()])
    parts = cut(bags.sizes, bags._row_bytes)
    n_bytes = 4 * max(BLOCK_BYTES, int(bags.sizes.max() * bags._row_bytes))
    found = dict(run(_map_block, (function, bags, parts), range(len(parts)), n_bytes))
    return stack([found[j] for j in range(len(parts))])


def blockwise(method: Callable) -> Callable:
    """A method that gives one thing per bag, such that it takes a store block by block."""

    @wraps(method)
    def call(self, X):
        return map_bags(partial(call, self), X) if isinstance(X, LazyBags) else method(self, X)

    return call


def stack(parts: list):
    """Rows of blocks, one below the other."""
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, "csr")
    return np.concatenate(parts)


@contextmanager
def spilled(bags) -> Iterator[BagStore]:
    """Bags as a store: itself, or a copy in the scratch folder for as long as the context lasts."""
    if isinstance(bags, LazyBags):
        yield bags  # type: ignore[misc]
        return
    folder = Path(tempfile.mkdtemp(prefix="skmil-", dir=os.environ.get("SKMIL_SCRATCH")))
    try:
        write_bags(folder / "bags.zarr", bags.astype(bags.dtype))
        yield open_bags(folder / "bags.zarr")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _map_block(plan, j: int):
    function, store, parts = plan
    return function(store[parts[j]].load(2**62))


def _n_bytes(bags: Bags) -> int:
    X = bags.instances
    return X.data.nbytes + X.indices.nbytes if bags.is_sparse else X.nbytes


def _run_there(client, call: Callable, items: list, n_bytes: int) -> Iterator[tuple[Any, Any]]:
    """Keep a few tasks for each worker in the queue, and hand on results as they come."""
    distributed = _import_distributed()
    waiting, queue = {}, iter(items)
    done = distributed.as_completed(with_results=True, raise_errors=False)

    def submit() -> None:
        for item in queue:
            future = client.submit(call, item, pure=False)
            waiting[future.key] = item
            done.add(future)
            return

    for _ in range(4 * max(4, len(client.scheduler_info(-1)["workers"]))):
        submit()
    try:
        for future, result in done:
            item = waiting.pop(future.key)
            if future.status == "error":
                _raise(distributed, future, result, n_bytes)
            submit()
            yield item, result
            if not waiting:
                break
    finally:
        client.cancel([f for f in list(done.futures)], force=True)


def _raise(distributed, future, result, n_bytes: int):
    """The error of a task; a task that took several workers with it is explained."""
    error = result[1] if isinstance(result, tuple) else future.exception()
    if isinstance(error, distributed.KilledWorker):
        raise MemoryError(
            f"a task ended several workers, most likely for lack of memory; it needs about {_mib(n_bytes)} "
            "beside the program: give workers more, or take smaller tiles"
        ) from None
    raise error


def _call(task: Callable, end: Callable | None, path: str, item):
    """What a worker does in each of its threads; one end at a time, so that little is lost with it."""
    plan = _plan(path)
    with threads(1), one_blas_thread(), _openmp(len(sys.modules)).limit(limits=1):
        result = task(plan, item)
    if end is None:
        return result
    with _ending:
        _import_distributed().secede()
        return end(plan, item, result)


@lru_cache(1)
def _openmp(n_modules: int) -> ThreadpoolController:
    """Libraries with threads by OpenMP; to look for them takes milliseconds, and imports bring more."""
    return ThreadpoolController().select(user_api="openmp")


@lru_cache(2)
def _plan(path: str):
    """The plan of a run; written by this package into its own scratch folder."""
    return pickle.loads(Path(path).read_bytes())


@contextmanager
def _spooled(plan) -> Iterator[str]:
    import cloudpickle  # as Dask has it: also takes classes of the user's own script

    handle, path = tempfile.mkstemp(prefix="skmil-", suffix=".plan", dir=os.environ.get("SKMIL_SCRATCH"))
    try:
        with os.fdopen(handle, "wb") as file:
            cloudpickle.dump(plan, file)
        yield path
    finally:
        with suppress(OSError):
            os.remove(path)


def _check_memory(client, n_bytes: int) -> None:
    """Refuse a task that the smallest worker cannot hold, with both figures."""
    limits = [w["memory_limit"] for w in client.scheduler_info(-1)["workers"].values() if w["memory_limit"]]
    needed = BASE_BYTES + n_bytes
    if limits and needed > USABLE * min(limits):
        raise MemoryError(
            f"a task needs about {_mib(needed)} and the smallest worker may use "
            f"{_mib(USABLE * min(limits))} of its {_mib(min(limits))}; give workers more memory, or take "
            "smaller tiles"
        )


@contextmanager
def _connected(distributed, where) -> Iterator[Any]:
    """A client; what was started or opened here is closed here."""
    if isinstance(where, distributed.Client):
        yield where
    elif isinstance(where, str) and not where.isdigit():
        with _client_of(distributed, where) as client:
            yield client
    else:
        n = int(where)
        if n < 1:
            raise ValueError(f"cluster({where!r}): give at least one worker, or an address")
        with _processes(distributed, n) as client:
            yield client


@contextmanager
def _processes(distributed, n: int) -> Iterator[Any]:
    """A scheduler in this process and workers on this machine, each with one thread.

    Workers are commands of their own, so that a script needs no ``if __name__ == "__main__"``; they end
    when they are alone, so that nothing is left of a process that was killed.
    """
    command = [sys.executable, "-m", "dask", "worker", "--nthreads", "1", "--no-dashboard"]
    command += ["--memory-limit", f"{_worker_memory(n)}B", "--death-timeout", str(SECONDS_ALONE)]
    quiet: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    quiet["env"] = os.environ | {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false"}  # nobody looks
    options = {"n_workers": 0, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        with _kept_alive(lambda: subprocess.Popen([*command, local.scheduler_address], **quiet), n):
            client.wait_for_workers(n, timeout=SECONDS_TO_START)
            try:
                yield client
            finally:
                client.retire_workers()


@contextmanager
def _kept_alive(start: Callable[[], subprocess.Popen], n: int) -> Iterator[None]:
    """So many processes for as long as the context lasts: one that has ended is started anew."""
    processes, over = [start() for _ in range(n)], Event()

    def watch() -> None:
        while not over.wait(SECONDS_TO_NOTICE):
            processes[:] = [p if p.poll() is None else start() for p in processes]

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _client_of(distributed, address: str):
    try:
        return distributed.Client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise OSError(f"{address}: no Dask scheduler answers there ({first})") from None


def _worker_memory(n: int) -> int:
    from psutil import virtual_memory

    return int(0.9 * virtual_memory().total / n)


def _import_distributed():
    try:
        import distributed
    except ImportError:
        raise ImportError("a cluster needs dask; install it with: pip install 'skmil[scale]'") from None
    return distributed


def _mib(n: float) -> str:
    return f"{n / 2**20:,.0f} MiB"
