"""Runs that are killed, or whose saves fail. Usage: kill_test.py PROGRAM LIBRARY [TEST...], with the library
of failing_files.h."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from program import TrainerTest, run, start
from trainers import DATA_FILES, DROPOUT, SIZES, duration, write_data

LIBRARY = sys.argv.pop(1)


def with_fault(fault):
    """The environment of a program in which a file operation fails: see failing_files.h."""
    return {**os.environ, "LD_PRELOAD": LIBRARY, "TAPEGRAD_FILE_FAULT": fault}


class Kills(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data_flags = write_data(self.path / "data")
        self.train = [*SIZES, *self.data_flags, *duration(60), *DROPOUT, "--save-every", "7", "--quiet"]
        self.whole = self.saved("whole")
        self.part = self.path / "part"

    def resume(self):
        return ["--resume", self.part] if self.part.exists() else []

    def temporary(self):
        return list(self.path.glob("part.*.tmp"))

    def test_ten_kills(self):
        """Kills at five system calls within a save, and at five random times; the result equals one whole run's."""
        started = time.monotonic()
        self.saved("again")
        length = time.monotonic() - started
        source = random.Random(3)
        # Of every save: while it writes, when it has written, before and after the new name.
        for call in "write:1", "write:9", "fsync:18", "rename:9", f"close:{23 + DATA_FILES}":
            process = start(*self.train, "--save", self.part, *self.resume(), stdout=subprocess.DEVNULL,
                            env=with_fault(f"{call}:kill"))
            self.assertEqual(process.wait(), -signal.SIGKILL, call)
            # The temporary file that the killed run left is gone.
            self.assertEqual(len(self.temporary()), 1 if call[0] in "wfr" else 0, call)
        for _ in range(5):
            process = start(*self.train, "--save", self.part, *self.resume(), stdout=subprocess.DEVNULL)
            time.sleep(source.uniform(0, length / 3))
            process.kill()
            self.assertIn(process.wait(), (0, -signal.SIGKILL))
            self.assertLessEqual(len(self.temporary()), 1)
        run(*self.train, "--save", self.part, *self.resume())
        self.assertEqual(self.part.read_bytes(), self.whole)
        self.assertEqual(self.temporary(), [])

    def test_failed_saves_end_no_training(self):
        for call, error in (("write:1000", errno.ENOSPC), ("fsync:4", errno.EIO), ("rename:5", errno.EIO)):
            self.part.unlink(missing_ok=True)
            result = run(*self.train, "--save", self.part, environment=with_fault(f"{call}:{error}"))
            self.assertIn(f"cannot save: write_file: cannot write {self.part}: {os.strerror(error)}", result.stderr)
            self.assertEqual(self.part.read_bytes(), self.whole)
            self.assertEqual(self.temporary(), [])

    def test_a_file_that_cannot_be_written_is_known_before_the_training(self):
        for call, error in ("write:1", errno.ENOSPC), ("fsync:1", errno.EIO):
            result = run(*self.train, "--save", self.part, environment=with_fault(f"{call}:{error}"), code=1)
            self.assertIn(f"cannot write {self.part}: {os.strerror(error)}", result.stderr)
            self.assertEqual(list(self.path.glob("part*")), [])


if __name__ == "__main__":
    unittest.main()
