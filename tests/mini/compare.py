"""compare.py ONE OTHER: runs two programs; both must print the same, which is not nothing."""

import subprocess
import sys

printed = []
for program in sys.argv[1:]:
    result = subprocess.run([program], capture_output=True, text=True, timeout=300)
    if result.returncode != 0 or not result.stdout:
        sys.exit(f"{program}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    printed.append(result.stdout.splitlines())
one, other = printed
for i in range(max(len(one), len(other))):
    lines = [text[i] if i < len(text) else "(nothing)" for text in printed]
    if lines[0] != lines[1]:
        sys.exit(f"line {i + 1} differs:\n  {lines[0]}\n  {lines[1]}")
