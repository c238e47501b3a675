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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

import cloudpickle

from skmil._threads import n_threads

STARTING = 120.0  # seconds for a worker to import the library and compile, which no limit counts
_SERVE = "import sys; sys.path[:] = {}; from skmil._workers import serve; serve()"


Call = tuple[Callable, Sequence]  # a function and its arguments


class TimeLimit(Exception):
    """A call took longer than it may."""


class Worker:
    """A process that does one call at a time, and puts (itself, what came of it) on a queue.

    ``number`` and ``task`` are the call that it has to do, ``ready`` says whether it has done its first.
    """

    def __init__(self, answers: queue.SimpleQueue, threads: int, number: int, task: Call):
        names = ("SKMIL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        limits = dict.fromkeys(names, str(threads))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVE.format(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **limits},
        )
        self.answers = answers
        self.number, self.task = number, task
        self.ready = False
        self.deadline = float("inf")
        threading.Thread(target=self._listen, daemon=True).start()

    def call(self, call: Call, limit: float) -> None:
        """Begin a call, which may take ``limit`` seconds."""
        message = cloudpickle.dumps(call)
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


def run_limited(first: Call, calls: Iterable[Call], limit: float, n_jobs: int) -> Iterator[tuple[int, Any]]:
    """(number of a call, what it gave or the exception it ended with), in the order in which they end.

    Parameters
    ----------
    first : a call that each worker does before others, such as one that compiles
    calls : functions that can be pickled, and their arguments; the next is taken when a worker is free
    limit : seconds that each call may take
    n_jobs : calls at the same time
    """
    answers: queue.SimpleQueue = queue.SimpleQueue()
    todo = enumerate(calls)
    threads = n_threads() if n_jobs == 1 else 1
    workers: list[Worker] = []

    def employ() -> None:
        if (following := next(todo, None)) is not None:
            workers.append(Worker(answers, threads, *following))
            workers[-1].call(first, limit + STARTING)

    try:
        for _ in range(n_jobs):
            employ()
        while workers:
            worker, answer = _next(answers, workers)
            if worker not in workers:
                continue  # the last word of one that was stopped
            if isinstance(answer, (TimeLimit, MemoryError)):
                workers.remove(worker)
                worker.stop()
                yield worker.number, answer
                employ()
            elif not worker.ready:
                worker.ready = True
                worker.call(worker.task, limit)
            else:
                worker.deadline = float("inf")
                yield worker.number, answer
                _go_on(worker, next(todo, None), workers, limit)
    finally:
        for worker in workers:
            worker.stop()


def _go_on(worker: Worker, following, workers: list[Worker], limit: float) -> None:
    """Give a worker its next call, or let it go."""
    if following is None:
        workers.remove(worker)
        worker.stop()
    else:
        worker.number, worker.task = following
        worker.call(worker.task, limit)


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
        _send(answers, _packed(answer))


def _packed(answer) -> bytes:
    """The answer; what cannot be read again at the other end goes as its words."""
    try:
        message = cloudpickle.dumps(answer)
        pickle.loads(message)
        return message
    except Exception:
        return pickle.dumps(RuntimeError(repr(answer)))


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
