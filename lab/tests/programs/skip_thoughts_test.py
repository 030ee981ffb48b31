"""The program `skip_thoughts` as its users run it. Usage: skip_thoughts_test.py PROGRAM [TEST...]"""

import json
import os
import pathlib
import random
import re
import signal
import unittest

from program import TrainerTest, remarks, run, with_note

SMALL = ["--embedding", "6", "--hidden", "12", "--batch-size", "20", "--lr", "1e-2"]
NAMES, THINGS = ["Anna", "Ben", "Clara", "David", "Emma"], ["kite", "lamp", "drum", "boat"]


def book(source, sentences, title):
    """A book of stories of four sentences about one person and thing."""
    lines = [f"_BOOK_TITLE_ : {title}.txt"]
    while len(lines) <= sentences:
        name, thing = source.choice(NAMES), source.choice(THINGS)
        lines += [f"{name} saw the {thing} .", f"{name} took it .", f"the {thing} fell .", f"{name} cried for it ."]
    return "\n".join(lines) + "\n"


def write_books(folder):
    source = random.Random(1)
    (folder / "cbt-books").mkdir(parents=True)
    (folder / "cbt-books/cbt_valid.txt").write_text(book(source, 160, "One") + book(source, 80, "Two"))
    (folder / "cbt-books/cbt_test.txt").write_text(book(source, 80, "Three") + book(source, 60, "Four"))


def write_sets(folder):
    """Sentences whose class, and pairs whose score, is seen in their names."""
    source = random.Random(2)
    (folder / "sick").mkdir(parents=True)
    (folder / "sentence-classification").mkdir()
    for part, count in ("train", 60), ("trial", 20), ("test_annotated", 40):
        lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
        for i in range(count):
            a, b = source.choices(NAMES, k=2)
            lines.append(f"{i}\t{a} saw the kite\t{b} saw the kite\t{5 if a == b else 1.5}\tNEUTRAL")
        (folder / f"sick/SICK_{part}.txt").write_text("\n".join(lines) + "\n")
    for name in "rt-polarity", "custrev", "subj", "mpqa":
        text = "".join(f"{int(i % 5 > 2)} {NAMES[i % 5].lower()} saw the {source.choice(THINGS)} .\n" for i in range(60))
        (folder / f"sentence-classification/{name}.all").write_text(text + "1\n" * (name == "mpqa"))


