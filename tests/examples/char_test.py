"""The language models over characters as their users run them: char_test.py PROGRAM [TEST...]"""

import contextlib
import gzip
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import unicodedata
import unittest

from program import PROGRAM, TrainerTest, run, run_redirected, start

NAME = pathlib.Path(PROGRAM).name
IS_RNN = NAME == "char_rnn"
SIZES = (["--hidden", "12", "--embedding", "6"] if IS_RNN else ["--channels", "16", "--heads", "2"])
SMALL = [*SIZES, "--layers", "1", "--seq-len", "8", "--batch-size", "4"]
QUICK = [*SMALL, "--steps", "20"]


def printable(raw):
    """What a terminal is to show of these bytes, by Python's own tables of characters."""
    shown = b""
    while raw:
        for size in 1, 2:  # the text has no longer characters
            with contextlib.suppress(UnicodeDecodeError):
                control = unicodedata.category(raw[:size].decode()) == "Cc" and raw[:1] not in b"\n\t"
                break
        else:
            size, control = 1, 0x80 <= raw[0] < 0xa0
        shown += b"?" if control else raw[:size]
        raw = raw[size:]
    return shown


class CharModels(TrainerTest):
    def setUp(self):
        super().setUp()
        self.text = self.path / "text"
        self.text.write_text("abcd efgh. " * 40 + "a bad cafe, he said. " * 20)
        self.data_flags = ["--data", self.text]
        self.train = [*QUICK, *self.data_flags]

    def test_help_and_version(self):
        text = run("--help").stdout
        for flag in ("model norm layers seq-len batch-size steps dropout data lr optimizer schedule "
                     "weight-decay clip-norm seed threads log-dir save resume quiet dry-run "
                     "overfit-batch check-nan sample prompt temperature top-k version").split():
            self.assertIn(f"--{flag}", text)
        self.assertRegex(run("--version").stdout, rf"^{NAME} \(tapegrad \d+\.\d+\.\d+\)\n$")

    def test_wrong_usage(self):
        own = ([["--norm-placement", "odd"], ["--hidden", "0"]] if IS_RNN else
               [["--heads", "3"], ["--positions", "relative"], ["--feed-forward", "cubic"],
                ["--memory", "4"]])
        for flag, *values in (["--norm", "lyer"], ["--steps", "0"], ["--temperature", "-0.1"], ["--temperature", "nan"],
                              ["--top-k", "-1"], ["--seq-len", "0"], ["--model", "mlp"], *own):
            self.assertIn(flag, run(*self.train, flag, *values, code=2).stderr)
        self.assertIn("instance", run(*self.train, "--norm", "instance", code=1).stderr)

    def test_a_last_step_that_breaks_the_weights(self):
        good, saved = self.path / "good", self.path / "saved"
        run(*self.train, "--save", good)
        for flags in [], ["--clip-norm", "1"], ["--ema", "0.9"], ["--shards", "2"]:
            message = run(*SMALL, *self.data_flags, "--steps", "1", "--optimizer", "sgd", "--lr", "1e300", *flags,
                          "--save", saved, code=1).stderr
            self.assertRegex(message, r"step 1: save_checkpoint: \S+: tensor \S+ has a value that is not finite: .*; "
                                      r"nothing was written; lower --lr, ")
            self.assertFalse(saved.exists())
        before = good.read_bytes()
        run(*self.data_flags, "--resume", good, "--save", good)
        self.assertEqual(good.read_bytes(), before)

    def test_bad_texts(self):
        self.assertIn("missing", run(*QUICK, "--data", self.path / "missing", code=1).stderr)
        empty = self.path / "empty"
        empty.write_text("")
        self.assertIn("empty", run(*QUICK, "--data", empty, code=1).stderr)
        empty.write_text("ab")
        self.assertIn("too few", run(*QUICK, "--data", empty, code=1).stderr)
        unprompted = run(*self.train, "--sample", "3", "--prompt", "", code=1).stderr
        self.assertIn("--prompt: it is empty", unprompted)
        self.assertNotIn("step", unprompted)
        strange = run(*self.train, "--sample", "3", "--prompt", "a?", code=1).stderr
        self.assertIn("0x3f", strange)
        self.assertIn("position 1", strange)
        one_line = self.path / "one_line"
        one_line.write_text("abcd efgh " * 100)
        self.assertIn("--prompt: ", run(*QUICK, "--data", one_line, "--sample", "3", code=1).stderr)

    def test_a_terminal_obeys_no_sample(self):
        self.text.write_bytes("a\x1b[2J\u00e9\u009b1m\u011b\t".encode() * 40)  # the last has the byte 9b as well
        saved = self.path / "saved"
        run(*self.train, "--save", saved)
        sample = ["--resume", saved, *self.data_flags, "--sample", "400", "--prompt", "a", "--temperature", "9"]
        raw = subprocess.run([PROGRAM, *sample], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        for obeyed in b"\x1b", b"\xc2\x9b":
            self.assertIn(obeyed, raw)
        try:
            ours, theirs = os.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal: {error}")
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            process = start(*sample, stdout=theirs, stderr=subprocess.DEVNULL)
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # how the end of a terminal is told
                while part := terminal.read(65536):
                    shown += part
        self.assertEqual(process.wait(), 0)
        self.assertEqual(shown.replace(b"\r\n", b"\n"), printable(raw))

    def test_log(self):
        log = self.path / "log"
        result = run(*self.train, "--log-dir", log)
        summary = json.loads((log / "summary.json").read_text())
        for key in ("steps seconds parameters train_loss validation_loss validation_bpc "
                    "tokens_per_second peak_rss_mb").split():
            self.assertIsInstance(summary[key], (int, float), key)
        self.assertAlmostEqual(summary["validation_bpc"] * math.log(2), summary["validation_loss"])
        self.assertIn(f"{summary['validation_loss']:.4f}", result.stdout)
        self.assertIn("step 20/20", result.stderr)
        self.assertTrue((log / "curves.svg").exists())
        self.assertEqual(run(*self.train, "--quiet").stderr, "")
        self.check_dry_run()

    @unittest.skipUnless(IS_RNN, "it has fewest flags of its own")
    def test_the_fuzzer_of_flags_knows_those_of_all_trainers(self):
        words = (pathlib.Path(__file__).parents[1] / "attack/dictionaries/flags.dict").read_text()
        flags = set(re.findall(r"^ +(?:-h,)?(--[a-z0-9-]+)", run("--help").stdout, re.M))
        self.assertIn("--resume", flags)
        own = {"--model", "--embedding", "--norm-placement"}
        self.assertEqual([flag for flag in sorted(flags - own) if not re.search(f'"{flag}[="]', words)], [])

    def test_every_model(self):
        refusal = run(*self.train, "--model", "?", code=2).stderr
        models = re.search(r"\{(.*)\}", refusal).group(1).split(",")
        self.assertGreaterEqual(len(models), 5 if IS_RNN else 2)
        sample = ["--quiet", "--sample", "40", "--prompt", "a"]
        texts = {run(*self.train, "--model", model, *sample).stdout for model in models}
        self.assertEqual(len(texts), len(models))

    def test_rewind(self):
        for model in {"char_rnn": ["lstm", "gru"], "char_transformer": ["transformer", "transformer_xl"]}[NAME]:
            self.check_rewind("--model", model, "--norm", "layer", "--dropout", "0.1")

    def test_damaged_notes(self):
        self.check_damaged_notes("steps", "steps_done", "epoch_loss", "row_loss")

    def test_gzip_is_the_same_text(self):
        packed = self.path / "packed.gz"
        packed.write_bytes(gzip.compress(self.text.read_bytes()))
        plain, other = run(*self.train), run(*QUICK, "--data", packed)
        self.assertEqual(plain.stdout.splitlines()[-1], other.stdout.splitlines()[-1])

    def test_every_flag_has_an_effect(self):
        own = ((("hidden", "13"), ("embedding", "7"), ("model", "gru"), ("model", "rnn"),
                ("norm", "layer")) if IS_RNN else
               (("channels", "20"), ("heads", "4"), ("positions", "rotary"), ("positions", "alibi"),
                ("positions", "sinusoidal"), ("feed-forward", "relu"), ("feed-forward", "swiglu"),
                ("norm-placement", "post"), ("norm", "none"), ("model", "transformer_xl")))
        self.check_effects([], (("layers", "2"), ("seq-len", "9"), ("batch-size", "5"),
                                ("steps", "21"), ("dropout", "0.2"), ("lr", "5e-3"),
                                ("seed", "2"), ("norm", "rms"), ("norm", "weight"),
                                ("norm", "ada:c=2"), *own))
        if IS_RNN:
            self.check_effects(["--norm", "layer"],
                               (("norm-placement", "cell"), ("norm-placement", "sum"),
                                ("norm-placement", "per_gate")))
        else:
            run(*self.train, "--bias")
            self.check_effects(["--model", "transformer_xl"], (("memory", "3"), ("memory", "0")))

    def test_overfit_batch(self):
        # one row: several with the same beginning could continue differently
        flags = ["--steps", "2000", "--lr", "1e-2", "--batch-size", "1", "--overfit-batch"]
        self.assertIn("one batch: loss 0.0", run(*self.train, *flags).stdout)
        run(*self.train, "--overfit-batch", "--lr", "1e-9", code=1)

    def test_bytes_do_not_depend_on_threads_and_logs(self):
        for norm in ("none", "layer"):
            train = ["--dropout", "0.1", "--norm", norm]
            plain = self.saved("plain", *train, "--threads", "1")
            self.assertEqual(plain, self.saved("again", *train, "--threads", "2", "--quiet",
                                               "--log-dir", self.path / "log"))

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--norm", "layer", "--dropout", "0.1")

    def test_profile(self):
        self.check_profile()

    @unittest.skipIf(IS_RNN, "a flag of Transformers")
    def test_recompute(self):
        for model in ("transformer", "transformer_xl"):
            train = ["--dropout", "0.1", "--layers", "3", "--model", model]
            self.assertEqual(self.saved("plain", *train), self.saved("again", *train, "--recompute"))
        peaks = []
        for flags in [], ["--recompute"]:
            log = self.path / "log"
            run("--channels", "64", "--layers", "8", "--seq-len", "256", "--batch-size", "16",
                "--steps", "1", "--log-dir", log, *flags)
            peaks.append(json.loads((log / "summary.json").read_text())["peak_rss_mb"])
        self.assertLess(peaks[1], 0.7 * peaks[0])

    def test_probe(self):
        # Probed recurrent layers run as composites, which round differently.
        self.check_probe([*self.train, "--norm", "layer"], [*self.train, "--norm", "detach"], same_bits=not IS_RNN)

    def test_interrupt(self):
        models = ("lstm", "gru", "rnn") if IS_RNN else ("transformer", "transformer_xl")
        for model in models:
            self.check_interrupts(
                [*SMALL, *self.data_flags, "--steps", "2500", "--dropout", "0.1", "--model", model],
                ("step 250/", signal.SIGINT), ("step 1000/", signal.SIGTERM))

    def test_save_every(self):
        for model in ("lstm",) if IS_RNN else ("transformer", "transformer_xl"):
            self.check_save_every([*SMALL, *self.data_flags, "--steps", "1000", "--model", model], 100)

    def test_resume_refuses_what_differs(self):
        self.saved("one")
        for flag, value in (("--layers", "2"), ("--steps", "9"), ("--norm", "rms")):
            self.assertIn(flag, run(*self.data_flags, "--resume", self.path / "one", flag, value,
                                    code=2).stderr)
        self.text.write_text(self.text.read_text() + "a")
        self.assertIn("--data", run(*self.data_flags, "--resume", self.path / "one", code=2).stderr)

    def test_extension(self):
        for model in ("lstm",) if IS_RNN else ("transformer_xl",):
            # The means of the losses in both are over other numbers of steps.
            self.check_extension("--steps", 410, 900, "--model", model)

    def test_sample(self):
        self.saved("net")
        resume = [*self.data_flags, "--resume", self.path / "net", "--prompt", "ab"]

        def sample(*flags):
            return run(*resume, "--sample", "60", *flags).stdout.split("bits\n", 1)[1]

        text = sample()
        self.assertEqual(len(text), 2 + 60 + 1)
        self.assertTrue(text.startswith("ab"))
        self.assertEqual(text, sample())
        self.assertNotEqual(text, sample("--temperature", "5"))
        greedy = sample("--top-k", "1")
        self.assertEqual(greedy, sample("--top-k", "1", "--temperature", "3"))
        self.assertNotEqual(text, greedy)
        self.assertEqual(greedy, sample("--temperature", "0"))
        self.assertEqual(greedy, sample("--temperature", "1e-300"))
        # A net of zeros finds all characters equally likely, and the first is taken.
        saved = (self.path / "net").read_bytes()
        begin = 8 + int.from_bytes(saved[:8], "little")
        header, values = json.loads(saved[8:begin]), bytearray(saved[begin:])
        del header["__metadata__"]["tapegrad.checksum"]
        for tensor in header.values():
            if tensor.get("dtype") == "F32":
                first, end = tensor["data_offsets"]
                values[first:end] = bytes(end - first)
        text = json.dumps(header).encode()
        (self.path / "net").write_bytes(len(text).to_bytes(8, "little") + text + values)
        for flags in ["--temperature", "0"], ["--top-k", "1"]:
            self.assertEqual(sample(*flags), "ab" + 60 * " " + "\n")

    def test_a_sample_longer_than_what_the_net_was_trained_at(self):
        self.saved("net")
        resume = [*self.data_flags, "--resume", self.path / "net", "--prompt", "ab"]
        told = "sample: longer than --seq-len 8, the length of training: each next character follows from the last 8 at most\n"
        self.assertEqual(run(*resume, "--sample", "60").stderr.count(told), 0 if IS_RNN else 1)
        # The last character is not read.
        for few, count in ("7", 0), ("8", 0 if IS_RNN else 1):
            self.assertEqual(run(*resume, "--sample", few).stderr.count("sample"), count)
        self.assertEqual(run(*resume, "--sample", "60", "--quiet").stderr, "")

    @unittest.skipIf(IS_RNN, "a flag of Transformers")
    def test_a_sample_forgets_what_is_beyond_the_length_of_training(self):
        resume = [*self.data_flags, "--resume", self.path / "net", "--sample", "60"]
        for positions in "learned", "rotary", "sinusoidal", "alibi":
            self.saved("net", "--positions", positions)
            texts = [run(*resume, "--prompt", prompt).stdout.split("bits\n", 1)[1] for prompt in ("abcd efgh", "efgh")]
            self.assertEqual(*[text[text.index("efgh"):] for text in texts])
        self.saved("net", "--model", "transformer_xl")  # it has a memory
        self.assertNotIn("sample", run(*resume, "--prompt", "ab").stderr)

    def test_a_sample_ends_at_a_signal_and_where_nobody_reads(self):
        self.saved("net")
        resume = [*self.data_flags, "--resume", self.path / "net", "--prompt", "ab", "--sample", "1000000000"]

        def start_sampling():
            process = start(*resume, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            while not process.stdout.readline().endswith(b"bits\n"):
                pass
            process.stdout.read(5)
            return process

        for number in signal.SIGINT, signal.SIGTERM:
            process = start_sampling()
            process.send_signal(number)
            errors = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, 130, errors)
            self.assertIn(b"interrupt again to stop at once", errors)
        with start_sampling() as process:
            process.stdout.close()
            self.assertIn(b"standard output", process.stderr.read())
            self.assertEqual(process.wait(timeout=60), 1)
        full = run_redirected(">/dev/full", *resume)
        self.assertEqual(full.returncode, 1)
        self.assertIn("standard output", full.stderr)

    def test_learns_its_own_grammar(self):
        sizes = (["--hidden", "128", "--steps", "500"] if IS_RNN else
                 ["--channels", "64", "--layers", "2", "--batch-size", "16", "--lr", "3e-3",
                  "--steps", "800"])
        result = run(*sizes, "--norm", "layer", "--sample", "1500", "--top-k", "4",
                     "--temperature", "0.5")
        self.assertIn("drawn", result.stdout)
        loss = float(result.stdout.split("validation loss ")[1].split()[0])
        self.assertLess(loss, 0.6)
        grammatical = float(result.stdout.split("grammar: ")[1].split(" %")[0])
        self.assertGreater(grammatical, 20)  # of an untrained net none is

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "TAPEGRAD_DATA is not set")
    def test_real_text(self):
        text = pathlib.Path(os.environ["TAPEGRAD_DATA"]) / "tinyshakespeare" / "input.txt.gz"
        log = self.path / "log"
        run("--data", text, "--steps", "200", "--norm", "layer", "--log-dir", log)
        loss = json.loads((log / "summary.json").read_text())["validation_loss"]
        self.assertLess(loss, 2.3 if IS_RNN else 2.7)


if __name__ == "__main__":
    unittest.main()
