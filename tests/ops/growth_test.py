"""No operation's cost grows faster than its work: growth_test.py TEST_PROGRAM

Valgrind counts the instructions of each operation and each definition, forward and backward, while an axis becomes
twice and four times as long. Counts are nearly the same in every run, so that other work on the machine decides
nothing. The work of an operation is the number of elements of its inputs and its value."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Axes whose elements meet each other, so that the work grows with their square.
SQUARED = {("self_attention", "0", "1"), ("einsum_squared", "0", "1")}
PLANTED = {"planted_in_the_value", "planted_in_the_gradient"}
# Sorting takes n log n. Larger inputs take other ways through some kernels, with more instructions for each element.
# The second number is for memory: larger pieces are managed in other ways than small ones.
TOLERANCE, INSTRUCTIONS = 1.4, 20_000


def counted_steps(program):
    """Name, input, axis, its extent, work and instructions of each step."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/step", "--toggle-collect=*counted_step*",
             "--dump-before=*step_ended*", program, "[growth]"], capture_output=True, text=True,
            # Each byte that `rep movsb` copies would count as an instruction.
            env={**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-ERMS"})
        assert run.returncode == 0, run.stdout + run.stderr
        for number, line in enumerate(re.findall("^step (.*)$", run.stdout, re.M), 1):
            name, tensor, axis, extent, elements = line.split()
            work = int(elements) ** (2 if (name.removeprefix("composite::"), tensor, axis) in SQUARED else 1)
            profile = pathlib.Path(folder, f"step.{number}").read_text()
            yield name, tensor, axis, extent, work, int(re.search(r"^totals: (\d+)", profile, re.M)[1])


if shutil.which("valgrind") is None:
    sys.exit("skipped: valgrind is missing; install it with `apt-get install valgrind`")
steps = list(counted_steps(sys.argv[1]))
faster, largest = set(), (0, "")
for (name, tensor, axis, _, *first), (*_, work, count), (*_, extent, last_work, last_count) in zip(*[iter(steps)] * 3):
    allowed = max(0, count - first[1]) * (last_work - work) / (work - first[0]) + INSTRUCTIONS
    ratio = (last_count - count) / allowed
    line = f"{name}, axis {axis} of input {tensor} up to {extent}: {first[1]}, {count}, {last_count} instructions"
    if ratio > TOLERANCE:
        faster.add(name)
        print(f"{ratio:.2f} times its work's growth: {line}")
    else:
        largest = max(largest, (ratio, line))
print(f"{len({step[0] for step in steps})} operations, {len(steps) // 3} axes; the most below the limit: "
      f"{largest[0]:.2f}, {largest[1]}")
assert faster == PLANTED, f"unexpected: {sorted(faster - PLANTED)}, not found: {sorted(PLANTED - faster)}"