class SkipThoughts(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "data"
        write_books(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*SMALL, *self.data_flags, "--epochs", "3"]

    def test_help_and_wrong_usage(self):
        text = run("--help").stdout
        for flag in ("data query evaluate norm condition vocabulary embedding hidden epochs batch-size lr seed save "
                     "resume log-dir").split():
            self.assertIn(f"--{flag}", text)
        for flag, value in (("--norm", "lyer"), ("--condition", "end"), ("--hidden", "0"), ("--embedding", "0"),
                            ("--vocabulary", "0")):
            self.assertIn(flag, run(*self.train, flag, value, code=2).stderr)
        for mode in "--query", "--evaluate":
            self.assertIn("--resume", run(mode, "x", code=2).stderr)
            for flag in ["--save", "x"], ["--log-dir", "x"], ["--dry-run"]:
                self.assertIn(flag[0], run("--resume", "x", mode, "x", *flag, code=2).stderr)
        self.assertIn("--data", run("--resume", "x", "--evaluate", "x", "--data", "x", code=2).stderr)

    def test_data(self):
        self.check_data(self.data / "cbt-books", "cbt-books", *SMALL)

    def test_bad_files(self):
        file = self.data / "cbt-books/cbt_test.txt"
        for text, message in (("a sentence .\n", "line 1: a sentence before the first _BOOK_TITLE_"),
                              ("_BOOK_TITLE_\n", "line 1: it is not _BOOK_TITLE_ : and a title"), ("", "it has no books")):
            file.write_text(text)
            self.assertIn(f"cbt_test.txt: {message}", run(*self.train, code=1).stderr)
        file.write_text("_BOOK_TITLE_ : A\na .\n")
        self.assertIn(f"{self.data}: no book has three short sentences in a row", run(*self.train, code=1).stderr)
        file.unlink()
        self.assertIn("cbt_test.txt", run(*self.train, code=1).stderr)

    def test_it_learns_what_stands_beside_a_sentence(self):
        log, checkpoint = self.path / "log", self.path / "saved"
        result = run(*self.train, "--epochs", "30", "--log-dir", log, "--save", checkpoint)
        summary = json.loads((log / "summary.json").read_text())
        by_frequency = float(re.search(r"frequencies of words: (\d\.\d+) nats per word", result.stdout)[1])
        self.assertLess(summary["validation_loss"], by_frequency / 2)
        self.assertGreater(summary["validation_loss_of_other_vectors"], summary["validation_loss"] + 0.1)
        self.assertIn(f"{summary['validation_loss']:.4f} nats per word", result.stdout)

        found = run(*self.data_flags, "--resume", checkpoint, "--query", "Anna SAW the kite .").stdout.splitlines()
        self.assertEqual(len(found), 15)
        self.assertRegex(found[0], r"^1\.0000  \w+ saw the kite \.$")
        cosines = [float(line.split()[0]) for line in found[::3]]
        self.assertEqual(cosines, sorted(cosines, reverse=True))
        self.assertRegex(found[1], r"^ +before: \S+ cried for it \.$")
        self.assertRegex(found[2], r"^ +after: \w+ took it \.$")

    def test_vectors_are_judged(self):
        checkpoint, sets = self.path / "saved", self.path / "sets"
        write_sets(sets)
        run(*self.train, "--epochs", "30", "--save", checkpoint)
        lines = run("--resume", checkpoint, "--evaluate", sets).stdout.splitlines()
        self.assertEqual(lines[0].split(), "r rho MSE MR CR SUBJ MPQA".split())
        rows = {line[:32].strip(): line[32:].split() for line in lines[1:]}
        self.assertEqual(list(rows), ["the most frequent", "words in common", "naive Bayes", "naive Bayes, the net's words",
                                      "mean of the net's words", "the net, untrained", "the net"])
        self.assertEqual(rows["words in common"], ["1.000", "1.000", "0.000"])  # the score is drawn from them
        self.assertEqual(rows["naive Bayes"], ["-"] * 3 + ["100.0"] * 3 + ["98.4"])  # a label without words
        self.assertEqual(rows["the most frequent"][3:], ["60.0"] * 3 + ["59.0"])
        for name in "mean of the net's words", "the net, untrained", "the net":
            self.assertEqual(len(rows[name]), 7)
        self.assertGreater(float(rows["the net, untrained"][5]), 70)
        self.assertNotEqual(rows["the net"], rows["the net, untrained"])
        again = run("--resume", checkpoint, "--evaluate", sets, "--threads", "1").stdout.splitlines()
        self.assertEqual(again, lines)
        file = sets / "sick/SICK_trial.txt"
        file.write_text(file.read_text() + "1\ta\tb\t9\tX\n")
        self.assertIn("SICK_trial.txt: line 22: it is not a score from 1 to 5: 9",
                      run("--resume", checkpoint, "--evaluate", sets, code=1).stderr)

    def test_damaged_vocabularies(self):
        checkpoint, damaged = self.path / "saved", self.path / "damaged"
        saved = self.saved("saved")
        words = json.loads(remarks(checkpoint)["note.words"])
        for value, message in (("[1]", "its note words is damaged"), ("{}", "its note words is damaged"),
                               (json.dumps(words + words[:1]), "its note words is damaged"),
                               (json.dumps(words + ["x"]), "words.weight")):
            damaged.write_bytes(with_note(saved, "words", value))
            for mode in ["--query", "a"], []:
                error = run(*self.data_flags, "--resume", damaged, *mode, code=1).stderr
                self.assertIn(str(damaged), error)
                self.assertIn(message, error)

    def test_every_flag_has_an_effect(self):
        self.check_effects([], (("norm", "layer"), ("condition", "every-step"), ("vocabulary", "9"), ("embedding", "7"),
                                ("hidden", "13"), ("batch-size", "19"), ("epochs", "4"), ("lr", "5e-3"),
                                ("clip-norm", "0.01"), ("seed", "2")))

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--epochs", "1")

    def test_interrupt(self):
        self.check_interrupts([*self.train, "--norm", "layer", "--epochs", "40"], ("epoch 5/", signal.SIGINT),
                              ("epoch 20/", signal.SIGTERM))

    def test_dry_run(self):
        self.check_dry_run()

    def test_rewind(self):
        self.check_rewind()

    def test_extension(self):
        self.check_extension("--epochs", 2, 4)

    def test_damaged_notes(self):
        self.check_damaged_notes("epochs", "steps_done", "epoch_loss", "row_loss", "best_validation", "words")

    def test_draws_stories_without_data(self):
        self.assertIn("stories drawn by this program", run("--hidden", "8", "--epochs", "1").stdout)
        run(*SMALL, "--overfit-batch", "--epochs", "60")

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "TAPEGRAD_DATA is not set")
    def test_real_books(self):
        text = run("--data", pathlib.Path(os.environ["TAPEGRAD_DATA"]), "--hidden", "16", "--embedding", "8",
                   "--vocabulary", "500", "--epochs", "1").stdout
        for count in "16677", "737", "275":
            self.assertRegex(text, rf"\b{count}\b")


if __name__ == "__main__":
    unittest.main()
