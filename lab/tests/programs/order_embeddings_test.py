"""The program `order_embeddings` as its users run it. Usage: order_embeddings_test.py PROGRAM [TEST...]"""

import json
import os
import pathlib
import random
import re
import signal
import unittest

from program import TrainerTest, run

SMALL = ["--embedding", "8", "--hidden", "16", "--batch-size", "20", "--lr", "1e-2"]
NAMES = {"dog": "hund", "cat": "katze", "man": "mann", "sea": "meer", "car": "auto", "sun": "sonne", "hat": "hut"}


def write_captions(folder):
    """Images with three of seven things, of which each caption names two."""
    source = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in ("train", 100), ("val", 20), ("test_2016", 20):
        images = [source.sample(list(NAMES), 3) for _ in range(count)]
        for i in range(1, 6):
            described = "".join(" ".join(NAMES[thing] for thing in image) + " .\n" for image in images)
            captions = "".join("a {} and a {} .\n".format(*source.sample(image, 2)) for image in images)
            (folder / f"{part}.lc.norm.tok.{i}.de").write_text(described)
            (folder / f"{part}.lc.norm.tok.{i}.en").write_text(captions)


def write_nouns(folder):
    """A tree of 120 concepts."""
    source = random.Random(2)
    folder.mkdir(parents=True)
    (folder / "noun_closure.tsv.vocab").write_text("".join(f"{i}\tthing_{i}.n.01\n" for i in range(120)))
    (folder / "noun_closure.tsv.train_0percent").write_text(
        "".join(f"{source.randrange(i)}\t{i}\n" for i in range(1, 120)))


