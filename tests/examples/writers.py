"""What programs write, of the engine and of the laboratory: mixins for tests of all trainers that lie beside PROGRAM."""

import itertools
import os
import pathlib
import re
import subprocess

from program import PROGRAM

# The flags of text without a default that names no file.
TEXTS = {"--prompt", "--query", "--save-every", "--text"}


def programs():
    """Each program that trains."""
    return [file for file in pathlib.Path(PROGRAM).parent.iterdir() if file.is_file() and os.access(file, os.X_OK)]


def flags_of(program):
    """The type of each flag, with its default, and the flags that it needs and excludes, as --help shows them: from CLI11
    2.1 on with TEXT=adam, from 2.4 on with TEXT [adam]."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    form = r"^ +(--\S+) ([A-Z]\S*(?: \[.*?\] )?)(?: Needs:((?: --\S+)+))?(?: Excludes:((?: --\S+)+))?"
    return {flag: (kind, needs.split(), excludes.split()) for flag, kind, needs, excludes in re.findall(form, text, re.M)}


class FlagsOfFiles:
    """No flag names a file that is not declared, and no output of a program is an input or another output of it. PAIRS
    are some that must have been tried: a program and two of its flags."""

    def test_each_is_declared(self):
        for program in programs():
            undeclared = {flag for flag, (kind, *_) in flags_of(program).items() if kind == "TEXT"}
            self.assertLessEqual(undeclared, TEXTS, program)

    def test_no_output_is_an_input_or_another_output(self):
        """Before there is such a file."""
        (self.path / "link").symlink_to("file")
        pairs = set()
        for program in programs():
            flags = flags_of(program)
            for output, other in itertools.permutations(flags, 2):
                if (flags[output][0] != "OUTPUT" or flags[other][0] not in ("INPUT", "OUTPUT")
                        or "--log-dir" in (output, other) or (output, other) == ("--save", "--resume")):
                    continue
                given = {output: "link", other: "file"}
                for flag in output, other, *(need for each in (output, other) for need in flags[each][1]):
                    given = {need: "1" for need in flags[flag][1]} | given
                if any(excluded in given for flag in given for excluded in flags[flag][2]):
                    continue
                with self.subTest(program=program.name, output=output, other=other):
                    pairs.add((program.name, output, other))
                    command = [program, *(word for each in given.items() for word in each)]
                    result = subprocess.run(command, cwd=self.path, capture_output=True, text=True)
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn("would replace", result.stderr)
                    self.assertFalse((self.path / "file").exists())
        self.assertLessEqual(self.PAIRS, pairs)


# What programs write files with, and make folders. The functions of the library write where their callers ask.
WRITING = re.compile(r"\b(write_(?:file|own|np[yz]|trace|viewer)|save_(?:tensors|checkpoint)|make_directory|create_director\w+"
                     r"|rename|copy_file|resize_file|create_symlink|o?fstream|f(?:re)?open|O_CREAT|O_WRONLY|O_RDWR)[ ,;(]")
# All that programs write, by what keeps it from replacing files of others.
LOG = "RunLog: files of its names are of a run; log_test"
STEP = "expect_own_step: no link, and nothing that no run has written; rewind_test"
OWN = "write_own, expect_own: no link, and nothing that the program has not written; report_test, lab_program_test"
NAMED = "Flags::output: the user has named the file, which begins as an image, if it is there; FlagsOfFiles"
NEW = "a name that nothing has, without following links; tensorboard_test, queue_test"
RUNS = "RunFile: adds to what the file has, under a lock, and refuses a file that is no ledger; lab_tests, queue_test"


class Writers:
    """WRITERS are the calls that write in each source below FOLDERS of ROOT, with the rule that guards them."""

    def test_all_are_known(self):
        """Whoever adds one chooses its rule, and plants a foreign file and a link in a test of it."""
        found = {}
        for path in sorted(path for folder in self.FOLDERS for path in (self.ROOT / folder).rglob("*.cpp")):
            code = re.sub(r'//.*|"(\\.|[^"\\\n])*"', "", path.read_text())
            if calls := WRITING.findall(code):
                found[str(path.relative_to(self.ROOT))] = calls
        self.maxDiff = None
        self.assertEqual(found, {file: calls for file, (_, calls) in sorted(self.WRITERS.items())})

    def test_each_calls_its_guard(self):
        guards = {STEP: "expect_own_step(", OWN: "_own(", NAMED: ".begins = "}
        for file, (rule, _) in self.WRITERS.items():
            self.assertIn(guards.get(rule, ""), (self.ROOT / file).read_text(), file)
