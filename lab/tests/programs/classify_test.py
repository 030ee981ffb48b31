"""The program `classify` as its users run it. Usage: classify_test.py PROGRAM [TEST...]"""

import json
import os
import random
import signal
import unittest

from program import TrainerTest, run

SMALL = ["--channels", "16", "--heads", "2", "--hidden", "16", "--layers", "1", "--batch-tokens", "64"]


def write_task(folder):
    """Files of the task trec: the label is the first word's."""
    source = random.Random(1)
    (folder / "sentence-classification").mkdir(parents=True)
    words = ["who", "where", "when", "what"]
    for part, count in ("train", 120), ("test", 30):
        lines = []
        for _ in range(count):
            label = source.randrange(4)
            rest = [source.choice("abcdef") for _ in range(source.randrange(1, 6))]
            lines.append(f"{label} {words[label]} {' '.join(rest)}\n")
        (folder / "sentence-classification" / f"TREC.{part}.all").write_text("".join(lines))


class Classify(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "data"
        write_task(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*SMALL, "--task", "trec", *self.data_flags, "--epochs", "3"]

    def test_help_and_wrong_usage(self):
        text = run("--help").stdout
        for flag in "task data norm seeds epochs lr dropout seed save resume log-dir".split():
            self.assertIn(f"--{flag}", text)
        for flag, *values in (["--task", "imdb"], ["--norm", "lyer"], ["--heads", "3"],
                              ["--seeds", "0"], ["--batch-tokens", "0"]):
            self.assertIn(flag, run(*self.train, flag, *values, code=2).stderr)
        self.assertIn("--seeds", run(*self.train, "--seeds", "2", "--save", "x", code=2).stderr)
        self.assertIn("--data", run("--task", "rt", code=2).stderr)
        self.assertIn("--data", run("--data", self.data, code=2).stderr)
        self.assertIn("batch", run(*self.train, "--norm", "batch", code=1).stderr)

    def test_data(self):
        self.check_data(self.data / "sentence-classification", "sentence-classification", *SMALL, "--task", "trec")

    def test_the_original_files_of_rt(self):
        folder = self.path / "rt-polaritydata"
        folder.mkdir()
        for name, word in ("neg", "bad"), ("pos", "good"):
            (folder / f"rt-polarity.{name}").write_text(f"a {word} film . \n" * 60)
        self.check_data(folder, "rt-polaritydata", *SMALL, "--task", "rt")
        text = run(*SMALL, "--task", "rt", "--data", folder, "--epochs", "20", "--lr", "0.01").stdout
        self.assertRegex(text, r"; 96 sentences to train on, 11 for validation, 13 for the test, 2 classes\n")
        self.assertIn("accuracy 1.0000", text)
        (folder / "rt-polarity.pos").write_text("a good film .\n \n")
        self.assertIn("rt-polarity.pos: line 2 has no words", run("--task", "rt", "--data", folder, code=1).stderr)

    def test_bad_files(self):
        message = run(*SMALL, "--task", "sst5", *self.data_flags, code=1).stderr
        self.assertIn("stsa.fine.train", message)
        file = self.data / "sentence-classification" / "TREC.test.all"
        for wrong in ("x who\n", "1\n", "-1 a\n", "9 who\n", ""):
            file.write_text(wrong)
            run(*self.train, code=1)
        file.write_text("1 who\nx who\n")
        self.assertIn("line 2", run(*self.train, code=1).stderr)

    def test_a_sentence_that_no_batch_has_room_for(self):
        file = self.data / "sentence-classification" / "TREC.test.all"
        file.write_text("1 who\n2 when" + " a" * 64 + "\n")
        self.assertIn(f"{file}: line 2 has 65 words, but --batch-tokens allows 64", run(*self.train, code=1).stderr)

    def test_log_and_seeds(self):
        log = self.path / "log"
        result = run(*self.train, "--lr", "1e-2", "--epochs", "8", "--seeds", "2", "--log-dir", log, "--tensorboard")
        self.assertEqual([file.parent.name for file in sorted(log.rglob("events.out.tfevents.*"))], ["seed_1", "seed_2"])
        summary = json.loads((log / "summary.json").read_text())
        self.assertEqual(len(summary["test_accuracies"]), 2)
        self.assertAlmostEqual(summary["test_accuracy"], sum(summary["test_accuracies"]) / 2)
        self.assertGreater(summary["test_accuracy"], 0.9)
        self.assertIn("standard deviation", result.stdout)
        one = json.loads((log / "seed_2" / "summary.json").read_text())
        self.assertEqual(one["test_accuracy"], summary["test_accuracies"][1])
        before = (log / "summary.json").read_text()
        run(*self.train, "--norm", "batch", "--seeds", "2", "--log-dir", log, code=1)
        self.assertEqual((log / "summary.json").read_text(), before)
        self.assertTrue((log / "seed_2" / "summary.json").exists())
        run(*self.train, "--log-dir", log)
        self.assertFalse(list(log.glob("seed_*")))
        run(*self.train, "--seeds", "2", "--log-dir", log, "--keep-every", "10")
        self.assertTrue((log / "seed_2" / "step_10" / "state.checkpoint").exists())
        run(*self.train, "--log-dir", log)
        self.assertFalse(list(log.glob("seed_*")))
        other = self.path / "other"
        run(*self.train, "--log-dir", other)
        (log / "seed_2").symlink_to(other)
        before = (other / "config.json").read_text()
        message = run(*self.train, "--seeds", "2", "--log-dir", log, code=1).stderr
        self.assertIn(f"{log / 'seed_2'}: it is a link", message)
        self.assertEqual((other / "config.json").read_text(), before)
        self.assertFalse((log / "seed_1").exists())

    def test_every_flag_has_an_effect(self):
        self.check_effects([], (("norm", "none"), ("norm", "ada"), ("norm-placement", "post"),
                                ("layers", "2"), ("heads", "4"), ("channels", "20"),
                                ("hidden", "17"), ("batch-tokens", "50"), ("epochs", "4"),
                                ("dropout", "0.1"), ("lr", "5e-3"), ("seed", "2")))

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--epochs", "1", "--dropout", "0.1")

    def test_profile(self):
        self.check_profile()

    def test_probe(self):
        self.check_probe([*self.train, "--norm", "layer"], [*self.train, "--norm", "detach"])
        run(*self.train, "--seeds", "2", "--norm", "layer", "--log-dir", self.path / "log", "--probe")
        self.assertTrue((self.path / "log" / "seed_1" / "probe_norms.csv").exists())

    def test_interrupt(self):
        train = [*SMALL, "--task", "trec", *self.data_flags, "--epochs", "300"]
        self.check_interrupts(train, ("epoch 20/", signal.SIGINT), ("epoch 60/", signal.SIGTERM))

    def test_dry_run(self):
        self.check_dry_run()

    def test_rewind(self):
        self.check_rewind()

    def test_damaged_notes(self):
        self.check_damaged_notes("epochs", "steps_done", "epoch_loss", "row_loss", "best_validation")

    def test_save_every(self):
        train = [*SMALL, "--task", "trec", *self.data_flags, "--epochs", "60"]
        log = self.path / "log"
        run(*train, "--epochs", "1", "--log-dir", log)
        self.check_save_every(train, json.loads((log / "summary.json").read_text())["steps"])

    def test_draws_sentences_without_data(self):
        result = run("--epochs", "1", *SMALL, "--batch-tokens", "512")
        self.assertIn("drawn", result.stdout)
        run(*self.train, "--overfit-batch", "--lr", "1e-2", "--epochs", "100", "--dropout", "0")

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "TAPEGRAD_DATA is not set")
    def test_real_sentences(self):
        for task, parts in (("rt", "8608"), ("sst5", "8544"), ("trec", "4907")):
            text = run("--task", task, "--data", os.environ["TAPEGRAD_DATA"], "--dry-run").stdout
            self.assertIn(parts, text)
        log = self.path / "log"
        run("--task", "trec", "--data", os.environ["TAPEGRAD_DATA"], "--layers", "2", "--epochs", "4",
            "--log-dir", log)
        self.assertGreater(json.loads((log / "summary.json").read_text())["test_accuracy"], 0.75)


if __name__ == "__main__":
    unittest.main()
