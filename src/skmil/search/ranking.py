"""Ranking a collection by marks: similarity at once, then what a classifier of the registry says."""

import csv
import io
import threading
import time
import warnings
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skmil._scores import decision_values
from skmil._threads import map_blocks, n_threads, stoppable, threads
from skmil.bags import Bags
from skmil.inspection import RememberBags
from skmil.learners import BagPipeline
from skmil.registry import method
from skmil.search.index import Collection
from skmil.search.session import NOT_WANTED, WANTED
from skmil.search.similarity import Similarity
from skmil.sources import BagSource

_BLOCK = 256  # things scored between two looks at the clock
SHOWS = ("best", "informative", "collection", "marked")


@dataclass
class Job:
    """One ranking in the making: ``scores`` is NaN where the learner has not been.

    ``prior`` ranks what the learner has not reached: similarity to wanted things less that to others.
    ``tabs`` are those of the browser that look at it; ``stop`` ends it where none does.
    """

    key: tuple
    version: str
    marks: dict[str, str]
    prior: np.ndarray
    learner: str | None
    scores: np.ndarray
    model: Any = None
    error: str | None = None
    learned: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    stop: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.uint8))
    tabs: set[str] = field(default_factory=set)
    support: dict[tuple[int, bool], np.ndarray] = field(default_factory=dict)

    def end(self) -> None:
        """Whoever waits for it need not; its thread ends as soon as the learner looks up."""
        self.stop[0] = 1
        self.learned.set()
        self.done.set()

    def order(self) -> np.ndarray:
        """Numbers of things, the best first: scored ones, then the others by similarity."""
        scored = ~np.isnan(self.scores)
        values = np.where(scored, self.scores, -np.inf)
        return np.lexsort((np.arange(len(values)), -self.prior, -values))

    def support_of(self, i: int) -> np.ndarray | None:
        """What each part of a thing says for it, as far as that was worked out."""
        return self.support.get((i, self.model is not None))

    @property
    def scored(self) -> int:
        """How many things the learner has scored."""
        return int(np.count_nonzero(~np.isnan(self.scores)))


