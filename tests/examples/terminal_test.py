"""The progress of a trainer on a terminal. Usage: terminal_test.py MNIST [TEST...]"""

import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import unittest

from images import ImagesTest
from program import start


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


class Terminal(ImagesTest):
    def setUp(self):
        super().setUp()
        try:
            self.ours, self.theirs = os.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal: {error}")
        self.addCleanup(os.close, self.ours)

    def start(self, **variables):
        """Starts a long training on the terminal, with the variables that a terminal has."""
        kept = {key: value for key, value in os.environ.items() if key not in ("TERM", "COLUMNS", "NO_COLOR")}
        process = start(*self.train, "--epochs", "100000", stdout=subprocess.DEVNULL,
                        stderr=self.theirs, env={**kept, **variables})
        self.addCleanup(process.kill)
        os.close(self.theirs)
        return process

    def bars(self, count):
        """The next bars that the program draws, with their trailing spaces; everything else is lines."""
        shown, found = b"", []
        while len(found) < count:
            shown += os.read(self.ours, 65536)
            found = re.findall(rb"\r([^\r\n]*%[^\r\n]*)(?=\r)", shown)
        self.assertNotIn(b"\x1b", shown)
        return found

    def stop(self, process):
        """Ends the program; returns what it has shown until then."""
        process.send_signal(signal.SIGINT)
        rest = b""
        with contextlib.suppress(OSError):  # how the end of a terminal is told
            while part := os.read(self.ours, 65536):
                rest += part
        self.assertEqual(process.wait(), 130)
        return rest

    def test_the_bar_fits_and_follows_a_resize(self):
        resize(self.ours, 100)
        process = self.start(TERM="xterm", COLUMNS="30")
        whole = rb"^\[#*\.*\] +\d+%  [\d.]+ steps/s  loss [\d.]+  [\d:]+ left *$"
        for bar in self.bars(2):
            self.assertRegex(bar, whole)
        for columns in 50, 20, 7, 100:
            resize(self.ours, columns)
            found = self.bars(5)[2:]  # those before may have been on their way
            for bar in found:
                self.assertLess(len(bar), columns)
            if columns == 20:
                self.assertRegex(found[-1], rb"^(\[#*\.*\])? +\d+%(  [\d:]+ left)? *$")
        self.assertRegex(found[-1], whole)
        self.stop(process)

    def test_the_environment_tells_the_width_where_the_terminal_does_not(self):
        for columns, least in ("40", 24), ("none", 60), ("", 60):
            process = self.start(TERM="xterm", COLUMNS=columns)
            for bar in self.bars(2):
                self.assertTrue(least < len(bar) < (40 if columns == "40" else 80), (columns, bar))
            self.stop(process)
            os.close(self.ours)
            self.ours, self.theirs = os.openpty()

    def test_no_bar_without_a_terminal_that_redraws_lines(self):
        for variables in {"TERM": "dumb"}, {}:
            process = self.start(**variables)
            while b"epoch 200/" not in (shown := os.read(self.ours, 65536)):
                self.assertNotRegex(shown.replace(b"\r\n", b""), rb"[\r\x1b]")
            self.assertNotRegex(self.stop(process).replace(b"\r\n", b""), rb"[\r\x1b]")
            os.close(self.ours)
            self.ours, self.theirs = os.openpty()

    def test_no_colours(self):
        process = self.start(TERM="xterm", NO_COLOR="1")
        self.bars(2)
        self.assertNotIn(b"\x1b", self.stop(process))


if __name__ == "__main__":
    unittest.main()
