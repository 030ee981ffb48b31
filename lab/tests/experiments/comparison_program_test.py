"""A comparison whose runs are divided among processes: comparison_program_test.py PROGRAM [MPIRUN]"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import packed_runs
import processes

program, *launcher = sys.argv[1:]

ALL = sorted(f"{system} {seed}" for system in "abc" for seed in (1, 2, 3))
COUNTS = range(4) if launcher else range(1)  # 0: without mpirun


class Division(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.runs = self.folder / "runs"

    def run_program(self, count, *flags):
        """The result, and the runs that were begun, in order of their names. Keeps each process's runs."""
        log = self.folder / "log"
        shutil.rmtree(log, ignore_errors=True)
        log.mkdir()
        result = processes.run(launcher, count, program, "--log", log, *flags)
        self.begun = {int(path.name): path.read_text().splitlines() for path in log.iterdir()}
        return result, sorted(sum(self.begun.values(), []))

    def compared(self, count, *flags):
        result, trained = self.run_program(count, *flags)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout, trained

    def records(self, runs):
        """The finished runs by name, without their times and machines."""
        found = {}
        for (run, seed), record in packed_runs.read(runs / "toys.jsonl.gz").items():
            for part in "seconds", "provenance":
                record.pop(part)
            found[f"{run.removeprefix('toys/')} {seed}"] = record
        return found

    def test_every_training_is_done_once_with_the_same_outcome(self):
        expected, trained = self.compared(0)
        self.assertEqual(trained, ALL)
        self.assertEqual(expected.count("\n"), len(ALL))
        self.assertIn("inf", expected)
        for count in COUNTS:
            self.assertEqual(self.compared(count), (expected, ALL), count)

    def test_the_ledger_is_that_of_one_process(self):
        self.compared(0, "--runs", self.runs)
        expected = self.records(self.runs)
        self.assertEqual(sorted(expected), ALL)
        for count in COUNTS:
            runs = self.folder / str(count)
            self.assertEqual(self.compared(count, "--runs", runs)[1], ALL)
            self.assertEqual(self.records(runs), expected)
            again, trained = self.compared(count, "--runs", runs)
            self.assertEqual(trained, [])
            self.assertEqual(again, self.compared(0, "--runs", self.runs)[0])

    def test_processes_that_do_not_know_each_other_lose_no_run_of_one_ledger(self):
        started = []
        for first in 1, 31:
            log = self.folder / str(first)
            log.mkdir()
            flags = "--log", log, "--runs", self.runs, "--seed", str(first), "--seeds", "30"
            started.append(subprocess.Popen([program, *flags], stdout=subprocess.DEVNULL))
        self.assertEqual([each.wait() for each in started], [0, 0])
        self.assertEqual(set(self.records(self.runs)), {f"{system} {seed}" for system in "abc" for seed in range(1, 61)})

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_processes_take_in_turn_what_the_ledger_lacks(self):
        self.compared(2, "--runs", self.runs, "--seeds", 2)
        self.assertEqual(self.begun, {0: ["a 1", "b 1", "c 1"], 1: ["a 2", "b 2", "c 2"]})
        self.compared(3, "--runs", self.runs)
        self.assertEqual(self.begun, {0: ["a 3"], 1: ["b 3"], 2: ["c 3"]})

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_what_is_finished_is_kept_when_a_process_ends(self):
        for flag in "--fails", "--killed":
            for victim in "b 1", "b 2":  # trained by process 1, and by process 0
                with self.subTest(flag=flag, victim=victim):
                    runs = self.folder / f"{flag}{victim}"
                    result, begun = self.run_program(2, "--runs", runs, flag, victim)
                    if flag == "--fails":
                        self.assertEqual(result.returncode, 1, result.stderr)
                        self.assertIn(f"comparison_program: {victim} fails\n", result.stderr)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertEqual(result.stdout, "")
                    kept = set(self.records(runs))
                    before = {"b 1": ["a 2"], "b 2": ["a 1", "a 3"]}[victim]
                    self.assertIn([*before, victim], self.begun.values())  # the same process
                    self.assertLessEqual(set(before), kept)
                    self.assertLess(kept, set(begun))
                    self.assertEqual(self.compared(3, "--runs", runs)[1], sorted(set(ALL) - kept))

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_processes_that_would_compare_something_else_are_refused(self):
        for other, error in {"data": "data of process 1 differs from process 0's: same and other\n",
                             "systems": "the list of systems of process 1 differs from process 0's: "
                                        '[["a",{"toy":"a"}],'}.items():
            result, trained = self.run_program(2, "--other", other)
            self.assertEqual((result.returncode, trained), (1, []))
            self.assertIn("comparison_program: cluster: " + error, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
