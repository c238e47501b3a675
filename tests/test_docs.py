"""Every Python block of the README and of the documentation runs; every method has its page."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

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


def test_every_method_says_when_to_use_it():
    texts = tomllib.loads((ROOT / "docs" / "when_to_use.toml").read_text("utf-8"))
    assert set(texts) == set(methods())


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if not target.startswith(("methods/", "auto_examples/")):  # made when the site is built
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
