"""Texts as bags of passages, as Andrews, Tsochantaridis & Hofmann (NIPS 2003) made them of abstracts."""

from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils._param_validation import HasMethods

from skmil._parameters import COUNT, one_of, whole
from skmil.bags import Bags
from skmil.sources._passages import UNITS, passages
from skmil.sources._reading import TEXT_SUFFIXES, read_text
from skmil.sources.base import BagSource, Extract
from skmil.sources.parts import Spans
from skmil.sources.things import BadThing

LONGEST_PATH = 1000  # characters
LONGEST_NAME = 60  # characters of a feature's name: an array of names is as wide as its longest


class TextBags(BagSource):
    """A bag per text: overlapping passages, tf-idf weights of their words [1]_.

    The vectoriser is fitted on the passages of the training texts only. Instances stay sparse where it
    gives sparse matrices.

    Parameters
    ----------
    unit : "words", "sentences" or "paragraphs"
        What a passage is made of.
    size, overlap : int, optional
        Units of a passage, and how many it shares with the one before. 50 and 25 words by default, one
        sentence or one paragraph without overlap.
    vectorizer : transformer of lists of strings, optional
        ``TfidfVectorizer()`` by default; any other, also a pipeline, such as one that ends in
        ``TruncatedSVD`` for methods that need dense features.
    encoding : "auto" or a codec
        Of files. "auto" goes by the byte-order mark, what an HTML page says, UTF-8, Windows-1252.
    on_error : "raise" or "skip"
        Raise one error about all texts that cannot be read, or leave them out with a warning.
    n_jobs : int, optional
        Files read at a time; the number of threads of the library by default.
    cache : path, optional
        A folder where the text of PDF and HTML files is kept from one process to the next.

    Attributes
    ----------
    vectorizer_ : the fitted vectoriser
    failures_ : list of Failure
        What the last call left out.

    Notes
    -----
    A thing is a string, a ``Path``, or a string that ends in ``.txt``, ``.md``, ``.html`` or ``.pdf`` (the
    last needs ``pip install skmil[texts]``). Characters are counted in the text as it was read:
    ``parts(thing).text``, HTML without its tags.

    References
    ----------
    .. [1] S. Andrews, I. Tsochantaridis, T. Hofmann, "Support vector machines for multiple-instance
       learning", NIPS 15, 2003.

    Examples
    --------
    >>> from skmil.sources import TextBags
    >>> source = TextBags(size=4, overlap=2)
    >>> source.fit_transform(["the cat sat on the mat and slept", "a dog barked"])
    Bags(2 bags, 4 instances, 9 features (sparse); sizes 1 to 3, median 2)
    >>> source.parts("the cat sat on the dog").spans.tolist()
    [[0, 14], [8, 22]]
    """

    _suffixes = TEXT_SUFFIXES
    _parameter_constraints: dict = {
        **BagSource._parameter_constraints,
        "unit": [one_of(*UNITS)],
        "size": [COUNT, None],
        "overlap": [whole(0), None],
        "vectorizer": [HasMethods(["fit", "transform"]), None],
        "encoding": [str],
    }

    def __init__(
        self,
        unit="words",
        size=None,
        overlap=None,
        vectorizer=None,
        encoding="auto",
        on_error="raise",
        n_jobs=None,
        cache=None,
    ):
        self.unit = unit
        self.size = size
        self.overlap = overlap
        self.vectorizer = vectorizer
        self.encoding = encoding
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.cache = cache

    def fit_transform(self, things, y=None) -> Bags:
        """``fit`` and ``transform`` of the same things, each read and vectorised once."""
        extracts, names = self._extracts(self._begin(things))
        self.vectorizer_ = self._new_vectorizer()
        table = self.vectorizer_.fit_transform([p for e in extracts for p in e])
        self.fitted_ = True
        return self._bags(table, extracts, names)

    def _check(self):
        size, overlap = self._sizes()
        if overlap >= size:
            raise ValueError(f"size is {size} and overlap {overlap}; give an overlap less than the size")
        if self.encoding != "auto":
            _known(self.encoding)

    def _sizes(self) -> tuple[int, int]:
        """Size and overlap; the usual overlap shrinks with a size smaller than usual."""
        size, overlap = UNITS[self.unit]
        if self.size is not None:
            size, overlap = self.size, min(overlap, self.size // 2)
        return size, overlap if self.overlap is None else self.overlap

    def _is_path(self, x):
        # A text may be long; the case of all its letters need not be looked at to see that it is no path.
        return not (isinstance(x, str) and len(x) >= LONGEST_PATH) and super()._is_path(x)

    def _extract(self, content, thing):
        text = self._text(content, thing)
        spans = passages(text, self.unit, *self._sizes())
        if not spans:
            raise BadThing("it holds no words")
        return Extract([text[a:b] for a, b in spans], lambda: Spans(text, np.array(spans)))

    def _text(self, content, thing) -> str:
        if isinstance(content, bytes):
            suffix = thing.content.suffix if isinstance(thing.content, Path) else ""
            return read_text(content, suffix, self.encoding)
        if not isinstance(content, str):
            raise BadThing(f"it is of type {type(content).__name__}; expected a text or the path of one")
        return content

    def _learns(self):
        return True

    def _fit(self, extracts):
        self.vectorizer_ = self._new_vectorizer().fit([p for e in extracts for p in e])

    def _assemble(self, extracts, names):
        table = self.vectorizer_.transform([p for e in extracts for p in e])
        return self._bags(table, extracts, names)

    def _bags(self, table, extracts, names) -> Bags:
        offsets = np.cumsum([0] + [len(e) for e in extracts])
        named = hasattr(self.vectorizer_, "get_feature_names_out")
        return Bags(table, offsets, names, self._feature_names() if named else None)

    def _new_vectorizer(self):
        return TfidfVectorizer() if self.vectorizer is None else clone(self.vectorizer)

    def _feature_names(self):
        names = self.vectorizer_.get_feature_names_out()
        if max(map(len, names), default=0) <= LONGEST_NAME:
            return names
        return [n if len(n) <= LONGEST_NAME else f"{n[:40]}… ({k})" for k, n in enumerate(names)]

    def _key(self, content, thing, recipe):
        # Plain text is cut faster than it is looked up.
        slow = isinstance(thing.content, Path) and thing.content.suffix.lower() not in (".txt", ".md")
        return super()._key(content, thing, recipe) if slow else None

    def _key_parameters(self):
        return [self.unit, *self._sizes(), self.encoding]


def _known(encoding: str) -> None:
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(f"encoding is {encoding!r}, which Python does not know") from None
