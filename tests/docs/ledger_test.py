"""The tables of docs/tables.md have the numbers of the ledger: ledger_test.py ROOT [--write]

Below each line `<!-- ledger: EXPERIMENT/TASK -->` stands a table of the test values of all systems, seed by seed. With
--write the tables are written anew."""

import json
import pathlib
import re
import statistics
import sys

root = pathlib.Path(sys.argv[1])
page = root / "docs/tables.md"
SYSTEMS = ["none", "layer", "layer_simple", "detach", "detach_mean", "detach_variance", "ada"]
MARK = re.compile(r"(<!-- ledger: (\S+) -->\n\n)((?:\|.*\n)*)")


def test_values(folder, system):
    """By seed, in the setting of the system that was trained with several seeds."""
    found = [{int(file.stem[5:]): json.loads(file.read_text())["values"]["test"]
              for file in setting.glob("seed_?.json")}
             for setting in folder.iterdir() if re.split("[:@]", setting.name)[0] == system]
    (values,) = [values for values in found if len(values) == 3]
    return [values[seed] for seed in (1, 2, 3)]


def table(task):
    folder = root / "examples/lab/ledger" / task
    columns = [test_values(folder, system) for system in SYSTEMS]
    rows = [["seed", *SYSTEMS], ["---"] + ["---:"] * len(SYSTEMS)]
    rows += [[str(seed + 1), *(f"{values[seed]:.2f}" for values in columns)] for seed in range(3)]
    rows.append(["mean", *(f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}" for values in columns)])
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


text = page.read_text()
written = MARK.sub(lambda mark: mark[1] + table(mark[2]) + ("" if mark[3] else "\n"), text)
assert MARK.search(text)
if "--write" in sys.argv:
    page.write_text(written)
else:
    assert text == written, f"{page}: the ledger has other numbers; python3 {sys.argv[0]} . --write enters them"
