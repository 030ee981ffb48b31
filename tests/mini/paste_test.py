"""paste_test.py FOLDER COMPILER...: programs of examples/mini compile in one file with the engine, as in a web page.

FOLDER has the programs, compiled with the header beside them. One of the pasted programs is run and must print what its
counterpart in FOLDER prints. Compilers that are not installed are left out. The only warning is about `#pragma once`.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

examples = pathlib.Path(__file__).resolve().parents[2] / "examples/mini"
INCLUDE = '#include "tapegrad_mini.h"\n'
RUN = "first_gradient"
folder, *compilers = sys.argv[1:]
programs = sorted(examples.glob("*.cpp"))
header = (examples / "tapegrad_mini.h").read_text()


def output(program):
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


found = filter(None, map(shutil.which, compilers))
for compiler in {os.path.realpath(name): name for name in found}.values():  # one compiler may have two names
    with tempfile.TemporaryDirectory() as temporary:
        for program in programs:
            text = program.read_text()
            assert text.count(INCLUDE) == 1, program
            pasted = pathlib.Path(temporary) / program.name
            pasted.write_text(header + text.replace(INCLUDE, ""))
            made = pasted.with_suffix("")
            compiled = subprocess.run([compiler, "-std=c++20", "-O2", pasted] +
                                      (["-o", made] if program.stem == RUN else ["-fsyntax-only"]),
                                      capture_output=True, text=True)
            warnings = [line for line in compiled.stderr.splitlines() if "warning: " in line]
            if compiled.returncode != 0 or any("#pragma once in main file" not in line for line in warnings):
                sys.exit(f"{compiler}: {program.name}:\n{compiled.stderr}")
            if program.stem == RUN:
                assert output(made) == output(pathlib.Path(folder) / f"mini_{RUN}"), compiler
    print(f"{compiler}: {len(programs)} programs")
