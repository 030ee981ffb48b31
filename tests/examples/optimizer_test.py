"""The flags of a trainer that choose how weights are updated. Usage: optimizer_test.py MNIST [TEST...]"""

import re
import unittest

from images import ImagesTest
from program import logged, run, weights


OPTIONS = {"sgd": "", "momentum": "momentum", "nesterov": "momentum", "adam": "beta1 epsilon", "adamw": "beta1 epsilon",
           "rmsprop": "alpha epsilon momentum", "adagrad": "decay epsilon", "adadelta": "rho epsilon",
           "lion": "beta1 beta2", "lamb": "beta1 beta2 epsilon", "muon": "momentum vector_factor beta1 beta2 epsilon"}


class Optimizers(ImagesTest):
    def available(self, value):
        """What the refusal of a value lists."""
        return re.search("available: (.*)", run(*self.train, "--optimizer", value, code=2).stderr).group(1).split(", ")

    def test_every_optimizer_trains_and_every_option_has_an_effect(self):
        self.assertEqual(self.available("newton"), sorted(OPTIONS))
        for name, options in OPTIONS.items():
            self.assertEqual(self.available(f"{name}:?=1"),
                             sorted([*options.split(), "center_gradients", "center_weights"]), name)
            self.check_effects(["--optimizer", name],
                               [("optimizer", f"{name}:{option}=0.3") for option in options.split()])

    def test_centering(self):
        for name in ("sgd", "adamw"):
            self.check_effects(["--optimizer", name],
                               [("optimizer", f"{name}:{option}={over}")
                                for option in ("center_gradients", "center_weights") for over in ("inputs", "outputs")])
        plain, off = self.saved("plain"), self.saved("off", "--optimizer", "adam:center_gradients=none")
        self.assertEqual(weights(plain), weights(off))
        centered = ["--schedule", "constant", "--optimizer", "adam:center_gradients=outputs,center_weights=outputs"]
        run(*self.train, "--epochs", "2", *centered, "--save", self.path / "part")
        run(*self.data_flags, "--resume", self.path / "part", "--epochs", "4", "--save", self.path / "part")
        self.assertEqual(self.saved("whole", "--epochs", "4", *centered), (self.path / "part").read_bytes())

    def test_options_that_an_optimizer_does_not_have(self):
        for value, message in {
                "newton": f"unknown optimizer newton; available: {', '.join(sorted(OPTIONS))}",
                "sgd:momentum=0.5": "sgd has no option momentum=0.5; available: center_gradients, center_weights",
                "lion:beta1=0.5,beta1=0.6": "lion: beta1 is given twice",
                "adamw:center_gradients=rows": "adamw: center_gradients=rows must be none or inputs or outputs",
                "sgd:center_weights": "sgd has no option center_weights; available: ",
                "lion:beta1=": "lion: beta1= must be a finite number",
                "lion:": "lion: an option is empty", "lion:beta1=2": "lion: beta1 must lie in [0, 1): 2",
                "muon:epsilon=nan": "muon: epsilon=nan must be a finite number"}.items():
            self.assertIn(message, run(*self.train, "--optimizer", value, code=2).stderr, value)

    def test_schedules(self):
        self.check_effects([], [("schedule", "one_cycle"), ("schedule", "constant,cosine@10"),
                                ("schedule", "cosine,constant@10,exponential@20")])
        for value, message in {"weekly": "unknown schedule weekly; available: constant, cosine, ",
                               "constant,": "unknown schedule ; available",
                               "constant,plateau@3": "plateau stands alone", "constant@3": "as in constant,cosine@100",
                               "constant,cosine": "as in constant,cosine@100",
                               "constant,cosine@0": "as in constant,cosine@100",
                               "constant,cosine@x": "as in constant,cosine@100",
                               "constant,cosine@9,step@9": "as in constant,cosine@100"}.items():
            self.assertIn(message, run(*self.train, "--schedule", value, code=2).stderr, value)

    def test_plateau(self):
        # A learning rate that is far too high: the loss stops falling.
        log, whole, part = self.path / "log", self.path / "whole", self.path / "part"
        flags = [*self.train, "--schedule", "plateau", "--lr", "0.3", "--epochs"]
        run(*flags, "12", "--log-dir", log, "--save", whole)
        rates = [row["learning_rate"] for row in logged(log)[0] if "learning_rate" in row]
        self.assertEqual(rates[0], 0.3)
        self.assertLess(rates[-1], 0.04)
        run(*flags, "6", "--save", part)
        run(*self.data_flags, "--resume", part, "--epochs", "12", "--save", part)
        self.assertEqual(weights(whole.read_bytes()), weights(part.read_bytes()))

    def test_extension(self):
        self.check_extension("--epochs", 2, 4, "--dropout", "0.1")

    def test_averaged_weights(self):
        def losses(name, *flags):
            run(*self.train, *flags, "--log-dir", self.path / "log", "--save", self.path / name)
            return [row["validation_loss"] for row in logged(self.path / "log")[0] if "validation_loss" in row]

        plain, averaged, slow = losses("plain"), losses("averaged", "--ema", "0.9"), losses("slow", "--ema", "0.9999")
        self.assertNotEqual(plain, averaged)
        self.assertLess(slow[-1], slow[0] - 0.1)  # the random start has no part in it
        plain, averaged = ((self.path / name).read_bytes() for name in ("plain", "averaged"))
        self.assertEqual(averaged.count(b'"ema.'), plain.count(b'"optimizer.mean.'))
        run(*self.train, "--epochs", "2", "--schedule", "constant", "--ema", "0.9", "--save", self.path / "part")
        run(*self.data_flags, "--resume", self.path / "part", "--epochs", "4", "--save", self.path / "part")
        whole = self.saved("whole", "--epochs", "4", "--schedule", "constant", "--ema", "0.9")
        self.assertEqual(whole, (self.path / "part").read_bytes())

    def test_flags_without_effect_are_refused(self):
        for flag, *others in (("--warmup", "5", "--schedule", "step"), ("--final-lr", "1e-4", "--schedule", "step"),
                              ("--beta2", "0.9", "--optimizer", "sgd")):
            error = run(*self.train, flag, *others, code=2).stderr
            self.assertIn(f"{flag}: has no effect with {others[1]} {others[2]}; leave it out", error)


if __name__ == "__main__":
    unittest.main()
