#!/usr/bin/env python3
"""Instructions of a step, counted: instructions.py BENCH [ROW...]

Times on a machine with other work are noise; the number of instructions is the same in every run. Each row runs
under valgrind's callgrind on one thread, for a few steps and for more: the difference leaves out what happens once."""

import argparse
import re
import shutil
import subprocess
import sys

FEW, MORE = 3, 13


def count(bench, row, steps):
    """The instructions of this many steps, and the operations in a step of a row that is a chain of them."""
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                          "--toggle-collect=*run_steps*", bench, row, "--steps", str(steps), "--threads", "1"],
                         capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or collected is None:
        sys.exit(f"bench: {row} failed under valgrind:\n{run.stderr}")
    return int(collected[1]), int(run.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --instructions", description=__doc__.splitlines()[0])
    parser.add_argument("bench", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", help="rows to count (overhead, mlp_b4)")
    flags = parser.parse_intermixed_args()
    listed = subprocess.run([flags.bench, "--list"], capture_output=True, text=True, check=True).stdout.split()
    unknown = [row for row in flags.rows if row not in listed]
    if unknown:
        parser.error(f"unknown row {unknown[0]}; available: {', '.join(listed)}")
    if shutil.which("valgrind") is None:
        sys.exit("bench: valgrind is missing; install it with `apt-get install valgrind`")

    print(f"{'row':<28} {'instructions/step':>20} {'per operation':>14}")
    for row in flags.rows or ["overhead", "mlp_b4"]:
        few, _ = count(flags.bench, row, FEW)
        more, operations = count(flags.bench, row, MORE)
        step = (more - few) / (MORE - FEW)
        print(f"{row:<28} {step:>20,.0f} {format(step / operations, '.0f') if operations else '':>14}", flush=True)


if __name__ == "__main__":
    main()
