"""A run on one and on several processes: cluster_program_test.py PROGRAM [MPIRUN]"""

import pathlib
import sys
import tempfile
import unittest

import processes

program, *launcher = sys.argv[1:]


def run(count, *arguments):
    return processes.run(launcher, count, program, *arguments)


class Training(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def trained(self, processes, shards=5):
        path = self.folder / f"{processes}_{shards}"
        result = run(processes, shards, 0, 6, path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, f"{max(processes, 1)} processes, 19 rows\n")
        return path.read_bytes()

    def test_the_shards_decide_not_the_processes(self):
        alone = self.trained(0)
        self.assertNotEqual(alone, self.trained(0, shards=4))
        for processes in range(1, 6) if launcher else ():
            self.assertEqual(self.trained(processes), alone, f"{processes} processes")

    def test_more_shards_than_rows(self):
        alone = self.trained(0, shards=23)
        if launcher:
            self.assertEqual(self.trained(4, shards=23), alone)

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_a_training_goes_on_with_another_number_of_processes(self):
        path = self.folder / "resumed"
        for processes, first, last in (2, 0, 3), (3, 3, 6):
            result = run(processes, 5, first, last, path)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(path.read_bytes(), self.trained(0))

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_a_failure_ends_all_processes_with_its_message(self):
        for place, rank in ("forward", 1), ("backward", 1), ("between", 2), ("saving", 0):
            with self.subTest(place):
                result = run(3, 5, 0, 6, self.folder / "failed", place, rank)
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertIn(f"cluster_program: process {rank} fails in {place}", result.stderr)
                self.assertFalse((self.folder / "failed").exists())

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_a_killed_process_ends_all(self):
        result = run(3, 5, 0, 6, self.folder / "killed", "kill", 1)
        self.assertNotEqual(result.returncode, 0)

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_different_flags_are_refused(self):
        for rank in 1, 2:
            result = run(3, 5, 0, 6, self.folder / "different", "flags", rank)
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn(f"cluster: the number of steps of process {rank} differs from process 0's: "
                          "another and 6\n", result.stderr)
            self.assertFalse((self.folder / "different").exists())

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_what_is_true_on_any_process_is_true_on_all(self):
        for rank in range(3):
            result = run(3, 5, 0, 0, self.folder / "any", "any", rank)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(sorted(result.stdout.splitlines()),
                             ["3 processes, 19 rows", *(f"process {each} stops" for each in range(3))])

    @unittest.skipUnless(launcher, "there is no MPI")
    def test_too_few_shards_are_refused(self):
        result = run(3, 2, 0, 6, self.folder / "few")
        self.assertEqual(result.returncode, 3)
        self.assertIn("cluster: 3 processes have only 2 shards", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
