"""compare.py PROGRAM EXPECTED: runs a program; what it prints must be what its page shows."""

import pathlib
import subprocess
import sys

program, expected = sys.argv[1:]
result = subprocess.run([program], capture_output=True, text=True, timeout=300)
text = pathlib.Path(expected).read_text()
if result.returncode != 0 or (text and result.stdout != text):
    sys.exit(f"exit code {result.returncode}\nprinted:\n{result.stdout}{result.stderr}\nexpected:\n{text}")
