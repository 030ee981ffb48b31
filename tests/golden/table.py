"""The rows of the tables of operations, tests/*/*table.cpp: what PyTorch computes, and how its inputs are drawn."""

import re

TEXT = r'\s*((?:"[^"]*"\s*)+)'  # a literal in several pieces
ROW = re.compile(rf'\{{"(\w+)",{TEXT},{TEXT},')


def joined(text):
    return "".join(re.findall(r'"([^"]*)"', text))


def rows_of(root):
    """By the name of the row: an expression of the inputs a, b, ..., and the list of what draws them."""
    found = {}
    for table in sorted((root / "tests").glob("*/*table.cpp")):
        for name, torch, inputs in ROW.findall(table.read_text()):
            if name in found:
                raise SystemExit(f"{table}: a second row is named {name}")
            found[name] = joined(torch), joined(inputs)
    return found
