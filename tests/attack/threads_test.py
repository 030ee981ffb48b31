"""Trainings for which the system starts too few threads. Usage: threads_test.py PROGRAM [TEST...]"""

import os
import subprocess
import unittest

from program import PROGRAM, TrainerTest
from trainers import DROPOUT, NAME, SIZES, duration, write_data

# A user without other processes, since the limit counts all of a user, who may still read and write every file.
PLAIN_USER = ["setpriv", "--reuid=54321", "--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override"]


def run_limited(limit, *arguments):
    """Runs the program under a limit of prlimit; the time limit finds programs that hang."""
    command = [*PLAIN_USER, "prlimit", limit, PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@unittest.skipIf(os.geteuid() != 0, "limits a user without other processes")
class Threads(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data_flags = write_data(self.path / "data")
        self.train = [*SIZES, *self.data_flags, *duration(1), *DROPOUT, "--quiet"]
        self.part = self.path / "part"

    def check_training(self, processes, threads, *flags):
        """The bytes are those of any number of threads, and fewer threads are reported."""
        self.part.unlink(missing_ok=True)
        result = run_limited(f"--nproc={processes}", *self.train, *flags, "--threads", threads, "--save", self.part)
        self.assertEqual(result.returncode, 0, (processes, threads, result.stderr))
        report = f"--threads: the system starts {processes} of {threads}\n"
        self.assertEqual(result.stderr, report if processes < threads else "")
        self.assertEqual(self.part.read_bytes(), self.whole)

    def test_few_processes(self):
        """As few as fit are enough: the threads of operations, and none to read ahead or one to learn subwords."""
        self.whole = self.saved("whole")
        learns = NAME == "translate"
        for processes, threads in (1, 2), (2, 2), (2, 8), (3, 4), (5, 8), (8, 8):
            if not learns:
                self.check_training(processes, threads)
        if learns:
            for processes, threads in (2, 1), (4, 3):
                self.check_training(processes, threads)
            result = run_limited("--nproc=3", *self.train, "--threads", 8)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("subwords: SentencePiece needs a thread: Resource temporarily unavailable; ", result.stderr)

    def test_little_memory(self):
        """From too little memory for the program to enough of it, no thread ends it."""
        for mebibytes in range(120, 320, 4):
            result = run_limited(f"--as={mebibytes << 20}", *self.train, "--threads", 8)
            self.assertNotIn("pthread_create", result.stderr, mebibytes)


if __name__ == "__main__":
    unittest.main()
