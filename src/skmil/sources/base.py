"""What all sources share: names, failures, threads, progress, the cache; a source adds the extraction."""

import hashlib
import pickle
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmil._parameters import JOBS, one_of, start_fit
from skmil._threads import n_threads
from skmil._version import __version__
from skmil.bags import Bags
from skmil.sources.cache import DiskCache, MemoryCache, decode, encode, fingerprint
from skmil.sources.pool import ordered
from skmil.sources.things import BadThing, Failure, SourceError, Thing, as_things, listed

_memory = MemoryCache()  # shared by all sources of the process: a search reads each thing once
_progress: ContextVar[Callable[[int, int], None] | None] = ContextVar("progress", default=None)
Outcome = tuple[Any, str | None, Exception | None]  # what a thing gave, or why nothing and the error
_NOT_EXTRACTION = ("on_error", "n_jobs", "cache")


class Extract(NamedTuple):
    """What one thing gave: its instances, and where each lies in it, or a function that says so."""

    instances: Any
    parts: Any


@contextmanager
def progress(tell: Callable[[int, int], None]) -> Iterator[None]:
    """Call ``tell(done, total)`` after each thing that a source of this block has turned into a bag.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil.sources import ImageBags, progress
    >>> with progress(lambda done, total: print(done, "of", total)):
    ...     bags = ImageBags().fit_transform([np.zeros((8, 8)), np.ones((8, 8))])
    1 of 2
    2 of 2
    """
    token = _progress.set(tell)
    try:
        yield
    finally:
        _progress.reset(token)


