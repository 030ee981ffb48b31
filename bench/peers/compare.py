#!/usr/bin/env python3
"""tapegrad and its peers side by side: compare.py BENCH [ROW...] [--threads N] [--rounds N] [--json FILE]

Each round measures every row with tapegrad, then with PyTorch, row after row, so that both see the same
machine; figures are medians over the rounds. PyTorch must be there for this Python (pip install torch numpy)."""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile


def measure(command, row, threads):
    """The line that one implementation writes for one row; a process of its own, so that peaks of memory are its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "row.json"
        subprocess.run([*command, row, "--threads", str(threads), "--json", file], check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads(file.read_text().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --peers", description=__doc__.splitlines()[0])
    parser.add_argument("bench", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", help="rows to measure (all)")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="also write an object a line to this file")
    flags = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        sys.exit(f"bench: {sys.executable} has no PyTorch; `pip install torch numpy`, or set PYTHON to one that has")

    listed = subprocess.run([flags.bench, "--list"], capture_output=True, text=True, check=True).stdout.split()
    unknown = [row for row in flags.rows if row not in listed]
    if unknown:
        sys.exit(f"bench: no row {unknown[0]}; there are: {', '.join(listed)}")
    commands = {"tapegrad": [flags.bench],
                "pytorch": [sys.executable, pathlib.Path(__file__).with_name("pytorch.py")]}
    lines = []
    print(f"{'row':<28} {'tapegrad ms':>12} {'spread':>8} {'pytorch ms':>12} {'spread':>8} {'ratio':>6} {'MB':>6} {'MB':>6}")
    for row in flags.rows or listed:
        found = {name: [] for name in commands}
        for _ in range(flags.rounds):
            for name, command in commands.items():
                found[name].append(measure(command, row, flags.threads))
        medians, cells = {}, []
        for name, measured in found.items():
            times = [line["ms"] for line in measured]
            medians[name] = statistics.median(times)
            cells.append(f"{medians[name]:>12.3f} {(max(times) - min(times)) / medians[name]:>8.0%}")
            lines.append({**measured[0], "ms": medians[name], "rounds": times})
        memory = " ".join(f"{found[name][0]['peak_rss_mb']:>6.0f}" for name in commands)
        print(f"{row:<28} {' '.join(cells)} {medians['pytorch'] / medians['tapegrad']:>6.2f} {memory}", flush=True)
    versions = {line["implementation"]: line["version"] for line in lines}
    print(", ".join(f"{name} {version}" for name, version in versions.items()), f"{flags.threads} threads")
    if flags.json:
        pathlib.Path(flags.json).write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
