"""Write the tutorial as a notebook, so that it can be opened without building the site."""

import ast
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TARGET = ROOT / "examples" / "plot_00_tutorial.py", ROOT / "examples" / "tutorial.ipynb"


def notebook(source: str) -> dict:
    """The cells of an example of the gallery: its docstring, then text and code that ``# %%`` divides."""
    head, *parts = re.split(r"^# %%\n", source, flags=re.MULTILINE)
    module = ast.parse(head)
    start = module.body[1].lineno - 1
    cells = [_text(ast.get_docstring(module) or ""), _code("\n".join(head.splitlines()[start:]))]
    for part in parts:
        lines = part.splitlines()
        n = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        told = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:n])
        cells += [_text(told), _code("\n".join(lines[n:]))]
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _text(told: str) -> dict:
    """reStructuredText as Markdown, as far as the tutorial uses it: headings and code."""
    told = re.sub(r"^(.+)\n=+$", r"# \1", told.strip(), flags=re.MULTILINE)
    told = re.sub(r"^(.+)\n-+$", r"## \1\n", told, flags=re.MULTILINE).replace("``", "`")
    return {"cell_type": "markdown", "metadata": {}, "source": told}


def _code(lines: str) -> dict:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": lines.strip(),
    }


def main() -> None:
    """Write it."""
    text = json.dumps(notebook(SOURCE.read_text("utf-8")), indent=1, ensure_ascii=False)
    TARGET.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
