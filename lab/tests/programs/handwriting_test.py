"""The program `handwriting` as its users run it. Usage: handwriting_test.py PROGRAM [TEST...]"""

import json
import os
import random
import unittest
import xml.etree.ElementTree

from program import EpochTests, TrainerTest, run

SMALL = ["--layers", "2", "--hidden", "12", "--components", "2", "--batch-size", "4", "--lr", "1e-2"]
SVG = "{http://www.w3.org/2000/svg}"


def write_drawings(directory, of="omniglot"):
    """Drawings of a corner: a stroke down and one to the right, with rounded offsets."""
    source = random.Random(1)
    directory.mkdir(exist_ok=True)
    for part, count in ("train", 120), ("valid", 30), ("test", 30):
        lines = []
        for _ in range(count):
            size = 6 * source.randrange(4, 8)
            lines.append(f"0,0,0 0,{size},0 0,{size},1 6,0,0 {size},0,0 {size},0,1\n")
        (directory / f"{of}.{part}.txt").write_text("".join(lines))


def paths(file, kind):
    """The number of lines of a class in a picture."""
    found = xml.etree.ElementTree.parse(file).iter(SVG + "path")
    return sum(path.get("class").split() == ["line", *kind] for path in found)


class HandwritingTest(EpochTests, TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "drawings"
        write_drawings(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*SMALL, "--task", "omniglot", *self.data_flags, "--moves", "20", "--epochs", "2"]
        self.picture = self.path / "picture.svg"

    def test_help_and_wrong_usage(self):
        text = run("--help").stdout
        for flag in ("task data text bias svg only-svg norm norm-placement layers hidden components bumps moves epochs lr seed "
                     "save resume log-dir").split():
            self.assertIn(f"--{flag}", text)
        for flag, value in (("--norm", "lyer"), ("--bumps", "0"), ("--moves", "0"), ("--norm-placement", "x"), ("--task", "x"),
                            ("--bias", "-1"), ("--text", "3a"), ("--text", ""), ("--text", "1" * 101),
                            ("--batch-size", "1000")):
            self.assertIn(flag, run(*self.train, flag, value, code=2).stderr)
        self.assertIn("--data", run("--task", "kanji", code=2).stderr)
        self.assertIn("--data", run("--task", "text", "--data", self.data, code=2).stderr)
        self.assertIn("--resume", run("--only-svg", "--svg", "x", code=2).stderr)

    def test_data(self):
        self.check_data(self.data, "stroke3", *SMALL, "--task", "omniglot", "--moves", "20")

    def test_bad_files(self):
        file = self.data / "omniglot.valid.txt"
        for bad in "1,2,2", "1,2", "", "1e9,2,1":
            file.write_text(f"0,0,0 1,2,1\n{bad}\n")
            self.assertIn(f"{file}: line 2 has ", run(*self.train, code=1).stderr)
        file.unlink()
        self.assertIn("omniglot.valid.txt", run(*self.train, code=1).stderr)

    def test_it_learns_drawings(self):
        log = self.path / "log"
        result = run(*self.train, "--epochs", "30", "--log-dir", log)
        summary = json.loads((log / "summary.json").read_text())
        self.assertLess(summary["baseline_by_pen"], summary["baseline_one"])
        self.assertLess(summary["test_loss"], summary["baseline_by_pen"] - 0.5)
        loss = summary["test_loss"]
        self.assertIn(f"test: {loss:.3f} nats per move, {20 * loss:.1f} per line", result.stdout)
        rows = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
        losses = [row["validation_loss"] for row in rows if "validation_loss" in row]
        self.assertEqual(len(losses), 30)
        self.assertLess(losses[-1], losses[0])

    def test_it_draws_its_own(self):
        out = run(*SMALL, "--task", "digits", "--epochs", "1", "--batch-size", "80").stdout
        self.assertIn("data: lines of drawn digits;", out)

    def test_picture(self):
        checkpoint = self.path / "net"
        run(*self.train, "--save", checkpoint, "--svg", self.picture)
        again, neat = self.path / "again.svg", self.path / "neat.svg"
        draw = ["--resume", checkpoint, *self.data_flags, "--only-svg"]
        self.assertEqual(run(*draw, "--svg", again).stdout, "")
        self.assertEqual(again.read_bytes(), self.picture.read_bytes())
        self.assertIn("bias 1<", again.read_text())
        run(*draw, "--svg", neat, "--bias", "3")
        self.assertIn("bias 3<", neat.read_text())
        self.assertNotEqual(neat.read_text().replace("bias 3", "bias 1"), again.read_text())
        self.assertGreater(paths(neat, []), 5)
        run("--resume", checkpoint, "--only-svg", "--svg", neat)  # without a line of the data
        self.assertIn("a line of the test set", again.read_text())
        self.assertNotIn("a line of the test set", neat.read_text())
        self.assertIn("no_folder", run(*self.train, "--svg", self.path / "no_folder" / "x.svg", code=1).stderr)

    def test_text(self):
        checkpoint = self.path / "net"
        run(*SMALL, "--batch-size", "100", "--epochs", "1", "--save", checkpoint)
        for text in "7", "2718":
            run("--resume", checkpoint, "--only-svg", "--svg", self.picture, "--text", text)
            self.assertEqual(paths(self.picture, ["faint"]), 2)  # of the window, once with each bias
            self.assertGreaterEqual(paths(self.picture, ["blue"]), 2)
            self.assertIn(f"{text}, bias 1<", self.picture.read_text())

    def test_shards_of_lines_of_different_lengths(self):
        losses = []
        for shards in 1, 3:
            log = self.path / f"log{shards}"
            run(*SMALL, "--batch-size", "100", "--epochs", "1", "--shards", shards, "--log-dir", log)
            losses.append(json.loads((log / "metrics.jsonl").read_text().splitlines()[0])["train_loss"])
        self.assertAlmostEqual(*losses, delta=1e-5)

    def test_every_flag_has_an_effect(self):
        self.check_effects([], (("norm", "layer"), ("layers", "1"), ("hidden", "13"), ("components", "3"),
                                ("moves", "30"), ("batch-size", "3"), ("epochs", "3"), ("lr", "5e-3"), ("seed", "2"),
                                ("clip-norm", "0.1")))
        self.check_effects(["--norm", "layer"], (("norm-placement", "cell"),))
        write_drawings(self.data, "short_kanji")
        self.check_effects([], (("task", "kanji"),))  # noise of another size

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--lr", "1e-3", "--epochs", "1")

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "needs TAPEGRAD_DATA")
    def test_real_drawings(self):
        log = self.path / "log"
        run("--task", "omniglot", "--data", os.environ["TAPEGRAD_DATA"], "--epochs", "1", "--hidden", "32",
            "--log-dir", log)
        summary = json.loads((log / "summary.json").read_text())
        self.assertLess(summary["test_loss"], summary["baseline_by_pen"])


if __name__ == "__main__":
    unittest.main()
