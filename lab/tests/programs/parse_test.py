"""The program `parse` as its users run it. Usage: parse_test.py PROGRAM [TEST...]"""

import gzip
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import unittest
import xml.etree.ElementTree

from program import PROGRAM, TrainerTest, remarks, run, with_note

SMALL = ["--embedding", "8", "--hidden", "16", "--batch-size", "64", "--lr", "1e-2"]

NOUNS, VERBS = ["dog", "Cat", "bird", "fox"], ["sees", "hears", "likes"]


def conllu(words):
    """A sentence; words: form, UPOS, XPOS, head and relation of each."""
    lines = [f"{i}\t{form}\t_\t{upos}\t{xpos}\t_\t{head}\t{relation}\t_\t_\n"
             for i, (form, upos, xpos, head, relation) in enumerate(words, 1)]
    return "".join(lines) + "\n"


def draw(source):
    """A sentence such as "the old dog sees a cat .", whose verb is followed by an object or not."""
    words = []

    def phrase(head, relation):
        old = source.random() < 0.5
        noun = len(words) + 2 + old
        words.append((source.choice(["the", "a"]), "DET", "DT", noun, "det"))
        if old:
            words.append(("old", "ADJ", "JJ", noun, "amod"))
        words.append((source.choice(NOUNS), "NOUN", "NN", head or noun + 1, relation))

    phrase(None, "nsubj:x")
    verb = len(words) + 1
    words.append((source.choice(VERBS), "VERB", "VBZ", 0, "root"))
    if source.random() < 0.5:
        phrase(verb, "obj")
    words.append((".", "PUNCT", ".", verb, "punct"))
    return words


def write_treebank(folder):
    source = random.Random(1)
    folder.mkdir(parents=True)
    for part, count in ("train", 60), ("dev", 20), ("test", 20):
        text = "".join("# a comment\n" + conllu(draw(source)) for _ in range(count))
        (folder / f"small-ud-{part}.conllu").write_text(text)


