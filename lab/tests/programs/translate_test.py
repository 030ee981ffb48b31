"""The program `translate` as its users run it. Usage: translate_test.py PROGRAM [TEST...]"""

import gzip
import json
import os
import random
import signal
import subprocess
import unittest
import xml.etree.ElementTree

from program import PROGRAM, TrainerTest, greatest_difference, run, with_note

SMALL = ["--channels", "16", "--heads", "2", "--hidden", "16", "--layers", "1", "--batch-tokens", "96",
         "--vocabulary", "48"]
WORDS = {"one": "eins", "two": "zwei", "sun": "Sonne", "moon": "Mond", "red": "rot", "big": "groß", "sea": "See"}


def write_task(folder):
    """Parallel files: the German sentence has the words in reverse order."""
    source = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in ("train", 60), ("val", 8), ("test_a", 6), ("test_b", 5):
        lines = [[source.choice(list(WORDS)) for _ in range(source.randrange(1, 6))] for _ in range(count)]
        (folder / f"{part}.en").write_text("".join(" ".join(words) + ".\n" for words in lines))
        (folder / f"{part}.de").write_text("".join(" ".join(WORDS[word] for word in reversed(words)) + ".\n"
                                                   for words in lines))


def tensors(checkpoint):
    """The bytes of each tensor of a checkpoint."""
    length = int.from_bytes(checkpoint[:8], "little")
    header = json.loads(checkpoint[8:8 + length])
    header.pop("__metadata__")
    return {name: checkpoint[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]]
            for name, entry in header.items()}


