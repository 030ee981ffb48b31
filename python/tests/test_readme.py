"""The programs of the README run as they stand there."""

import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None


class Readme(unittest.TestCase):
    def test_programs(self):
        text = (pathlib.Path(__file__).resolve().parent.parent / "README.md").read_text()
        programs = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        self.assertGreater(len(programs), 0)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
            os.chdir(folder)
            try:
                for program in programs:
                    if torch is None and "import torch" in program:
                        continue
                    exec(compile(program, "README.md", "exec"), {})
            finally:
                os.chdir(before)
        self.assertIn("layer_norm", printed.getvalue())
        if torch is not None:
            self.assertIn("The values differ first at 1 (layer_norm)", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
