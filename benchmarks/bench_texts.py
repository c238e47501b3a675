"""TextBags on 10,000 abstracts against scikit-learn's vectoriser alone, on the same passages."""

import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from skmil.sources import TextBags


def abstracts(n=10_000, n_words=200, n_terms=50_000):
    """Texts of words drawn by Zipf's law."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    terms = np.array(["".join(rng.choice(letters, size=rng.integers(2, 12))) for _ in range(n_terms)])
    drawn = np.minimum(rng.zipf(1.2, size=(n, n_words)), n_terms) - 1
    return [" ".join(row) + "." for row in terms[drawn]]


def processor_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def texts(n_threads=1):
    things = abstracts()
    source = TextBags().fit(things[:10])
    spans = [source.parts(t).spans for t in things]
    passages = [t[a:b] for t, s in zip(things, spans, strict=True) for a, b in s]

    def ours():
        return TextBags(n_jobs=n_threads).fit_transform(things)

    def theirs():
        return TfidfVectorizer().fit_transform(passages)

    # Processor time, in turns: both run in one thread, and a busy machine must not decide.
    times = [(processor_seconds(ours), processor_seconds(theirs)) for _ in range(5)]
    seconds, reference = (min(t) for t in zip(*times, strict=True))
    return {
        "ratio": round(reference / seconds, 3),
        "reference": "TfidfVectorizer.fit_transform on the passages",
        "threads": n_threads,
        "texts": len(things),
        "passages": len(passages),
        "seconds": round(seconds, 2),
        "reference_seconds": round(reference, 2),
        "same": bool((ours().instances != theirs()).nnz == 0),
    }


BENCHMARKS = {"texts": texts}
