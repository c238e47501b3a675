"""Calls in processes that can be stopped in the middle, compiled code included.

A worker is this Python started anew, which reads calls from a pipe and writes what they give to another:
nothing that only one platform has, and no script is run a second time.
"""

import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

import cloudpickle

from skmil._threads import n_threads

STARTING = 120.0  # seconds for a worker to import the library and compile, which no limit counts
_SERVE = "import sys; sys.path[:] = {}; from skmil._workers import serve; serve()"


class TimeLimit(Exception):
    """A call took longer than it may."""


class Worker:
    """A process that does one call at a time, and puts (itself, what came of it) on a queue."""

    def __init__(self, answers: queue.SimpleQueue, threads: int):
        one = str(threads)
        limits = dict.fromkeys(("SKMIL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), one)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVE.format(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **limits},
        )
        self.answers = answers
        self.deadline = float("inf")
        self.task: int | None = None
        threading.Thread(target=self._listen, daemon=True).start()

    def call(self, function: Callable, args: Sequence, limit: float) -> None:
        """Begin a call, which may take ``limit`` seconds."""
        message = cloudpickle.dumps((function, args))
        self.deadline = time.monotonic() + limit
        with suppress(OSError):  # a process that has died is reported by whoever listens to it
            _send(self.process.stdin, message)

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what was still to be sent has no reader any more
                pipe.close()  # type: ignore[union-attr]

    def _listen(self) -> None:
        while (answer := _receive(self.process.stdout)) is not None:
            self.answers.put((self, pickle.loads(answer)))
        self.answers.put((self, MemoryError("the process was ended, perhaps for want of memory")))


def run_limited(
    first: tuple[Callable, Sequence], calls: Sequence[tuple[Callable, Sequence]], limit: float, n_jobs: int
) -> Iterator[tuple[int, Any]]:
    """(number of a call, what it gave or the exception it ended with), in the order in which they end.

    Parameters
    ----------
    first : a call that each worker does before others, such as one that compiles
    calls : functions that can be pickled, and their arguments
    limit : seconds that each call may take
    n_jobs : calls at the same time
    """
    answers: queue.SimpleQueue = queue.SimpleQueue()
    n = min(len(calls), n_jobs if n_jobs > 0 else os.cpu_count() or 1)
    todo = list(range(len(calls)))[::-1]
    threads = n_threads() if n == 1 else 1
    workers: list[Worker] = []

    def begin() -> None:
        workers.append(Worker(answers, threads))
        workers[-1].call(*first, limit + STARTING)

    try:
        for _ in range(n):
            begin()
        while workers:
            worker, answer = _next(answers, workers)
            if worker not in workers:
                continue  # the last word of one that was stopped
            task, worker.task, worker.deadline = worker.task, None, float("inf")
            if task is not None:
                yield task, answer
            ended = isinstance(answer, (TimeLimit, MemoryError))
            if ended or not todo:
                workers.remove(worker)
                worker.stop()
                if task is None:
                    yield todo.pop(), answer  # not even the first call was possible
                if todo and len(workers) < n:
                    begin()
                continue
            worker.task = todo.pop()
            worker.call(*calls[worker.task], limit)
    finally:
        for worker in workers:
            worker.stop()


def _next(answers: queue.SimpleQueue, workers: list[Worker]) -> tuple[Worker, Any]:
    """What a worker says next, or that its time is over; short waits, so that Ctrl-C is heard."""
    while True:
        try:
            return answers.get(timeout=0.05)
        except queue.Empty:
            for worker in workers:
                if time.monotonic() > worker.deadline:
                    return worker, TimeLimit()


def serve() -> None:
    """What a worker runs: calls from stdin, answers to stdout, until its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C, and stops us
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a method prints is no answer
    calls: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_hear, args=(calls,), daemon=True).start()
    while True:
        try:
            function, args = pickle.loads(calls.get())
            answer = function(*args)
        except Exception as error:
            answer = error
        try:
            message = cloudpickle.dumps(answer)
        except Exception as error:  # an exception that cannot travel goes as its words
            message = cloudpickle.dumps(RuntimeError(f"{answer!r} ({error})"))
        _send(answers, message)


def _hear(calls: queue.SimpleQueue) -> None:
    """Pass calls on; a parent that is gone leaves nothing to do, not even the call under way."""
    while (message := _receive(sys.stdin.buffer)) is not None:
        calls.put(message)
    os._exit(0)


def _send(pipe: IO[bytes] | None, message: bytes) -> None:
    assert pipe is not None
    pipe.write(struct.pack("<Q", len(message)) + message)
    pipe.flush()


def _receive(pipe: IO[bytes] | None) -> bytes | None:
    """The next message; None at the end."""
    assert pipe is not None
    try:
        head = pipe.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else -1
        message = pipe.read(max(0, length))
        return message if len(message) == length else None
    except (OSError, ValueError):
        return None  # closed while we waited
