"""Sphinx configuration: Markdown pages, a gallery of examples, and one page per method of the registry."""

import inspect
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parent)]

import skmil  # noqa: E402
from reproduction.pages import grid_text  # noqa: E402
from skmil.registry import REGISTRY  # noqa: E402

project = "skmil"
author = "The skmil developers"
copyright = "2026, the skmil developers"
release = skmil.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "skmil"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
exclude_patterns = ["_build", "search_*.md", "results/summary.md", "results/overview.md"]
# A class is shown on its method's page and in the reference, so what it names stands twice.
suppress_warnings = ["config.cache", "ref.citation", "ref.python"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}

# Classes that carry a method but are not what its paper is about.
FRAME = {"BagPipeline", "BagScaler", "BagGrid", "BagSVC", "BagSVR", "EmpiricalMap", "Normalized", "Power"}


def slug(name: str) -> str:
    """File name of a method's page; names that differ only in case or signs stay apart."""
    case = "-".join(w for w in re.split(r"[^A-Za-z0-9]+", name) if w)
    return case if case == case.upper() or case[0].isupper() else f"x-{case}"


def main_class(estimator) -> type:
    """The class that the method's paper is about."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    own = [type(p) for p in parts if type(p).__module__.startswith("skmil.")]
    told = [c for c in own if c.__name__ not in FRAME]
    return (told or own)[0]


def page(name: str, when: str) -> str:
    """Markdown of one method's page."""
    entry = REGISTRY[name]
    cls = main_class((entry.classification or entry.regression)())
    source = Path(inspect.getsourcefile(cls)).relative_to(HERE.parent)
    figures = "\n".join(f"| {f.data} | {f.accuracy:.1f} | {f.source} |" for f in skmil.published(name))
    table = (
        f"## Published figures\n\n| data | accuracy % | source |\n|---|---|---|\n{figures}\n"
        if figures
        else ""
    )
    grid = grid_text(entry.grid) or "nothing"
    return f"""# {name}

*{entry.paper}.* For {" and ".join(entry.tasks)}. Assumes: {entry.assumes}.

{when}

```python
model = skmil.method("{name}"{"" if entry.classification else ', task="regression"'})
```

## The method

```{{eval-rst}}
.. autoclass:: {cls.__module__}.{cls.__name__}
   :noindex:
```

Nested cross-validation searches:

{grid}

{table}
## Its source

```{{literalinclude}} ../../{source}
:language: python
:pyobject: {cls.__name__}
```
"""


def write_method_pages() -> None:
    """Write docs/methods from the registry, so that the site and the library cannot disagree."""
    folder = HERE / "methods"
    folder.mkdir(exist_ok=True)
    texts = tomllib.loads((HERE / "when_to_use.toml").read_text("utf-8"))
    for name in REGISTRY:
        (folder / f"{slug(name)}.md").write_text(page(name, texts[name]), "utf-8")
    rows = "\n".join(
        f"| [{m.name}]({slug(m.name)}.md) | {m.paper} | {', '.join(m.tasks)} | {m.assumes} |"
        for m in REGISTRY.values()
    )
    toc = "\n".join(slug(name) for name in REGISTRY)
    (folder / "index.md").write_text(
        f"# Methods\n\n| method | paper | tasks | assumes |\n|---|---|---|---|\n{rows}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{toc}\n```\n",
        "utf-8",
    )


write_method_pages()


def setup(app):
    """Leave out what scikit-learn adds to every estimator."""
    added = re.compile(r"(set_\w+_request|get_metadata_routing|set_output)$")
    app.connect("autodoc-skip-member", lambda app, what, name, *rest: True if added.match(name) else None)
