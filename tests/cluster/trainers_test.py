"""Trainers alone and on several processes. Usage: trainers_test.py FOLDER MPIRUN, with the folder of the trainers."""

import os
import pathlib
import random
import signal
import time
import unittest

from cluster_test_case import ClusterTest, digest
from processes import LIMIT

RUNS = {
    "mnist": ["--hidden", "20", "--norm", "layer", "--dropout", "0.2", "--batch-size", "30", "--epochs", "2",
              "--ema", "0.9"],
    "mnist cnn": ["--model", "cnn", "--norm", "batch", "--dropout", "0.1", "--batch-size", "30", "--epochs", "1"],
    "char_rnn": ["--model", "lstm", "--norm", "layer", "--hidden", "12", "--seq-len", "8", "--batch-size", "9",
                 "--steps", "20", "--clip-norm", "1"],
    "char_transformer": ["--layers", "1", "--channels", "16", "--seq-len", "8", "--dropout", "0.1", "--recompute",
                         "--steps", "10"],
    "char_transformer xl": ["--model", "transformer_xl", "--layers", "1", "--channels", "16", "--seq-len", "8",
                            "--memory", "6", "--dropout", "0.1", "--steps", "10"],
}


def write_images(directory):
    """A small set in the format of MNIST: noise, and a bright row for each class."""
    source = random.Random(1)
    directory.mkdir()
    for part, count in ("train", 120), ("t10k", 30):
        labels = [source.randrange(10) for _ in range(count)]
        pixels = bytes(source.randrange(100) + 150 * (row == label) for label in labels for row in range(28)
                       for _ in range(28))
        for name, shape, values in ("images-idx3", (count, 28, 28), pixels), ("labels-idx1", (count,), bytes(labels)):
            header = bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape)
            (directory / f"{part}-{name}-ubyte").write_bytes(header + values)