class Parse(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "data"
        write_treebank(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*SMALL, *self.data_flags, "--epochs", "3"]

    def trained(self):
        """The checkpoint of a parser that has learnt."""
        checkpoint = self.path / "parser"
        run(*self.train, "--epochs", "20", "--quiet", "--save", checkpoint)
        return checkpoint

    def test_help_and_wrong_usage(self):
        text = run("--help").stdout
        for flag in "data norm embedding hidden dropout epochs lr seed save resume log-dir parse svg".split():
            self.assertIn(f"--{flag}", text)
        for flag, *values in ["--norm", "lyer"], ["--hidden", "0"], ["--embedding", "0"], ["--dropout", "1"]:
            self.assertIn(flag, run(*self.train, flag, *values, code=2).stderr)
        self.assertIn("--resume", run("--parse", "x", code=2).stderr)
        self.assertIn("--parse", run("--svg", "x", code=2).stderr)
        for flag in ["--save", "x"], ["--log-dir", "x"], ["--data", "x"], ["--dry-run"]:
            self.assertIn(flag[0], run("--resume", "x", "--parse", "x", *flag, code=2).stderr)

    def test_data(self):
        self.check_data(self.data, "ud-english-ewt", *SMALL)

    def test_bad_files(self):
        file = self.data / "small-ud-dev.conllu"
        good = file.read_text()
        first = good.index("\n1\t") + 1
        for wrong, message in ((good[:-1], "is the file cut?"), (good[:first + 9] + "\n", "fields, not the 10 of CoNLL-U"),
                               (good.replace("DT\t_\t2", "DT\t_\t99", 1), "has head 99"),
                               (good.replace("nsubj:x", "root", 1), 'relation "root"'),
                               (good.replace("\tDT\t", "\t_\t", 1), 'the word "')):
            file.write_text(wrong)
            error = run(*self.train, code=1).stderr
            self.assertRegex(error, rf"small-ud-dev\.conllu: line \d+.*{re.escape(message)}")
        file.unlink()
        self.assertIn("there are 0 files NAME-ud-dev.conllu", run(*self.train, code=1).stderr)
        file.write_text(good)
        (self.data / "other-ud-dev.conllu.gz").write_bytes(gzip.compress(good.encode()))
        self.assertIn("there are 2 files", run(*self.train, code=1).stderr)
        file.unlink()
        run(*self.train)

    def test_it_learns_what_it_reads(self):
        log = self.path / "log"
        result = run(*self.train, "--epochs", "20", "--log-dir", log)
        summary = json.loads((log / "summary.json").read_text())
        for uas, las in ("test_uas", "test_las"), ("test_uas_with_punctuation", "test_las_with_punctuation"):
            self.assertGreater(summary[uas], 0.98)
            self.assertLessEqual(summary[las], summary[uas])
        self.assertIn(f"test UAS {summary['test_uas']:.4f}, LAS {summary['test_las']:.4f} without", result.stdout)
        rows = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(max(row.get("validation_las", 0) for row in rows), summary["best_validation_las"])
        self.assertLess(rows[-1]["validation_loss"], 0.1)
        self.assertGreater(rows[-1]["validation_las"], 0.98)

    def test_parsing(self):
        checkpoint = self.trained()
        sentence = [(form, upos, xpos, "_", "_") for form, upos, xpos, *_ in
                    [("the", "DET", "DT"), ("unheard", "ADJ", "JJ"), ("fox", "NOUN", "NN"), ("sees", "VERB", "VBZ"),
                     ("a", "DET", "DT"), ("\u00e9l\u00e9phant&", "NOUN", "NN"), (".", "PUNCT", ".")]]
        file, image = self.path / "sentences.conllu", self.path / "trees.svg"
        file.write_text(conllu(sentence) * 2)
        tree = ("  ┌───> 1  the        DT   3  det\n"
                "  │ ┌─> 2  unheard    JJ   3  amod\n"
                "  └─┼─> 3  fox        NN   4  nsubj\n"
                "┌─┬─┴─  4  sees       VBZ  0  root\n"
                "│ │ ┌─> 5  a          DT   6  det\n"
                "│ └─┴─> 6  éléphant&  NN   4  obj\n"
                "└─────> 7  .          .    4  punct\n")
        result = run("--resume", checkpoint, "--parse", file, "--svg", image)
        self.assertEqual(result.stdout, tree + "\n" + tree)
        texts = [text.text for text in xml.etree.ElementTree.parse(image).iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(texts.count("éléphant&"), 2)
        self.assertEqual(texts.count("nsubj"), 2)
        with open(file) as sentences:
            piped = subprocess.run([PROGRAM, "--resume", checkpoint, "--parse", "-"], stdin=sentences,
                                   capture_output=True, text=True)
        self.assertEqual((piped.returncode, piped.stdout), (0, result.stdout))

    def test_what_cannot_be_parsed(self):
        checkpoint = self.trained()
        file = self.path / "sentences.conllu"
        parse = ["--resume", checkpoint, "--parse", file]
        self.assertIn(str(file), run(*parse, code=1).stderr)
        word = ("a", "DET", "DT", "_", "_")
        for text, message in (("the dog sees a cat\n", "line 1 has 1 fields, not the 10 of CoNLL-U"),
                              (conllu([word, ("b", "X", "_", "_", "_")]), 'line 2: the word "b" has no XPOS'),
                              (conllu([word] * 1001), "line 1: the sentence has 1001 words"),
                              ("", "it has no sentences")):
            file.write_text(text)
            self.assertIn(f"{file}: {message}", run(*parse, code=1).stderr)
        file.write_bytes(conllu([word]).replace("a\t", "\x1b\udcff\t").encode(errors="surrogateescape"))
        self.assertIn("?\ufffd", run(*parse, "--svg", self.path / "tree.svg").stdout)
        xml.etree.ElementTree.parse(self.path / "tree.svg")
        for own in file, checkpoint:
            self.assertIn("would replace", run(*parse, "--svg", own, code=2).stderr)
        missing = run(*parse, "--svg", self.path / "no_folder" / "tree.svg", code=1)
        self.assertIn("no_folder", missing.stderr)
        self.assertEqual(missing.stdout, "")
        self.assertIn("--hidden", run(*parse, "--hidden", "17", code=2).stderr)

    def test_damaged_vocabularies(self):
        saved = self.trained().read_bytes()
        damaged, file = self.path / "damaged", self.path / "sentences.conllu"
        file.write_text(conllu([("a", "DET", "DT", "_", "_")]))
        words = json.loads(remarks(self.path / "parser")["note.words"])
        for note, value, message in (("words", "[1]", "its note words is damaged"), ("tags", "{}", "tags is damaged"),
                                     ("relations", '["det"]', 'the first relation is not "root"'),
                                     ("words", json.dumps(words + words[:1]), "a word is there twice"),
                                     ("words", json.dumps(words + ["x"]), "embedding.weight")):
            damaged.write_bytes(with_note(saved, note, value))
            error = run("--resume", damaged, "--parse", file, code=1).stderr
            self.assertIn(str(damaged), error)
            self.assertIn(message, error)

    def test_averages_of_weights_parse(self):
        file, results, source = self.path / "sentences.conllu", [], random.Random(3)
        file.write_text("".join(conllu(draw(source)) for _ in range(20)))
        for flags in [], ["--ema", "0.9999"]:  # where the parser still learns fast, an average lags behind
            self.saved("parser", "--epochs", "6", *flags)
            results.append(run("--resume", self.path / "parser", "--parse", file).stdout)
        self.assertNotEqual(*results)

    def test_every_flag_has_an_effect(self):
        self.check_effects([], (("norm", "none"), ("norm", "ada"), ("embedding", "9"), ("hidden", "17"),
                                ("dropout", "0.1"), ("batch-size", "50"), ("epochs", "4"), ("lr", "5e-3"),
                                ("seed", "2")))

    def test_instruction_sets(self):
        self.check_instruction_sets(*self.train, "--optimizer", "sgd", "--epochs", "1")

    def test_probe(self):
        self.check_probe([*self.train, "--norm", "layer"], [*self.train, "--norm", "detach"])

    def test_interrupt(self):
        self.check_interrupts([*self.train, "--epochs", "200"], ("epoch 20/", signal.SIGINT),
                              ("epoch 60/", signal.SIGTERM))

    def test_dry_run(self):
        self.check_dry_run()

    def test_rewind(self):
        self.check_rewind()

    def test_extension(self):
        self.check_extension("--epochs", 2, 4)

    def test_damaged_notes(self):
        self.check_damaged_notes("epochs", "steps_done", "epoch_loss", "row_loss", "best_validation", "words", "tags", "relations")

    def test_draws_sentences_without_data(self):
        small = ["--embedding", "8", "--hidden", "32", "--batch-size", "128", "--lr", "3e-3", "--epochs", "2"]
        result = run(*small)
        self.assertIn("sentences drawn by this program", result.stdout)
        self.assertGreater(float(re.search(r"test UAS ([\d.]+)", result.stdout)[1]), 0.9)
        run(*small, "--overfit-batch", "--epochs", "20", "--lr", "1e-2", "--dropout", "0")

    @unittest.skipUnless("TAPEGRAD_DATA" in os.environ, "TAPEGRAD_DATA is not set")
    def test_real_sentences(self):
        log = self.path / "log"
        data = pathlib.Path(os.environ["TAPEGRAD_DATA"])
        text = run("--data", data, "--hidden", "64", "--embedding", "16", "--lr", "3e-3", "--epochs", "1",
                   "--log-dir", log).stdout
        for count in "12544", "392214", "2001", "2077", "8865", "49", "36":
            self.assertRegex(text, rf"\b{count}\b")
        best_of_tags_alone = 0.345  # see parsing_test.cpp
        self.assertGreater(json.loads((log / "summary.json").read_text())["test_uas"], best_of_tags_alone + 0.2)
        self.assertIn("392214", run("--data", data / "ud-english-ewt", "--dry-run").stdout)


if __name__ == "__main__":
    unittest.main()
