"""Ctrl-C: a real process is told to stop while it fits, and does within a second."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from skmil._threads import interruptible, map_blocks, stop_flag, threads

PROGRAM = """
import sys, time, warnings
import numpy as np
from skmil import Bags, method
rng = np.random.default_rng(0)
def make(n):
    X = rng.normal(size=(5 * n, 20))
    return Bags(X, np.arange(0, 5 * n + 1, 5)), np.arange(n) % 2
model = method(sys.argv[1])
model.fit(*make(10))  # compiles
X, y = make(int(sys.argv[2]))
print("fitting", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print(time.time(), flush=True)
    raise
"""


def interrupted(name, n, after=0.5):
    """Seconds from SIGINT to the exception in a process that fits, and what it wrote on stderr."""
    run = [sys.executable, "-c", PROGRAM, name, str(n)]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "fitting\n"
        time.sleep(after)
        start = time.time()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out, "the fit had ended before it was interrupted"
    return float(out) - start, err


@pytest.mark.skipif(os.name == "nt", reason="a process cannot send Ctrl-C to only one other there")
@pytest.mark.parametrize(
    ("name", "n"),
    [("DD", 3000), ("EM-DD", 3000), ("DD-SVM", 3000), ("MG-ACC", 3000), ("Simple-MI", 60_000)]
    + [("MILES", 5000), ("Citation-kNN", 20_000), ("k_and emp", 500), ("AL-SVM", 1000)],
)
def test_a_fit_stops_within_a_second(name, n):
    seconds, err = interrupted(name, n)
    assert err.rstrip().endswith("KeyboardInterrupt"), err
    assert "SystemError" not in err
    assert seconds < 1.5  # one, and half of one for a busy machine


def test_results_errors_and_settings_come_through():
    import sklearn

    assert interruptible(lambda a, b=2: a + b)(1) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)()
    with sklearn.config_context(assume_finite=True), threads(3):
        assert interruptible(sklearn.get_config)()["assume_finite"]
        assert interruptible(lambda: map_blocks(lambda _: stop_flag()[0], range(2)))() == [0, 0]


def test_work_ends_between_blocks_after_ctrl_c():
    seen = []

    def block(i):
        seen.append(i)
        if i == 2:
            os.kill(os.getpid(), signal.SIGINT) if os.name != "nt" else signal.raise_signal(signal.SIGINT)
        time.sleep(0.05)
        return i

    # A shell that starts the suite in the background lets it ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with threads(1), pytest.raises(KeyboardInterrupt):
            map_blocks(block, range(1000))
    finally:
        signal.signal(signal.SIGINT, before)
    time.sleep(0.2)
    assert len(seen) < 20


def test_other_threads_compute_where_they_are():
    found = []
    thread = threading.Thread(target=lambda: found.extend(map_blocks(np.square, [1, 2, 3])))
    thread.start()
    thread.join()
    assert found == [1, 4, 9]


def test_ctrl_c_while_the_command_line_loads_is_one_line(monkeypatch, capsys):
    import skmil.cli

    class Impatient:
        def find_spec(self, name, *_):
            if name == "skmil.cli.verbs":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "skmil.cli.verbs", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Impatient(), *sys.meta_path])
    assert skmil.cli.main(["methods"]) == 130
    assert capsys.readouterr().err == "skmil: interrupted\n"
