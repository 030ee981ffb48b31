"""The rows of the tables of operations, tests/*/*table.cpp: what PyTorch computes in each, and how its inputs are drawn."""

import pathlib
import re

TEXT = r'((?:"[^"]*"\s*)+)'  # one literal in several pieces
ROW = re.compile(rf'\{{"(\w+)",\s*{TEXT},\s*{TEXT},')


def rows_of(root):
    """By the name of the row: an expression of the inputs a, b, ..., and the list of what draws them."""
    found = {}
    for table in sorted((root / "tests").glob("*/*table.cpp")):
        for name, *texts in ROW.findall(table.read_text()):
            if name in found:
                raise SystemExit(f"{table}: a second row is named {name}")
            found[name] = tuple("".join(re.findall(r'"([^"]*)"', text)) for text in texts)
    return found
