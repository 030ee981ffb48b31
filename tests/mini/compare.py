"""compare.py ONE OTHER [BITS ULPS]: runs two programs; both must print the same, which is not nothing. What is printed as
zero may have either sign: it can be a rounding error.

With BITS (of a significand), each line is a name and numbers as %a prints them, which may differ by ULPS units in
the last place of the line's largest number.
"""

import math
import re
import subprocess
import sys


def distance(line, other, bits):
    """How many units in the last place two lines differ by; infinitely many if they cannot be compared."""
    (name, *numbers), (other_name, *others) = line.split(), other.split()
    if name != other_name or len(numbers) != len(others):
        return math.inf
    values = [float.fromhex(x) for x in numbers + others]
    if not all(map(math.isfinite, values)):
        return math.inf
    unit = math.ldexp(1, math.frexp(max(map(abs, values)))[1] - bits)
    return max(abs(a - b) for a, b in zip(values, values[len(numbers):])) / unit


printed = []
for program in sys.argv[1:3]:
    result = subprocess.run([program], capture_output=True, text=True, timeout=300)
    if result.returncode != 0 or not result.stdout:
        sys.exit(f"{program}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    printed.append(re.sub(r"-(?=0\.0+(?!\d))", " ", result.stdout).splitlines())
one, other = printed
bits, allowed = map(float, sys.argv[3:5] or (0, 0))
greatest = 0
for i in range(max(len(one), len(other))):
    lines = [text[i] if i < len(text) else "(nothing)" for text in printed]
    if lines[0] == lines[1]:
        continue
    apart = distance(*lines, int(bits)) if bits else math.inf
    if apart > allowed:
        sys.exit(f"line {i + 1} differs by {apart:.3g} units in the last place:\n  {lines[0]}\n  {lines[1]}")
    greatest = max(greatest, apart)
print(f"{len(one)} lines, at most {greatest:.3g} units in the last place apart")
