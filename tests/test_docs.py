"""Every Python block of the README and of the documentation runs; every method has its page."""

import importlib
import json
import pkgutil
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import skmil
from skmil import methods

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    script = tmp_path / f"{page.stem}.py"
    script.write_text("\n\n".join(blocks(page)), "utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))


def documented():
    """Names that the reference shows, with their modules."""
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    yield from re.findall(r"auto(?:class|function):: ([\w.]+)", text)
    for module, members in re.findall(r"automodule:: ([\w.]+)\n +:members:(.*)", text):
        listed = members.replace(",", " ").split()
        yield from (f"{module}.{name}" for name in listed or public(importlib.import_module(module)))
    yield from (
        f"skmil.extend.{name}" for name in re.findall(r"`(\w+)`", text[text.index("`skmil.extend`") :])
    )


def public(module):
    """Classes and functions that a module shows: those it lists, or those it defines."""
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    names = getattr(module, "__all__", own)
    return [n for n in names if not n.startswith("_") and callable(getattr(module, n))]


def test_the_reference_names_everything_public():
    shown = set(documented())
    for found in pkgutil.iter_modules(skmil.__path__, "skmil."):
        name = found.name.removeprefix("skmil.")
        if name.startswith("_") or name in ("bags", "cli"):  # found in `skmil` itself, and no library
            continue
        module = getattr(skmil, name)  # one level below `import skmil`
        missing = [n for n in public(module) if not {f"{module.__name__}.{n}", f"skmil.{n}"} & shown]
        assert not missing, f"docs/api.md does not show {missing} of {module.__name__}"
    assert not [n for n in public(skmil) if f"skmil.{n}" not in shown]


def test_every_method_says_when_to_use_it():
    texts = tomllib.loads((ROOT / "docs" / "when_to_use.toml").read_text("utf-8"))
    assert set(texts) == set(methods())


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if not target.startswith(("methods/", "auto_examples/")):  # made when the site is built
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_tutorial_is_a_notebook_that_runs(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    made = runpy.run_path(str(ROOT / "docs" / "write_notebook.py"))
    shipped = json.loads(made["TARGET"].read_text("utf-8"))
    assert shipped == made["notebook"](made["SOURCE"].read_text("utf-8")), "run docs/write_notebook.py"
    known: dict = {}
    for cell in shipped["cells"]:
        if cell["cell_type"] == "code":
            exec(cell["source"], known)
    told = known["explain"](known["model"], known["new"], 1, names=known["names"])
    assert told.prediction == "active" and told.order[0] == told.witness


def test_no_docstring_has_an_underscore_that_a_page_takes_for_a_link():
    """``array (n_iter_,)`` is a reference to nowhere in reStructuredText, which the site refuses."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for line in re.findall(r"^ *\w+ : .*$", path.read_text("utf-8"), flags=re.MULTILINE):
            told = re.sub(r"``.*?``", "", line.split(" : ", 1)[1])
            if not line.rstrip().endswith(","):
                assert not re.search(r"\w_(?![\w(])", told), f"{path.name}: {line.strip()}"
