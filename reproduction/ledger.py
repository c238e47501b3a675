"""Results of an experiment, one JSON line per task: a killed run loses at most what was under way."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from joblib import Parallel, delayed

from skmil.records import repair_records


def run_tasks(
    run: Callable[[dict], dict],
    tasks: Iterable[dict],
    path: Path,
    n_jobs: int,
    progress: Callable,
    stamp: Callable[[dict], str] = lambda task: "",
) -> list[dict]:
    """Do the tasks that the file does not hold yet, in processes, and return all results in order.

    Parameters
    ----------
    run : function of a task that returns its results; both are plain dictionaries
    tasks : what to do; a task is its own key
    path : file of the results
    n_jobs : tasks at the same time
    progress : called with a line of text and (done, all) after each task
    stamp : the settings behind a task; a result with another stamp is of another version, and done again
    """
    tasks = list(tasks)
    done = read_results(path, stamp)
    todo = [t for t in tasks if _key(t) not in done]
    repair_records(path)
    finished = len(tasks) - len(todo)
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(_pair)(run, t) for t in todo)
    with open(path, "a", encoding="utf-8") as file:
        for task, result in work:
            row = {"task": task, "result": result, "stamp": stamp(task)}
            file.write(json.dumps(row, sort_keys=True) + "\n")
            file.flush()
            done[_key(task)] = result
            finished += 1
            progress(f"{path.stem} {_line(task)}", finished, len(tasks))
    return [{**t, **done[_key(t)]} for t in tasks]


def read_results(path: Path, stamp: Callable[[dict], str] = lambda task: "") -> dict[str, dict]:
    """Results by task, of the settings of today; a last line that was cut short is left out."""
    if not path.exists():
        return {}
    lines = path.read_text("utf-8").split("\n")[:-1]
    rows = [json.loads(line) for line in lines if line.strip()]
    return {_key(r["task"]): r["result"] for r in rows if r.get("stamp", "") == stamp(r["task"])}


def current_results(experiment, table, rows: list[dict]) -> list[dict]:
    """Tasks of a table with their results, as far as they were done with the settings of today."""
    done = {_key(r["task"]): r["result"] for r in rows if r.get("stamp", "") == experiment.stamp(r["task"])}
    tasks = experiment.tasks(table, list(table.data))
    return [{**t, **done[_key(t)]} for t in tasks if _key(t) in done]


def _pair(run, task):
    return task, run(task)


def _key(task: dict) -> str:
    return json.dumps(task, sort_keys=True)


def _line(task: dict) -> str:
    return " ".join(str(v) for v in task.values())
