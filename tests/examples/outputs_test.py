"""Which files a trainer takes as --save and --log-dir. Usage: outputs_test.py MNIST [TEST...]"""

import os
import pathlib
import struct
import subprocess
import unittest

from images import QUICK, ImagesTest, write_idx
from program import PROGRAM, run, run_redirected, weights, with_note
from writers import LOG, NEW, OWN, STEP, FlagsOfFiles, Writers


class Flags(FlagsOfFiles, ImagesTest):
    PAIRS = {("mnist", "--save", "--data")}

    def test_other_names_of_a_file(self):
        data = self.path / "file"
        data.write_text("")
        os.link(data, self.path / "hard")
        (self.path / "link").symlink_to("file")
        for name in "file", "./file", "images/../file", "hard", "link":
            message = run("--data", data, "--save", self.path / name, code=2).stderr
            self.assertIn(f"--save: would replace {self.path / name}, which --data reads", message)


class WritersOfTheKit(Writers, unittest.TestCase):
    ROOT = pathlib.Path(__file__).parents[2]
    FOLDERS = "train", "examples"
    WRITERS = {
        "train/run_log.cpp": (LOG, ["write_file", "make_directory", "make_directory"]),
        "train/probe.cpp": (LOG, ["write_file"]),
        "train/run.cpp": (STEP, ["save_checkpoint", "make_directory"]),
        "train/training.cpp": (STEP, ["make_directory", "write_viewer", "write_trace", "save_tensors"]),
        "train/file_flags.cpp": (OWN, ["write_own", "write_file"]),
        "examples/shapes.cpp": ("a name in the program, which is an example; examples_shapes", ["write_npz"]),
        "train/event_file.cpp": (NEW, ["O_WRONLY", "O_CREAT", "resize_file", "ofstream"]),
        "train/file_lock.cpp": ("a file without content, and removed only if it has none; file_lock_test", ["O_RDWR", "O_CREAT"]),
        "train/output.cpp": ("/dev/null alone; mnist_test", ["O_WRONLY"]),
    }


