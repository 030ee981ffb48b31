"""A program as its users run it: what the tests of every trainer share."""

import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments, code=0, environment=None):
    """Runs the program to its end and checks its exit code."""
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                            env=environment)
    if result.returncode != code:
        raise AssertionError(f"exit code {result.returncode}, not {code}: {arguments}\n"
                             f"{result.stdout}{result.stderr}")
    return result


def start(*arguments, **streams):
    """Starts the program and does not wait."""
    return subprocess.Popen([PROGRAM, *map(str, arguments)], **streams)


def weights(checkpoint):
    """The tensors in the bytes of a checkpoint, without its remarks."""
    return checkpoint[8 + int.from_bytes(checkpoint[:8], "little"):]


def interrupt_at(line, number, *arguments):
    """Starts the program, sends a signal once it has told a line that begins so; what it says then."""
    process = start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with process.stderr as lines:
        while not next(lines).startswith(line):
            pass
        process.send_signal(number)
        rest = lines.read()
    if process.wait() != 130:
        raise AssertionError(f"exit code {process.returncode}, not 130")
    return rest


class TrainerTest(unittest.TestCase):
    """A folder for each test, and what holds for every trainer. `train`: flags of a short run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def saved(self, name, *arguments):
        """The bytes of the checkpoint that a training leaves."""
        run(*self.train, *arguments, "--save", self.path / name)
        return (self.path / name).read_bytes()

    def check_effects(self, plain_flags, effects):
        """Each flag with its value leaves other weights than `plain_flags` alone."""
        plain = weights(self.saved("plain", *plain_flags))
        for flag, value in effects:
            other = self.saved("other", *plain_flags, f"--{flag}", value)
            self.assertNotEqual(plain, weights(other), (flag, value))

    def check_interrupts(self, train, *moments):
        """Interrupted and resumed trainings end with the bytes of one that never stopped."""
        whole = run(*train, "--save", self.path / "whole")
        part = self.path / "part"
        for line, number in moments:
            resume = ["--resume", part] if part.exists() else []
            rest = interrupt_at(line, number, *train, "--save", part, *resume)
            self.assertIn("interrupted after", rest)
        resumed = run(*self.data_flags, "--resume", part, "--save", part)
        self.assertEqual((self.path / "whole").read_bytes(), part.read_bytes())
        self.assertEqual(whole.stdout.splitlines()[-1], resumed.stdout.splitlines()[-1])
