"""Each public name of the library has a binding or stands in unbound.txt; help() has the words of the headers.

TAPEGRAD_INCLUDE is the folder of the headers of the installed library, which holds tapegrad/."""

import os
import pathlib
import subprocess
import sys
import unittest

from tapegrad import float32, float64

project = pathlib.Path(__file__).resolve().parent.parent


class Coverage(unittest.TestCase):
    def test_names_without_a_binding(self):
        left = subprocess.run(
            [sys.executable, project / "generate.py", pathlib.Path(os.environ["TAPEGRAD_INCLUDE"]) / "tapegrad"],
            check=True, capture_output=True, text=True).stdout.splitlines()
        unbound = [line for line in left if not hasattr(float64, line.split(": ")[1])]
        listed = (project / "unbound.txt").read_text().splitlines()
        self.assertEqual(unbound, listed, "a public name has gained or lost its binding: bind it, or edit unbound.txt")

    def test_both_precisions_have_the_same_names(self):
        self.assertEqual(dir(float32), dir(float64))

    def test_help(self):
        self.assertIn("max(x, 0); the gradient at 0 is 0, and at NaN 1.", float32.relu.__doc__)
        self.assertIn("detach_mean: the sweep treats the mean as a constant", float32.layer_norm.__doc__)
        self.assertIn("immutable array", float32.Tensor.__doc__)
        self.assertIn("reduction: one of 'none', 'sum', 'mean'", float32.mse.__doc__)
        self.assertIn("What is not given stays as it was.", float32.Optimizer.set_group.__doc__)
        self.assertIn("center_weights: after each step; one of 'none', 'inputs'", float32.Optimizer.set_group.__doc__)

    def test_an_import_loads_little(self):
        code = """import sys
before = set(sys.modules)
import tapegrad
print(*{name.partition(".")[0] for name in sys.modules.keys() - before} - sys.stdlib_module_names)"""
        loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(loaded, ["tapegrad"])  # not even NumPy


if __name__ == "__main__":
    unittest.main()