class Ranker:
    """Ranks one collection; keeps what later rounds can use again.

    Parameters
    ----------
    collection : Collection
    example : function from the id of a person's own example to its bag
    folder : of the index, where columns of the Gram matrix are kept; only in memory where ``None``

    Notes
    -----
    A classifier is fitted on the marked bags alone, which takes the same time for a collection of any size.
    It then scores the collection in blocks, the things most similar to the wanted ones first. Whoever looks
    before it is done finds its own order at the top and similarity below, so that a slow learner gives
    an answer as early as a fast one, and more of its own the next time one looks.
    """

    def __init__(self, collection: Collection, example=None, folder=None, n_threads: int | None = None):
        self.collection = collection
        self.similarity = Similarity(collection.bags, folder)
        self.n_threads = n_threads
        self._example = example
        self._jobs: dict[tuple[str, str], Job] = {}  # two tabs may learn in two ways
        self._lock = threading.Lock()

    def start(self, search: str, marks: dict[str, str], learner: str, tab: str = "") -> Job:
        """The ranking for these marks: the one under way, or a new one, which ends the former."""
        # Sorted, so that what is learned does not depend on the order of the marks.
        used = {k: v for k, v in sorted(marks.items()) if self._bag(k) is not None}
        both = len(set(used.values())) == 2
        key = (tuple(used.items()), learner if both else None)
        with self._lock:
            self._leave(tab, (search, learner))
            job = self._jobs.get((search, learner))
            if job is None or job.key != key or job.error is not None or job.stop[0]:
                tabs = set() if job is None else job.tabs
                if job is not None:
                    job.end()
                job = self._jobs[search, learner] = self._new(key, used)
                job.tabs = tabs
            job.tabs.add(tab)
        return job

    def stop(self) -> None:
        """Let no ranking go on: the collection is another one now, or the page is closed."""
        with self._lock:
            for job in self._jobs.values():
                job.end()

    def _leave(self, tab: str, chosen: tuple[str, str]) -> None:
        """A tab looks at another ranking now: those that nobody looks at any more need not be finished."""
        for name, job in self._jobs.items():
            if name != chosen and tab in job.tabs:
                job.tabs.remove(tab)
                if not job.tabs and not job.done.is_set():
                    job.end()

    def _new(self, key: tuple, marks: dict[str, str]) -> Job:
        """A ranking by similarity, and a thread that learns where there is something to learn."""
        with threads(self.n_threads):
            prior = self._prior(marks)
        blank = np.full(len(self.collection), np.nan)
        job = Job(key, f"{time.time_ns():x}", marks, prior, key[1], blank)
        if job.learner is None:
            job.learned.set()
            job.done.set()
        else:
            threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job

    def current(self, version: str) -> Job | None:
        """The ranking of this version, if it is still one of the latest."""
        return next((j for j in list(self._jobs.values()) if j.version == version), None)

    def order(self, job: Job, show: str = "best") -> np.ndarray:
        """Numbers of things in the order that was asked for (one of ``SHOWS``)."""
        if show not in SHOWS:
            raise ValueError(f"show is {show!r}; use one of {', '.join(SHOWS)}")
        if show == "collection":
            return np.arange(len(self.collection))
        if show == "informative":
            return self._informative(job)
        order = job.order()
        if show == "best":
            return order
        return np.array([i for i in order if self._id(i) in job.marks], dtype=int)

    def explain(self, job: Job, rows: list[int]) -> None:
        """Work out, and keep in the ranking, what each part of some things says for them being wanted."""
        learned = job.model is not None  # until then similarity shades, and is replaced later
        missing = [i for i in rows if (i, learned) not in job.support]
        if not missing or not job.marks:
            return
        bags = self.collection.bags[np.array(missing)]
        with threads(self.n_threads):
            found = job.model.score_instances(bags) if learned else self._alike(job, bags)
        job.support |= {(i, learned): np.asarray(f) for i, f in zip(missing, found, strict=True)}

    def _alike(self, job: Job, bags: Bags) -> list[np.ndarray]:
        """What makes instances like those of wanted things, or unlike those of the others."""
        wanted = [k for k, v in job.marks.items() if v == WANTED]
        shares = self.similarity.shares(bags, self._bags(wanted or list(job.marks)))
        return shares if wanted else [-s for s in shares]

    def model(self, job: Job):
        """The learned model, which takes bags; waits for it a while."""
        if not job.learned.wait(120):
            raise ValueError("the model is still being learned; try again in a while")
        if job.stop[0]:
            raise ValueError("this ranking was given up for another; try again")
        if job.model is None:
            raise ValueError(job.error or "mark at least one thing as wanted and one as not wanted first")
        return job.model

    def fitted(self, job: Job):
        """The learned model with its source, as ``skmil fit`` writes it."""
        model = self.model(job)
        if self.collection.source is None:
            return model
        training = RememberBags().fit(*self._training(job))
        source = _without_cache(self.collection.source)
        return BagPipeline([("source", source), ("training", training), ("method", model)])

    def to_csv(self, job: Job) -> str:
        """The whole ranking: name, score, where it comes from, mark."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["rank", "name", "score", "by", "mark"])
        for k, i in enumerate(job.order(), 1):
            learned = not np.isnan(job.scores[i])
            value, by = (job.scores[i], job.learner) if learned else (job.prior[i], "similarity")
            rows.writerow([k, self.collection.name(i), f"{value:.6g}", by, job.marks.get(self._id(i), "")])
        return text.getvalue()

    def _run(self, job: Job) -> None:
        try:
            with stoppable(job.stop), threads(self.n_threads), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                job.model = method(str(job.learner)).fit(*self._training(job))
                job.learned.set()
                self._score(job)
        except KeyboardInterrupt:
            pass  # it was stopped
        except Exception as error:  # whatever a learner says about these marks is for the person to read
            told = " ".join(str(error).split())[:300]
            job.error = f"{job.learner} could not learn from these marks: {told}"
        finally:
            job.learned.set()
            job.done.set()

    def _score(self, job: Job) -> None:
        """Decision values of all things, those most like the wanted ones first.

        Blocks grow, so that the first answer comes early and a call costs little in the long run. Each
        thread scores things of its own: that keeps more of a learner busy than threads inside of it.
        """
        order = np.lexsort((np.arange(len(job.prior)), -job.prior))
        step = _BLOCK
        while len(order) and not job.stop[0]:
            block, order = order[:step], order[step:]
            start = time.monotonic()
            parts = np.array_split(block, min(n_threads(), len(block)))
            job.scores[block] = np.concatenate(
                map_blocks(lambda rows: self._values(job.model, rows), parts)
            )
            step *= 4 if time.monotonic() - start < 0.1 else 2

    def _values(self, model, rows: np.ndarray) -> np.ndarray:
        bags = self.collection.bags[rows]
        values = decision_values(model, bags)
        return model.predict(bags) == WANTED if values is None else values

    def _training(self, job: Job) -> tuple[Bags, np.ndarray]:
        return self._bags(list(job.marks)), np.array(list(job.marks.values()))

    def _prior(self, marks: dict[str, str]) -> np.ndarray:
        total = np.zeros(len(self.collection))
        for label, sign in ((WANTED, 1.0), (NOT_WANTED, -1.0)):
            keys = [k for k, v in marks.items() if v == label]
            for k in keys:
                total += sign / len(keys) * self.similarity.column(k, self._bags([k]))
        return total

    def _informative(self, job: Job) -> np.ndarray:
        """Unmarked things that would teach most: near the boundary; without one, unlike all marked.

        Before the first mark, some of everything: neighbours in a folder are often alike.
        """
        if job.learner is not None and job.scored:
            unclear = -np.abs(np.where(np.isnan(job.scores), np.inf, job.scores))
        elif job.marks:
            columns = [self.similarity.column(k, self._bags([k])) for k in job.marks]
            unclear = -np.max(columns, axis=0)
        else:
            return np.random.default_rng(0).permutation(len(self.collection))
        order = np.lexsort((np.arange(len(unclear)), -unclear))
        return np.array([i for i in order if self._id(i) not in job.marks], dtype=int)

    def _id(self, i: int) -> str:
        return self.collection.ids[i]

    def _bag(self, key: str) -> Bags | None:
        """The bag of a thing or an example; ``None`` where it is gone."""
        i = self.collection.row.get(key)
        if i is not None:
            return self.collection.bags[i : i + 1]
        return None if self._example is None else self._example(key)

    def _bags(self, keys: list[str]) -> Bags:
        return Bags.concat([b for b in map(self._bag, keys) if b is not None])


def _without_cache(source: BagSource) -> BagSource:
    """The fitted source as a model holds it: without this machine's cache, raising what it cannot read."""
    found = copy(source)
    found.failures_ = []
    return found.set_params(cache=None, on_error="raise")
