"""The code in README.md and docs/ of a project: extract.py ROOT OUT SOURCE_FOLDER...

A cpp block with a main is a whole program: it is written to OUT/NAME.cpp, and a text block right after it to
OUT/NAME.txt, what the program must print. A diff block replaces lines of the program before it, which makes another
program. A program whose first line names its file is run by the commands of its page (commands_test.py). The glossary's
program runs once for each line of code in the second column of its tables by hand, with that line in the place of a
comment. Any other cpp block is a quotation and must stand in a source file of these folders, line for line but for
indentation."""

import pathlib
import re
import sys

root, out = map(pathlib.Path, sys.argv[1:3])
out.mkdir(parents=True, exist_ok=True)


def write(path, text):
    """A file that stays as it is keeps its time, so that it isn't compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def squeezed(code):
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


def with_lines(program, page):
    """The program's main as one function for each line of the tables, called one after the other."""
    by_hand = re.sub(r"<!-- headers: .*?<!-- end of headers -->", "", page, flags=re.S)  # header_examples.py has the others
    lines = re.findall(r"^\|.*?\| `(.*)` \|.*\|$", by_hand, re.M)
    head, body = program.split("int main() {", 1)
    if not lines or "// a line of the glossary" not in body:
        raise SystemExit("a glossary needs tables with code, and a place for each line in its program")
    functions = [f"void line_{i}() {{" + body.replace("// a line of the glossary", line)
                 for i, line in enumerate(lines)]
    calls = "".join(f"  line_{i}();\n" for i in range(len(lines)))
    unused = '#pragma GCC diagnostic ignored "-Wunused"\n'
    return unused + head + "\n".join(functions) + f"\nint main() {{\n{calls}}}\n"


def mended(program, diff):
    """The program with the lines that begin with - replaced by those that begin with +."""
    old, new = ("".join(line[1:] for line in diff.splitlines(keepends=True) if line[0] == sign) for sign in "-+")
    if not old or program.count(old) != 1:
        raise SystemExit(f"these lines must stand once in the program before them:\n{old}")
    return program.replace(old, new)


sources = [squeezed(path.read_text()) for folder in sys.argv[3:] for ending in ("*.h", "*.cpp")
           for path in sorted((root / folder).rglob(ending))]
wrong = []
for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
    program = ""
    blocks = re.findall(r"```(\w+)\n(.*?)```(?:\s*```text\n(.*?)```)?", page.read_text(), re.S)
    for number, (language, code, output) in enumerate(b for b in blocks if b[0] in ("cpp", "diff")):
        if language == "diff":
            code = mended(program, code)
        name = f"{page.stem}_{number}"
        if "int main" in code:
            program = with_lines(code, page.read_text()) if page.stem == "glossary" else code
            write(out / f"{name}.cpp", program)
            write(out / f"{name}.txt", output)
            print(name)
        elif not any(squeezed(code) in source for source in sources):
            wrong.append(f"{page.name}: this code stands in no source file:\n{code}")
if wrong:
    sys.exit("\n".join(wrong))
