"""A program as its users run it: what the tests of every trainer share."""

import csv
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)

# What Highway calls instruction sets with the vectors of AVX-512, which have the same bits.
AVX512 = {"avx512", "avx3_dl", "avx3_zen4", "avx3_spr"}

# Programs would inherit the signals that the tests were started to ignore.
for ignored in signal.SIGINT, signal.SIGHUP, signal.SIGTERM:
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)


def run(*arguments, code=0, environment=None):
    """Runs the program to its end and checks its exit code."""
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                            env=environment)
    if result.returncode != code:
        raise AssertionError(f"exit code {result.returncode}, not {code}: {arguments}\n"
                             f"{result.stdout}{result.stderr}")
    return result


def run_redirected(redirections, *arguments):
    """Runs the program to its end with streams as the shell redirects them."""
    return subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirections}', PROGRAM, *map(str, arguments)],
                          capture_output=True, text=True)


def rows_of(table):
    """The rows of a CSV file, each by the names of its columns."""
    return list(csv.DictReader(table.read_text().splitlines()))


def logged(directory):
    """The rows of a log without their times, and these."""
    rows = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return rows, [row.pop("seconds") for row in rows]


def start(*arguments, **streams):
    """Starts the program without waiting for it."""
    return subprocess.Popen([PROGRAM, *map(str, arguments)], **streams)


