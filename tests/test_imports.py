"""Imports only go from lower lines of the architecture to upper ones."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "skmil"
# The layers of docs/architecture.md, from the top; modules of one line may import each other.
LAYERS = [
    {"_version", "_jit", "_random", "_threads", "_memo", "_parameters", "_product", "_state"},
    {"_lazy", "_moments", "_checks", "_html", "bags"},
    {"_schema"},
    {"extend"},
    {"formats"},
    {"store"},
    {"_cluster"},
    {"sources"},
    {"datasets"},
    {"preprocessing"},
    {"_engines"},
    {"kernels"},
    {"embeddings"},
    {"learners"},
    {"registry"},
    {"_folds", "_identity", "_journal", "_scores", "_workers"},
    {"records"},
    {"_fitting"},
    {"evaluation"},
    {"report"},
    {"inspection"},
    {"_sound", "persistence"},
    {"search"},
    {"__init__"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: k for k, layer in enumerate(LAYERS) for name in layer}
FILES = sorted(SOURCE.rglob("*.py"))


def part(path):
    """The part of the package that a file belongs to."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported(path):
    """Parts of the package that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            whole = node.module == "skmil"
            names = [f"skmil.{a.name}" for a in node.names] if whole else [node.module or ""]
        for name in names:
            head, _, rest = name.partition(".")
            if head == "skmil":
                yield rest.split(".")[0] or "__init__", node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_upwards(path):
    own = part(path)
    assert own in LEVEL, f"{own} has no place in LAYERS; docs/architecture.md says where it belongs"
    for name, line in imported(path):
        name = name if name in LEVEL else "__init__"  # `from skmil import Bags`: the package itself
        assert LEVEL[name] <= LEVEL[own], f"line {line} imports {name}, which lies below {own}"


def test_the_page_has_the_layers_in_this_order():
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    rows = [[LEVEL[name] for name in re.findall(r"`(\w+)(?:\.py|/)`", cell)] for cell in cells]
    assert {level for row in rows for level in row} == {LEVEL[part(p)] for p in FILES} - {LEVEL["__init__"]}
    for above, below in pairwise(rows):
        assert max(above) <= min(below)
    assert not [p for p in {part(f) for f in FILES} - {"__init__"} if p not in "".join(cells)]
