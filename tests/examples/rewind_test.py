"""Rewinding a run to a step, and forking it there. Usage: rewind_test.py MNIST [TEST...]"""

import json
import re
import shutil
import signal
import unittest

from images import ImagesTest
from program import interrupt_at, logged, remarks, run, weights


def without_seconds(summary):
    return {key: value for key, value in json.loads(summary.read_text()).items()
            if "second" not in key and key != "peak_rss_mb"}


class Rewind(ImagesTest):
    def setUp(self):
        super().setUp()
        self.log = self.path / "log"
        self.train = [*self.train, "--epochs", "1"]

    def train_log(self, *flags):
        run(*self.train, "--log-dir", self.log, *flags)
        return json.loads((self.log / "summary.json").read_text())["steps"]

    def rewind(self, step, *flags, code=0):
        return run("--quiet", "--log-dir", self.log, "--rewind", step, *flags, code=code)

    def fork(self, step, *flags, code=0):
        return run("--quiet", "--original", self.log, "--fork", step, "--log-dir", self.path / "fork", *flags, code=code)

    def test_from_the_start_and_from_a_kept_state(self):
        steps = self.train_log()
        before = {file.name: file.read_bytes() for file in self.log.iterdir()}
        first = self.rewind(steps - 1).stdout
        self.assertIn(f"computed again from the start: {steps - 1} rows of the log are equal to the bit", first)
        self.assertEqual({file.name: file.read_bytes() for file in self.log.iterdir() if file.is_file()}, before)
        found = self.log / f"step_{steps - 1}"
        files = {file.name: file.read_bytes() for file in found.iterdir()}
        shutil.rmtree(found)
        self.train_log("--keep-every", "2")
        kept = sorted(int(each.name.removeprefix("step_")) for each in self.log.glob("step_*"))
        self.assertEqual(kept, list(range(2, steps + 1, 2)))
        again = self.rewind(steps - 1).stdout
        self.assertIn(f"step_{(steps - 2) // 2 * 2}", again)
        self.assertEqual(first.splitlines()[0], again.splitlines()[0])
        self.assertEqual({file.name: file.read_bytes() for file in found.iterdir()}, files)

    def test_what_it_writes(self):
        self.train_log("--norm", "layer", "--probe")
        self.assertIn("start: 3 rows of the log are equal", self.rewind(3).stdout)
        found = self.log / "step_3"
        self.assertEqual({file.name for file in found.iterdir()},
                         {"batch.safetensors", "probe_norms.csv", "probe_weights.csv", "state.checkpoint", "tape.html",
                          "trace.safetensors"})
        batch = (found / "batch.safetensors").read_bytes()
        header = json.loads(batch[8:8 + int.from_bytes(batch[:8], "little")])
        self.assertEqual({name for name in header if name != "__metadata__"}, {"images", "labels"})
        self.assertIn("log_softmax", (found / "tape.html").read_text())
        for name in "probe_norms.csv", "probe_weights.csv":
            of_run = (self.log / name).read_text().splitlines()
            self.assertEqual((found / name).read_text().splitlines(),
                             of_run[:1] + [row for row in of_run if row.startswith("3,")])

    def test_probes_of_one_step(self):
        self.train_log("--norm", "layer")
        found = self.log / "step_3"
        self.rewind(3)
        self.assertFalse((found / "probe_norms.csv").exists())
        shutil.rmtree(found)
        self.assertIn("start: 2 rows of the log are equal", self.rewind(3, "--probe").stdout)
        self.assertFalse((found / "state.checkpoint").exists())
        of_step = (found / "probe_norms.csv").read_text()
        self.train_log("--norm", "layer", "--probe")
        of_run = (self.log / "probe_norms.csv").read_text().splitlines()
        self.assertEqual(of_step.splitlines(), of_run[:1] + [row for row in of_run if row.startswith("3,")])

    def test_of_a_probed_run_past_an_epoch(self):
        steps = self.train_log("--norm", "layer", "--probe", "--epochs", "2")
        result = self.rewind(steps)
        self.assertEqual(result.stderr, "")
        self.assertTrue((self.log / f"step_{steps}" / "state.checkpoint").exists())

    def test_a_step_that_patience_has_left_out(self):
        flags = ["--patience", "1", "--lr", "1e-9", "--epochs", "9"]
        steps = self.train_log(*flags)
        self.assertIn("equal to the bit", self.rewind(steps).stdout)
        self.assertIn(f"--patience ended the run after step {steps}", self.rewind(steps + 1, code=1).stderr)

    def test_what_differs(self):
        self.train_log()
        wrong = self.rewind(4, "--lr", "0.5", code=1).stdout
        self.assertIn("the first difference: after step 0, by step 1: learning_rate is ", wrong)
        self.assertIn("what has changed: --lr 0.5 instead of 0.", wrong)
        self.assertFalse((self.log / "step_4" / "state.checkpoint").exists())
        rows = self.log / "metrics.jsonl"
        lines = rows.read_text().splitlines()
        row = json.loads(lines[1])
        row["train_loss"] *= 1 + 2**-50  # the last bits
        rows.write_text("\n".join([lines[0], json.dumps(row), *lines[2:]]) + "\n")
        wrong = self.rewind(4, code=1).stdout
        self.assertIn("after step 1, by step 2: train_loss is ", wrong)
        self.assertIn("what has changed: no flag, no data, ", wrong)
        configuration = self.log / "config.json"
        text = configuration.read_text()
        configuration.write_text(re.sub(r'"data": "[^"]*, [0-9a-f]{16}"', '"data": "0"', text))
        self.assertRegex(self.rewind(4, code=1).stdout, 'what has changed: data .* instead of "0"')
        configuration.write_text(re.sub(r'"instruction_set": "\w+"', '"instruction_set": "x"', text))
        self.assertRegex(self.rewind(4, code=1).stdout, 'what has changed: instruction set .* instead of "x"')
        configuration.write_text(re.sub(r'"tapegrad": "[^"]+"', '"tapegrad": "9"', text))
        self.assertRegex(self.rewind(4, code=1).stdout, 'what has changed: version .* instead of "9"')

    def test_a_log_without_rows(self):
        self.train_log("--keep-every", "2")
        rows = self.log / "metrics.jsonl"
        lines = rows.read_text().splitlines(keepends=True)
        wrong = "nothing could be compared, since .*metrics.jsonl lacks the rows"
        (self.log / "step_5").mkdir()
        for left in lines[:4], [], None:  # of the steps that are computed again, none at all, no file
            rows.unlink() if left is None else rows.write_text("".join(left))
            self.assertRegex(self.rewind(5, code=1).stdout, wrong)
            self.assertFalse((self.log / "step_5" / "state.checkpoint").exists())
        rows.write_text("".join(lines))
        self.assertIn(": 1 rows of the log are equal", self.rewind(5).stdout)

    def test_steps_between_the_rows(self):
        self.train_log("--epochs", "20", "--keep-every", "10")  # 600 steps, a row for each 3
        self.assertIn("step_10/state.checkpoint: 0 rows of the log are equal", self.rewind(11).stdout)
        (self.log / "metrics.jsonl").write_text("")
        self.assertIn("nothing could be compared", self.rewind(11, code=1).stdout)

    def test_refusals(self):
        steps = self.train_log()
        self.assertIn("--log-dir", run("--rewind", "1", code=2).stderr)
        self.assertIn("--original", run("--fork", "1", "--log-dir", self.path / "x", code=2).stderr)
        self.assertIn(f"the run has {steps} steps", self.rewind(steps + 1, code=2).stderr)
        self.assertIn("--rewind examines whole batches", self.rewind(2, "--shards", "2", code=2).stderr)
        before = (self.log / "metrics.csv").read_bytes()
        same = ["--original", self.log, "--fork", "1", "--log-dir", self.path / "images" / ".." / "log"]
        self.assertIn("would replace the run", run(*same, code=2).stderr)
        self.assertEqual((self.log / "metrics.csv").read_bytes(), before)
        self.assertIn("has not kept the state after step 2", self.fork(2, code=1).stderr)
        for flag in ["--save", self.path / "x"], ["--resume", self.path / "x"], ["--dry-run"], ["--overfit-batch"]:
            self.assertIn("--rewind", self.rewind(2, *flag, code=2).stderr)
        self.assertIn("config.json", run("--rewind", "1", "--log-dir", self.path / "none", code=1).stderr)
        for wrong in "", "{", "[]", "{}", '{"digests": 1}', '{"digests": {}}', '{"digests": {}, "program": 3}':
            (self.log / "config.json").write_text(wrong)
            self.assertIn("config.json", self.rewind(1, code=1).stderr, wrong)

    def test_a_fork_that_changes_nothing(self):
        for flags in [], ["--optimizer", "momentum"], ["--keep-best"], ["--ema", "0.9"], ["--schedule", "plateau"]:
            whole = self.saved("whole", *flags, "--log-dir", self.log, "--keep-every", "3")
            self.assertIn("with nothing changed", self.fork(3, "--save", self.path / "forked").stderr)
            self.assertEqual((self.path / "forked").read_bytes(), whole, flags)
            self.assertEqual(logged(self.path / "fork")[0], logged(self.log)[0])
            self.assertEqual(*(without_seconds(log / "summary.json") for log in (self.log, self.path / "fork")))
            (self.path / "forked").unlink()

    def test_other_flags(self):
        whole = self.saved("whole", "--log-dir", self.log)
        self.rewind(3)
        for flags, told in ((["--lr", "0.01"], "--lr 0.01 instead of "),
                            (["--norm", "layer"], r"begin anew, since it has none that fit: .*gain"),
                            (["--optimizer", "momentum"], "begin anew, since it has none that fit: optimizer"),
                            (["--epochs", "2"], "--epochs 2 instead of "),
                            (["--seed", "9"], "--seed 9 instead of "),
                            (["--batch-size", "16"], "--batch-size 16 instead of ")):
            message = self.fork(3, *flags, "--save", self.path / "forked").stderr
            self.assertRegex(message, told)
            self.assertNotEqual(weights((self.path / "forked").read_bytes()), weights(whole))
            rows, before = logged(self.path / "fork")[0], logged(self.log)[0]
            self.assertEqual([row for row in rows if row["step"] <= 3], [row for row in before if row["step"] <= 3])
            picture = (self.path / "fork" / "fork.svg").read_text()
            self.assertIn("train, original", picture)
            # What it has saved continues.
            saved = (self.path / "forked").read_bytes()
            self.assertEqual(run("--quiet", *self.data_flags, "--resume", self.path / "forked").stderr, "")
            self.assertEqual(saved, (self.path / "forked").read_bytes())
            (self.path / "forked").unlink()
        self.assertIn("a fork keeps it", self.fork(3, "--keep-best", code=2).stderr)

    def test_a_fork_of_a_fork(self):
        self.train_log()
        self.rewind(2)
        self.fork(2, "--lr", "0.01")
        self.log, fork = self.path / "fork", self.log
        self.assertIn("which has kept no state before step 4", self.rewind(4, code=1).stderr)
        self.log = fork
        self.fork(2, "--lr", "0.01", "--keep-every", "100")
        self.log = self.path / "fork"
        self.assertIn("equal to the bit", self.rewind(4).stdout)
        run("--quiet", "--original", self.log, "--fork", "4", "--log-dir", self.path / "second", "--lr", "0.02")

    def test_a_fork_is_interrupted_and_resumed(self):
        self.train_log("--epochs", "100")
        self.rewind(3)
        fork = ["--original", self.log, "--fork", "3", "--optimizer", "momentum"]
        run("--quiet", *fork, "--log-dir", self.path / "fork", "--save", self.path / "whole")
        interrupt_at("epoch 5/", signal.SIGINT, *fork, "--log-dir", self.path / "part_log", "--save", self.path / "part")
        self.assertNotEqual(int(remarks(self.path / "part")["optimizer.steps"]),
                            int(remarks(self.path / "part")["note.steps_done"]))
        run("--quiet", *self.data_flags, "--resume", self.path / "part", "--save", self.path / "part",
            "--log-dir", self.path / "part_log")
        self.assertEqual((self.path / "whole").read_bytes(), (self.path / "part").read_bytes())

    def contents(self, folder):
        return {file: (file.read_bytes(), file.is_symlink()) for file in folder.rglob("*") if file.is_file()}

    def refused(self, told, command):
        """A command that a program refuses before it writes anything."""
        before = self.contents(self.path)
        self.assertRegex(command().stderr, told)
        self.assertEqual(self.contents(self.path), before)

    def test_foreign_steps_are_not_replaced(self):
        names = ["state.checkpoint", "tape.html", "trace.safetensors", "batch.safetensors", "probe_norms.csv",
                 "probe_weights.csv"]
        self.train_log("--keep-every", "4")
        step, foreign = self.log / "step_6", self.path / "foreign"
        foreign.mkdir()
        for name in names:
            (foreign / name).write_text(f"{name} of the user")
        before = self.contents(foreign)
        commands = [lambda: self.rewind(6, "--probe", code=1),
                    lambda: run(*self.train, "--log-dir", self.log, "--keep-every", "3", code=1)]
        for command in commands:
            step.symlink_to(foreign)
            self.refused(f"{step}: it is a link", command)
            step.unlink()
            step.mkdir()
            for name in names:
                (step / name).write_text("of the user")
                self.refused(f"{step / name}: this program has not written it", command)
                (step / name).unlink()
                (step / name).symlink_to(foreign / name)
                self.refused(f"{step / name}: it is a link", command)
                (step / name).unlink()
            (step / "state.checkpoint").write_text("")  # as mktemp leaves it
            self.assertEqual(self.contents(foreign), before)
            self.rewind(6, "--probe")
            shutil.rmtree(step)
        (self.path / "bare" / "step_6").mkdir(parents=True)
        (self.path / "bare" / "step_6" / "tape.html").write_text("<title>A tape, step by step</title>")
        self.refused("tape.html: it is not of a log", lambda: run(*self.train, "--log-dir", self.path / "bare", code=1))

    def test_what_is_read_is_not_replaced(self):
        self.train_log("--keep-every", "4")
        self.rewind(6)
        state, trace = self.log / "step_4" / "state.checkpoint", self.log / "step_6" / "trace.safetensors"
        (self.path / "link").symlink_to(trace)
        for file, command in ((trace, lambda data: self.rewind(6, "--data", data, code=2)),
                              (self.path / "link", lambda data: self.rewind(6, "--data", data, code=2)),
                              (state, lambda data: run("--data", data, "--log-dir", self.log, code=2)),
                              (trace, lambda data: run("--data", data, "--log-dir", self.log, "--resume", state, code=2))):
            self.refused("--log-dir: would replace .*, which --data reads", lambda: command(file))
        self.refused("--log-dir: would replace .*, which --save writes",
                     lambda: run(*self.train, "--log-dir", self.log, "--save", trace, code=2))

    def test_a_kept_state_is_resumed_from_in_its_log(self):
        whole = self.saved("whole", "--log-dir", self.log, "--keep-every", "4")
        state = self.log / "step_8" / "state.checkpoint"
        resume = [*self.data_flags, "--resume", state, "--log-dir", self.log, "--keep-every", "4", "--quiet"]
        run(*resume, "--save", self.path / "again")
        self.assertEqual((self.path / "again").read_bytes(), whole)
        shutil.copy(self.log / "step_4" / "state.checkpoint", state)
        self.assertIn("it is the state after step 4, not of its folder's step", run(*resume, code=1).stderr)

    def test_inputs_of_the_run_that_is_forked(self):
        """They are adopted after the flags were checked."""
        other = self.path / "other"
        run(*self.train, "--log-dir", other)
        self.train_log("--keep-every", "4")
        configuration = self.log / "config.json"
        settings = json.loads(configuration.read_text())
        configuration.write_text(json.dumps({**settings, "data": str(other / "metrics.csv")}))
        self.refused("--log-dir: would replace .*metrics.csv, which --data reads",
                     lambda: run("--original", self.log, "--fork", "4", "--log-dir", other, code=2))

    def test_a_new_run_removes_what_was_kept(self):
        self.train_log("--keep-every", "2")
        self.rewind(3)
        (self.log / "step_2" / "own").write_text("of the user")
        self.train_log()
        self.assertEqual([each.name for each in self.log.glob("step_*")], ["step_2"])
        self.assertEqual([each.name for each in (self.log / "step_2").iterdir()], ["own"])


if __name__ == "__main__":
    unittest.main()
