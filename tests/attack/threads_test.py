"""Runs for which the system starts too few threads. Usage: threads_test.py PROGRAM [TEST...]"""

import os
import resource
import subprocess
import unittest
from itertools import product

from program import PROGRAM, TrainerTest
from trainers import DROPOUT, NAME, SIZES, duration, write_data

# A user without other processes, since the limit counts all of a user, who may still read and write every file.
PLAIN_USER = ["setpriv", f"--reuid={20_000 + os.getpid() % 40_000}", "--inh-caps=-all,+dac_override",
              "--ambient-caps=-all,+dac_override"]


def run_limited(limits, *arguments):
    """Runs the program under limits of prlimit; the time limit finds programs that hang."""
    command = [*PLAIN_USER, "prlimit", *limits, PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@unittest.skipIf(os.geteuid() != 0, "limits a user without other processes")
class Threads(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data_flags = write_data(self.path / "data")
        self.train = [*SIZES, *self.data_flags, *duration(1), *DROPOUT, "--quiet"]
        self.part = self.path / "part"

    def check_training(self, processes, threads):
        """The bytes are the same for any number of threads, and fewer threads are reported."""
        self.part.unlink(missing_ok=True)
        result = run_limited([f"--nproc={processes}"], *self.train, "--threads", threads, "--save", self.part)
        self.assertEqual(result.returncode, 0, (processes, threads, result.stderr))
        report = f"--threads: the system starts {processes} of {threads}\n"
        self.assertEqual(report in result.stderr, processes < threads, result.stderr)
        self.assertEqual(self.part.read_bytes(), self.whole)

    def test_few_processes(self):
        self.whole = self.saved("whole")
        enough = ((2, 1), (4, 3)) if NAME == "translate" else ((1, 2), (2, 2), (2, 8), (3, 4), (5, 8), (8, 8))
        for processes, threads in enough:
            self.check_training(processes, threads)

    @unittest.skipIf(NAME != "translate", "learns no subwords")
    def test_no_process_to_learn_subwords(self):
        result = run_limited(["--nproc=3"], *self.train, "--threads", 8)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("subwords: SentencePiece needs a thread: Resource temporarily unavailable; ", result.stderr)

    def test_little_memory(self):
        """From too little memory for the program to enough of it, no thread ends it, whatever the stacks of threads."""
        largest = resource.getrlimit(resource.RLIMIT_STACK)[1]
        stacks = 1 << 20, "unlimited" if largest == resource.RLIM_INFINITY else largest, 8 << 20
        for stack, mebibytes in product(stacks, range(120, 320, 4)):
            result = run_limited([f"--stack={stack}:", f"--as={mebibytes << 20}"], *self.train, "--threads", 8)
            self.assertNotIn("prlimit", result.stderr)
            self.assertNotIn("pthread_create", result.stderr, (stack, mebibytes))


if __name__ == "__main__":
    unittest.main()
