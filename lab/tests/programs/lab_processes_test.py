"""An experiment whose runs are divided among processes: lab_processes_test.py LAB [MPIRUN]"""

import pathlib
import sys
import tempfile
import unittest

import packed_runs
import processes

lab, *launcher = sys.argv[1:]
SMALL = ["depth", "--init", "library", "--layers", "1,2", "--norms", "none,layer,rms", "--placements", "pre",
         "--lr", "0.001", "--steps", "2,3", "--channels", "8", "--seeds", "2"]


def records(runs):
    """The finished runs, without their times, and when their file was written."""
    path = runs / "depth.jsonl.gz"
    found = packed_runs.read(path)
    for record in found.values():
        for part in "seconds", "provenance":  # of the machine, and how many threads it gave
            record.pop(part)
    return found, path.stat().st_mtime_ns


class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def pages(self, folder):
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def made(self, count):
        """What an experiment prints, its pages and its ledger, made in a folder of the same name."""
        place = self.folder / "place"
        result = processes.run(launcher, count, lab, *SMALL, "--runs", place / "runs", "--report", place / "pages")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count(" bits per character, "), 6)  # a line for each network, from one process
        return result.stdout, self.pages(place / "pages"), records(place / "runs")

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_everything_is_as_with_one_process(self):
        *expected, (ledger, _) = self.made(0)
        self.assertEqual(len(ledger), 12)
        for count in 1, 2, 3:
            (self.folder / "place").rename(self.folder / f"before_{count}")
            *found, (kept, written) = self.made(count)
            self.assertEqual(found, expected)
            self.assertEqual(kept, ledger)
            self.assertEqual(self.made(count)[2], (kept, written))  # no run is repeated

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_each_task_of_the_papers_trains_in_processes(self):
        for paper in "ba2016", "xu2019":
            result = processes.run(launcher, 2, lab, paper, "--seeds", "1", "--quiet")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_an_experiment_without_runs_to_divide_is_refused_once(self):
        result = processes.run(launcher, 2, lab, "adanorm")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr.count("lab adanorm: it has no runs to divide among processes, unlike "
                                             "ba2016, depth, divisive, drift, factorial, fork, forms, mnist_norms, queue, signal, xu2019; start it "
                                             "without mpirun\n"), 1)
        self.assertIn("claims hold", processes.run(launcher, 1, lab, "adanorm").stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
