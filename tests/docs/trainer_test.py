"""A training program on a page, as its reader would use it. Usage: trainer_test.py PROGRAM"""

import json
import signal
import unittest

from program import TrainerTest, rows_of, run


class Trainer(TrainerTest):
    train = ["--epochs", "4", "--lr", "0.01"]
    data_flags = []

    def test_it_learns_and_logs(self):
        log = self.path / "log"
        said = run(*self.train, "--log-dir", log).stderr
        self.assertIn("epoch 4/4: training loss", said)
        rows = rows_of(log / "metrics.csv")
        self.assertEqual(int(rows[-1]["step"]), 128)
        self.assertLess(json.loads((log / "summary.json").read_text())["train_loss"], 0.5)
        self.assertIn("<svg", (log / "curves.svg").read_text())

    def test_it_resumes_with_the_same_bits(self):
        self.check_save_every(["--epochs", "500"], 32)  # long enough to be seen between two epochs
        (self.path / "part").unlink()
        self.check_interrupts(["--epochs", "100"], ("epoch 1/", signal.SIGINT), ("epoch 2", signal.SIGTERM))

    def test_another_seed_is_another_training(self):
        self.assertNotEqual(self.saved("one"), self.saved("other", "--seed", "2"))


if __name__ == "__main__":
    unittest.main()
