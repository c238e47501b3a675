"""Put the summary of the results between the markers of the README, so that no figure is typed."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
START, END = "<!-- results: written by docs/update_readme.py -->", "<!-- end of results -->"


def main() -> None:
    """Replace what stands between the markers."""
    readme = HERE.parent / "README.md"
    summary = (HERE / "results" / "summary.md").read_text("utf-8").strip()
    text = readme.read_text("utf-8")
    block = f"{START}\n{summary}\n{END}"
    readme.write_text(
        re.sub(f"{re.escape(START)}.*?{re.escape(END)}", lambda _: block, text, flags=re.DOTALL), "utf-8"
    )


if __name__ == "__main__":
    main()