class Trainers(ClusterTest):
    RUNS = RUNS

    def setUp(self):
        super().setUp()
        write_images(self.path / "data")

    def command(self, training, *flags):
        data = ["--data", self.path / "data"] if training.startswith("mnist") else []
        return super().command(training, *data, *flags)

    def test_the_shards_decide_not_the_processes(self):
        self.compare_processes()

    def test_as_many_shards_as_processes(self):
        self.assertEqual(self.checkpoint(3, "mnist"), self.checkpoint(0, "mnist", "--shards", 3))

    def test_a_log_is_that_of_one_process(self):
        logs = []
        for processes in 0, 2:
            log = self.path / f"log{processes}"
            self.checkpoint(processes, "mnist", "--shards", 2, "--log-dir", log, "--tensorboard")
            self.assertEqual(len(list(log.glob("events.out.tfevents.*"))), 1)
            rows = (log / "metrics.csv").read_text().splitlines()
            seconds = rows[0].split(",").index("seconds")
            logs.append([row.split(",")[:seconds] + row.split(",")[seconds + 1:] for row in rows])
        self.assertEqual(*logs)

    def test_any_process_stops_all_and_another_number_goes_on(self):
        for training, length in ("mnist", ("--epochs", 200)), ("char_rnn", ("--steps", 6000)):
            alone, _ = self.checkpoint(0, training, *length, "--shards", 4)
            for flag in [], ["--save-every", 7]:
                with self.subTest(training, flag=flag):
                    part = self.path / f"{training}{len(flag)}"
                    job = self.start(2, self.command(training, *length, *flag, "--shards", 4, "--save", part))
                    while not part.exists():
                        time.sleep(0.01)
                        self.assertIsNone(job.poll())
                    os.kill(self.process(job, rank=1), signal.SIGINT)
                    _, errors = job.communicate(timeout=LIMIT)
                    self.assertEqual(job.returncode, 130, errors)
                    self.assertIn("interrupted after", errors)
                    self.run_program(3, self.command(training, *length, "--quiet", "--resume", part, "--save", part))
                    self.assertEqual(digest(part), alone)

    def test_a_killed_process_ends_all_and_fewer_go_on(self):
        part = self.path / "part"
        job = self.start(3, self.command("mnist", "--epochs", 200, "--shards", 4, "--save", part))
        while not part.exists():
            time.sleep(0.01)
            self.assertIsNone(job.poll())
        os.kill(self.process(job, rank=2), signal.SIGKILL)
        job.communicate(timeout=LIMIT)
        self.assertNotIn(job.returncode, (0, 130))
        self.run_program(2, self.command("mnist", "--epochs", 200, "--quiet", "--resume", part, "--save", part))
        self.assertEqual(digest(part), self.checkpoint(0, "mnist", "--epochs", 200, "--shards", 4)[0])

    def process(self, job, rank):
        """The process of this rank."""
        for status in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                variables, words = status.read_bytes().split(b"\0"), (status.parent / "cmdline").read_bytes()
            except OSError:  # it has ended, or belongs to somebody else
                continue
            if f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables and str(self.path).encode() in words:
                return int(status.parent.name)
        raise AssertionError(f"there is no process {rank} of job {job.pid}")

    def test_processes_that_differ_are_refused(self):
        for flags, variable, message in ((["--lr", "0.5"], {}, "cluster: --lr of process 1 differs"),
                                         (["--seed", "3"], {}, "cluster: --seed of process 1 differs"),
                                         (["--save-every", "1"], {}, "cluster: --save-every of process 1 differs"),
                                         (["--shards", "4"], {}, "cluster: the number of shards of process 1 differs"),
                                         (["--dry-run"], {}, "cluster: --dry-run of process 1 differs"),
                                         (["--help"], {}, "cluster: version of process 1 differs"),
                                         ([], {"TAPEGRAD_TARGET": "sse2"}, "instruction set")):
            with self.subTest(message):
                other = ["env", *(f"{name}={value}" for name, value in variable.items()),
                         *self.command("mnist", "--save", self.path / "saved", *flags)]
                command = [*self.command("mnist", "--save", self.path / "saved"), ":", "-n", "1", *other]
                _, errors = self.run_program(1, command, code=1)
                self.assertIn(message, errors)
                self.assertFalse((self.path / "saved").exists())

    def test_checkpoints_that_differ_are_refused(self):
        """Under one name: of another step, and with another last bit."""
        folders = [self.path / name for name in ("whole", "short", "changed")]
        for folder, epochs in zip(folders, (2, 1, 2)):
            folder.mkdir()
            self.run_program(0, self.command("mnist", "--shards", 2, "--save", folder / "saved", "--epochs", epochs))
        saved = bytearray((folders[2] / "saved").read_bytes().replace(b"tapegrad.checksum", b"tapegrad.anything"))
        saved[-4] ^= 1
        (folders[2] / "saved").write_bytes(saved)
        resume = self.command("mnist", "--epochs", 3, "--shards", 2, "--resume", "saved")
        for other in folders[1:]:
            command = ["-wdir", folders[0], *resume, ":", "-n", "1", "-wdir", other, *resume]
            _, errors = self.run_program(1, list(map(str, command)), code=1)
            self.assertIn("cluster: the checkpoint of --resume of process 1 differs", errors)

    def test_only_one_saves(self):
        command = [*self.command("mnist"), ":", "-n", "1", *self.command("mnist", "--save", self.path / "saved")]
        _, errors = self.run_program(1, command, code=1)
        self.assertIn("cluster: --save of process 1 differs", errors)

    def test_failures_end_all(self):
        (self.path / "file").touch()
        for flags, code, message in ((["--save", self.path / "none/saved"], 1, "cannot write"),
                                     (["--log-dir", self.path / "file"], 1, "file"),
                                     (["--lr", "1e30"], 1, "the loss is"),
                                     (["--shards", "1"], 1, "cluster: 2 processes have only 1 shard"),
                                     (["--batch-size", "1"], 2, "--shards: 2 are more than the 1 rows of a batch"),
                                     (["--probe", "--log-dir", self.path / "log"], 2,
                                      "--shards: --probe records whole batches only")):
            with self.subTest(message):
                _, errors = self.run_program(2, self.command("mnist", *flags), code)
                self.assertIn(message, errors)


if __name__ == "__main__":
    unittest.main()