class OrderEmbeddings(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "data"
        write_captions(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*SMALL, *self.data_flags, "--epochs", "3"]

    def nouns(self):
        """The flags of a run on concepts."""
        write_nouns(self.path / "nouns")
        return ["--task", "wordnet", "--data", self.path / "nouns", "--hidden", "8", "--batch-size", "20"]

    def test_help_and_wrong_usage(self):
        text = run("--help").stdout
        for flag in ("task data query norm encoder cost embedding hidden margin epochs batch-size lr clip-each seed "
                     "save resume log-dir").split():
            self.assertIn(f"--{flag}", text)
        for flag, *values in (["--task", "x"], ["--norm", "lyer"], ["--hidden", "0"], ["--embedding", "0"],
                              ["--margin", "0"], ["--cost", "x"], ["--encoder", "lstm"]):
            self.assertIn(flag, run(*self.train, flag, *values, code=2).stderr)
        self.assertIn("--norm", run("--norm", "layer", "--encoder", "bag_of_words", code=2).stderr)
        for flag in ["--norm", "layer"], ["--cost", "cosine"], ["--embedding", "9"]:
            self.assertIn(f"{flag[0]}: has no effect", run("--task", "wordnet", *flag, code=2).stderr)
        self.assertIn("--resume", run("--query", "x", code=2).stderr)
        self.assertIn("blank", run("--resume", "x", "--query", " ", code=2).stderr)
        for flag in ["--save", "x"], ["--log-dir", "x"], ["--dry-run"]:
            self.assertIn(flag[0], run("--resume", "x", "--query", "x", *flag, code=2).stderr)

    def test_defaults_suit_the_task(self):
        for flags, margin, rate in ([], "0.05", "0.001"), (["--cost", "cosine"], "0.2", "0.001"), \
                (["--task", "wordnet"], "1.0", "0.01"):
            text = run(*flags, "--dry-run").stdout
            self.assertRegex(text, rf"margin +{margin}\n")
            self.assertRegex(text, rf"\blr +{rate}\n")

    def test_data(self):
        self.check_data(self.data, "multi30k-captions", *SMALL)
        nouns = self.nouns()
        self.check_data(self.path / "nouns", "wordnet-hypernyms", *nouns)

    def test_bad_files(self):
        file = self.data / "val.lc.norm.tok.3.en"
        good = file.read_text()
        for text, message in ((good + "one more\n", f"has 21 lines, but {self.data}/val.lc.norm.tok.1.de has 20"),
                              ("\n" + good.split("\n", 1)[1], "line 1 has no words"), ("", "it has no lines")):
            file.write_text(text)
            self.assertRegex(run(*self.train, code=1).stderr, rf"val\.lc\.norm\.tok\.3\.en:? {message}")
        file.unlink()
        self.assertIn("val.lc.norm.tok.3.en", run(*self.train, code=1).stderr)

    def test_it_finds_images_and_captions(self):
        log = self.path / "log"
        checkpoint = self.path / "saved"
        text = run(*self.train, "--epochs", "40", "--log-dir", log, "--save", checkpoint).stdout
        summary = json.loads((log / "summary.json").read_text())
        self.assertGreater(summary["test_image_R@5"], 0.7)   # several images fit a caption
        self.assertGreater(summary["test_caption_R@10"], 0.8)
        self.assertIn(f"images by captions: R@1 {100 * summary['test_image_R@1']:.1f}", text)
        self.assertIn("R@1 0.0", text)  # by shared words: there is none but the full stop
        rows = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
        self.assertGreater(rows[-1]["validation_image_R@10"], rows[0].get("validation_image_R@10", 0))

        found = run(*self.data_flags, "--resume", checkpoint, "--query", "a dog and a cat .").stdout
        self.assertEqual(len(re.findall(r"^\d\. image \d+, cost \d", found, re.M)), 5)
        first = found.splitlines()[0]
        self.assertIn("hund", first)
        self.assertIn("katze", first)
        costs = [float(cost) for cost in re.findall(r"cost ([\d.]+)", found)]
        self.assertEqual(costs, sorted(costs))
        (self.data / "val.lc.norm.tok.1.en").write_text("a dog\n" * 20)
        self.assertIn("is not what", run(*self.data_flags, "--resume", checkpoint, "--query", "a dog", code=2).stderr)

    def test_it_learns_a_hierarchy(self):
        checkpoint = self.path / "saved"
        train = self.nouns()
        text = run(*train, "--epochs", "60", "--save", checkpoint).stdout
        self.assertGreater(float(re.search(r"test accuracy ([\d.]+);", text)[1]), 0.6)  # of few pairs
        found = run(*train[:4], "--resume", checkpoint, "--query", "thing_100.n.01").stdout
        self.assertRegex(found, r"more general:\n  .*cost 0\.\d+  holds\n")
        self.assertIn("more specific:\n", found)
        self.assertIn("no concept dog", run(*train[:4], "--resume", checkpoint, "--query", "dog", code=2).stderr)

    def test_every_flag_has_an_effect(self):
        self.check_effects([], (("norm", "layer"), ("encoder", "bag_of_words"), ("cost", "cosine"), ("embedding", "9"),
                                ("hidden", "17"), ("margin", "0.1"), ("batch-size", "19"), ("epochs", "4"),
                                ("lr", "5e-3"), ("clip-each", "0.1"), ("seed", "2")))

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--lr", "1e-4", "--epochs", "1")

    def test_interrupt(self):
        self.check_interrupts([*self.train, "--epochs", "60"], ("epoch 5/", signal.SIGINT), ("epoch 20/", signal.SIGTERM))
        self.data_flags = self.nouns()
        self.check_interrupts([*self.data_flags, "--epochs", "200"], ("epoch 9/", signal.SIGINT),
                              ("epoch 90/", signal.SIGTERM))

    def test_dry_run(self):
        self.check_dry_run()

    def test_rewind(self):
        self.check_rewind()

    def test_extension(self):
        self.check_extension("--epochs", 2, 4)

    def test_damaged_notes(self):
        self.check_damaged_notes("epochs", "steps_done", "epoch_loss", "row_loss", "best_validation")

    def test_draws_data_without_data(self):
        self.assertIn("drawn by this program", run("--epochs", "1", "--hidden", "16").stdout)
        self.assertIn("drawn by this program", run("--task", "wordnet", "--epochs", "2").stdout)
        run(*SMALL, "--overfit-batch", "--epochs", "40")

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "TAPEGRAD_DATA is not set")
    def test_real_data(self):
        data = pathlib.Path(os.environ["TAPEGRAD_DATA"])
        text = run("--data", data, "--epochs", "3", "--hidden", "32").stdout
        for count in "29000", "1014", "1000", "7446", "4096":
            self.assertRegex(text, rf"\b{count}\b")
        by_shared_words, learnt = (float(each) for each in re.findall(r"images by captions: .*R@10 ([\d.]+)", text))
        self.assertLess(by_shared_words, 13)
        self.assertGreater(learnt, by_shared_words)


if __name__ == "__main__":
    unittest.main()
