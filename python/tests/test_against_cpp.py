"""Every bound function, layer and optimizer against the same call in C++: results and gradients are the same bits.

Each is called as simply as possible, and once for every other value of each option and default, which must change the
result. A program in C++ makes the same calls, as the headers declare them. It is built with CMake against the installed
library to which the headers in TAPEGRAD_INCLUDE belong."""

import contextlib
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from tapegrad import Error, TapeError, float32, float64

sources = pathlib.Path(__file__).resolve().parent / "against_cpp"
sys.path += [str(sources), str(sources.parent.parent)]
from arguments import write_files  # noqa: E402
from cases import Cases  # noqa: E402
from generate import STRUCTS, TUPLES, Headers, fields  # noqa: E402

# What results show of the program: lines in a text, and members.
PLACE = re.compile(r' *[\[(]?[\w./-]*\w\.(?:cpp|py):\d+[\])]? *|"source":"(?:[^"\\]|\\.)*"')
PLACES = ("place", "source")
PARTS = 4  # of the program
MANY = 64  # numbers are shown as one


def program(headers, cases):
    """The sources, by their names."""
    structs = ""
    for name, members in TUPLES.items():
        structs += f"inline void show(const {name}& x) {{ {' '.join(f'show(x.{member});' for member in members)} }}\n"
    for name in STRUCTS:
        structs += f"inline void show(const {name}& x) {{\n"
        for field, _ in fields(headers.classes[name]):
            if field.name in PLACES:
                continue
            names = headers.enumerations.get(field.type)
            structs += "".join(f'  if (x.{field.name} == {field.type}::{value}) show(std::string("{value}"));\n'
                               for value in names) if names else f"  show(x.{field.name});\n"
        structs += "}\n"
    space = "namespace tapegrad::TAPEGRAD_SCALAR {\n"
    written = {"structs.h": f'#include "show.h"\n\n{space}{structs}}}\n'}
    for part in range(PARTS):
        calls = ""
        for case in cases[part::PARTS]:
            tape = "Tape tape({.keep_values = true});\n" if case.has_tape else ""
            calls += f"[] {{\n{tape}{case.cpp}\n}},\n"
        written[f"part_{part}.cpp"] = (f'#include "structs.h"\n\n{space}using Calls = std::vector<void (*)()>;\n'
                                       f"Calls part_{part}() {{\nreturn {{\n{calls}}};\n}}\n}}\n")
    return written


def checksum(numbers):
    """Of bits; products and sums are modulo 2^64."""
    bits = numbers.astype(np.int64 if numbers.dtype == np.int64 else np.float64).view(np.uint64)
    return int(np.sum(bits * (2 * np.arange(bits.size, dtype=np.uint64) + np.uint64(1))))