class BagSource(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """A transformer from things to ``Bags``, first step of a pipeline.

    A subclass writes ``_extract(content, thing)`` (one thing to its instances and their places) and
    ``_feature_names()``; one that learns from training things also ``_fit(extracts)`` and ``_assemble``.
    Its constructor takes ``on_error="raise", n_jobs=None, cache=None`` besides its own parameters, which it
    adds to ``_parameter_constraints``.
    """

    on_error: str
    n_jobs: int | None
    cache: str | PathLike | None
    _suffixes: tuple[str, ...] | None = None  # how strings that are paths end; None where all are paths

    _parameter_constraints: dict = {
        "on_error": [one_of("raise", "skip")],
        "n_jobs": JOBS,
        "cache": [str, PathLike, None],
    }

    def fit(self, things, y=None):
        """Learn from training things; most sources have nothing to learn and only look at the list.

        Parameters
        ----------
        things : list, 1-D array or one-column table
            Of paths, of things in memory, or of ``Thing(content, name)``.
        y : ignored
        """
        found = self._begin(things)
        if self._learns():
            self._fit(self._extracts(found)[0])
        self.fitted_ = True
        return self

    def fit_transform(self, things, y=None) -> Bags:
        """``fit`` and ``transform`` of the same things, each read once."""
        found = self._begin(things)
        extracts, names = self._extracts(found)
        if self._learns():
            self._fit(extracts)
        self.fitted_ = True
        return self._assemble(extracts, names)

    def transform(self, things) -> Bags:
        """One bag per thing, in their order; ids are the names of the things.

        Raises
        ------
        SourceError
            Once, with all things that could not be read; with ``on_error="skip"`` these are left out, a
            warning says so and ``failures_`` lists them.
        """
        check_is_fitted(self)
        return self._assemble(*self._extracts(self._things(things)))

    def parts(self, thing):
        """Where each instance of a thing lies in it, in the order of the instances."""
        check_is_fitted(self)
        (found,) = self._things([thing])
        value, reason, error = self._whole(found)
        if reason is not None:
            raise SourceError([Failure(0, found.name, reason)], 1, "repair or drop it") from error
        return value[1]

    def transform_with_parts(self, things) -> tuple[Bags, list]:
        """``transform``, and the ``parts`` of each bag; a thing is read once for both, past the cache."""
        check_is_fitted(self)
        whole, names = self._extracts(self._things(things), with_parts=True)
        return self._assemble([instances for instances, _ in whole], names), [parts for _, parts in whole]

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the features of the instances."""
        check_is_fitted(self)
        return np.asarray(self._feature_names(), dtype=object)

    def set_output(self, *, transform=None):
        """Bags stay bags: there is no other container to choose."""
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.no_validation = True
        return tags

    # What a subclass writes.

    @abstractmethod
    def _extract(self, content, thing: Thing) -> Extract:
        """One thing: the bytes of a file, or the object in memory. Raises ``BadThing`` about its content.

        ``thing.content`` is the path of a file. Called in threads; never changes ``self``. ``instances``
        is an array, or what JSON can hold if ``_assemble`` makes something of it.
        """

    @abstractmethod
    def _feature_names(self) -> list[str]:
        """Names of the features, once fitted."""

    def _check(self) -> None:
        """Complain about a missing library, and parameters that do not go together, before reading."""

    def _learns(self) -> bool:
        """Whether ``fit`` has to read the training things."""
        return False

    def _prepare(self, things: list[Thing]) -> None:
        """Learn what ``_extract`` itself needs, before any extraction."""

    def _fit(self, extracts: list) -> None:
        """Learn from the instances of training things."""

    def _assemble(self, extracts: list, names: list[str]) -> Bags:
        """Put the instances of all things into one ``Bags``."""
        return Bags.from_list(extracts, ids=names, feature_names=self._feature_names())

    def _is_path(self, x) -> bool:
        """Whether an element of the list is a path; a string is one if it ends as a file of this kind."""
        if not isinstance(x, str):
            return isinstance(x, PathLike)
        return self._suffixes is None or ("\n" not in x and x.lower().endswith(self._suffixes))

    def _name(self, content) -> str | None:
        """What a thing in memory calls itself; its number where ``None``."""
        return None

    def _content_bytes(self, content) -> bytes:
        """A thing in memory as bytes, for the key of the cache."""
        if isinstance(content, bytes):
            return content
        if isinstance(content, str):
            return b"text" + content.encode("utf-8", "surrogatepass")
        if isinstance(content, np.ndarray) and content.dtype != object:
            return f"{content.dtype} {content.shape}".encode() + content.tobytes()
        return pickle.dumps(content)

    def _key_parameters(self) -> Any:
        """What the extraction depends on besides the content; ``None`` to keep nothing."""
        parameters = self.get_params(deep=False)
        return {k: v for k, v in parameters.items() if k not in _NOT_EXTRACTION}

    def _versions(self) -> list[str]:
        """Versions of the libraries that the extraction uses."""
        return []

    # How it is run.

    def _begin(self, things) -> list[Thing]:
        start_fit(self)
        self._check()
        found = self._things(things)
        self._prepare(found)
        return found

    def _things(self, things) -> list[Thing]:
        return as_things(things, self._is_path, self._name)

    def _extracts(self, things: list[Thing], with_parts: bool = False) -> tuple[list, list[str]]:
        """Instances (or pairs of instances and parts) and names of all things that could be read."""
        extracts, names, failures, first = [], [], [], None
        tell = _progress.get() or (lambda done, total: None)
        for i, (value, reason, error) in enumerate(self._outcomes(things, with_parts)):
            if reason is None:
                extracts.append(value)
                names.append(things[i].name)
            else:
                failures.append(Failure(i, things[i].name, reason))
                first = first or error
            tell(i + 1, len(things))
        self.failures_ = failures
        self._complain(failures, len(things), first)
        return extracts, names

    def _complain(self, failures, total: int, cause) -> None:
        if not failures:
            return
        if self.on_error == "raise" or len(failures) == total:
            remedy = "repair or drop them" + ", or set on_error='skip'" * (len(failures) < total)
            raise SourceError(failures, total, remedy) from cause
        warnings.warn(
            f"{len(failures)} of {total} things were left out; leave out their labels, too "
            f"(failures_ has their numbers)\n{listed(failures)}",
            UserWarning,
            stacklevel=4,
        )

    def _outcomes(self, things: list[Thing], with_parts: bool) -> Iterator[Outcome]:
        """Per thing: its instances, or the reason why there are none and the error."""
        if with_parts:
            yield from ordered(self._whole, things, self._n(len(things)))
            return
        cache = _memory if self.cache is None else DiskCache(self.cache)
        recipe = self._recipe()
        try:
            yield from ordered(lambda thing: self._one(thing, cache, recipe), things, self._n(len(things)))
        finally:
            if isinstance(cache, DiskCache):
                cache.close()

    def _n(self, things: int) -> int:
        """How many threads work on this many things."""
        return min(n_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs), things)

    def _recipe(self) -> bytes | None:
        """The part of the key that all things share."""
        parameters = self._key_parameters()
        if parameters is None:
            return None
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        try:
            return fingerprint([kind, __version__, self._versions(), parameters]).encode()
        except Exception:  # a user's object that cannot be pickled has no name to keep results under
            return None

    def _whole(self, thing: Thing) -> Outcome:
        """One thing with its parts, which no cache holds."""
        try:
            extract = self._checked(_read(thing), thing)
            parts = extract.parts
            return (extract.instances, parts() if callable(parts) else parts), None, None
        except ImportError:
            raise
        except Exception as error:
            return None, _reason(error), error

    def _checked(self, content, thing: Thing) -> Extract:
        extract = self._extract(content, thing)
        if len(extract.instances) == 0:
            raise BadThing("it gives no instances")
        return extract

    def _one(self, thing: Thing, cache, recipe: bytes | None) -> Outcome:
        """One thing, from the cache or from its content; everything that goes wrong is an answer."""
        key = None
        try:
            content = _read(thing)
            key = None if recipe is None else self._key(content, thing, recipe)
            kept = None if key is None else cache.get(key)
            if kept is not None:
                value, reason = (None, decode(kept[1:])) if kept[:1] == b"F" else (decode(kept[1:]), None)
                return value, reason, None
            value = self._checked(content, thing).instances
        except ImportError:
            raise
        except Exception as error:
            if key is not None and isinstance(error, BadThing):
                cache.put(key, b"F" + encode(str(error)))
            return None, _reason(error), error
        if key is not None:
            cache.put(key, b"V" + encode(value))
        return value, None, None

    def _key(self, content, thing: Thing, recipe: bytes) -> str | None:
        # The ending of a file's name may say how to read it.
        ending = thing.content.suffix.lower() if isinstance(thing.content, Path) else " in memory"
        try:
            data = self._content_bytes(content)
        except Exception:  # as in ``_recipe``
            return None
        digest = hashlib.blake2b(recipe, digest_size=20)
        digest.update(ending.encode())
        digest.update(data)
        return digest.hexdigest()


def _read(thing: Thing):
    """The bytes of a file, or the thing in memory."""
    if not isinstance(thing.content, Path):
        if thing.content is None or (isinstance(thing.content, float) and np.isnan(thing.content)):
            raise BadThing("it is missing")
        return thing.content
    data = thing.content.read_bytes()
    if not data:
        raise BadThing("the file is empty")
    return data


def _reason(error: Exception) -> str:
    """Why, in one line; errors that are not about content also say their kind."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = " ".join(str(error).split())[:300]
    return text if isinstance(error, BadThing) and text else f"{type(error).__name__}: {text}"
