"""The program that has the experiments: what it lists and refuses. lab_program_test.py LAB EXPERIMENT..."""

import pathlib
import sys
import tempfile
import unittest

import packed_runs
from program import run, run_redirected, run_unread

EXPERIMENTS = sys.argv[1:]
del sys.argv[1:]


class Program(unittest.TestCase):
    def test_help_lists_every_experiment_with_a_summary(self):
        for flag in "--help", "-h":
            listed = dict(line.split(maxsplit=1)
                          for line in run(flag).stdout.partition("Experiments:\n")[2].splitlines())
            self.assertEqual(sorted(listed), sorted(EXPERIMENTS))
            for name, summary in listed.items():
                self.assertTrue(summary.endswith("."), summary)
                help_text = run(name, flag).stdout
                self.assertTrue(help_text.startswith(summary), help_text)
                self.assertIn(f"lab {name} [OPTIONS]", help_text)

    def test_help_names_the_experiments_for_several_processes(self):
        self.assertIn("divide the runs among them, in: ba2016, depth, divisive, drift, factorial, fork, forms, mnist_norms, queue, "
                      "signal, xu2019.\n", run("--help").stdout)

    def test_help_explains_the_on_verdicts_of_a_published_claim(self):
        for words in (), ("depth",):
            text = run(*words, "--help").stdout
            for value in "supported", "contradicted", "inconclusive at this":
                self.assertIn(value, text)
            self.assertIn("never makes it fail", " ".join(text.split()))

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^lab of tapegrad \d+\.\d+\.\d+\n$")

    def test_an_unknown_experiment_is_refused_and_the_others_are_named(self):
        for word in "depths", "", "--depth":
            error = run(word, code=2).stderr
            for name in EXPERIMENTS:
                self.assertIn(name, error)
        self.assertIn("unknown experiment depths; available: ", run("depths", code=2).stderr)
        self.assertIn("Usage: lab", run(code=2).stderr)
        self.assertLess(len(run("x" * 5000, code=2).stderr), 1000)

    def test_an_error_names_the_experiment(self):
        error = run("depth", "--data", "/dev/null/text", code=1).stderr
        self.assertTrue(error.startswith("lab depth: "), error)

    def test_data_means_the_same_in_every_experiment(self):
        for name, places in (("divisive", "mnist/"), ("drift", "mnist/"), ("fork", "mnist/"), ("forms", "mnist/"),
                             ("mnist_norms", "mnist/"),
                             ("ba2016", "a folder for each"), ("xu2019", "a folder for each")):
            self.assertRegex(" ".join(run(name, "--help").stdout.split()), rf"Folder of [^;]+, or one with {places} in it")
        with tempfile.TemporaryDirectory() as folder:
            for words in (["divisive"], ["drift", "--tasks", "mnist"], ["fork"], ["forms"], ["mnist_norms"], ["ba2016", "--only", "figure6"],
                          ["xu2019", "--tasks", "mnist"]):
                self.assertIn(f"train-images-idx3-ubyte is neither in {folder}/mnist nor in {folder}, gzipped or not\n",
                              run(*words, "--data", folder, code=1).stderr)

    def test_pages_and_pictures_replace_none_of_others(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, file in (("fork", "fork.html"), ("fork", "fork_costs.svg"), ("theorem2", "theorem2.html"),
                               ("tape_tour", "tape_layer_norm.html"), ("tape_tour", "tape_second_derivative.html"),
                               ("pictures", "drift.svg")):
                report, foreign = folder / name, folder / "foreign"
                report.mkdir(exist_ok=True)
                (report / file).write_text("of the user")
                code = 2 if name == "pictures" else 1  # which names all of its files before it begins
                self.assertIn(f"{report / file}", run(name, "--report", report, code=code).stderr)
                self.assertEqual((report / file).read_text(), "of the user")
                (report / file).unlink()
                for text in "of the user", "<svg <title>A tape, step by step</title> <p class=\"headline\">":
                    foreign.write_text(text)
                    (report / file).symlink_to(foreign)
                    self.assertIn(f"{report / file}", run(name, "--report", report, code=code if text[0] == "o" else 1).stderr)
                    self.assertEqual(foreign.read_text(), text)
                    (report / file).unlink()
            for name in "tape_tour", "pictures":
                for _ in range(2):
                    run(name, "--report", folder / name)

    def test_the_index_links_to_the_reports_of_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            run("theorem2", "--report", folder)
            run("tape_tour", "--report", folder)
            for _ in range(2):
                run("index", "--report", folder)
            index = pathlib.Path(folder, "index.html")
            self.assertRegex(index.read_text(), r'<li><a href="theorem2.html">[^<]+</a>: \d+ of \d+ claims hold')
            self.assertIn('<a href="tape_second_derivative.html">', index.read_text())
            self.assertNotIn("theorem1.html", index.read_text())
            index.write_text("of the user")
            self.assertIn(str(index), run("index", "--report", folder, code=1).stderr)
            self.assertEqual(index.read_text(), "of the user")

    def test_a_page_is_not_read_by_its_experiment(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "depth_losses.csv"
            data.write_text("of the user")
            error = run("depth", "--data", data, "--report", folder, code=2).stderr
            self.assertIn(f"--report: would replace {data}, which --data reads", error)

    def test_a_grid_with_an_impossible_setting_is_refused(self):
        self.assertIn("4 do not divide 30 channels", run("depth", "--channels", "32,30", code=2).stderr)
        for flag, value in ("--init", "paper,zero"), ("--lr", "0.1,0"), ("--steps", "1,100"):
            self.assertIn(flag, run("depth", flag, value, code=2).stderr)

    def test_a_seed_that_chooses_settings_cannot_be_a_result(self):
        # xu2019 has a task with five seeds; the others have five or more.
        for name, seed in ("xu2019", "99"), ("xu2019", "97"), ("fork", "97"), ("fork", "101"), ("forms", "97"), ("forms", "101"):
            self.assertIn("101 is the seed by which settings are chosen", run(name, "--seed", seed, code=2).stderr)

    def test_every_study_that_trains_shows_its_runs_again(self):
        with tempfile.TemporaryDirectory() as runs:
            flags = ["--limit", "200", "--epochs", "1", "--runs", runs]
            trained = run("mnist_norms", *flags, "--seeds", "2", "--quiet").stdout
            self.assertEqual(run("mnist_norms", *flags, "--seeds", "2", "--from-ledger").stdout, trained)
            self.assertIn("--runs has no run of cnn_none with seed 3",
                          run("mnist_norms", *flags, "--seeds", "3", "--from-ledger", code=1).stderr)

    def test_tasks_beside_the_tables_of_xu2019(self):
        with tempfile.TemporaryDirectory() as runs:
            run("xu2019", "--tasks", "rt_splits,enwik8_short,enwik8", "--only", "table1", "--seeds", "1", "--quiet", "--runs", runs)
            records = packed_runs.read(pathlib.Path(runs, "xu2019.jsonl.gz"))
            for task, count in ("rt_splits", 5), ("enwik8_short", 1):
                seeds = {}
                for run_name, seed in records:
                    study, of_task, system = run_name.split("/")
                    if of_task == task and "@" in system and seed != 101:
                        seeds.setdefault(system.partition("@")[0], set()).add(seed)
                self.assertEqual(seeds, {system: set(range(1, count + 1)) for system in ("layer", "layer_simple")})
            whole, short = (records[f"xu2019/{task}/bigram", 1] for task in ("enwik8", "enwik8_short"))
            self.assertNotEqual(whole["data"], short["data"])
            # The same bytes are tested, and fewer were counted.
            self.assertLess(whole["values"]["test"], short["values"]["test"])

    def test_help_whose_reader_has_seen_enough(self):
        for words in ("--help",), ("--version",), ("adanorm", "--help"):
            self.assertEqual(run_unread(*words), ("", 0), words)

    def test_output_that_cannot_be_written_is_a_failure(self):
        for words in (), ("--version",), ("adanorm", "--help"):
            self.assertEqual(run_redirected(">/dev/full", *(words or ("--help",))).returncode, 1, words)


if __name__ == "__main__":
    unittest.main()
