"""The public names of the headers, with their comments and the examples at the end of these."""

import collections
import pathlib
import re

LAYERS = ("core", "io", "ops", "nn", "models", "inspect", "linalg", "cluster", "train")
HIDDEN = {"detail", "kernels"}  # namespaces of what no user names
DEFINITIONS = "composite"  # the namespace of what operations compute, in primitive operations

# first: the line of the declaration, from 1; examples: pairs of line and code
Declaration = collections.namedtuple("Declaration", "kind name text first examples")


def public_headers(root, layers=LAYERS):
    return [path.relative_to(root) for layer in layers for path in sorted((root / layer).rglob("*.h"))
            if not {"internal", "kernels"} & set(path.parts)]


def without_template(text):
    """A declaration without its `template <...>`."""
    if not text.startswith("template"):
        return text
    depth = 0
    for i, character in enumerate(text):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == ">" and depth == 0:
            return text[i + 1:].lstrip()
    raise ValueError(f"a template without an end: {text}")


def named(text):
    """Kind and name of a declaration; nothing for operators, constants, concepts and forward declarations."""
    text = without_template(text)
    if found := re.match(r"(?:struct|class|enum class) (\w+)(?! *;)\b", text):
        return "type", found[1]
    if found := re.match(r"using (\w+) =", text):
        return "alias", found[1]
    found = re.match(r"([^(=;]*?)(\w+)\(", text)
    if found and "operator" not in found[1] and "operator" != found[2]:
        return "function", found[2]
    return None


def declarations(header):
    """Those at the level of a namespace, in order. Relies on clang-format: only they begin in the first column."""
    lines = header.splitlines()
    namespaces, comment, i = [], [], 0
    while i < len(lines):
        line, first = lines[i], i + 1
        i += 1
        if line.startswith("///"):
            comment.append((first, line))
        elif found := re.match(r"namespace ([\w:]+) {", line):
            namespaces.append(found[1])
            comment = []
        elif line.startswith("}"):
            namespaces.pop()
        elif not line or line.startswith("//"):
            comment = []
        elif not line.startswith("#"):
            text = line
            while text.count("{") != text.count("}") or not re.search(r"[;}](\s*//.*)?$", text):
                text += "\n" + lines[i]
                i += 1
            kind_and_name = named(text)
            if kind_and_name and not HIDDEN & set(namespaces) and namespaces:
                kind, name = kind_and_name
                inner = "".join(f"{space}::" for space in namespaces[1:])
                examples = [(number, found[1]) for number, written in comment
                            if (found := re.fullmatch(r"/// Example: `(.*)`", written))]
                yield Declaration(kind, inner + name, text, first, examples)
            comment = []


def without_example(root, layers=LAYERS):
    """A line for each public name without an example. Overloads share one, and definitions have their operation's.
    A struct of options needs none if the example of something that takes it sets an option."""
    found = {path: list(declarations((root / path).read_text())) for path in public_headers(root, layers)}
    every = [declaration for listed in found.values() for declaration in listed]
    have = {declaration.name for declaration in every if declaration.examples}
    set_options = " ".join(declaration.text for declaration in every
                           if any("{." in code for _, code in declaration.examples))
    missing = {}
    for path, listed in found.items():
        for declaration in listed:
            name = declaration.name
            covered = (name in have or name.startswith(DEFINITIONS)
                       or name.endswith("Options") and re.search(rf"\b{name}\b", set_options))
            if not covered:
                missing.setdefault(name, f"{path}:{declaration.first}: {name} has no example")
    return list(missing.values())
