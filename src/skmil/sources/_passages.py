"""Cut a text into passages: where each begins and ends, counted in characters of the text."""

import re
from functools import cache
from itertools import pairwise
from math import gcd

Span = tuple[int, int]

UNITS = {"words": (50, 25), "sentences": (1, 0), "paragraphs": (1, 0)}  # size and overlap by default

# Chinese characters and Japanese kana stand without spaces: each counts as a word.
IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = rf"(?:[{IDEOGRAPH}]|[^\s{IDEOGRAPH}]++)"
OTHER_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f"  # of ASCII, besides the space itself
PARAGRAPH_END = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
SENTENCE_END = re.compile(r"[.!?…]++[\"'”’»)\]]*+(?=\s+[\"'“‘«(\[]*[^\sa-z])|[。！？]++[」』”’）]*+")
ABBREVIATION = re.compile(
    r"(?:\b(?:al|approx|ca|cf|ch|dr|ed|eds|eq|etc|fig|figs|jr|mr|mrs|ms|no|nos|p|pp|prof|ref|refs|"
    r"resp|sec|sr|st|tab|vol|vs)|\b[a-z]|\b(?:e\.g|i\.e))\.$",
    re.IGNORECASE,
)


def passages(text: str, unit: str = "words", size: int = 50, overlap: int = 25) -> list[Span]:
    """Passages of ``size`` units, each sharing ``overlap`` units with the one before.

    Parameters
    ----------
    text : str
    unit : "words", "sentences" or "paragraphs"
        Words are what stands between spaces; sentences end at ``. ! ?`` before something that is not a
        small letter, and with their paragraph; paragraphs are divided by blank lines.
    size, overlap : int
        In units. The last passage ends with the text and may be shorter.

    Returns
    -------
    list of (first character, the one after the last); empty for a text without words

    Examples
    --------
    >>> from skmil.sources._passages import passages
    >>> passages("one two three four five", size=2, overlap=1)
    [(0, 7), (4, 13), (8, 18), (14, 23)]
    >>> passages("It rains. We stay.", "sentences", 1, 0)
    [(0, 9), (10, 18)]
    """
    # Blocks of as many units as divide both the step and the size: far fewer matches than words.
    block = gcd(size, size - overlap)
    blocks = _blocks(text, unit, block)
    per_passage, step, n = size // block, (size - overlap) // block, len(blocks)
    whole = zip(blocks[::step], blocks[per_passage - 1 :: step], strict=False)
    spans = [(first[0], last[1]) for first, last in whole]
    # A passage is the last one as soon as it reaches the end of the text.
    if n and (not spans or spans[-1][1] < blocks[-1][1]):
        spans.append((blocks[len(spans) * step][0], blocks[-1][1]))
    return spans


def _blocks(text: str, unit: str, block: int) -> list[Span]:
    """Starts and ends of runs of ``block`` units."""
    if unit == "words":
        return [m.span() for m in _runs(*_word_and_space(text), block).finditer(text)]
    spans = _paragraphs(text) if unit == "paragraphs" else _sentences(text)
    return [(spans[i][0], spans[min(i + block, len(spans)) - 1][1]) for i in range(0, len(spans), block)]


def _word_and_space(text: str) -> tuple[str, str]:
    """Patterns of a word and of a space, the cheapest that are right for the text."""
    if not text.isascii():
        return WORD, r"\s"
    return (r"\S++", r"\s") if any(map(text.__contains__, OTHER_SPACES)) else ("[^ ]++", " ")


@cache
def _runs(word: str, space: str, block: int) -> re.Pattern:
    """A run of words; possessive, so that a word is never taken apart and a text costs one pass."""
    return re.compile(rf"{word}(?:{space}*+{word}){{0,{block - 1}}}+")


def _paragraphs(text: str) -> list[Span]:
    cuts = [m.end() for m in PARAGRAPH_END.finditer(text)]
    return _trimmed(text, [0, *cuts, len(text)])


def _sentences(text: str) -> list[Span]:
    cuts = [m.end() for m in SENTENCE_END.finditer(text) if not _abbreviated(text, m)]
    cuts += [m.start() for m in PARAGRAPH_END.finditer(text)]
    return _trimmed(text, [0, *sorted(cuts), len(text)])


def _abbreviated(text: str, end: re.Match) -> bool:
    """Whether the full stop belongs to an abbreviation or an initial."""
    return end.group() == "." and ABBREVIATION.search(text[max(end.end() - 8, 0) : end.end()]) is not None


def _trimmed(text: str, cuts: list[int]) -> list[Span]:
    """Pieces between cuts without the space around them; those of space alone are left out."""
    spans = []
    for start, end in pairwise(cuts):
        piece = text[start:end]
        if piece and not piece.isspace():
            left = start + len(piece) - len(piece.lstrip())
            spans.append((left, start + len(piece.rstrip())))
    return spans
