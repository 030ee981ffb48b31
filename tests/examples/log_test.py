"""What a trainer leaves in --log-dir, new and resumed. Usage: log_test.py MNIST [TEST...]"""

import json
import os
import pathlib
import resource
import subprocess
import unittest

from mnist_test import QUICK, write_images
from program import PROGRAM, TrainerTest, run, start

FILES = ["config.json", "curves.svg", "metrics.csv", "metrics.jsonl", "summary.json"]


class Log(TrainerTest):
    def setUp(self):
        super().setUp()
        write_images(self.path / "images")
        self.data_flags = ["--data", self.path / "images"]
        self.train = [*QUICK, *self.data_flags]
        self.log, self.part = self.path / "log", self.path / "part"
        self.resume = [*self.data_flags, "--log-dir", self.log, "--resume", self.part]

    def train_with(self, *flags):
        run(*self.train, "--save", self.part, "--log-dir", self.log, *flags)

    def test_rows_that_no_run_has_written(self):
        self.train_with()
        rows = self.log / "metrics.jsonl"
        lines = rows.read_text().splitlines()
        run(*self.resume)
        self.assertEqual(rows.read_text().splitlines(), lines)
        deep = 200_000
        for wrong in ("{}", "[]", "1", "null", "", "no JSON", lines[2][:-5], '{"step":"3"}', '{"step":-1}',
                      '{"step":1.5}', '{"step":null}', '{"step":1,"seconds":"2"}', '{"step":1,"seconds":[2]}',
                      '{"step":1,"x":1e999}', "[" * deep + "]" * deep, "[" * deep,
                      '{"step":1,"x":' + "[" * deep + "]" * deep + "}",
                      '{"step":1,"x":' + '{"x":' * deep + "1" + "}" * deep + "}",
                      json.dumps({"step": 1, **{f"column {i}": 1 for i in range(200)}})):
            rows.write_text("\n".join([*lines[:2], wrong, *lines[3:]]) + "\n")
            message = run(*self.resume, code=1).stderr
            self.assertIn(f"{rows}: line 3", message, wrong[:50])
            self.assertLess(len(message), 300)
        rows.write_bytes(b"\xff\xfe\n")
        self.assertIn(f"{rows}: line 1", run(*self.resume, code=1).stderr)

    def test_a_row_that_was_cut_short_is_dropped(self):
        self.train_with()
        rows = self.log / "metrics.jsonl"
        text = rows.read_text()
        rows.write_text(text[:-5])
        lines = text.splitlines()
        self.assertIn(f"{rows}: drops line {len(lines)}, ", run(*self.resume).stderr)
        self.assertEqual(rows.read_text().splitlines(), lines[:-1])

    def test_probed_steps_that_no_run_has_written(self):
        probed = ["--norm", "layer", "--probe"]
        self.train_with(*probed)
        for name in "probe_norms.csv", "probe_weights.csv":
            file = self.log / name
            text = file.read_text()
            run(*self.resume, "--probe")
            self.assertEqual(file.read_text(), text)
            lines = text.splitlines()
            for number, wrong in ((1, "step"), (3, ""), (3, lines[2] + ",1"), (3, "x" + lines[2]),
                                  (3, lines[2].rsplit(",", 1)[0]), (3, lines[2] + "x"), (3, "[" * 100_000)):
                file.write_text("\n".join([*lines[:number - 1], wrong, *lines[number:]]) + "\n")
                message = run(*self.resume, "--probe", code=1).stderr
                self.assertIn(f"{file}: " + ("it was not" if number == 1 else "line 3 "), message)
            file.write_text(text)

    def test_a_new_run_removes_what_an_earlier_one_left(self):
        self.train_with("--norm", "layer", "--probe")
        seed = self.log / "seed_7"
        seed.mkdir()
        (seed / "metrics.csv").write_text("step\n")
        (seed / "own").write_text("stays")
        self.assertEqual(len(list(self.log.iterdir())), len(FILES) + 2 + 1)
        self.train_with()
        self.assertEqual(sorted(file.name for file in self.log.iterdir()), sorted([*FILES, "seed_7"]))
        self.assertEqual([file.name for file in seed.iterdir()], ["own"])
        # Also one that is killed before it writes a row: what resumes it finds no other's.
        process = start(*self.train, "--hidden", "3000,3000", "--epochs", "500", "--save", self.part, "--log-dir",
                        self.log, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        while (self.log / "summary.json").exists():
            self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        self.assertFalse((self.log / "metrics.jsonl").exists())

    def test_names_of_any_bytes(self):
        folder = os.fsencode(self.path) + b"/\xff {}%s"
        os.mkdir(folder)
        (self.path / "images").rename(os.fsdecode(folder + b"/images"))
        data = [b"--data", folder + b"/images"]
        files = [*data, b"--log-dir", folder + b"/log", b"--save", folder + b"/part"]
        runs = ([*QUICK, *files, b"--norm", b"layer", b"--probe"],
                [*files, b"--probe", b"--resume", folder + b"/part"], [*QUICK, *files, b"--dry-run"])
        for flags in runs:
            result = subprocess.run([PROGRAM, *flags], capture_output=True)
            self.assertEqual(result.returncode, 0, result.stderr)
        json.loads(pathlib.Path(os.fsdecode(folder + b"/log/config.json")).read_text())
        for flags in [b"--data", folder], [*data, b"--resume", folder], [*data, b"--save", folder]:
            result = subprocess.run([PROGRAM, *QUICK, *flags], capture_output=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn(folder, result.stderr)
        for flag in b"norm", b"model", b"schedule", b"seed", b"lr", b"save-every":
            result = subprocess.run([PROGRAM, *QUICK, *files, b"--" + flag, b"\xff"], capture_output=True)
            self.assertEqual(result.returncode, 2)
            self.assertIn(flag, result.stderr)
        lab = pathlib.Path(PROGRAM).parent.with_name("lab") / "lab"
        command = [lab, b"gradients", b"--report", folder + b"/page", b"--probed", folder + b"/log"]
        result = subprocess.run(command, capture_output=True)
        self.assertIn(b"attached and detached", result.stderr)

    def test_a_limit_on_the_size_of_files(self):
        train = [*self.train, "--epochs", "200"]
        whole = self.saved("whole", "--epochs", "200")
        process = start(*train, "--quiet", "--save", self.part, "--log-dir", self.log, stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while not (self.log / "metrics.csv").exists():
            self.assertIsNone(process.poll())
        unlimited = resource.RLIM_INFINITY
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100, unlimited))
        told = {process.stderr.readline()[:12] for _ in range(50)}
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(), 0)
        self.assertEqual(told, {"cannot save:", "cannot log: "})
        self.assertEqual(self.part.read_bytes(), whole)


if __name__ == "__main__":
    unittest.main()