class Shown:
    """What a call in Python gives, as text. show.h writes the same from C++."""

    def __init__(self, tg, headers):
        self.tg, self.headers, self.lines = tg, headers, []

    def show(self, value):
        tg, kind = self.tg, type(value).__name__
        if value is None:
            self.lines.append("undefined")
        elif isinstance(value, bytes):
            self.lines.append(value.decode("latin-1"))
        elif isinstance(value, str):
            self.show(value.encode())
        elif isinstance(value, float):
            self.lines.append("nan" if math.isnan(value) else struct.pack(">d", value).hex())
        elif isinstance(value, int):
            self.lines.append(str(value).lower())
        elif isinstance(value, (tg.Tensor, tg.Indices)):
            if not value.defined:
                return self.show(None)
            self.lines.append(f"({', '.join(map(str, value.shape))})")
            numbers = value.numpy().ravel()
            self.show(numbers.tolist() if numbers.size <= MANY else checksum(numbers))
        elif isinstance(value, tg.Parameter):
            self.show(value.value)
        elif isinstance(value, dict):
            for item in value.items():
                self.show(item)
        elif kind in STRUCTS:
            for field, _ in fields(self.headers.classes[kind]):
                if field.name not in PLACES:
                    self.show(getattr(value, field.name))
        elif callable(value):
            self.show([value(step) for step in (0, 1, 3, 7, 20)])
        else:
            for part in value:
                self.show(part)

    def show_gradients(self, y, xs, parameters=()):
        options = {"seed": self.tg.Random(9).normal(y.shape), "keep": True}
        try:
            self.show([self.tg.grad(y, list(xs), **options), self.tg.grad(y, list(parameters), **options)])
        except TapeError:
            self.show("a constant")

    def show_steps(self, optimizer):
        random = self.tg.Random(9)
        for _ in range(3):
            optimizer.step([random.normal(x.shape) for x in optimizer.parameters()])
        self.show(optimizer.parameters())

    def of(self, case, text):
        """The text that a call gives."""
        self.lines = []
        names = {**vars(self.tg), "show": self.show, "show_gradients": self.show_gradients,
                 "show_steps": self.show_steps, "read_bytes": lambda name: pathlib.Path(name).read_bytes()}
        try:
            with self.tg.Tape(keep_values=True) if case.has_tape else contextlib.nullcontext() as tape:
                exec(compile(text, "case.py", "exec"), {**names, "tape": tape})
        except Error as error:
            self.show(f"error: {error}")
        return "".join(f"{line}\n" for line in self.lines)


class AgainstCpp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        include = pathlib.Path(os.environ["TAPEGRAD_INCLUDE"]).resolve()
        if None in (shutil.which("cmake"), shutil.which(os.environ.get("CXX", "c++"))):
            raise unittest.SkipTest("it needs CMake and a compiler of C++")
        if not list(include.parent.glob("lib*/cmake/tapegrad")):
            raise unittest.SkipTest(f"it needs the whole library, installed in {include.parent}")
        cls.headers = Headers(include / "tapegrad")
        cls.cases = Cases(cls.headers)
        if cls.cases.missing:
            raise AssertionError("\n".join(["edit python/tests/against_cpp/arguments.py:", *cls.cases.missing]))
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for file in sources.iterdir():
            if file.is_file():
                shutil.copy(file, folder.name)
        for name, text in program(cls.headers, cls.cases.listed).items():
            pathlib.Path(name).write_text(text)
        for command in (["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={include.parent}"],
                        ["cmake", "--build", "build", "-j2"]):
            # The folder is another each time: ccache knows the sources by their names in it.
            built = subprocess.run(command, capture_output=True, text=True,
                                   env={**os.environ, "CCACHE_BASEDIR": folder.name})
            if built.returncode != 0:
                raise AssertionError(f"{' '.join(command)}:\n{built.stdout}{built.stderr}")

    def agree(self, precision, tg):
        write_files(tg)
        output = subprocess.run([f"build/{precision}"], check=True, capture_output=True).stdout.decode("latin-1")
        texts = output.split("=== end of a call\n")
        self.assertEqual(len(texts), len(self.cases.listed) + 1)
        order = [case for part in range(PARTS) for case in self.cases.listed[part::PARTS]]
        texts = {case: PLACE.sub("", text) for case, text in zip(order, texts)}
        python, base = Shown(tg, self.headers), None
        for case in self.cases.listed:
            text = case.by_keyword if tg is float64 else case.by_position
            with self.subTest(call=case.name, varied=case.varied):
                self.assertEqual(PLACE.sub("", python.of(case, text)), texts[case], f"{text}\n\n{case.cpp}")
                base = base if case.varied else texts[case]
                if not case.same:
                    self.assertTrue("error: " not in texts[case] or "has no effect" in texts[case], text)
                    if case.varied and tg is float64:  # in float32 some differences are rounded away
                        self.assertNotEqual(texts[case], base, f"without effect:\n{text}")

    def test_float32(self):
        self.agree("float32", float32)

    def test_float64(self):
        self.agree("float64", float64)


if __name__ == "__main__":
    unittest.main()
