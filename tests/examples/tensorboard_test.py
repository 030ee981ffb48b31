"""The event files of --tensorboard, read by hand and by TensorBoard itself. Usage: tensorboard_test.py MNIST [TEST...]

With TAPEGRAD_TENSORBOARD=DIR in the environment, TensorBoard comes from DIR (pip install --target DIR tensorboard)."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

from event_files import event_files, events, rows_as_events
from images import ImagesTest
from program import interrupt_at, run, start

FOLDER = os.environ.get("TAPEGRAD_TENSORBOARD")
if FOLDER:
    sys.path.append(FOLDER)
needs_tensorboard = unittest.skipUnless(FOLDER or importlib.util.find_spec("tensorboard"),
                                        "TensorBoard is not installed")
METRICS = {"learning_rate", "gradient_norm", "train_loss", "validation_loss", "validation_accuracy"}


def by_tag(found):
    """The steps and values of each scalar in events or rows."""
    result = {}
    for step, _, scalars in found:
        for tag, value in scalars.items():
            result.setdefault(tag, []).append((step, value))
    return result


def accumulated(log):
    """The same as TensorBoard reads it from a directory."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(log), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {tag: [(scalar.step, scalar.value) for scalar in accumulator.Scalars(tag)]
            for tag in accumulator.Tags()["scalars"]}


