"""Ranking a collection by marks: similarity at once, then what a classifier of the registry says."""

import csv
import io
import threading
import time
import warnings
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from skmil._scores import decision_values
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
    """

    key: tuple
    version: str
    marks: dict[str, str]
    prior: np.ndarray
    learner: str | None
    scores: np.ndarray
    model: object = None
    error: str | None = None
    stopped: bool = False
    done: threading.Event = field(default_factory=threading.Event)
    support: dict[tuple[int, bool], np.ndarray] = field(default_factory=dict)

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

    def __init__(self, collection: Collection, example=None, folder=None):
        self.collection = collection
        self.similarity = Similarity(collection.bags, folder)
        self._example = example
        self._jobs: dict[tuple[str, str], Job] = {}  # two tabs may learn in two ways
        self._lock = threading.Lock()

    def start(self, search: str, marks: dict[str, str], learner: str) -> Job:
        """The ranking for these marks: the one under way, or a new one, which ends the former."""
        used = {k: v for k, v in marks.items() if self._bag(k) is not None}
        both = len(set(used.values())) == 2
        key = (tuple(sorted(used.items())), learner if both else None)
        with self._lock:
            job = self._jobs.get((search, learner))
            if job is not None and job.key == key and job.error is None:
                return job
            if job is not None:
                job.stopped = True
            blank = np.full(len(self.collection), np.nan)
            version = f"{time.time_ns():x}"
            job = Job(key, version, used, self._prior(used), learner if both else None, blank)
            self._jobs[search, learner] = job
        if both:
            threading.Thread(target=self._run, args=(job,), daemon=True).start()
        else:
            job.done.set()
        return job

    def stop(self) -> None:
        """Let no ranking go on: the collection is another one now."""
        with self._lock:
            for job in self._jobs.values():
                job.stopped = True

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
        return (
            order if show == "best" else np.array([i for i in order if self._id(i) in job.marks], dtype=int)
        )

    def explain(self, job: Job, rows: list[int]) -> None:
        """Work out, and keep in the ranking, what each part of some things says for them being wanted."""
        learned = job.model is not None  # until then similarity shades, and is replaced later
        missing = [i for i in rows if (i, learned) not in job.support]
        if not missing or not job.marks:
            return
        bags = self.collection.bags[np.array(missing)]
        if learned:
            found = job.model.score_instances(bags)  # type: ignore[attr-defined]
        else:
            wanted = [k for k, v in job.marks.items() if v == WANTED]
            found = self.similarity.shares(bags, self._bags(wanted or list(job.marks)))
            found = found if wanted else [-f for f in found]
        job.support |= {(i, learned): np.asarray(f) for i, f in zip(missing, found, strict=True)}

    def fitted(self, job: Job) -> BagPipeline:
        """The learned model with its source, as ``skmil fit`` writes it."""
        if not job.done.wait(120):
            raise ValueError("the model is still being learned; try again in a while")
        if job.model is None:
            raise ValueError(job.error or "mark at least one thing as wanted and one as not wanted first")
        keys = list(job.marks)
        bags, y = self._bags(keys), np.array([job.marks[k] for k in keys])
        if self.collection.source is None:
            return job.model  # type: ignore[return-value]
        training = RememberBags().fit(bags, y)
        source = _without_cache(self.collection.source)
        return BagPipeline([("source", source), ("training", training), ("method", job.model)])

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
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                keys = list(job.marks)
                model = method(str(job.learner))
                model.fit(self._bags(keys), np.array([job.marks[k] for k in keys]))
                job.model = model
                self._score(job, model)
        except Exception as error:  # whatever a learner says about these marks is for the person to read
            job.error = (
                f"{job.learner} could not learn from these marks: {' '.join(str(error).split())[:300]}"
            )
        finally:
            job.done.set()

    def _score(self, job: Job, model) -> None:
        order = np.lexsort((np.arange(len(job.prior)), -job.prior))
        step = _BLOCK
        while len(order) and not job.stopped:
            block, order = order[:step], order[step:]
            start = time.monotonic()
            values = decision_values(model, self.collection.bags[block])
            job.scores[block] = (
                (model.predict(self.collection.bags[block]) == WANTED) if values is None else values
            )
            if time.monotonic() - start < 0.1:  # a fast learner wastes no time on many small blocks
                step *= 4

    def _prior(self, marks: dict[str, str]) -> np.ndarray:
        total = np.zeros(len(self.collection))
        for label, sign in ((WANTED, 1.0), (NOT_WANTED, -1.0)):
            keys = [k for k, v in marks.items() if v == label]
            for k in keys:
                total += sign / len(keys) * self.similarity.column(k, self._bags([k]))
        return total

    def _informative(self, job: Job) -> np.ndarray:
        """Unmarked things that would teach most: near the boundary; without one, unlike all marked."""
        if job.learner is not None and job.scored:
            unclear = -np.abs(np.where(np.isnan(job.scores), np.inf, job.scores))
        elif job.marks:
            columns = [self.similarity.column(k, self._bags([k])) for k in job.marks]
            unclear = -np.max(columns, axis=0)
        else:
            return np.arange(len(self.collection))
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