class Outputs(ImagesTest):
    def test_a_new_training_replaces_no_file(self):
        saved = self.saved("saved")
        file = self.path / "saved"
        (self.path / "link").symlink_to(file)
        os.link(file, self.path / "hard")
        for name in "saved", "link", "hard":
            message = run(*self.train, "--save", self.path / name, code=2).stderr
            self.assertIn(f"--save: {self.path / name} exists", message)
            self.assertIn("--resume", message)
            self.assertEqual(file.read_bytes(), saved)
        other = self.path / "other"
        other.write_text("a text")
        run(*self.data_flags, "--resume", file, "--save", other, code=2)
        self.assertEqual(other.read_text(), "a text")
        run(*self.data_flags, "--resume", file, "--save", self.path / "images" / ".." / "saved")
        other.write_text("")  # as mktemp leaves it
        run(*self.train, "--save", other)
        self.assertEqual(other.read_bytes(), saved)

    def test_nothing_is_saved_before_the_first_report(self):
        file = self.path / "file"
        for content in None, "":
            if content is not None:
                file.write_text(content)
            bad = ["--optimizer", "sgd", "--lr", "1e30", "--check-nan"]
            run(*self.train, *bad, "--save", file, code=1)
            self.assertEqual(file.read_text() if file.exists() else None, content)
        self.assertEqual([each.name for each in self.path.iterdir() if each.name != "images"], ["file"])

    def test_a_file_of_the_log_is_nothing_else(self):
        log = self.path / "log"
        saved = self.path / "saved"
        for flags in ["--save", log / "metrics.jsonl"], ["--save", log / ".." / "log" / "summary.json"]:
            message = run(*self.train, "--log-dir", log, *flags, code=2).stderr
            self.assertIn("which --save writes", message)
        self.assertFalse(log.exists())
        run(*self.train, "--log-dir", log, "--save", log / "saved")
        (log / "saved").rename(log / "config.json")
        message = run(*self.data_flags, "--log-dir", log, "--resume", log / "config.json", code=2).stderr
        self.assertIn("--resume", message)
        self.assertFalse(saved.exists())

    def test_names_that_were_forgotten(self):
        for flag in "--save", "--log-dir", "--resume", "--data":
            self.assertIn(f"{flag}: the file name is empty", run(*self.train, flag, "", code=2).stderr)
            message = run(*self.train, flag, "--dry-run", code=2).stderr
            self.assertIn(f"{flag}: the file name is missing: --dry-run is a flag; write ./--dry-run", message)
        file = self.path / "--x"
        command = [PROGRAM, *map(str, self.train), "--save", "./--x"]
        self.assertEqual(subprocess.run(command, cwd=self.path, capture_output=True).returncode, 0)
        self.assertTrue(file.exists())

    def test_a_pipe_to_resume_from(self):
        self.saved("saved")
        flags = [*self.data_flags, "--resume", "/dev/stdin"]
        result = run_redirected(f"< {self.path / 'saved'}", *flags)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path / "saved", "rb") as file:
            pipe = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            result = subprocess.run([PROGRAM, *map(str, flags)], stdin=pipe.stdout, capture_output=True, text=True)
            pipe.stdout.close()
        self.assertEqual(result.returncode, 2)
        self.assertIn("--resume: /dev/stdin is a pipe", result.stderr)
        pipe.wait()

    def test_standard_streams_at_the_limit_of_file_sizes(self):
        full = self.path / "full"
        full.write_bytes(bytes(1024 * 1024))
        for stream, code in ("1", 1), ("2", 0):
            command = f'ulimit -f 1024; exec "$0" "$@" {stream}>>{full}'
            result = subprocess.run(["sh", "-c", command, PROGRAM, *map(str, self.train), "--save",
                                     self.path / f"saved{stream}"], capture_output=True)
            self.assertEqual(result.returncode, code)
            self.assertGreater((self.path / f"saved{stream}").stat().st_size, 0)

    def test_weights_that_are_no_numbers(self):
        saved = self.saved("saved")
        damaged = self.path / "damaged"
        # Without the checksum, which detects damage.
        header = saved[8:len(saved) - len(weights(saved))].replace(b"tapegrad.checksum", b"tapegrad.anything")
        for value in float("nan"), float("inf"):
            damaged.write_bytes(saved[:8] + header + struct.pack("<f", value) + weights(saved)[4:])
            message = run(*self.data_flags, "--resume", damaged, code=1).stderr
            self.assertRegex(message, r"damaged: tensor \S+ has a value that is not finite: (nan|inf)\n")

    def test_images_of_another_size(self):
        write_idx(self.data / "t10k-images-idx3-ubyte", (100, 8, 4), [0] * 3200)
        message = run(*self.train, code=1).stderr
        self.assertRegex(message, r"train-images-idx3-ubyte.gz has images of 8 x 8, but .*t10k-images-idx3-ubyte has "
                                  r"images of 8 x 4\n")
        write_idx(self.data / "t10k-images-idx3-ubyte", (0, 8, 8), [])
        write_idx(self.data / "t10k-labels-idx1-ubyte", (0,), [])
        self.assertIn("0 images", run(*self.train, code=1).stderr)

    def test_instruction_sets_that_there_are_not(self):
        saved = self.saved("saved")
        damaged = self.path / "damaged"
        damaged.write_bytes(with_note(saved, "instruction_set", "\x1b[31mavx3"))
        self.assertIn("damaged: its note instruction_set is damaged: ?[31mavx3",
                      run(*self.data_flags, "--resume", damaged, code=1).stderr)
        damaged.write_bytes(with_note(saved, "instruction_set", "neon"))
        self.assertIn("trained with neon", run(*self.data_flags, "--resume", damaged).stderr)
        run(*self.train, environment={**os.environ, "TAPEGRAD_TARGET": ""})

    def test_messages_are_clean(self):
        wrong = "\x1b[31m\r\n" + "x" * 5000
        for flag in "--hidden", "--lr", "--epochs", "--save-every", "--norm", "--model", "--seed":
            message = run(*self.train, "--save", self.path / "x", flag, wrong, code=2).stderr
            self.assertNotRegex(message, r"[\x1b\r]", flag)
            self.assertLess(len(message), 5000)
        for flag in "--data", "--resume", "--save":
            message = run(*QUICK, flag, "\x1b[31m\r\nx/x", code=1).stderr
            self.assertEqual(message.count("\n"), 1)
            self.assertNotRegex(message, r"[\x1b\r]", flag)
        message = run(*self.train, environment={**os.environ, "TAPEGRAD_TARGET": wrong}, code=1).stderr
        self.assertNotRegex(message, r"[\x1b\r]|xx{200}")


if __name__ == "__main__":
    unittest.main()
