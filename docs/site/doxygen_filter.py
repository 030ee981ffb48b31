"""A public header in the form that Doxygen understands, on standard output: doxygen_filter.py HEADER

The namespace loses its macro, the header becomes a group, indented lines of comments become blocks, and
examples and names elsewhere get a heading."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(root / "tests/docs"))
from public_names import declarations

NAMESPACE = "namespace tapegrad::TAPEGRAD_SCALAR {"
END = "}  // namespace tapegrad::TAPEGRAD_SCALAR"


def plain(text):
    """Text in which Doxygen finds neither commands nor Markdown; code in backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"--|[\\@<>#%&*]", lambda found: "\\" + found[0], parts[i])
    return re.sub(r"^([-+]) ", r"\\\1 ", "".join(parts))


def block(lines):
    """Indented lines: code if they are indented as in Markdown, otherwise shapes, formulas or a table."""
    indent = min(len(line) - len(line.lstrip()) for line in lines if line)
    begin, end = ("\\code{.cpp}", "\\endcode") if indent >= 4 else ("\\verbatim", "\\endverbatim")
    return [begin, *(line[indent:] for line in lines), end]


def documented(comment):
    """A comment, without its slashes, in Doxygen's commands."""
    result, indented = [], []
    for i, line in enumerate(comment):
        if line.startswith("  ") or indented and not line and comment[i + 1].startswith("  "):
            indented.append(line)
            continue
        if indented:
            result += block(indented)
            indented = []
        if example := re.fullmatch(r"Example: `(.*)`", line):
            result += ["\\par Example", "\\code{.cpp}", example[1], "\\endcode"]
        elif elsewhere := re.fullmatch(r"Elsewhere: (.*)", line):
            result += ["\\par Elsewhere", plain(elsewhere[1])]
        else:
            result.append(plain(line))
    return ["/**", *result, *(block(indented) if indented else []), "*/"]


def without_private(text):
    """A header without the private parts of its classes: Doxygen would link to types that it does not show."""
    private = re.compile(r"^( *) private:\n.*?(?=^\1 (?:public|protected):$|^\1};$)", re.M | re.S)
    return private.sub("", text)


def folder_group(path):
    """The group of a folder: for nn/layers and what lies below it, layers. All of core is one."""
    if path.parts[0] == "core":
        return "core"
    if path.parts[0] == "nn":
        return "modules" if path.parent.name == "nn" else path.parts[1]
    return path.parent.name


def group(path, text, body):
    """The begin of a header's group, with the header's comments on several declarations."""
    notes = ["\n".join(plain(line.removeprefix("// ")) for line in found[0].splitlines())
             for found in re.finditer(r"^//(?!/).*(?:\n//(?!/).*)*", body, re.M)]
    names = dict.fromkeys(found.name + ("()" if found.kind == "function" else "")
                          for found in declarations(text) if "::" not in found.name)
    return "\n".join([f"/** \\defgroup {'_'.join(path.with_suffix('').parts)} {path}",
                      f"\\ingroup {folder_group(path)}", f"\\brief {', '.join(names)}", "",
                      "\n\n".join(notes), "@{ */"])


header = pathlib.Path(sys.argv[1]).resolve()
text = header.read_text()
body = without_private(text[text.index(NAMESPACE) + len(NAMESPACE):text.index(END)])
written, comment = ["namespace tapegrad {", group(header.relative_to(root), text, body)], []
for line in body.splitlines():
    if found := re.match(r" *///(?!<) ?(.*)", line):
        comment.append(found[1])
        continue
    if comment:
        written += documented(comment)
        comment = []
    code, mark, said = line.partition("///<")
    written.append(code + mark + plain(said))
print("\n".join([*written, "/** @} */", "}"]))
