"""Put results between the markers of the README and of a page, so that no figure is typed."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACES = {HERE.parent / "README.md": "summary.md", HERE / "choose.md": "overview.md"}
START, END = "<!-- results: written by docs/update_results.py -->", "<!-- end of results -->"


def main() -> None:
    """Replace what stands between the markers."""
    for page, source in PLACES.items():
        block = f"{START}\n{(HERE / 'results' / source).read_text('utf-8').strip()}\n{END}"
        old = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.DOTALL)
        page.write_text(old.sub(lambda _, new=block: new, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
