"""Schedules whose times are known, and what ./dev bench --schedule prints: schedule_test.py ROOT BENCH"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

root, bench = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(root / "bench"))
sys.dont_write_bytecode = True
from schedule import Costs, FREE, Section, bounds, measured_speed_up, shared_time  # noqa: E402
from schedule import span, speed_up, typical, work  # noqa: E402

# A call costs its thread 1, a second one begins after 3, and it returns 2 after the last task; after 100 alone, threads
# sleep, and a second one begins after 43.
COSTS = Costs(0, ((0, 1, 3, 2), (100, 1, 43, 2)))


class ScheduleTest(unittest.TestCase):
    def test_threads_take_the_next_task_when_they_are_free(self):
        for tasks, threads, time in (([10, 10, 10], 1, 30), ([10, 10, 10], 2, 20), ([10, 10, 10], 3, 10),
                                     ([10, 10, 10], 64, 10), ([1, 1, 1, 1, 4], 2, 6), ([4, 1, 1, 1, 1], 2, 4),
                                     ([30, 10, 10, 10], 2, 30), ([30, 10], 2, 30), ([], 4, 0)):
            self.assertEqual(shared_time(tasks, threads, FREE, 0), time, (tasks, threads))

    def test_a_call_costs_what_threads_take_to_wake_and_return(self):
        # The threads begin at 1 and 3; the first is free again at 11, before the other.
        self.assertEqual(shared_time([10, 10, 10], 2, COSTS, 0), 21 + 2)
        self.assertEqual(shared_time([10, 10, 10], 1, COSTS, 0), 30)
        # Four threads begin at 1, 3, 5 and 5, since those at work double.
        self.assertEqual(shared_time([10] * 4, 4, COSTS, 0), 15 + 2)
        self.assertEqual(shared_time([10] * 5, 5, COSTS, 0), 17 + 2)
        # No thread comes for a task that the calling one can begin before.
        self.assertEqual(shared_time([1, 1], 2, COSTS, 1000), 1 + 2 + 2)
        # Halfway between the times that were measured, the second thread begins after 23.
        self.assertEqual((COSTS.after(50), COSTS.after(1000)), ([1, 23, 2], (1, 43, 2)))
        self.assertEqual(shared_time([40, 40], 2, COSTS, 50), 63 + 2)
        self.assertEqual(shared_time([10, 10], 2, Costs(5, ((0, 0, 0, 0),)), 0), 15)

    def test_what_is_lost_adds_up_to_the_time_of_a_step(self):
        step = [Section("matmul", 2, [10, 10, 10]), Section("matmul", 4, []), Section("sum", 6, [8, 8, 8, 8]),
                Section("sum", 1, [])]
        self.assertEqual((work(step), span(step)), (75, 2 + 10 + 4 + 6 + 8 + 1))
        found, total = bounds(step, 2, FREE)
        self.assertEqual(total, 2 + 20 + 4 + 6 + 16 + 1)
        self.assertEqual((found["matmul"].alone, found["matmul"].idle, found["matmul"].waking), (3, 5, 0))
        self.assertEqual((found["sum"].alone, found["sum"].idle, found["sum"].longest), (3.5, 0, 8))
        self.assertEqual(bounds([Section("max", 0, [1, 5, 2])], 2, FREE)[0]["max"].longest, 5)
        self.assertEqual((found["matmul"].counts, found["sum"].counts), ({3}, {4}))
        self.assertEqual(bounds(step, 64, FREE)[1], span(step))
        self.assertEqual(bounds(step, 1, COSTS)[1], work(step))
        # Before the second call, the thread is alone for 4 and 6: a second one begins after 7.
        found, total = bounds(step, 2, COSTS)
        self.assertEqual(found["matmul"].waking, shared_time([10] * 3, 2, COSTS, 2) - 20)
        self.assertEqual(found["sum"].waking, shared_time([8] * 4, 2, COSTS, 10) - 16)
        self.assertEqual(total, 13 + shared_time([10] * 3, 2, COSTS, 2) + shared_time([8] * 4, 2, COSTS, 10))

    def test_a_step_is_the_median_of_several(self):
        steps = [[["exp", 1, [5, 6]]], [["exp", 30, [4, 70]]], [["exp", 2, [6, 8]]]]
        self.assertEqual(typical(steps), [Section("exp", 2, [5, 8])])
        self.assertEqual(typical([[["exp", 90, [90]]], *steps, [["log", 90, [90, 90]]]]), typical(steps))


    def test_a_speed_up_compares_the_divisions_for_one_thread_and_for_several(self):
        step = {1: [Section("matmul", 20, [])], 2: [Section("matmul", 0, [12, 12])]}
        self.assertEqual(speed_up(step, 2, FREE), 20 / 12)
        self.assertEqual((measured_speed_up({"1": 6, "2": 4}, 2), measured_speed_up({"1": 6}, 2)), (1.5, None))


class ProgramTest(unittest.TestCase):
    def run_schedule(self, *arguments):
        return subprocess.run([sys.executable, "-B", root / "bench/schedule.py", bench, *map(str, arguments)],
                              capture_output=True, text=True)

    def test_it_records_a_step_and_reads_it_again(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report"
            done = self.run_schedule("layernorm_4096x512", "--report", report)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("layer_norm backward", done.stdout)
            machine, line = map(json.loads, (report / "tasks.jsonl").read_text().splitlines())
            self.assertGreater(machine["empty_task"], 0)
            self.assertTrue(all(0 <= first <= second for _, first, second, _ in machine["wake_ups"]), machine)
            self.assertEqual(line["row"], "layernorm_4096x512")
            self.assertEqual(list(line["steps"]), ["1", "2", "4", "8", "16", "32", "64"])
            sections = typical(line["steps"]["1"])
            names = [section.operation for section in sections]
            self.assertEqual(names[-1], "rest")
            # An operation ends with a section without tasks, and its calls of parallel_for come before.
            self.assertEqual([len(section.tasks) > 1 for section in sections if section.operation == "layer_norm"][-2:],
                             [True, False])
            # What is recorded is the step, without the time in which others use the processor.
            self.assertTrue(0 < work(sections) / 1e3 < 3 * line["ms"]["1"], (work(sections), line["ms"]))
            table = list(csv.DictReader((report / "speed_ups.csv").read_text().splitlines()))
            self.assertEqual([entry["threads"] for entry in table], list(line["steps"]))
            for entry in table:
                self.assertTrue(0.5 < float(entry["without_waking"]) < 2 * int(entry["threads"]), entry)
            again = self.run_schedule("--from", report / "tasks.jsonl")
            self.assertEqual(again.stdout, done.stdout)
            for second, words in ((1, ""), (2001, "on a quiet machine")):
                wakened = machine | {"wake_ups": [[0, 1, second, 1]]}
                (report / "tasks.jsonl").write_text(f"{json.dumps(wakened)}\n{json.dumps(line)}\n")
                warned = self.run_schedule("--from", report / "tasks.jsonl").stderr
                self.assertTrue(words in warned and bool(words) == bool(warned), warned)

    def test_it_names_a_row_that_it_does_not_know(self):
        done = self.run_schedule("no_such_row")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no_such_row", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
