"""The program `draw` as its users run it. Usage: draw_test.py PROGRAM [TEST...]"""

import json
import random
import unittest
import xml.etree.ElementTree

from images import write_idx
from program import EpochTests, TrainerTest, run

SMALL = ["--glimpses", "3", "--hidden", "16", "--latent", "2", "--read", "2", "--write", "3", "--batch-size", "20",
         "--lr", "1e-2"]
SVG = "{http://www.w3.org/2000/svg}"


def write_binary_images(directory):
    """8x8 images of a row or a column each, black or white."""
    source = random.Random(1)
    directory.mkdir()
    for part, count in ("train", 200), ("valid", 40), ("test", 40):
        pixels = []
        for _ in range(count):
            line, along = source.randrange(8), source.randrange(2)
            pixels += [255 * ((row, column)[along] == line) for row in range(8) for column in range(8)]
        write_idx(directory / f"{part}-images-idx3-ubyte.gz", (count, 8, 8), pixels)


class DrawTest(EpochTests, TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "images"
        write_binary_images(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*SMALL, *self.data_flags, "--epochs", "3"]
        self.picture = self.path / "picture.svg"

    def test_help_and_wrong_usage(self):
        text = run("--help").stdout
        for flag in ("data norm norm-placement glimpses hidden latent read write svg only-svg epochs lr seed save resume "
                     "log-dir").split():
            self.assertIn(f"--{flag}", text)
        for flag, *values in ["--norm", "lyer"], ["--read", "1"], ["--glimpses", "0"], ["--norm-placement", "x"]:
            self.assertIn(flag, run(*self.train, flag, *values, code=2).stderr)
        self.assertIn("--only-svg", run("--only-svg", code=2).stderr)
        self.assertIn("--resume", run("--only-svg", "--svg", "x", code=2).stderr)

    def test_data(self):
        self.check_data(self.data, "mnist-binarized", *SMALL)

    def test_bad_files(self):
        file = self.data / "valid-images-idx3-ubyte.gz"
        write_idx(file, (1, 8, 8), [0] * 63 + [128])
        error = run(*self.train, code=1).stderr
        self.assertIn(f"{file}: pixel 63 is 128, neither 0 nor 255", error)
        write_idx(file, (1, 8, 7), [0] * 56)
        self.assertIn("others of 8 x 7", run(*self.train, code=1).stderr)
        file.unlink()
        self.assertIn(f"valid-images-idx3-ubyte is neither in {self.data / 'mnist-binarized'} nor in {self.data}, gzipped",
                      run(*self.train, code=1).stderr)

    def test_it_learns_to_draw(self):
        log = self.path / "log"
        result = run("--glimpses", "4", "--hidden", "64", "--latent", "4", "--lr", "3e-3", "--batch-size", "20",
                     "--epochs", "400", *self.data_flags, "--log-dir", log)
        summary = json.loads((log / "summary.json").read_text())
        self.assertLess(summary["test_bound"], 15)  # independent pixels: 24
        self.assertGreater(summary["test_divergence"], 1)
        self.assertLess(summary["test_divergence"], summary["test_bound"])
        self.assertIn(f"test: at most {summary['test_bound']:.2f} nats per image, {summary['test_divergence']:.2f} of",
                      result.stdout)
        rows = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
        bounds = [row["validation_bound"] for row in rows if "validation_bound" in row]
        self.assertEqual(len(bounds), 400)
        self.assertLess(bounds[-1], bounds[0])

    def test_picture(self):
        checkpoint = self.path / "net"
        run(*self.train, "--save", checkpoint, "--svg", self.picture)
        drawing = xml.etree.ElementTree.parse(self.picture)
        frames = [path.get("class") for path in drawing.iter(SVG + "path")]
        self.assertEqual(frames.count("line faint"), 5 * (1 + 3) + 5 * 3)  # originals and canvases
        self.assertEqual(frames.count("line red"), 5 * 3)
        self.assertEqual(frames.count("line blue"), 2 * 5 * 3)
        again = self.path / "again.svg"
        result = run("--resume", checkpoint, *self.data_flags, "--only-svg", "--svg", again)
        self.assertEqual(result.stdout, "")
        self.assertEqual(again.read_bytes(), self.picture.read_bytes())
        self.assertIn("no_folder", run(*self.train, "--svg", self.path / "no_folder" / "x.svg", code=1).stderr)

    def test_every_flag_has_an_effect(self):
        self.check_effects([], (("norm", "layer"), ("glimpses", "2"), ("hidden", "17"), ("latent", "3"),
                                ("read", "3"), ("write", "2"), ("batch-size", "30"), ("epochs", "2"),
                                ("lr", "5e-3"), ("seed", "2")))
        self.check_effects(["--norm", "layer"], (("norm-placement", "paper"),))

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--lr", "1e-4", "--epochs", "1")


if __name__ == "__main__":
    unittest.main()
