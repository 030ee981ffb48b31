"""ideas_test.py: each name in the table of ideas stands in tapegrad_mini.h and in a file of the library that its row links."""

import pathlib
import re
import sys

mini = pathlib.Path(__file__).resolve().parents[2] / "examples/mini"
rows = re.findall(r"^\| \d+ \|.*\|$", (mini / "README.md").read_text(), re.M)
assert rows


def words(path):
    return set(re.findall(r"\w+", path.read_text()))


missing = []
for row in rows:
    names = set(re.findall(r"`(\w+)`", row))
    linked = set().union(*(words(mini / link) for link in re.findall(r"\]\(([^)]+)\)", row)))
    missing += [f"{row}: {name}" for name in names - words(mini / "tapegrad_mini.h") | names - linked]
if missing:
    sys.exit("\n".join(missing))
