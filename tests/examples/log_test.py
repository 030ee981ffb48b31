"""What a trainer leaves in --log-dir, new and resumed. Usage: log_test.py MNIST [TEST...]"""

import json
import os
import pathlib
import resource
import signal
import subprocess
import unittest

from images import QUICK, ImagesTest
from program import PROGRAM, interrupt_at, run, start

FILES = ["config.json", "curves.svg", "metrics.csv", "metrics.jsonl", "summary.json"]


class Log(ImagesTest):
    def setUp(self):
        super().setUp()
        self.log, self.part = self.path / "log", self.path / "part"
        self.resume = [*self.data_flags, "--log-dir", self.log, "--resume", self.part]

    def train_with(self, *flags):
        self.saved(self.part, "--log-dir", self.log, *flags)

    def train_a_part(self):
        """Stops a run before its end; returns its rows so far."""
        flags = ["--epochs", "150", "--save", self.part, "--log-dir", self.log]
        interrupt_at("epoch 5/", signal.SIGINT, *self.train, *flags)
        return (self.log / "metrics.jsonl").read_text()

    def contents(self):
        return {file.name: file.read_bytes() for file in self.log.iterdir()}

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
        text = self.train_a_part()
        rows = self.log / "metrics.jsonl"
        rows.write_text(text[:-5])
        lines = text.splitlines()
        self.assertIn(f"{rows}: dropping line {len(lines)}, ", run(*self.resume).stderr)
        self.assertEqual(rows.read_text().splitlines()[:len(lines) - 1], lines[:-1])

    def test_rows_that_do_not_follow(self):
        lines = self.train_a_part().splitlines()
        rows = self.log / "metrics.jsonl"
        for wrong in lines[0], lines[1]:
            rows.write_text("\n".join([*lines[:2], wrong, *lines[2:]]) + "\n")
            self.assertIn(f"{rows}: line 3 does not follow", run(*self.resume, code=1).stderr)
        rows.write_text("\n".join([*lines, json.dumps({"step": 2**63})]) + "\n")
        self.assertIn(f"{rows}: line {len(lines) + 1} is not a row", run(*self.resume, code=1).stderr)

    def test_rows_that_only_the_table_has(self):
        lines = self.train_a_part().splitlines()
        rows, before = self.log / "metrics.jsonl", self.contents()
        for left in [], lines[:10]:
            rows.write_text("".join(line + "\n" for line in left))
            self.assertIn("metrics.csv: it has", run(*self.resume, code=1).stderr)
        self.assertEqual({**self.contents(), rows.name: b""}, {**before, rows.name: b""})

    def test_a_run_without_steps_leaves_the_log(self):
        self.train_with()
        before = self.contents()
        run(*self.resume)
        self.assertEqual(self.contents(), before)
        other = self.path / "other"
        run(*self.resume, "--save", other)
        self.assertEqual(other.read_bytes(), self.part.read_bytes())

    def test_the_log_of_another_run(self):
        self.train_with()
        before = self.contents()
        other = self.path / "other"
        flags = ["--norm", "layer", "--epochs", "150", "--save", other]
        interrupt_at("epoch 5/", signal.SIGINT, *self.train, *flags)
        resume = [*self.data_flags, "--log-dir", self.log, "--resume", other]
        message = run(*resume, code=2).stderr
        self.assertIn(f"--log-dir: {self.log} has the log of another run", message)
        self.assertIn("config.json", message)
        self.assertEqual(self.contents(), before)
        (self.log / "config.json").unlink()
        self.assertIn("another run", run(*resume, code=2).stderr)
        for wrong in "", "[]", "[" * 100_000:
            (self.log / "config.json").write_text(wrong)
            self.assertIn("another run", run(*resume, code=2).stderr)

    def test_a_run_that_is_refused_leaves_the_log(self):
        self.train_with()
        before = self.contents()
        for code, flags in ((1, ["--save", self.path / "missing" / "x"]),
                            (1, ["--hidden", "16,1048576,1048576"]),  # out of memory
                            (1, ["--resume", self.path / "missing"])):
            run(*self.train, "--log-dir", self.log, *flags, code=code)
            self.assertEqual(self.contents(), before, flags)

    def test_a_run_beside_another_is_refused(self):
        """A second run, new or resumed, changes neither the log nor the checkpoint of one that has not ended."""
        process = start(*self.train, "--epochs", "5000", "--log-dir", self.log, "--save", self.part, "--keep-every", "5",
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        while not self.part.exists():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGSTOP)  # so that it saves nothing while others read
        config = (self.log / "config.json").read_bytes()
        for flags in ([*self.train, "--lr", "0.5", "--keep-every", "3"], self.resume[:2] + ["--resume", self.part]):
            message = run(*flags, "--log-dir", self.log, code=2).stderr
            self.assertIn(f"--log-dir: another run, which has not ended, writes to {self.log}", message)
        message = run(*self.data_flags, "--resume", self.part, "--save", self.part, code=2).stderr
        self.assertIn(f"--save: another run, which has not ended, writes to {self.part}", message)
        self.assertEqual((self.log / "config.json").read_bytes(), config)
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        interrupt_at("epoch ", signal.SIGINT, *self.resume, "--save", self.part)
        self.assertEqual([each.name for each in self.path.glob("*.lock")], [])

    def test_what_is_no_regular_file(self):
        self.log.mkdir()
        for name in FILES:
            file = self.log / name
            for make, kind in (os.mkfifo, "a FIFO"), (os.mkdir, "a directory"):
                make(file)
                message = run(*self.train, "--log-dir", self.log, code=1).stderr
                self.assertIn(f"{file}: it is {kind}", message)
                (os.rmdir if kind == "a directory" else os.unlink)(file)

    def test_symlinks_stay(self):
        there = self.path / "there"
        for folder in self.log, there:
            folder.mkdir()
        for name in FILES:
            (self.log / name).symlink_to(there / name)
        for _ in range(2):
            run(*self.train, "--log-dir", self.log)
            for name in FILES:
                self.assertTrue((self.log / name).is_symlink())
                self.assertTrue((there / name).read_text())

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
        (seed / "config.json").write_text('{"log-dir": "log"}')  # as earlier versions wrote it
        (seed / "metrics.csv").write_text("step\n")
        (seed / "own").write_text("stays")
        self.assertEqual(len(list(self.log.iterdir())), len(FILES) + 2 + 1)
        self.train_with()
        self.assertEqual(sorted(file.name for file in self.log.iterdir()), sorted([*FILES, "seed_7"]))
        self.assertEqual([file.name for file in seed.iterdir()], ["own"])
        # The same holds for a run killed before it writes a row: resuming it finds no rows of another.
        self.part.unlink()
        process = start(*self.train, "--hidden", "3000,3000", "--epochs", "500", "--save", self.part, "--log-dir",
                        self.log, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        while (self.log / "summary.json").exists():
            self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        self.assertFalse((self.log / "metrics.jsonl").exists())

    def test_files_that_are_not_of_a_log(self):
        for name, content in (("config.json", "{}"), ("config.json", '{"program": "other"}'), ("summary.json", "{}"),
                              ("metrics.csv", "step\n"), ("curves.svg", "<svg/>"), ("seed_7/config.json", "{}")):
            file = self.log / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
            message = run(*self.train, "--log-dir", self.log, code=1).stderr
            self.assertIn(f"{file}: it is not of a log", message)
            self.assertEqual([each for each in self.log.rglob("*") if each.is_file()], [file])
            self.assertEqual(file.read_text(), content)
            file.unlink()

    def test_other_directories_stay(self):
        other = self.path / "other"
        for folder in self.log, self.log / "seed_bank", self.log / "seed_-1", other:
            folder.mkdir(exist_ok=True)
            (folder / "config.json").write_text('{"tapegrad": "1", "log-dir": ""}')
        (self.log / "seed_8").symlink_to(other)
        run(*self.train, "--log-dir", self.log)
        for folder in self.log / "seed_bank", self.log / "seed_-1", other, self.log / "seed_8":
            self.assertTrue((folder / "config.json").exists(), folder)

    def test_names_of_any_bytes(self):
        folder = os.fsencode(self.path) + b"/\xff {}%s"
        os.mkdir(folder)
        (self.path / "images").rename(os.fsdecode(folder + b"/images"))
        data = [b"--data", folder + b"/images"]
        files = [*data, b"--log-dir", folder + b"/log", b"--save", folder + b"/part"]
        runs = ([*QUICK, *files, b"--norm", b"layer", b"--probe"],
                [*files, b"--probe", b"--resume", folder + b"/part"], [*QUICK, *data, b"--dry-run"])
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
        told = []
        while len(told) < 20:
            told.append(process.stderr.readline())
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(), 0)
        logs = [line for line in told if line.startswith("cannot log: ")]
        self.assertTrue(logs)
        self.assertEqual(len(set(logs)), len(logs), "a failure is reported once")
        self.assertEqual({line[:12] for line in told} - {"cannot log: "}, {"cannot save:"})
        self.assertEqual(self.part.read_bytes(), whole)


if __name__ == "__main__":
    unittest.main()
