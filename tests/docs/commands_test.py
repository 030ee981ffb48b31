"""The commands of a page, in its order and in an empty folder: commands_test.py PAGE PROGRAM...

PROGRAM: the page's programs, compiled, in their order. Their first lines name them: `// draw.cpp: what it does`. What
a block of commands prints must be the text block after it."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

page, *programs = sys.argv[1:]
text = pathlib.Path(page).read_text()
names = re.findall(r"^```cpp\n// (\w+)\.cpp:", text, re.M)
if len(names) != len(programs):
    sys.exit(f"{page}: {len(programs)} programs, but {len(names)} with a name in their first line")
with tempfile.TemporaryDirectory() as folder:
    for name, program in zip(names, programs):
        shutil.copy(program, pathlib.Path(folder, name))
    for commands, expected in re.findall(r"^```sh\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.M | re.S):
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode != 0 or done.stdout != expected:
            sys.exit(f"{commands}exit code {done.returncode}\nprinted:\n{done.stdout}{done.stderr}\nexpected:\n{expected}")
