"""The program `diff` as its users run it. Usage: diff_test.py PROGRAM [TEST...]"""

import importlib.util
import json
import pathlib
import struct
import sys
import tempfile
import unittest

from program import run, run_redirected, run_unread

DOCS = pathlib.Path(__file__).parent.parent.parent / "docs"


def write_trace(path, values, precision="float32"):
    """A trace of named vectors, as another framework would write it."""
    about = {"format": "tapegrad trace 1", "precision": precision, "framework": "another"}
    header, data = {"__metadata__": about}, b""
    code, dtype = ("f", "F32") if precision == "float32" else ("d", "F64")
    for number, (name, vector) in enumerate(values.items()):
        about[f"{number:06}.operation"] = "exp"
        packed = struct.pack(f"<{len(vector)}{code}", *vector)
        header[f"value/{number:06}.{name}"] = {"dtype": dtype, "shape": [len(vector)],
                                               "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Diff(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.a, self.b = self.path / "a", self.path / "b"
        write_trace(self.a, {"x": [1, 2, 3], "y": [1, 4, 9]})
        write_trace(self.b, {"x": [1, 2, 3], "y": [2, 8, 18]})

    def test_usage(self):
        text = run("--help").stdout
        for word in "A B --tolerance --version pytorch_trace.py".split():
            self.assertIn(word, text)
        self.assertRegex(run("--version").stdout, r"^diff of tapegrad \d+\.\d+\.\d+\n$")
        for words in [], [self.a], [self.a, self.b, self.a], [self.a, self.b, "--nonsense"], \
                [self.a, self.b, "--tolerance", "x"], [self.a, self.b, "--tolerance", "-1"], \
                [self.a, self.b, "--tolerance", "nan"]:
            result = run(*words, code=2)
            self.assertRegex(result.stderr, "^diff: ")
            self.assertEqual(result.stdout, "")

    def test_equal_and_different(self):
        self.assertIn("2 values are in both: 0 values and 0 gradients differ", run(self.a, self.a).stdout)
        text = run(self.a, self.b, code=1).stdout
        self.assertIn("The values differ first at y (exp):\n", text)
        self.assertIn("9 and 18 at [2]", text)
        self.assertIn("This looks like: B: 2 times A", text)
        run(self.a, self.b, "--tolerance", "1e9")

    def test_precisions(self):
        """Doubles are compared as such with doubles, and as floats with floats."""
        third = self.path / "c"
        write_trace(third, {"x": [1, 2, 3 + 1e-9], "y": [1, 4, 9]}, "float64")
        run(self.a, third)
        write_trace(self.a, {"x": [1, 2, 3], "y": [1, 4, 9]}, "float64")
        self.assertIn("first at x", run(self.a, third, code=1).stdout)

    def test_masks_do_not_hide_scores(self):
        for mask in -1e4, -1e9, -3.4028234663852886e38, float("-inf"):
            write_trace(self.a, {"masked": [1.5, -0.5, mask, mask], "weights": [0.8808, 0.1192, 0, 0]})
            write_trace(self.b, {"masked": [0.75, -0.25, mask, mask], "weights": [0.7311, 0.2689, 0, 0]})
            for pair, factor in ((self.a, self.b), "0.5"), ((self.b, self.a), "2"):
                text = run(*pair, code=1).stdout
                self.assertIn("The values differ first at masked (exp):\n", text)
                self.assertIn(f"This looks like: B: {factor} times A", text)
            run(self.b, self.b)

    def test_names_of_files_do_not_reach_the_terminal_as_they_are(self):
        write_trace(self.b, {"x": [1, 2, 3], "y\x1b[31m": [2, 8, 18]})
        self.assertNotIn("\x1b", run(self.a, self.b, code=1).stdout)

    def test_damaged_files_are_refused(self):
        whole = self.b.read_bytes()
        for end in range(len(whole)):
            self.b.write_bytes(whole[:end])
            self.assertIn(str(self.b), run(self.a, self.b, code=2).stderr)
        self.b.write_bytes(whole.replace(b"trace 1", b"trace 9"))
        self.assertIn(f"{self.b} is not a trace: its format is tapegrad trace 9", run(self.a, self.b, code=2).stderr)
        self.assertIn("none", run(self.a, self.path / "none", code=2).stderr)

    def test_results_that_cannot_be_written(self):
        self.assertEqual(run_redirected(">/dev/full", self.a, self.a).returncode, 1)
        self.assertEqual(run_unread(self.a, self.a)[1], 1)

    @unittest.skipUnless(importlib.util.find_spec("torch") and importlib.util.find_spec("safetensors"), "no PyTorch")
    def test_the_hook_of_pytorch(self):
        import torch
        sys.path.append(str(DOCS))
        import pytorch_trace
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.LSTM(3, 2))
        x = torch.randn(5, 4)
        for file, factor in (self.a, 1), (self.b, 3):
            with pytorch_trace.Trace(net, file):
                out, state = net(x)
                (factor * out.square().sum()).backward()
            net.zero_grad()
        text = run(self.a, self.b, code=1).stdout
        self.assertIn("values differ first at mul", text)
        self.assertIn("diff_test.py:", text)
        self.assertIn("B: 3 times A", text)
        run(self.a, self.a)
        heads = torch.nn.Linear(4, 4)
        with pytorch_trace.Trace(heads, self.b):
            heads(x).view(1, 5, 2, 2).transpose(1, 2).square().sum().backward()
        run(self.b, self.b)


if __name__ == "__main__":
    unittest.main()
