"""`./dev bench --scale` at a small scale: its claims hold, its files are whole. scale_test.py PROGRAM"""

import pathlib
import re
import tempfile
import unittest
import xml.etree.ElementTree

from program import rows_of, run

QUICK = ["--length", "64", "--width", "128", "--depth", "4", "--batch", "4", "--seconds", "0", "--threads", "3"]
FIGURES = {"length", "width", "batch", "threads", "memory_lstm", "memory_attention", "memory_depth"}


class Scale(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name) / "report"
        cls.result = run(*QUICK, "--report", cls.path)

    def test_usage(self):
        text = run("--help").stdout
        for flag in "length width depth batch seconds threads report version".split():
            self.assertIn(f"--{flag}", text)
        self.assertRegex(run("--version").stdout, r"^scale \(tapegrad \d+\.\d+\.\d+\)\n$")
        for flag, value in ("--length", "32"), ("--seconds", "nan"), ("--threads", "0"), ("--nonsense", "1"):
            self.assertIn(flag, run(flag, value, code=2).stderr)
        run(*QUICK, "--report", "/dev/null/page", code=1)

    def test_claims_hold(self):
        self.assertTrue(self.result.stdout.endswith("\n8 of 8 claims hold\n"))
        self.assertEqual(self.result.stdout.count("\nholds: "), 8)
        self.assertIn("with 1, 2, 3 threads", self.result.stdout)
        self.assertEqual(len(re.findall(r"^[\w-]+( +[\d.]+){4} +[0-9a-f]{16}$", self.result.stdout, re.M)), 4)
        self.assertEqual(self.result.stderr, "")

    def test_files(self):
        rows = rows_of(self.path / "scale.csv")
        self.assertEqual({row["measurement"] for row in rows}, FIGURES)
        for row in rows:
            self.assertGreater(float(row["x"]), 0)
            self.assertGreater(float(row["y"]), 0)
            self.assertTrue(row["curve"] and row["by"] and row["unit"])
        self.assertEqual({path.stem for path in self.path.glob("*.svg")}, {f"scale_{name}" for name in FIGURES})
        for name in FIGURES:
            text = (self.path / f"scale_{name}.svg").read_text()
            self.assertIn("prefers-color-scheme: dark", text)
            self.assertNotIn("nan", text)
            drawing = xml.etree.ElementTree.fromstring(text)
            marks = [path for path in drawing.iter("{http://www.w3.org/2000/svg}path")
                     if path.get("class").startswith("mark ")]
            names = {row["curve"] for row in rows if row["measurement"] == name}
            self.assertEqual(len(marks), len(names))
            points = sum(mark.get("d").count("M") for mark in marks)
            self.assertEqual(points, sum(row["measurement"] == name for row in rows))
        self.assertEqual((self.path / "scale.html").read_text().count('class="claim holds"'), 8)


if __name__ == "__main__":
    unittest.main()
