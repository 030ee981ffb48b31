"""Runs of a trainer with --probe, compared by the laboratory: probed_test.py MNIST LAB [TEST...]"""

import os
import pathlib
import subprocess
import sys
import unittest

from images import ImagesTest
from program import run

LAB = sys.argv.pop(1)


class Probed(ImagesTest):
    def test_runs_are_compared(self):
        runs = []
        for norm in "layer_simple", "detach_mean", "detach_variance", "detach":
            runs.append(str(self.path / norm))
            run(*self.train, "--norm", norm, "--probe", "--log-dir", runs[-1])

        def compare(*directories):
            return subprocess.run([LAB, "gradients", "--probed", ",".join(directories)], capture_output=True, text=True)

        result = compare(*runs)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("2 of 2 claims hold", result.stdout)
        self.assertEqual(compare(str(self.path)).returncode, 1)
        self.assertIn("attached and detached", compare(runs[0], runs[1]).stderr)
        table = pathlib.Path(runs[0]) / "probe_norms.csv"
        table.write_text(table.read_text() + "1,norm,nonsense\n")
        self.assertIn(f"probe_norms.csv: line {len(table.read_text().splitlines())} ", compare(*runs).stderr)
        configuration = pathlib.Path(runs[0]) / "config.json"
        for wrong in "", "[]", "{}", '{"norm": 1}', "[" * 100_000 + "]" * 100_000:
            configuration.write_text(wrong)
            self.assertIn(f"{configuration}: it is not a file of a trainer", compare(*runs).stderr)

    def test_names_of_any_bytes(self):
        folder = os.fsencode(self.path) + b"/a \xff"
        run(*self.train, "--norm", "layer", "--probe", "--log-dir", os.fsdecode(folder))
        command = [LAB, b"gradients", b"--report", folder + b"/page", b"--probed", folder]
        result = subprocess.run(command, capture_output=True)
        self.assertIn(b"attached and detached", result.stderr)


if __name__ == "__main__":
    unittest.main()