class Translate(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "data"
        write_task(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*SMALL, *self.data_flags, "--epochs", "3"]

    def translated(self, text, *flags):
        """What the net in `saved` makes of typed lines."""
        return subprocess.run([PROGRAM, "--resume", self.path / "saved", "--translate", "-", *flags], input=text,
                              capture_output=True, text=True, check=True).stdout

    def test_help_and_wrong_usage(self):
        text = run("--help").stdout
        for flag in ("data from to vocabulary norm epochs dropout attention-dropout activation-dropout label-smoothing "
                     "lr seed save resume log-dir beam translate attention").split():
            self.assertIn(f"--{flag}", text)
        for flag, *values in (["--norm", "lyer"], ["--heads", "3"], ["--beam", "0"], ["--vocabulary", "0"],
                              ["--attention-dropout", "1"], ["--batch-tokens", "0"]):
            self.assertIn(flag, run(*self.train, flag, *values, code=2).stderr)
        self.assertIn("--from", run("--from", "en", code=2).stderr)
        self.assertIn("--resume", run("--translate", "-", code=2).stderr)
        self.assertIn("--save", run("--translate", "-", "--resume", "x", "--save", "y", code=2).stderr)
        self.assertIn("batch", run(*self.train, "--norm", "batch", code=1).stderr)

    def test_data(self):
        self.check_data(self.data, "multi30k", *SMALL)

    def test_bad_files(self):
        self.assertIn("train.fr", run(*self.train, "--from", "fr", code=1).stderr)
        with open(self.data / "val.en", "a") as file:
            file.write("one more\n")
        message = run(*self.train, code=1).stderr
        self.assertIn("val.en: line 9 has no counterpart", message)
        self.assertIn("val.de ends after line 8", message)
        write_task(self.data)
        self.assertIn("line 1 to train on has", run(*self.train, "--batch-tokens", "2", code=1).stderr)
        self.assertIn("Vocabulary size", run(*self.train, "--vocabulary", "9", code=1).stderr)
        for file in self.data.glob("test_*.de"):
            file.unlink()
        self.assertIn("there is no test*.de", run(*self.train, code=1).stderr)

    def test_gzipped_files_and_the_folder_of_a_set(self):
        plain = self.saved("plain")
        folder = self.path / "sets" / "multi30k"
        folder.mkdir(parents=True)
        for file in self.data.iterdir():
            with gzip.open(folder / f"{file.name}.gz", "wb") as packed:
                packed.write(file.read_bytes())
        run(*SMALL, "--epochs", "3", "--data", self.path / "sets", "--save", self.path / "packed")
        self.assertEqual(greatest_difference(plain, (self.path / "packed").read_bytes()), 0)

    def test_learns_translates_and_draws(self):
        train = [*SMALL, "--channels", "32", *self.data_flags, "--epochs", "150", "--lr", "1e-2", "--dropout", "0",
                 "--attention-dropout", "0", "--activation-dropout", "0", "--schedule", "cosine"]
        log, picture = self.path / "log", self.path / "attention.svg"
        for file in "val", "test_a":  # they check here that it learns, not that it generalizes
            for language in "de", "en":
                lines = (self.data / f"train.{language}").read_text().splitlines(keepends=True)
                (self.data / f"{file}.{language}").write_text("".join(lines[:10]))
        out = run(*train, "--save", self.path / "saved", "--log-dir", log, "--attention", picture).stdout
        summary = json.loads((log / "summary.json").read_text())
        self.assertGreater(summary["bleu_test_a"], 90)
        self.assertIn(f"test_a: {summary['bleu_test_a']:.2f} BLEU on 10 sentences\n", out)
        self.assertIn("test_b: ", out)
        self.assertIn("validation_bleu", json.loads((log / "metrics.jsonl").read_text().splitlines()[-1]))
        svg = xml.etree.ElementTree.fromstring(picture.read_text())
        titles = [text.text for text in svg.iter() if text.get("class") == "title"]
        self.assertEqual(titles, (self.data / "test_a.de").read_text().splitlines()[:4])

        source = (self.data / "test_a.de").read_text()
        self.assertEqual(self.translated(source + "\n"), (self.data / "test_a.en").read_text() + "\n")
        file = self.path / "lines.txt"
        file.write_text(source)
        drawn = self.path / "again.svg"
        translate = ["--resume", self.path / "saved", "--translate", file]
        self.assertEqual(run(*translate, "--attention", drawn).stdout, (self.data / "test_a.en").read_text())
        self.assertEqual(drawn.read_text(), picture.read_text())
        self.assertEqual(run(*translate, "--beam", "1", "--threads", "1").stdout,
                         run(*translate, "--beam", "1", "--threads", "2").stdout)
        file.write_text("eins " * 1200)
        self.assertRegex(run(*translate, code=1).stderr, "lines.txt: line 1 has [0-9]+ subwords; at most 1000")

    def test_takes_any_bytes(self):
        for file in self.data.glob("*.de"):
            file.write_bytes(b"\xe9t\xe9 \x01\xff <s> \0 & \xe2\x96\x81\r\n" + file.read_bytes())
        for file in self.data.glob("*.en"):
            file.write_bytes(b"\n" + file.read_bytes())
        picture = self.path / "attention.svg"
        self.saved("saved", "--attention", picture)
        xml.etree.ElementTree.fromstring(picture.read_bytes())
        self.assertEqual(self.translated("\n \t\n").splitlines(), ["", ""])

    def test_keeps_the_best_epoch(self):
        """The net that it keeps and translates with comes from the epoch with the lowest validation loss."""
        source = random.Random(2)
        wrong = "".join(f"{source.choice(list(WORDS))} {source.choice(list(WORDS))}.\n" for _ in range(8))
        lines = (self.data / "train.de").read_text()
        log, flags = self.path / "log", ["--schedule", "constant", "--lr", "1e-2"]

        def saved_after(epochs):
            saved = tensors(self.saved("saved", *flags, "--epochs", epochs, "--log-dir", log))
            return saved, self.translated(lines)

        last, by_last = saved_after(12)
        (self.data / "val.en").write_text(wrong)
        long, by_best = saved_after(12)
        losses = [row["validation_loss"] for row in map(json.loads, (log / "metrics.jsonl").read_text().splitlines())
                  if "validation_loss" in row]
        short, by_short = saved_after(losses.index(min(losses)) + 1)
        names = [name for name in long if "resume." + name in long]
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertEqual(last[name], last["resume." + name])
            self.assertEqual(last[name], long["resume." + name])
            self.assertEqual(short[name], long[name])
            self.assertNotEqual(long[name], long["resume." + name])
        without = tensors(self.saved("saved", *flags, "--epochs", 12, "--keep-best=false"))
        self.assertEqual({name: without[name] for name in names}, {name: long["resume." + name] for name in names})
        self.assertEqual(by_best, by_short)
        self.assertNotEqual(by_best, by_last)

    def test_refuses_subwords_of_another_net(self):
        checkpoint = self.saved("saved")
        for value in '["a"]', '{}', '["<pad>", "<unk>", "<s>", "</s>", 5]', '["<pad>", "<unk>", "<s>", "</s>", "a", "a"]':
            (self.path / "saved").write_bytes(with_note(checkpoint, "subwords", value))
            error = run("--resume", self.path / "saved", "--translate", self.path / "none", code=1).stderr
            self.assertRegex(error, "note subwords is damaged|subwords: ")
        self.assertIn("none", self.path.joinpath("none").name)

    def test_shards_have_the_gradient_of_the_whole_batch(self):
        still = ["--dropout", "0", "--attention-dropout", "0", "--activation-dropout", "0", "--optimizer", "sgd",
                 "--epochs", "1", "--lr", "0.1"]
        whole, parts = (self.saved(f"shards{count}", *still, "--shards", count) for count in (1, 2))
        self.assertLess(greatest_difference(whole, parts), 1e-5)

    def test_every_flag_has_an_effect(self):
        self.check_effects([], (("norm", "none"), ("norm", "ada"), ("norm-placement", "post"), ("layers", "2"),
                                ("heads", "4"), ("channels", "20"), ("hidden", "17"), ("batch-tokens", "80"),
                                ("epochs", "4"), ("dropout", "0.2"), ("attention-dropout", "0.2"),
                                ("activation-dropout", "0.2"), ("label-smoothing", "0"), ("vocabulary", "40"),
                                ("lr", "5e-3"), ("warmup", "20"), ("seed", "2")))
        reverse = self.saved("other", "--from", "en", "--to", "de")
        self.assertNotEqual(self.saved("plain"), reverse)

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--weight-decay", "0", "--epochs", "1")

    def test_profile(self):
        self.check_profile()

    def test_probe(self):
        self.check_probe([*self.train, "--norm", "layer"], [*self.train, "--norm", "detach"])

    def test_interrupt(self):
        train = [*SMALL, *self.data_flags, "--epochs", "40"]
        self.check_interrupts(train, ("epoch 5/", signal.SIGINT), ("epoch 20/", signal.SIGTERM))

    def test_dry_run(self):
        self.check_dry_run()

    def test_rewind(self):
        self.check_rewind()

    def test_damaged_notes(self):
        self.check_damaged_notes("epochs", "steps_done", "epoch_loss", "row_loss", "best_validation")

    def test_draws_languages_without_data(self):
        result = run("--epochs", "1", *SMALL, "--batch-tokens", "2048", "--dry-run")
        self.assertIn("languages drawn by this program", result.stdout)
        log = self.path / "log"
        run("--layers", "2", "--channels", "32", "--heads", "2", "--hidden", "64", "--batch-tokens", "512", "--epochs", "2",
            "--lr", "5e-3", "--warmup", "100", "--dropout", "0", "--attention-dropout", "0", "--activation-dropout", "0",
            "--log-dir", log)
        self.assertGreater(json.loads((log / "summary.json").read_text())["bleu_test"], 90)
        run(*self.train, "--overfit-batch", "--lr", "1e-2", "--epochs", "150", "--dropout", "0",
            "--attention-dropout", "0", "--activation-dropout", "0", "--label-smoothing", "0")

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "TAPEGRAD_DATA is not set")
    def test_real_sentences(self):
        text = run("--data", os.environ["TAPEGRAD_DATA"], "--dry-run").stdout
        for part in "29000 pairs", "1014 for validation", "test_2016_flickr (1000), test_2017_flickr (1000)", "4000 subwords":
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
