"""The bench as its users run it: bench_test.py BENCH"""

import json
import pathlib
import subprocess
import sys
import tempfile

bench, row = sys.argv[1], "layernorm_128x1024"


def run(*arguments, code=0):
    done = subprocess.run([bench, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done)
    return done


assert row in run("--list").stdout.split()
assert "no_such_row" in run("no_such_row", code=2).stderr
assert run("overhead", "--steps", "3").stdout == "overhead 1000\n"
run("overhead", "--steps", "0", code=2)
run(row, "--json", "/no/such/folder/file", code=1)
instructions = pathlib.Path(__file__).parents[2] / "bench/instructions.py"
wrong = subprocess.run([sys.executable, instructions, bench, "no_such_row"], capture_output=True, text=True)
assert wrong.returncode == 2 and "unknown row no_such_row" in wrong.stderr, wrong
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "row.json"
    table = run(row, "--threads", "1", "--json", file).stdout
    line = json.loads(file.read_text())
    assert line["row"] == row and line["threads"] == 1 and line["ms"] > 0 and line["peak_rss_mb"] > 0, line
    # Forward reads and writes 128 x 1024 floats, backward reads twice and writes once, and the seed
    # is handed on: no less than 2.6 MB, which no memory moves faster than a terabyte a second.
    assert line["limit_ms"] > 2.6e-3 and 0 < line["starting_ms"] < 0.1 * line["limit_ms"], line
    # The first derivative takes the value, the second one the input: 128 x 1024 floats each.
    assert 1.048 < line["tape_mb"] < 1.06, line
    assert "multiply-adds" in table and "memory" in table and row in table, table
    run("overhead", "--threads", "1", "--json", file)
    line = json.loads(file.read_text())
    assert line["starting_ms"] > 0.9 * line["limit_ms"], line
