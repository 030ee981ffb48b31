"""Enters the tables of docs/glossary.md that come from the headers: glossary.py [--check]

The comment of a public name may end with two lines,
    /// Elsewhere: `F.gelu`; `gelu_tanh` is `approximate="tanh"`
    /// Example: `gelu(x)`
what others call it and a note, if any. They become a row below the mark `<!-- headers: FOLDER ... -->`, in the table of
their header. With --check, the page stays as it is and must be current."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/glossary.md"
LINES = re.compile(r"^/// Elsewhere: (.*?)(?:; (.*))?\n/// Example: `(.*)`$", re.M)
MARK = re.compile(r"(<!-- headers: ([\w/ ]+) -->\n).*?(?=\n<!-- end of headers -->)", re.S)


def tables(folders):
    found = ""
    for path in sorted(path for folder in folders.split() for path in (ROOT / folder).rglob("*.h")):
        rows = "".join(f"| {elsewhere} | `{code}` | {note + ' ' if note else ''}|\n"
                       for elsewhere, note, code in LINES.findall(path.read_text()))
        if rows:
            name = path.relative_to(ROOT)
            found += f"\n[{name}](../{name})\n\n| elsewhere | in tapegrad | notes |\n|---|---|---|\n{rows}"
    return found


page = PAGE.read_text()
current = MARK.sub(lambda mark: mark[1] + tables(mark[2]), page)
if "--check" not in sys.argv:
    PAGE.write_text(current)
elif page != current:
    sys.exit("docs/glossary.md: python3 docs/site/glossary.py enters the headers' words")
