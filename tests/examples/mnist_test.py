"""The program `mnist` as its users run it. Usage: mnist_test.py PROGRAM [TEST...]"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import unittest

from images import QUICK, ImagesTest, write_idx
from program import PROGRAM, interrupt_at, run, run_redirected, run_unread, saved_steps, start, with_note


class Mnist(ImagesTest):
    def test_help_and_version(self):
        text = run("--help").stdout
        for flag in ("model hidden norm data epochs batch-size lr optimizer schedule weight-decay "
                     "clip-norm clip-each dropout seed threads log-dir save resume quiet dry-run "
                     "overfit-batch check-nan version").split():
            self.assertIn(f"--{flag}", text)
        self.assertRegex(run("--version").stdout, r"^mnist \(tapegrad \d+\.\d+\.\d+\)\n$")

    def test_wrong_usage(self):
        for flag, *values in (["--nonsense"], ["--norm", "lyer"], ["--epochs", "0"],
                              ["--hidden", "0"], ["--hidden", "many"], ["--lr", "-1"],
                              ["--lr", "nan"], ["--weight-decay", "inf"],
                              ["--optimizer", "newton"], ["--schedule", "weekly"],
                              ["--dropout", "1"], ["--threads", "0"], ["--model", "rnn"],
                              ["--clip-norm", "-1"], ["--clip-each", "-1"], ["--batch-size", "601"],
                              ["--overfit-batch", "--save", "x"], ["--save", ""],
                              ["--log-dir", ""], ["--resume", ""], ["--seed", str(2**64)],
                              ["--seed", "-1"], ["--seed", "1e3"]):
            result = run("--data", self.data, flag, *values, code=2)
            self.assertIn(flag, result.stderr)
            self.assertEqual(result.stdout, "")
        self.assertIn("--lr: abc is not a number\n", run("--lr", "abc", code=2).stderr)
        message = run("--norm", "lyer", code=2).stderr
        self.assertTrue("none" in message and "layer_simple" in message, message)
        self.assertIn("--hidden", run("--model", "cnn", "--hidden", "10", code=2).stderr)

    def test_data(self):
        self.check_data(self.data, "mnist", *QUICK)

    def test_bad_files(self):
        missing = self.path / "missing"
        self.assertIn(str(missing), run("--data", missing, code=1).stderr)
        self.assertIn(str(missing), run(*self.train, "--resume", missing, code=1).stderr)
        nowhere = missing / "file"
        self.assertIn(str(nowhere), run(*self.train, "--save", nowhere, code=1).stderr)
        self.assertIn("/dev/null", run(*self.train, "--log-dir", "/dev/null/log", code=1).stderr)
        broken = self.path / "broken"
        broken.write_bytes(b"not a checkpoint")
        self.assertIn(str(broken), run(*self.train, "--resume", broken, code=1).stderr)
        labels = self.data / "t10k-labels-idx1-ubyte"
        write_idx(labels, (99,), [0] * 99)
        self.assertIn("t10k", run(*self.train, code=1).stderr)
        write_idx(labels, (100,), [10] * 100)
        self.assertIn("t10k", run(*self.train, code=1).stderr)
        labels.write_bytes(labels.read_bytes()[:-1])
        self.assertIn(str(labels), run(*self.train, code=1).stderr)

    def test_log(self):
        log = self.path / "log"
        result = run(*self.train, "--lr", "1e-2", "--log-dir", log)
        self.assertEqual(sorted(file.name for file in log.iterdir()),
                         ["config.json", "curves.svg", "metrics.csv", "metrics.jsonl",
                          "summary.json"])
        summary = json.loads((log / "summary.json").read_text())
        for key in ("steps seconds steps_per_second parameters train_loss test_loss "
                    "test_accuracy peak_rss_mb").split():
            self.assertIsInstance(summary[key], (int, float), key)
        self.assertEqual(summary["steps"], 4 * 28)  # 50 of 600 are held out; 550 / 20 rounded up
        self.assertGreater(summary["test_accuracy"], 0.9)
        self.assertLessEqual(summary["test_accuracy"], 1)
        config = json.loads((log / "config.json").read_text())
        self.assertEqual((config["hidden"], config["epochs"]), ([24], 4))
        rows = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
        table = (log / "metrics.csv").read_text().splitlines()
        self.assertEqual(len(table), len(rows) + 1)
        self.assertEqual(sum("validation_accuracy" in row for row in rows), 4)
        self.assertIn("prefers-color-scheme: dark", (log / "curves.svg").read_text())
        self.assertIn("test accuracy", result.stdout)
        self.assertNotIn("epoch 1", result.stdout)
        self.assertIn("epoch 1", result.stderr)

    def test_quiet_and_dry_run(self):
        self.assertEqual(run(*self.train, "--quiet").stderr, "")
        text = run(*self.train, "--dry-run", "--save", self.path / "none").stdout
        self.assertIn(str(64 * 24 + 24 + 24 * 10 + 10), text.replace(",", ""))
        self.assertFalse((self.path / "none").exists())
        self.check_dry_run()

    def test_damaged_notes(self):
        self.check_damaged_notes("epochs", "steps_done", "epoch_loss", "row_loss")
        damaged = self.path / "damaged"  # by an epoch
        damaged.write_bytes(with_note(self.saved("saved"), "steps_done", str(3 * 28)))
        self.assertIn("84 steps, its optimizer 112", run(*self.data_flags, "--resume", damaged, code=1).stderr)

    def test_streams_that_cannot_be_written_end_no_training(self):
        whole = self.saved("whole")
        part = self.path / "part"
        for redirections, code in (("2>/dev/full", 0), ("2>&-", 0), ("<&- 2>&-", 0), (">/dev/full", 1),
                                   (">&-", 1), (">/dev/full 2>/dev/full", 1), ("<&- >&- 2>&-", 1)):
            part.unlink(missing_ok=True)
            result = run_redirected(redirections, *self.train, "--save", part)
            self.assertEqual(result.returncode, code, (redirections, result.stderr))
            self.assertEqual(part.read_bytes(), whole, redirections)
            if code == 1 and "2>" not in redirections:
                self.assertIn("standard output", result.stderr)
            if code == 0:
                self.assertIn("test accuracy", result.stdout)
        self.assertEqual(run_redirected(">/dev/full", "--help").returncode, 1)

    def test_help_whose_reader_has_seen_enough(self):
        for flag in "--help", "--version":
            self.assertEqual(run_unread(flag), ("", 0), flag)

    def test_pipes_that_nobody_reads_end_no_training(self):
        whole = self.saved("whole")
        for stream, code in ("stderr", 0), ("stdout", 1):
            ours, theirs = os.pipe()
            os.close(ours)
            streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
            process = start(*self.train, "--save", self.path / "part", **streams)
            os.close(theirs)
            self.assertEqual(process.wait(), code, stream)
            self.assertEqual((self.path / "part").read_bytes(), whole)
            (self.path / "part").unlink()

    def test_every_flag_has_an_effect(self):
        self.check_effects(
            ["--weight-decay", "0.01"],
            (("norm", "layer"), ("norm", "batch"), ("hidden", "24,12"), ("lr", "2e-3"),
             ("optimizer", "sgd"), ("optimizer", "adamw"), ("schedule", "constant"),
             ("schedule", "warmup"), ("schedule", "step"), ("schedule", "exponential"),
             ("final-lr", "1e-4"), ("warmup", "20"), ("beta2", "0.9"), ("weight-decay", "0.1"),
             ("clip-norm", "0.1"), ("clip-each", "0.1"), ("dropout", "0.2"), ("seed", "2"), ("batch-size", "25"),
             ("epochs", "3"), ("precision", "bf16")))

    def test_overfit_batch(self):
        result = run(*self.train, "--overfit-batch", "--lr", "1e-2", "--epochs", "9")
        self.assertIn("one batch: loss 0.00", result.stdout)
        run(*self.train, "--overfit-batch", "--lr", "1e-9", code=1)

    def test_check_nan(self):
        bad = [*self.train, "--optimizer", "sgd", "--lr", "1e30"]
        self.assertIn("--check-nan", run(*bad, code=1).stderr)
        self.assertNotIn("--check-nan", run(*bad, "--check-nan", code=1).stderr)

    def test_bytes_do_not_depend_on_threads_and_logs(self):
        plain = self.saved("plain", "--dropout", "0.1", "--threads", "1")
        self.assertEqual(plain, self.saved("again", "--dropout", "0.1", "--threads", "2",
                                           "--quiet", "--log-dir", self.path / "log"))

    def test_threads_by_default_are_the_processors_allowed(self):
        for allowed in [os.sched_getaffinity(0), {min(os.sched_getaffinity(0))}]:
            text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, allowed)).stdout
            self.assertRegex(text, rf"--threads INT.*(={len(allowed)}|\[{len(allowed)}\] )\n")

    def test_resume_refuses_what_differs(self):
        self.saved("one")
        resume = ["--data", self.data, "--resume", self.path / "one"]
        run(*resume)  # without flags: the checkpoint's
        run(*resume, *QUICK)
        for flag, value in (("--hidden", "25"), ("--epochs", "1"), ("--lr", "0.1"),
                            ("--model", "cnn"), ("--seed", "3"), ("--norm", "layer")):
            self.assertIn(flag, run(*resume, flag, value, code=2).stderr)
        write_idx(self.data / "train-labels-idx1-ubyte.gz", (600,),
                  [i % 10 for i in range(600)])
        self.assertIn("--data", run(*resume, code=2).stderr)

    def test_interrupt(self):
        train = [*self.train, "--epochs", "150", "--dropout", "0.1"]
        self.check_interrupts(train, ("epoch 20/", signal.SIGINT), ("epoch 60/", signal.SIGTERM),
                              ("epoch 90/", signal.SIGHUP))

    def test_interrupt_within_an_epoch(self):
        train = [*self.train, "--epochs", "1", "--batch-size", "1"]
        run(*train, "--save", self.path / "whole")
        part, log = self.path / "part", self.path / "log"
        process = start(*train, "--quiet", "--save", part, "--log-dir", log, stdout=subprocess.DEVNULL)
        while not (log / "metrics.jsonl").exists():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)
        self.assertTrue(0 < saved_steps(part) < 550)
        run(*self.data_flags, "--resume", part, "--save", part)
        self.assertEqual((self.path / "whole").read_bytes(), part.read_bytes())

    def test_signals_that_are_ignored_stay_ignored(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)

        process = start(*self.train, "--epochs", "20", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                        text=True, preexec_fn=ignore)
        with process.stderr as lines:
            next(lines)
            for number in signal.SIGHUP, signal.SIGINT:
                process.send_signal(number)
            rest = lines.read()
        self.assertEqual(process.wait(), 0)
        self.assertIn("epoch 20/20", rest)

    def test_save_every(self):
        self.check_save_every([*self.train, "--epochs", "40", "--dropout", "0.1"], 28)

    def start_blocked(self, file, *arguments):
        """Starts a run, and replaces a file that it writes by a folder. Returns the process
        after it has reported that."""
        process = start(*self.train, "--epochs", "200", "--quiet", *arguments, stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE, text=True)
        while not file.is_dir():
            with contextlib.suppress(FileNotFoundError, FileExistsError):  # written in the meantime
                file.unlink()
                file.mkdir()
        self.assertRegex(process.stderr.readline(), rf"cannot (save|log): .*{file}")
        return process

    def test_a_failed_save_is_tried_again(self):
        run(*self.train, "--epochs", "200", "--save", self.path / "whole")
        part, log = self.path / "part", self.path / "log"
        for file, flags in (part, []), (log / "metrics.csv", ["--log-dir", log]):
            part.unlink(missing_ok=True)
            with self.start_blocked(file, *flags, "--save", part) as process:
                file.rmdir()
                process.stderr.read()
                self.assertEqual(process.wait(), 0)
            self.assertEqual(part.read_bytes(), (self.path / "whole").read_bytes())
        rows = (log / "metrics.csv").read_text().splitlines()
        self.assertEqual(len(rows) - 1, 200 + 200)

    def test_a_save_that_fails_to_the_end(self):
        part, log = self.path / "part", self.path / "log"
        for file, flags in (part, []), (log / "metrics.csv", ["--log-dir", log]):
            for stop in True, False:
                part.unlink(missing_ok=True)
                with self.start_blocked(file, *flags, "--save", part) as process:
                    if stop:
                        process.send_signal(signal.SIGINT)
                    self.assertIn(str(file), process.stderr.read().splitlines()[-1])
                    self.assertEqual(process.wait(), 1)
                file.rmdir()
            if file != part:  # what could be written was
                self.assertEqual(run("--data", self.data, "--resume", part).returncode, 0)
        self.assertTrue((log / "summary.json").exists())

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--epochs", "1",
                                    "--norm", "layer", "--dropout", "0.1")

    def test_profile(self):
        self.check_profile()

    def test_probe(self):
        self.check_probe([*self.train, "--norm", "layer_simple"], [*self.train, "--norm", "detach"])

    def test_probe_of_a_resumed_run(self):
        train = [*self.train, "--epochs", "60", "--norm", "layer", "--save", self.path / "part"]
        run(*train, "--log-dir", self.path / "whole", "--probe")
        (self.path / "part").unlink()
        log = ["--log-dir", self.path / "parts", "--probe"]
        interrupt_at("epoch 5/", signal.SIGINT, *train, *log)
        run(*self.data_flags, "--resume", self.path / "part", *log)
        for name in ("probe_norms.csv", "probe_weights.csv"):
            self.assertEqual(*((self.path / part / name).read_text() for part in ("whole", "parts")))

    def test_draws_digits_without_data(self):
        empty = {key: value for key, value in os.environ.items() if key != "TAPEGRAD_MNIST"}
        result = run("--epochs", "1", "--hidden", "100", environment=empty)
        self.assertIn("drawn", result.stdout)
        named = run("--dry-run", environment={**empty, "TAPEGRAD_MNIST": str(self.data)})
        self.assertIn(str(self.data), named.stdout)

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "TAPEGRAD_DATA is not set")
    def test_real_mnist(self):
        log = self.path / "log"
        run("--data", pathlib.Path(os.environ["TAPEGRAD_DATA"]) / "mnist", "--hidden", "200",
            "--norm", "layer", "--epochs", "3", "--log-dir", log)
        self.assertGreater(json.loads((log / "summary.json").read_text())["test_accuracy"], 0.965)


if __name__ == "__main__":
    unittest.main()
