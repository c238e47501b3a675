"""Results of an experiment, one JSON line per task: a killed run loses at most what was under way."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from joblib import Parallel, delayed

from skmil._cluster import active
from skmil._cluster import run as run_on_cluster
from skmil._identity import agree
from skmil._journal import Journal


def run_tasks(
    run: Callable[[dict], dict],
    tasks: Iterable[dict],
    path: Path,
    n_jobs: int,
    progress: Callable,
    stamp: Callable[[dict], dict] = lambda task: {},
) -> list[dict]:
    """Do the tasks that the file does not hold yet, in processes, and return all results in order.

    Parameters
    ----------
    run : function of a task that returns its results; both are plain dictionaries
    tasks : what to do; a task is its own key
    path : file of the results
    n_jobs : tasks at the same time
    progress : called with a line of text and (done, all) after each task
    stamp : what else decides a result; one with another stamp is of another version, and done again
    """
    tasks = list(tasks)
    journal = Journal(path)
    done = current_results((row for _, row in journal.entries()), tasks, stamp)
    todo = [t for t in tasks if _key(t) not in done]
    finished = len(tasks) - len(todo)
    if active():
        work = (pair for _, pair in run_on_cluster(_pair, run, todo))
    else:
        work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            delayed(_pair)(run, t) for t in todo
        )
    for task, result in work:
        journal.append([{"result": result, "stamp": stamp(task), "task": task}])
        done[_key(task)] = {**task, **result}
        finished += 1
        progress(f"{path.stem} {_line(task)}", finished, len(tasks))
    return [done[_key(t)] for t in tasks]


def current_results(
    rows: Iterable[dict], tasks: Iterable[dict], stamp: Callable[[dict], dict] = lambda task: {}
) -> dict[str, dict]:
    """Tasks with their results by key, as far as they were done with the settings of today."""
    asked = {_key(t): t for t in tasks}
    found = {}
    for row in rows:
        task = asked.get(_key(row["task"]))
        if task is not None and same(row.get("stamp"), stamp(task)):
            found[_key(task)] = {**task, **row["result"]}
    return {key: found[key] for key in asked if key in found}


def same(old, new: dict) -> bool:
    """Whether two stamps are of the same settings: those that both name are the same."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return old == new
    nested = [k for k in new if isinstance(new[k], dict) and k in old]
    if "settings" in new:
        nested.remove("settings")
        if not agree(old.get("settings", {}), new["settings"]):
            return False
    plain = [k for k in {*old, *new} if k not in nested and k != "settings"]
    return all(old.get(k) == new.get(k) for k in plain) and all(same(old[k], new[k]) for k in nested)


def _pair(run, task):
    return task, run(task)


def _key(task: dict) -> str:
    return json.dumps(task, sort_keys=True)


def _line(task: dict) -> str:
    return " ".join(str(v) for v in task.values())
