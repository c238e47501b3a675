"""Change saved models at random: an answer or a ValueError may come out, and nothing else.

``python -m tests.fuzz_models FOLDER ROUNDS SEED`` changes each model file of a folder so many times. It
runs in a process of its own, so that a crash of compiled code is seen from outside; the last line says
where.
"""

import io
import json
import sys
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from skmil import Bags
from skmil.persistence import load_model

NUMBERS = [0, 1, -1, 2, 7, 255, 2**31 - 1, -(2**31), 2**62, np.nan, np.inf, -np.inf, 1e300, 0.5]
TEXTS = ["0", "1", "-1", "3", "1000000", "2305843009213693952", "0.5", "null", "true", '"x"', "[]", "NaN"]
TYPES = ["f4", "i8", "i4", "u2", "c16", "?", ">f8", "U3", "f8"]


def other_value(a, rng):
    """One number is another."""
    a = a.copy()
    if a.size:
        with np.errstate(all="ignore"):
            value = np.array(NUMBERS[rng.integers(len(NUMBERS))])
            a.flat[rng.integers(a.size)] = value.astype(a.dtype)
    return a


def other_values(a, rng):
    """All numbers are others."""
    return (rng.normal(size=a.shape) * 10.0 ** rng.integers(-3, 12)).astype(a.dtype)


def other_order(a, rng):
    """The same numbers elsewhere."""
    return rng.permutation(a.ravel()).reshape(a.shape)


def other_shape(a, rng):
    """Less, more, or turned round."""
    a = np.atleast_1d(a)
    shapes = [a[:-1], np.concatenate([a, a[-1:]]), a[:0], a.T.copy(), a.ravel(), a[None], a[..., :-1]]
    return shapes[rng.integers(len(shapes))]


def other_type(a, rng):
    """Numbers of another type."""
    return a.astype(TYPES[rng.integers(len(TYPES))])


ARRAYS = [other_value, other_value, other_values, other_order, other_shape, other_shape, other_type]


def nodes(schema):
    """All parts of the schema that describe an object."""
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            todo += part.values()
        elif isinstance(part, list):
            todo += part


def change_schema(schema, rng) -> str:
    """A missing attribute, another plain value, or an array in the place of another."""
    every = list(nodes(schema))
    kind = rng.integers(3)
    if kind == 0:
        holders = [n for n in every if n["__loader__"] == "DictNode" and n.get("content")]
        content = holders[rng.integers(len(holders))]["content"]
        name = list(content)[rng.integers(len(content))]
        del content[name]
        return f"without {name}"
    if kind == 1:
        plain = [n for n in every if n["__loader__"] == "JsonNode"]
        node = plain[rng.integers(len(plain))]
        before, node["content"] = node["content"], TEXTS[rng.integers(len(TEXTS))]
        return f"{before} becomes {node['content']}"
    arrays = [n for n in every if "file" in n]
    if len(arrays) < 2:
        return "nothing"
    one, two = arrays[rng.integers(len(arrays))], arrays[rng.integers(len(arrays))]
    one["file"], two["file"] = two["file"], one["file"]
    return f"{one['file']} and {two['file']} exchanged"


def change(data: bytes, rng) -> tuple[bytes, str]:
    """A model file with one change, and what was changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in members if name.endswith(".npy")]
    if arrays and rng.random() < 0.6:
        name = arrays[rng.integers(len(arrays))]
        how = ARRAYS[rng.integers(len(ARRAYS))]
        out = io.BytesIO()
        np.save(out, how(np.load(io.BytesIO(members[name])), rng), allow_pickle=False)
        members[name], what = out.getvalue(), f"{name}: {how.__doc__}"
    else:
        schema = json.loads(members["schema.json"])
        what = change_schema(schema, rng)
        members["schema.json"] = json.dumps(schema).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue(), what


def ask(model, bags) -> None:
    for name in ("predict", "decision_function", "predict_proba", "score_instances"):
        if hasattr(model, name):
            getattr(model, name)(bags)


def limit_memory(most: int = 2**33) -> None:
    """Let a change that asks for all memory be a MemoryError, where the system can (not on Windows)."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(folder: Path, rounds: int, seed: int) -> int:
    limit_memory()
    rng = np.random.default_rng(seed)
    bags = Bags.from_list([rng.normal(size=(m, 3)) * 3 for m in (1, 4, 2)])
    wrong = 0
    for path in sorted(folder.glob("*.skops")):
        whole = path.read_bytes()
        for number in range(rounds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    data, what = change(whole, rng)
                except (ValueError, TypeError):  # a change that NumPy itself refuses
                    continue
                now = folder / "now"
                now.write_bytes(data)
                print(f"{path.stem} {number}: {what}", flush=True)
                try:
                    ask(load_model(now), bags)
                except ValueError as error:
                    if "\n" in str(error) and str(now) in str(error):
                        print(f"WRONG {path.stem}: more than one line: {error}", flush=True)
                        wrong += 1
                except Exception as error:
                    print(f"WRONG {path.stem}, {what}: {type(error).__name__}: {error}", flush=True)
                    wrong += 1
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
