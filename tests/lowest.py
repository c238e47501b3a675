"""Print the lowest version of everything that the suite needs, as ``pyproject.toml`` declares it."""

import re
import tomllib
from pathlib import Path


def lowest(project: dict) -> list[str]:
    """``name==version`` for each ``name >= version`` of the core, the extras and the tests."""
    extras = project["optional-dependencies"]
    wanted, seen = list(project["dependencies"]) + ["skmil[test]"], {"skmil"}
    found = []
    while wanted:
        name, options, sign, version = re.match(
            r"([\w.-]+)(?:\[([\w,-]+)\])? *(>=|==)? *([\w.]*)", wanted.pop(0)
        ).groups()
        if name == "skmil":
            wanted += [need for extra in options.split(",") for need in extras[extra]]
        elif name not in seen and name not in ("mypy", "ruff"):  # of which one version is good
            seen.add(name)
            found.append(f"{name}{f'[{options}]' if options else ''}{f'=={version}' if sign else ''}")
    return sorted(found)


if __name__ == "__main__":
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text("utf-8")
    print("\n".join(lowest(tomllib.loads(text)["project"])))
