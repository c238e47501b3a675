"""Hypothesis strategies: valid bags, labels and ids, things that are no bags, and damage to files."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from skmil import Bags

# Printable, with what separates, quotes and escapes in the formats; no control characters.
TEXT = st.text(st.sampled_from("abzAZ019 ,;:'\"\\{}%#@?_-+.éλ漢\t\n"), min_size=1, max_size=6).map(
    lambda t: f"i{t}i"
)
PLAIN_TEXT = st.text(st.sampled_from("abzAZ019_-+.éλ"), max_size=6).map(lambda t: f"i{t}")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-100, 100).map(float)
SMALL = st.floats(-1e3, 1e3, allow_subnormal=False)


@st.composite
def labelled_bags(draw, names=TEXT, numbers=NUMBERS, kinds=("int", "float", "text")):
    """Bags with ids of some type and labels of some type: (bags, y)."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    d, n = draw(st.integers(1, 4)), len(sizes)
    values = draw(st.lists(numbers, min_size=d * sum(sizes), max_size=d * sum(sizes)))
    ids = draw(
        st.none()
        | st.lists(names, min_size=n, max_size=n, unique=True)
        | st.lists(st.integers(-(10**12), 10**12), min_size=n, max_size=n, unique=True)
    )
    one = {"int": st.integers(-3, 9), "float": NUMBERS, "text": names}[draw(st.sampled_from(kinds))]
    y = np.array(draw(st.lists(one, min_size=n, max_size=n)))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Bags(np.reshape(values, (-1, d)), offsets, ids), y


_SCALARS = st.sampled_from(
    [
        None,
        True,
        3,
        -1.5,
        "text",
        b"bytes",
        np.nan,
        np.inf,
        10**400,
        1j,
        object,
        {},
        {"a": 1},
        set(),
        np.datetime64("2020"),
    ]
)
_SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)
_DTYPES = st.sampled_from(
    [float, int, bool, complex, object, "U3", "S2", "M8[D]", "m8[s]", "f4", "u1", "f2", "i8"]
)
_ARRAYS = st.builds(lambda shape, dtype: np.zeros(shape, dtype), _SHAPES, _DTYPES)


def _spoil(value, at):
    """A float array with one bad value in it."""
    array = np.ones((2, 3))
    array.flat[at] = value
    return array


_SPOILT = st.builds(_spoil, st.sampled_from([np.nan, np.inf, -np.inf, 1e308, 5e-324]), st.integers(0, 5))
_SPARSE = st.builds(lambda a: sparse.csr_matrix(a), _SPOILT) | st.builds(
    lambda shape: sparse.coo_array(np.zeros(shape)), st.tuples(st.integers(0, 2), st.integers(0, 3))
)
_LEAVES = _SCALARS | _ARRAYS | _SPOILT | _SPARSE
ODD = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@st.composite
def damage(draw, content: bytes) -> bytes:
    """The content of a file, cut short, overwritten, doubled, or with something put in."""
    at = draw(st.integers(0, len(content)))
    end = draw(st.integers(at, min(len(content), at + 40)))
    junk = draw(
        st.binary(max_size=8)
        | st.sampled_from(
            [
                b"\n",
                b",",
                b"nan",
                b"inf",
                b"'",
                b'"',
                b"{",
                b"@",
                b":",
                b"1e999",
                b"-1",
                b"\0",
                b"\xff",
                b"?",
            ]
        )
    )
    change = draw(st.sampled_from(["cut", "put", "overwrite", "double"]))
    if change == "cut":
        return content[:at]
    if change == "double":
        return content[:end] + content[at:]
    return content[:at] + junk + content[(at if change == "put" else end) :]
