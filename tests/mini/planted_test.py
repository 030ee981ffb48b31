"""planted_test.py COMPILER HEADER LIBRARY: a wrong factor, sign or epsilon in a copy of the engine is found.

LIBRARY is training_step.cpp, compiled with the library in double precision.
"""

import pathlib
import subprocess
import sys
import tempfile

PLANTED = {"g / (2 * sqrt(x))": "g / sqrt(x)",
           "sum_to(-(g * (a / b) / b), b.shape())": "sum_to(g * (a / b) / b, b.shape())",
           "double epsilon = 1e-8": "double epsilon = 1e-7"}
compiler, header, library = sys.argv[1:]
here = pathlib.Path(__file__).parent
text = pathlib.Path(header).read_text()
for right, wrong in PLANTED.items():
    if text.count(right) != 1:
        sys.exit(f"{header} has {right!r} {text.count(right)} times")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "tapegrad_mini.h").write_text(text.replace(right, wrong))
        program = f"{folder}/program"
        subprocess.run([compiler, "-std=c++20", "-O0", "-DTAPEGRAD_DOUBLE", f"-I{folder}", here / "training_step.cpp",
                        "-o", program], check=True)
        compared = subprocess.run([sys.executable, "-B", here / "compare.py", program, library, "53", "16"],
                                  capture_output=True, text=True)
    if compared.returncode == 0 or " differs by " not in compared.stderr:
        sys.exit(f"{wrong!r} in place of {right!r} was not found:\n{compared.stdout}{compared.stderr}")
    print(f"{wrong!r}: {compared.stderr.splitlines()[0]}")