def run_unread(*arguments):
    """Diagnostics and exit code of the program where nobody reads its standard output any more."""
    ours, theirs = os.pipe()
    os.close(ours)
    process = start(*arguments, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    return process.communicate()[1], process.returncode


def remarks(checkpoint):
    """The metadata of a checkpoint."""
    content = checkpoint.read_bytes()
    return json.loads(content[8:8 + int.from_bytes(content[:8], "little")])["__metadata__"]


def saved_steps(checkpoint):
    """How many steps the run in a checkpoint has done."""
    return int(remarks(checkpoint)["optimizer.steps"])


def weights(checkpoint):
    """The bytes of a checkpoint's tensors, without its metadata."""
    return checkpoint[8 + int.from_bytes(checkpoint[:8], "little"):]


def with_target(name):
    """An environment that fixes the instruction set."""
    return {**os.environ, "TAPEGRAD_TARGET": name}


def greatest_difference(first, second):
    """The greatest difference between the tensors of two checkpoints, relative to the greatest value."""
    a, b = (struct.unpack(f"<{len(weights(each)) // 4}f", weights(each)) for each in (first, second))
    return max(abs(x - y) for x, y in zip(a, b, strict=True)) / max(map(abs, a))


def interrupt_at(line, number, *arguments):
    """Starts the program, sends a signal after the first line that begins so; returns the lines after it."""
    process = start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with process.stderr as lines:
        while not next(lines).startswith(line):
            pass
        process.send_signal(number)
        rest = lines.read()
    if process.wait() != 130:
        raise AssertionError(f"exit code {process.returncode}, not 130")
    return rest


def with_note(checkpoint, note, value):
    """The bytes of a checkpoint with another value of a note."""
    length = int.from_bytes(checkpoint[:8], "little")
    header = json.loads(checkpoint[8:8 + length])
    if f"note.{note}" not in header["__metadata__"]:
        raise AssertionError(f"no note {note}")
    header["__metadata__"][f"note.{note}"] = value
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + weights(checkpoint)


class TrainerTest(unittest.TestCase):
    """A folder for each test, and checks that every trainer must pass. `train`: flags of a short run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def saved(self, name, *arguments):
        """The bytes of the checkpoint that a new training leaves."""
        (self.path / name).unlink(missing_ok=True)
        run(*self.train, *arguments, "--save", self.path / name)
        return (self.path / name).read_bytes()

    def check_effects(self, plain_flags, effects):
        """Each flag with its value gives other weights than `plain_flags` alone."""
        plain = weights(self.saved("plain", *plain_flags))
        for flag, value in effects:
            other = self.saved("other", *plain_flags, f"--{flag}", value)
            self.assertNotEqual(plain, weights(other), (flag, value))

    def check_probe(self, attached, detached, same_bits=True):
        """For the flags of two runs, --probe writes what Theorem 1 of Xu et al. 2019 predicts; with
        `same_bits` it changes no bit of the weights."""
        self.assertIn("--log-dir", run(*self.train, "--probe", code=2).stderr)
        log = self.path / "probed"
        for flags, is_attached in (attached, True), (detached, False):
            probed = self.saved("other", *flags, "--log-dir", log, "--probe")
            if same_bits:
                self.assertEqual(weights(probed), weights(self.saved("plain", *flags)))
            steps = json.loads((log / "summary.json").read_text())["steps"]
            norms = rows_of(log / "probe_norms.csv")
            self.assertEqual([int(row["step"]) for row in norms],
                             [step + 1 for step in range(steps) for _ in range(len(norms) // steps)])
            for row in norms:
                self.assertTrue(row["norm"])
                after, scaled = float(row["gradient_mean_after"]), float(row["gradient_mean_before_scaled"])
                self.assertLess(float(row["greatest_variance_ratio"]), 1 + 1e-3)
                if is_attached:
                    self.assertLess(scaled, 1e-3 * float(row["gradient_variance_after"]) ** 0.5)
                else:
                    self.assertAlmostEqual(scaled / after, 1, delta=1e-3)
                    self.assertGreater(float(row["variance_ratio"]), 1 - 1e-3)
            updates = rows_of(log / "probe_weights.csv")
            self.assertEqual(updates[-1]["step"], norms[-1]["step"])
            for row in updates:
                self.assertLessEqual(abs(float(row["radial"])),
                                     float(row["norm"]) * float(row["gradient_norm"]) * (1 + 1e-5))
                self.assertTrue(0 <= float(row["angle"]) < 3.2)

    def check_data(self, folder, name, *flags):
        """--data is the folder of a set, or one that has the set under its name, and --help says so. If it is neither,
        the message names both places."""
        self.assertRegex(" ".join(run("--help").stdout.split()), rf"Folder of [^;]+, or one with [^;]*\b{name}/[^;]* in it")
        parent = self.path / "parent"
        shutil.copytree(folder, parent / name)
        first, second = (run(*flags, "--data", data, "--dry-run").stdout for data in (folder, parent))
        self.assertEqual(first.replace(str(folder), str(parent)), second)
        shutil.rmtree(parent / name)
        message = run(*flags, "--data", parent, code=1).stderr
        self.assertIn(f" in {parent / name} ", message)
        self.assertRegex(message, rf" in {parent}[,\n]")

    def check_dry_run(self):
        """--dry-run prints the parameters and the loss of one batch."""
        text = run(*self.train, "--dry-run").stdout
        self.assertRegex(text, r"weight +\(\d+, \d+\)\n")
        self.assertRegex(text, r"loss of the first batch: \d+\.\d{4}\n$")

    def check_damaged_notes(self, *notes):
        """A checkpoint with a damaged note is refused; the message names the note."""
        saved = self.saved("saved")
        damaged = self.path / "damaged"

        def refusal(note, value):
            damaged.write_bytes(with_note(saved, note, value))
            error = run(*self.data_flags, "--resume", damaged, code=1).stderr
            self.assertNotIn("json", error)
            return error

        for note in notes:
            for value in "[1, ", "[" * 100_000, "[" * 100_000 + "]" * 100_000:
                error = refusal(note, value)
                self.assertIn(f"damaged: its note {note} is damaged", error)
                self.assertLess(len(error), 5000)
        # A state that no run of these steps comes to.
        for note, values in {"steps_done": ("-1", "1.5", "1000000", str(2**64 - 1), str(2**64), "true", '"1"', "{}"),
                             "epoch_loss": ("[1.0,0]", "[1.0,-1]", "[1e999,1]", '["1",1]', "[true,1]", "[]", "{}"),
                             "row_loss": ("[1.0,1000]", "[1.0,-1]", "[null,0]", "0")}.items():
            for value in values:
                self.assertIn(f"damaged: its note {note} is damaged", refusal(note, value))
        # A value that the command line would refuse is refused in a file, too. Not every trainer drops.
        dropout = {"dropout"} & {note.removeprefix("note.") for note in remarks(self.path / "saved")}
        for note, value in {"lr": "-1.0", "clip-norm": "-1.0", **dict.fromkeys(dropout, "2.0"), "schedule": '"foo"',
                            "norm": '"foo"', "warmup": "-3", "optimizer": '"foo"'}.items():
            self.assertIn(f"damaged: --{note}: ", refusal(note, value))
        for note, value in {"lr": "1e999", **dict.fromkeys(dropout, "[]"), "seed": "-1", "warmup": "0.5"}.items():
            self.assertIn(note, refusal(note, value))
        self.assertIn("not a checkpoint of", refusal("program", "another"))

    def check_extension(self, length, few, many, *flags):
        """A finished run of few steps or epochs, resumed with many, ends as a run of that length, and continues its log."""
        plain = [*flags, "--schedule", "constant"]
        short, long = (self.saved(name, *plain, length, steps) for name, steps in (("part", few), ("whole", many)))
        log, part = self.path / "log", self.path / "part"
        run(*self.train, *plain, length, few, "--log-dir", log)
        extend = [*self.data_flags, "--resume", part, length, many]
        message = run(*extend, "--save", part, "--log-dir", log).stderr
        self.assertIn(f"part: extended: {length} {many} instead of {few}\n", message)
        self.assertNotEqual(weights(short), weights(long))
        self.assertEqual(part.read_bytes(), long)
        self.assertEqual(json.loads((log / "config.json").read_text())[length.removeprefix("--")], many)
        rows = logged(log)[0]
        self.assertEqual([row["step"] for row in rows], sorted(row["step"] for row in rows))
        self.assertEqual(rows[-1]["step"], json.loads((log / "summary.json").read_text())["steps"])
        self.assertIn(length, run(*self.data_flags, "--resume", part, length, few, code=2).stderr)
        # Not the log of the one to resume: it has another seed.
        run(*self.train, *plain, length, few, "--seed", "5", "--log-dir", log)
        (self.path / "short").write_bytes(short)
        self.assertIn("another run", run(*self.data_flags, "--resume", self.path / "short", length, many,
                                         "--log-dir", log, code=2).stderr)
        for schedule in "cosine", "constant,cosine@1":
            self.saved("part", *flags, "--schedule", schedule, length, few)
            self.assertRegex(run(*extend).stderr,
                             rf"its \d+ steps had the learning rates of --schedule {schedule} for the shorter")

    def check_rewind(self, *flags):
        """The last step is computed again, from the start and from a kept state, as the log has it; a fork that
        changes nothing ends in the same bytes."""
        log = self.path / "log"
        whole = self.saved("whole", *flags, "--log-dir", log)
        steps = json.loads((log / "summary.json").read_text())["steps"]
        rewind = ["--quiet", "--log-dir", log, "--rewind", steps]
        found = log / f"step_{steps}"
        self.assertIn("from the start", run(*rewind).stdout)
        files = {file.name: file.read_bytes() for file in found.iterdir()}
        self.assertGreater(len(files["batch.safetensors"]), 100)
        self.saved("whole", *flags, "--log-dir", log, "--keep-every", "2")
        again = run(*rewind).stdout
        self.assertRegex(again, r"from \S+/step_\d+/state.checkpoint: \d+ rows of the log are equal to the bit")
        self.assertEqual({file.name: file.read_bytes() for file in found.iterdir()}, files)
        run("--quiet", "--original", log, "--fork", 2, "--log-dir", self.path / "fork", "--save", self.path / "forked")
        self.assertEqual((self.path / "forked").read_bytes(), whole)
        (self.path / "forked").unlink()

    def check_profile(self, *flags):
        """--profile prints a table whose milliseconds add up, and changes nothing."""
        out = run(*self.train, *flags, "--profile", "--save", self.path / "profiled").stdout
        self.assertEqual((self.path / "profiled").read_bytes(), self.saved("plain", *flags))
        table = out[out.index("operation "):].splitlines()
        last = next(i for i, line in enumerate(table) if line.startswith("all "))
        rows = [re.split(r"\s{2,}", line.strip()) for line in table[1:last]]
        names = {row[0] for row in rows}
        self.assertTrue({"optimizer", "rest"} <= names, rows)
        self.assertTrue({"linear", "linear backward"} <= names or {"matmul", "matmul backward"} <= names, rows)
        self.assertAlmostEqual(sum(float(row[2]) for row in rows), float(table[last].split()[1]),
                               delta=0.001 * len(rows))

    def check_instruction_sets(self, *train):
        """With one instruction set, every run gives the same bits, with any number of threads; other vectors
        differ in the last digits. Resuming with another set gives a warning."""
        refused = run(*train, environment=with_target("mmx"), code=1).stderr
        self.assertIn("TAPEGRAD_TARGET=mmx", refused)
        names = re.search(r"choose one of: (.*)\n", refused)[1].split(", ")
        plain = self.path / "plain"
        run(*train, "--save", plain)
        saved = {}
        for name in names:
            files = [self.path / f"{name}_{threads}" for threads in (1, 2)]
            for threads, file in enumerate(files, 1):
                run(*train, "--threads", threads, "--save", file, environment=with_target(name))
                self.assertEqual(remarks(file)["note.instruction_set"], name)
            saved[name] = files[0].read_bytes()
            self.assertEqual(saved[name], files[1].read_bytes(), name)
        self.assertEqual(saved[os.environ.get("TAPEGRAD_TARGET", names[0])], plain.read_bytes())
        for name, other in itertools.permutations(names, 2):
            difference = greatest_difference(saved[name], saved[other])
            self.assertLess(difference, 1e-4, (name, other))
            if not {name, other} <= AVX512:
                self.assertGreater(difference, 0, (name, other))
            resume = [*self.data_flags, "--quiet", "--resume", self.path / f"{name}_1"]
            self.assertEqual(run(*resume, environment=with_target(name)).stderr, "")
            warning = run(*resume, environment=with_target(other)).stderr
            self.assertIn(f"trained with {name}, continuing with {other}", warning)
            self.assertIn(f"TAPEGRAD_TARGET={name}", warning)

    def check_save_every(self, train, steps_between_reports):
        """A killed training resumes from its last save, and ends with the bytes of one that never
        stopped."""
        whole, part = self.path / "whole", self.path / "part"
        whole.unlink(missing_ok=True)
        run(*train, "--save", whole)
        for flag, multiple in ("5", 5), ("0.00001m", 1):
            part.unlink(missing_ok=True)
            process = start(*train, "--save", part, "--save-every", flag,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not part.exists() or saved_steps(part) % steps_between_reports == 0:
                self.assertIsNone(process.poll(), "saved after reports only")
            process.kill()
            process.wait()
            self.assertEqual(saved_steps(part) % steps_between_reports % multiple, 0)
            run(*self.data_flags, "--resume", part, "--save", part)
            self.assertEqual(whole.read_bytes(), part.read_bytes())
        self.assertIn("--save", run(*train, "--save-every", "5", code=2).stderr)
        for wrong in "0", "-1", "5s", "m", "0m", "nanm", "1e999m", "1e307m", "infm", "1.5", "":
            flags = ["--save", self.path / "none", "--save-every", wrong]
            self.assertIn("--save-every", run(*train, *flags, code=2).stderr)

    def check_interrupts(self, train, *moments):
        """Interrupted and resumed runs end with the bytes and the rows of one that never stopped."""
        for name in "whole", "part":
            (self.path / name).unlink(missing_ok=True)
        whole = run(*train, "--save", self.path / "whole", "--log-dir", self.path / "whole_log")
        part, log = self.path / "part", ["--log-dir", self.path / "part_log"]
        for line, number in moments:
            resume = ["--resume", part] if part.exists() else []
            rest = interrupt_at(line, number, *train, "--save", part, *log, *resume)
            self.assertIn("stopping after this step; interrupt again to stop at once\n", rest)
            self.assertIn(f"interrupted after {saved_steps(part)} of", rest)
        resumed = run(*self.data_flags, "--resume", part, "--save", part, *log)
        self.assertEqual((self.path / "whole").read_bytes(), part.read_bytes())
        self.assertEqual(whole.stdout.splitlines()[-1:], resumed.stdout.splitlines()[-1:])
        rows, seconds = logged(self.path / "part_log")
        self.assertEqual(rows, logged(self.path / "whole_log")[0])
        self.assertEqual(seconds, sorted(seconds))


class EpochTests:
    """Tests of a trainer that counts epochs, for a TrainerTest to inherit."""

    def test_interrupt(self):
        self.check_interrupts([*self.train, "--epochs", "200"], ("epoch 5/", signal.SIGINT),
                              ("epoch 9/", signal.SIGTERM))

    def test_dry_run(self):
        self.check_dry_run()

    def test_extension(self):
        self.check_extension("--epochs", 1, 3)

    def test_rewind(self):
        self.check_rewind()
