"""Trainers alone and on several processes: what tests of the engine and of the laboratory share. The test is started with
the folder of the trainers and mpirun."""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import unittest

from processes import ENVIRONMENT, LIMIT

folder, launcher = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)


def digest(path):
    """Unittest would take minutes to describe how two checkpoints differ."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class ClusterTest(unittest.TestCase):
    """RUNS: the flags of trainers, by their names, which a word may follow."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)

    def command(self, training, *flags):
        return [str(word) for word in (folder / training.split()[0], *self.RUNS[training], "--threads", 1, *flags)]

    def start(self, processes, command):
        words = [launcher, "-n", str(processes), *command] if processes else command
        return subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_program(self, processes, command, code=0):
        process = self.start(processes, command)
        try:
            output, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        self.assertEqual(process.returncode, code, errors)
        return output, errors

    def checkpoint(self, processes, training, *flags):
        path = self.path / "saved"
        path.unlink(missing_ok=True)
        output, _ = self.run_program(processes, self.command(training, "--quiet", "--save", path, *flags))
        return digest(path), output

    def compare_processes(self):
        """The shards decide, not the processes."""
        for training in self.RUNS:
            with self.subTest(training):
                alone = self.checkpoint(0, training, "--shards", 4)
                self.assertNotEqual(alone[0], self.checkpoint(0, training, "--shards", 3)[0])
                for processes in 1, 2, 3, 4:
                    self.assertEqual(self.checkpoint(processes, training, "--shards", 4), alone, processes)
