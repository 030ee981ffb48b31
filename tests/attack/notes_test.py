"""Every note of a checkpoint, set to impossible values. Usage: notes_test.py PROGRAM [TEST...]"""

import concurrent.futures
import json
import os
import subprocess
import unittest

from program import PROGRAM, TrainerTest
from trainers import DROPOUT, SIZES, duration, write_data

TEXTS = ["", "0", "-1", "2", "0.5", "1e999", "nan", "inf", "9223372036854775807", "9223372036854775808",
         "18446744073709551616", "foo", '"foo"', "null", "true", "{}", "[]", "[1, ", "[1, 2]", "[0.5, -1]", "[-1, 0]",
         "[1, 0.5]", "[1, 2, 0.5]", "[1, 99, 0]", "[1e300, 1e300]", '["a", "b"]', "x" * 100_000, "[" * 100_000]
NO_TEXTS = [None, 5, {}, ["foo"]]  # the format has texts only

# The other notes, beside those with the values of flags, and which of TEXTS they may hold.
NUMBERS = {"0", "2", "9223372036854775807"}
ALLOWED = {
    "optimizer.steps": set(),
    "optimizer.rate": NUMBERS | {"0.5", "9223372036854775808", "18446744073709551616"},
    "random.training.seed": NUMBERS | {"9223372036854775808"},
    "random.training.position": NUMBERS | {"9223372036854775808"},
    "random.order.seed": NUMBERS | {"9223372036854775808"},
    "random.order.position": NUMBERS | {"9223372036854775808"},
    "note.epoch_loss": {"[1, 2]"},  # a step has one row or more
    "note.best_validation": set(),
    "note.data": set(),
    "note.instruction_set": set(),
    "note.memory": {"0", "2"},  # of another --model
    "note.program": set(),
    "note.relations": set(),
    "note.row_loss": set(),
    "note.steps_done": set(),
    "note.subwords": set(),
    "note.tags": set(),
    "note.words": set(),
    "format": set(),
}


class Notes(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data_flags = write_data(self.path / "data")
        self.train = [*SIZES, *self.data_flags, *duration(2)]
        saved = self.saved("saved", *DROPOUT)
        length = int.from_bytes(saved[:8], "little")
        self.header, self.values = json.loads(saved[8:8 + length]), saved[8 + length:]

    def resumed(self, number, note, value):
        """The result of resuming from a checkpoint with one note changed."""
        checkpoint = self.path / f"edited{number}"
        metadata = {**self.header["__metadata__"], note: value}
        text = json.dumps({**self.header, "__metadata__": metadata}).encode()
        checkpoint.write_bytes(len(text).to_bytes(8, "little") + text + self.values)
        result = subprocess.run([PROGRAM, *map(str, self.data_flags), "--resume", checkpoint], capture_output=True,
                                text=True, timeout=60)
        checkpoint.unlink()
        return note, value, checkpoint, result

    def taken_by_the_command_line(self, flag, value):
        """Whether a run can begin with this value of a flag."""
        words = json.loads(value)
        text = ",".join(map(str, words)) if isinstance(words, list) else str(words)
        command = [PROGRAM, *map(str, self.train), f"--{flag}={text}", "--dry-run"]
        return subprocess.run(command, capture_output=True).returncode == 0

    def check(self, note, value, checkpoint, result):
        name = note.removeprefix("note.")
        if result.returncode == 0:
            if note in ALLOWED:
                self.assertIn(value, ALLOWED[note])
            else:
                self.assertTrue(self.taken_by_the_command_line(name, value))
            return
        self.assertIn(result.returncode, (1, 2))
        other_data = {"from": "train.foo", "to": "train.foo", "sentences": "is not what"}.get(name, "--none")
        if f"--{name} allows {value}" in result.stderr or other_data in result.stderr:
            return  # a good value that the data do not go with
        self.assertIn(str(checkpoint), result.stderr)
        self.assertRegex(result.stderr, rf"{name}|tensor|metadata|not a checkpoint of|note \w+ is damaged|its optimizer")
        self.assertNotRegex(result.stderr, r"std::|stoll|map::at|vector::|basic_|json\.exception|bad_")
        self.assertLess(len(result.stderr), 5000)

    def test_every_note_with_every_value(self):
        notes = [note for note in self.header["__metadata__"] if note != "digest"]
        self.assertGreater(len(notes), 15)
        cases = [(note, value) for note in notes for value in TEXTS + NO_TEXTS
                 if value != self.header["__metadata__"][note]]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = [pool.submit(self.resumed, number, *case) for number, case in enumerate(cases)]
        for result in results:
            note, value, checkpoint, outcome = result.result()
            with self.subTest(note=note, value=str(value)[:30], code=outcome.returncode,
                              error=outcome.stderr[-300:]):
                self.check(note, value, checkpoint, outcome)


if __name__ == "__main__":
    unittest.main()
