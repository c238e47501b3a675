"""Put results between the markers of the README and of a page, so that no figure is typed."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACES = (
    (HERE.parent / "README.md", "results", "summary.md"),
    (HERE / "choose.md", "results", "overview.md"),
    (HERE / "choose.md", "regression", "regression.md"),
)


def main() -> None:
    """Replace what stands between the markers."""
    for page, name, source in PLACES:
        start, end = f"<!-- {name}: written by docs/update_results.py -->", f"<!-- end of {name} -->"
        text = (HERE / "results" / source).read_text("utf-8")
        text = re.sub(r"\A# .*?\n\n\*.*?\n\n", "", text)  # the heading of a page of its own
        old = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        block = f"{start}\n{text.strip()}\n{end}"
        page.write_text(old.sub(lambda _, new=block: new, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
