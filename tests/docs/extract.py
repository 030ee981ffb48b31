"""The code in README.md and docs/: extract.py ROOT OUT

A cpp block with a main is a whole program: it is written to OUT/NAME.cpp, and a text block right after
it to OUT/NAME.txt, what the program must print. Any other cpp block is a quotation and must stand
in a source file, line for line but for indentation."""

import pathlib
import re
import sys

root, out = map(pathlib.Path, sys.argv[1:])
out.mkdir(parents=True, exist_ok=True)


def squeezed(code):
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


folders = ("core", "ops", "nn", "models", "train", "examples", "tests")
sources = [squeezed(path.read_text()) for folder in folders for ending in ("*.h", "*.cpp")
           for path in sorted((root / folder).rglob(ending))]
wrong = []
for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
    blocks = re.findall(r"```(\w+)\n(.*?)```(?:\s*```text\n(.*?)```)?", page.read_text(), re.S)
    for number, (language, code, output) in enumerate(b for b in blocks if b[0] == "cpp"):
        name = f"{page.stem}_{number}"
        if "int main" in code:
            (out / f"{name}.cpp").write_text(code)
            (out / f"{name}.txt").write_text(output)
            print(name)
        elif not any(squeezed(code) in source for source in sources):
            wrong.append(f"{page.name}: this code stands in no source file:\n{code}")
if wrong:
    sys.exit("\n".join(wrong))
