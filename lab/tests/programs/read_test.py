"""The program `read` as its users run it. Usage: read_test.py PROGRAM [TEST...]"""

import json
import os
import pathlib
import random
import re
import signal
import unittest
import xml.etree.ElementTree

from program import TrainerTest, remarks, run, with_note

SMALL = ["--hidden", "8", "--batch-size", "20", "--dropout", "0", "--lr", "1e-2"]
NAMES, THINGS, PLACES = ["Bill", "Fred", "Jeff", "Mary"], ["milk", "apple", "football"], ["garden", "kitchen", "office"]


def write_stories(folder):
    """Stories of four sentences, of which one is a gift; the answer is who gave."""
    source = random.Random(1)
    (folder / "babi/en-10k").mkdir(parents=True)
    for part, count in ("train", 150), ("test", 30):
        lines = []
        for _ in range(count):
            giver, other = source.sample(NAMES, 2)
            sentences = [f"{source.choice(NAMES)} went to the {source.choice(PLACES)}." for _ in range(3)]
            sentences.insert(source.randrange(4), f"{giver} gave the {source.choice(THINGS)} to {other}.")
            lines += [f"{i} {sentence}\n" for i, sentence in enumerate(sentences, 1)]
            lines.append(f"5 Who gave something?\t{giver}\t1\n")
        (folder / f"babi/en-10k/qa5_three-arg-relations_{part}.txt").write_text("".join(lines))


class Read(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "data"
        write_stories(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*SMALL, *self.data_flags, "--epochs", "3"]

    def test_help_and_wrong_usage(self):
        text = run("--help").stdout
        for flag in "data story sentences norm everywhere hidden dropout epochs lr seed save resume log-dir ask svg".split():
            self.assertIn(f"--{flag}", text)
        for flag, *values in (["--norm", "lyer"], ["--hidden", "0"], ["--story", "2"], ["--sentences", "-1"],
                              ["--dropout", "1"]):
            self.assertIn(flag, run(*self.train, flag, *values, code=2).stderr)
        self.assertIn("--resume", run("--ask", "x", code=2).stderr)
        self.assertIn("--ask", run("--svg", "x", code=2).stderr)
        for flag in ["--save", "x"], ["--log-dir", "x"], ["--data", "x"], ["--dry-run"]:
            self.assertIn(flag[0], run("--resume", "x", "--ask", "x", *flag, code=2).stderr)

    def test_data(self):
        self.check_data(self.data / "babi", "babi", *SMALL)

    def test_bad_files(self):
        file = self.data / "babi/en-10k/qa5_three-arg-relations_test.txt"
        good = file.read_text()
        for text, message in ((good.replace("?\tBill", "?\ttable", 1), "the answer is not a person, thing or place: table"),
                              (good.replace("5 Who", "Who", 1), "line 5: it does not begin with a number"),
                              ("", "it has no questions")):
            file.write_text(text)
            self.assertRegex(run(*self.train, code=1).stderr, rf"qa5_three-arg-relations_test\.txt: .*({message})")
        file.unlink()
        self.assertIn("qa5_three-arg-relations_test", run(*self.train, code=1).stderr)
        self.assertIn("qa1_single-supporting-fact", run(*self.train, "--story", "1", code=1).stderr)

    def test_it_reads(self):
        log, checkpoint, asked, image = (self.path / name for name in ("log", "saved", "asked", "picture.svg"))
        result = run(*self.train, "--epochs", "60", "--log-dir", log, "--save", checkpoint)
        summary = json.loads((log / "summary.json").read_text())
        self.assertLess(summary["test_error"], 0.1)
        self.assertIn(f"test error {summary['test_error']:.4f}", result.stdout)
        baselines = [float(error) for error in re.findall(r"([01]\.\d+) for", result.stdout)]
        self.assertEqual(len(baselines), 3)
        self.assertLess(summary["test_error"], min(baselines))

        asked.write_text("1 Mary went to the garden.\n2 Fred gave the milk to Bill.\n3 Mary went to the office.\n"
                         "4 Bill went to the kitchen.\n5 Who gave something?\n")
        answer = run("--resume", checkpoint, "--ask", asked, "--svg", image).stdout
        lines = answer.splitlines()
        self.assertEqual(len(lines), 5)
        self.assertEqual(re.sub(r"\[\d+ %\]", "", lines[1]), "fred gave the milk to bill .")
        self.assertRegex(lines[4], r"^  who gave something \? -> fred \(\d+ %\)$")
        weights = [int(weight) for weight in re.findall(r"\[(\d+) %\]", answer)]
        self.assertTrue(80 <= sum(weights) <= 103, weights)
        texts = [text.text for text in xml.etree.ElementTree.parse(image).iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("milk", texts)
        asked.write_text("1 Who?\n")
        self.assertIn(f"{asked}: line 1: a question without a text",
                      run("--resume", checkpoint, "--ask", asked, code=1).stderr)

    def test_damaged_vocabularies(self):
        checkpoint, damaged, asked = (self.path / name for name in ("saved", "damaged", "asked"))
        asked.write_text("1 Mary went.\n2 Who went?\n")
        saved = self.saved("saved")
        words = json.loads(remarks(checkpoint)["note.words"])
        for value, message in (("[1]", "its note words is damaged"), ("{}", "its note words is damaged"),
                               (json.dumps(words + words[:1]), "its note words is damaged"),
                               (json.dumps(words + ["x"]), "embedding.weight")):
            damaged.write_bytes(with_note(saved, "words", value))
            error = run("--resume", damaged, "--ask", asked, code=1).stderr
            self.assertIn(str(damaged), error)
            self.assertIn(message, error)

    def test_every_flag_has_an_effect(self):
        self.check_effects(["--norm", "layer"], (("norm", "none"), ("norm", "layer:gain=0.1"), ("hidden", "9"),
                                                 ("dropout", "0.5"), ("batch-size", "19"), ("epochs", "4"),
                                                 ("lr", "5e-3"), ("clip-norm", "0.1"), ("sentences", "0"), ("seed", "2")))
        self.assertNotEqual(self.saved("a", "--norm", "layer"), self.saved("b", "--norm", "layer", "--everywhere"))

    def test_batch_normalization(self):
        run(*self.train, "--norm", "batch:steps=40,gain=0.1", "--everywhere", "--epochs", "1")

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--epochs", "1")

    def test_interrupt(self):
        self.check_interrupts([*self.train, "--epochs", "60", "--dropout", "0.2"], ("epoch 5/", signal.SIGINT),
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
        text = run("--hidden", "8", "--epochs", "1").stdout
        self.assertIn("stories drawn by this program", text)
        run(*SMALL, "--overfit-batch", "--epochs", "60")

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "TAPEGRAD_DATA is not set")
    def test_real_stories(self):
        data = pathlib.Path(os.environ["TAPEGRAD_DATA"])
        text = run("--data", data, "--story", "5", "--hidden", "16", "--epochs", "1").stdout
        errors = [float(error) for error in re.findall(r"([01]\.\d+) for", text)]
        for error, known in zip(errors, (0.81, 0.54, 0.375)):
            self.assertAlmostEqual(error, known, delta=0.03)


if __name__ == "__main__":
    unittest.main()