class EventFiles(ImagesTest):
    def setUp(self):
        super().setUp()
        self.log, self.part = self.path / "log", self.path / "part"
        self.flags = ["--tensorboard", "--log-dir", self.log]
        self.resume = [*self.data_flags, "--resume", self.part, "--save", self.part, *self.flags]

    def train_a_part(self, *flags):
        """Stops a run before its end."""
        interrupt_at("epoch 5/", signal.SIGINT, *self.train, "--epochs", "100", "--save", self.part, *flags)

    def expect_rows(self, file):
        """A file has the rows of the log, at their times."""
        found, rows = events(file.read_bytes()), rows_as_events(self.log)
        self.assertEqual([(step, scalars) for step, _, scalars in found],
                         [(step, scalars) for step, _, scalars in rows])
        for (_, wall_time, _), (_, seconds, _) in zip(found, rows):
            self.assertAlmostEqual(wall_time - found[0][1], seconds - rows[0][1], delta=1e-5)

    def test_wrong_usage(self):
        self.assertIn("--log-dir", run(*self.train, "--tensorboard", code=2).stderr)

    def test_the_rows_of_a_run(self):
        begin = time.time()
        run(*self.train, *self.flags)
        file, = event_files(self.log)
        self.expect_rows(file)
        found = events(file.read_bytes())
        self.assertLess(begin, found[0][1])
        self.assertLess(found[-1][1], time.time())
        self.assertEqual(set(by_tag(found)), METRICS)

    def test_every_flipped_byte_is_noticed(self):
        run(*self.train, "--epochs", "1", *self.flags)
        content = event_files(self.log)[0].read_bytes()
        few = next(end for end in range(len(content)) if len(events(content[:end])) == 3)
        self.assertEqual(len(events(content[:few - 1])), 2)
        for at in range(few):
            flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1:few]
            with self.assertRaises(ValueError, msg=at):
                events(flipped)

    def test_a_resumed_run_writes_its_rows_again(self):
        self.train_a_part(*self.flags)
        early = self.part.read_bytes()
        run(*self.resume)
        first, second = event_files(self.log)
        self.expect_rows(second)
        self.assertLess(len(events(first.read_bytes())), len(events(second.read_bytes())))
        self.part.write_bytes(early)
        interrupt_at("epoch 20/", signal.SIGINT, *self.resume)
        *_, third = event_files(self.log)
        self.expect_rows(third)
        self.assertLess(len(events(third.read_bytes())), len(events(second.read_bytes())))

    def test_a_resumed_run_writes_what_came_before_the_flag(self):
        self.train_a_part("--log-dir", self.log)
        self.assertEqual(event_files(self.log), [])
        run(*self.resume)
        self.expect_rows(*event_files(self.log))

    def test_a_new_run_removes_the_event_files_of_an_earlier_one(self):
        run(*self.train, *self.flags)
        foreign = self.log / "events.out.tfevents.1700000000.host.77.0"
        foreign.write_bytes(b"PyTorch's")
        run(*self.train, "--log-dir", self.log)
        self.assertEqual(event_files(self.log), [])
        self.assertEqual(foreign.read_bytes(), b"PyTorch's")

    def test_an_event_file_is_no_checkpoint(self):
        run(*self.train, *self.flags)
        file, = event_files(self.log)
        content = file.read_bytes()
        error = run(*self.data_flags, "--log-dir", self.log, "--resume", file, code=2).stderr
        self.assertIn(f"--log-dir: would replace {file}, which --resume reads", error)
        self.assertEqual(file.read_bytes(), content)

    def kill_in_a_run(self):
        """A run that is killed once it has logged some rows."""
        process = start(*self.train, "--epochs", "500", *self.flags, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        while not (files := event_files(self.log)) or len(events(files[0].read_bytes())) < 5:
            self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        return files[0]

    def test_a_killed_run_leaves_whole_records(self):
        file = self.kill_in_a_run()
        found = events(file.read_bytes())
        rows = rows_as_events(self.log)[:len(found)]
        self.assertEqual([(step, scalars) for step, _, scalars in found], [(step, scalars) for step, _, scalars in rows])
        self.assertGreaterEqual(len(found), 5)

    @needs_tensorboard
    def test_tensorboard_reads_a_run(self):
        run(*self.train, *self.flags)
        self.assertEqual(accumulated(self.log), by_tag(rows_as_events(self.log)))

    @needs_tensorboard
    def test_tensorboard_reads_a_resumed_run_without_what_it_dropped(self):
        self.train_a_part(*self.flags)
        early = self.part.read_bytes()
        run(*self.resume)
        self.part.write_bytes(early)
        interrupt_at("epoch 20/", signal.SIGINT, *self.resume)
        self.assertEqual(len(event_files(self.log)), 3)
        self.assertEqual(accumulated(self.log), by_tag(rows_as_events(self.log)))

    @needs_tensorboard
    def test_tensorboard_reads_a_damaged_file_up_to_the_damage(self):
        run(*self.train, *self.flags)
        file, = event_files(self.log)
        content = file.read_bytes()
        whole = by_tag(rows_as_events(self.log))["train_loss"]
        file.write_bytes(content[:len(content) // 2])
        half = accumulated(self.log)["train_loss"]
        self.assertEqual(half, whole[:len(half)])
        self.assertGreater(len(half), len(whole) // 3)
        file.write_bytes(content[:400] + bytes([content[400] ^ 1]) + content[401:])
        few = accumulated(self.log)["train_loss"]
        self.assertEqual(few, whole[:len(few)])
        self.assertLess(len(few), 5)

    @needs_tensorboard
    def test_tensorboard_serves_a_run(self):
        run(*self.train, *self.flags)
        environment = {**os.environ, "PYTHONPATH": FOLDER or ""}
        server = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", self.path, "--port", "0"],
                                  env=environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (server.kill(), server.wait(), server.stderr.close()))
        address = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+/", line)))
        served = {tag: self.served(address, tag) for tag in METRICS}
        self.assertEqual(served, by_tag(rows_as_events(self.log)))

    def served(self, address, tag):
        """What the page draws, once the server has read it."""
        query = f"{address}data/plugin/scalars/scalars?run=log&tag={tag}"
        for _ in range(100):
            try:
                with urllib.request.urlopen(query) as answer:
                    return [(step, value) for _, step, value in json.load(answer)]
            except urllib.error.HTTPError:  # not yet
                time.sleep(0.1)
        raise AssertionError(f"TensorBoard does not find {tag}")


if __name__ == "__main__":
    unittest.main()
