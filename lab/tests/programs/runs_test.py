"""Runs compared on one page: runs_test.py CHAR_TRANSFORMER LAB [TEST...]"""

import html
import json
import re
import subprocess
import sys
import unittest

from program import TrainerTest, rows_of, run

LAB = sys.argv.pop(1)
QUICK = ["--channels", "16", "--heads", "2", "--layers", "1", "--seq-len", "8", "--batch-size", "4", "--steps", "20"]


def compare(*arguments, code=0):
    result = subprocess.run([LAB, "gradients", *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != code:
        raise AssertionError(f"exit code {result.returncode}, not {code}: {arguments}\n{result.stdout}{result.stderr}")
    return result


def rows_of_run(log):
    return [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]


class Runs(TrainerTest):
    def setUp(self):
        super().setUp()
        self.text = self.path / "text"
        self.text.write_text("abcd efgh. " * 40 + "a bad cafe, he said. " * 20)
        self.logs = [self.train_one("slow", "1e-4"), self.train_one("fast", "1e-2")]
        self.page = self.path / "page"

    def train_one(self, name, rate):
        log = self.path / name
        run(*QUICK, "--data", self.text, "--lr", rate, "--sample", 30, "--prompt", "he", "--log-dir", log)
        return log

    def compare_all(self, code=0):
        return compare("--runs", *self.logs, "--report", self.page, code=code)

    def table(self, title):
        """A table of the page by its first column."""
        text = (self.page / "runs.html").read_text()
        rows = re.search(rf"<h2>{title}</h2>.*?<table>(.*?)</table>", text, re.DOTALL)[1].splitlines()
        cells = [[html.unescape(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)] for row in rows if row]
        return {name: values for name, *values in cells}

    def test_every_curve_has_the_values_of_both_runs(self):
        self.compare_all()
        columns = ["train_loss", "validation_loss", "learning_rate", "gradient_norm", "validation_bpc"]
        page = (self.page / "runs.html").read_text()
        self.assertEqual(page.count("<figure>"), len(columns))
        for number, column in enumerate(columns, 1):
            file = self.page / f"runs_{number}_{column}.csv"
            drawn = {"slow": [], "fast": []}
            for row in rows_of(file):
                for name in drawn:
                    if row[name]:
                        drawn[name].append((int(row["optimizer steps"]), float(row[name])))
            for log in self.logs:
                logged = [(row["step"], row[column]) for row in rows_of_run(log) if column in row]
                self.assertEqual(drawn[log.name], logged, column)
                self.assertGreater(len(logged), 5)
            self.assertIn((self.page / f"runs_{number}_{column}.svg").read_text(), page)

    def test_flags_ends_and_samples(self):
        self.compare_all()
        flags = self.table("Flags in which the runs differ")
        self.assertEqual(flags, {"flag": ["slow", "fast"], "lr": ["0.0001", "0.01"],
                                 "log-dir": [str(log) for log in self.logs]})
        ends = self.table("Where the runs ended")
        page = (self.page / "runs.html").read_text()
        for i, log in enumerate(self.logs):
            last = {name: value for row in rows_of_run(log) for name, value in row.items()}
            summary = json.loads((log / "summary.json").read_text())
            for name in "gradient_norm", "learning_rate":
                self.assertAlmostEqual(float(ends[name][i]), last[name], delta=1e-5 * last[name])
            for name in "steps", "parameters":
                self.assertEqual(ends[name][i], str(summary[name]))
            self.assertEqual(len(summary["sample"]), 2 + 30)
            self.assertIn(f"<h3>{log.name}</h3><pre>{html.escape(summary['sample'], quote=False)}</pre>", page)

    def test_a_comma_or_a_space_between_directories(self):
        first = self.compare_all().stdout
        joined = ",".join(map(str, self.logs))
        self.assertEqual(compare("--runs", joined).stdout, first)

    def test_a_run_that_has_not_ended(self):
        (self.logs[0] / "summary.json").unlink()
        rows = self.logs[0] / "metrics.jsonl"
        rows.write_text(rows.read_text()[:-5])
        self.assertIn(f"{rows}: dropping line {len(rows.read_text().splitlines())}", self.compare_all().stderr)
        self.assertEqual(self.table("Where the runs ended")["steps"], ["", "20"])
        self.assertEqual((self.page / "runs.html").read_text().count("<pre>"), 1)

    def test_damaged_logs_are_named(self):
        for name, damaged in (("metrics.jsonl", lambda text: text.replace("\n", "\n{}\n", 2)),
                              ("metrics.jsonl", lambda text: ""),
                              ("config.json", lambda text: "[]"), ("config.json", lambda text: "[" * 100_000),
                              ("summary.json", lambda text: text[:-3])):
            file = self.logs[1] / name
            text = file.read_text()
            file.write_text(damaged(text))
            error = self.compare_all(code=1).stderr
            self.assertIn(f"{file}: line 2 " if damaged(text) and name == "metrics.jsonl" else f"{file}: it ", error)
            self.assertFalse((self.page / "runs.html").exists())
            file.write_text(text)
        (self.logs[1] / "config.json").unlink()
        self.assertIn("config.json", self.compare_all(code=1).stderr)

    def test_names_from_files_stay_text(self):
        rows = self.logs[0] / "metrics.jsonl"
        rows.write_text(rows.read_text().replace("gradient_norm", "../../<script>"))
        summary = self.logs[0] / "summary.json"
        summary.write_text(json.dumps({"sample": "</pre><script>"}))
        self.compare_all()
        self.assertNotIn("<script", (self.page / "runs.html").read_text())
        self.assertEqual({file.parent for file in self.path.rglob("*.csv")}, {self.page, *self.logs})
        self.assertTrue((self.page / "runs_4________script_.csv").exists())

    def test_runs_of_one_name(self):
        other = self.path / "other" / "slow"
        other.parent.mkdir()
        self.logs[1].rename(other)
        self.logs[1] = other
        self.compare_all()
        self.assertEqual(self.table("Where the runs ended")["last value"], [str(log) for log in self.logs])
        self.assertIn("named twice", compare("--runs", other, other, code=1).stderr)

    def test_wrong_usage(self):
        self.assertIn("--probed", compare("--runs", *self.logs, "--probed", self.logs[0], code=2).stderr)
        self.assertIn("missing", compare("--runs", self.path / "missing", code=1).stderr)


if __name__ == "__main__":
    unittest.main()
