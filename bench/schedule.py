#!/usr/bin/env python3
"""The speed-up of training steps that their tasks allow: schedule.py BENCH [ROW...]

BENCH records the tasks of a step as they are divided for P threads, but runs them on one. A greedy schedule gives each
task to the first thread that is free: within a call of parallel_for, since the calls of a step follow each other. Every
call costs what it took to wake a second thread on this machine. Assumed for more threads, not measured: the number of
threads at work doubles in each such time, and tasks take as long beside each other as alone, although they share memory
and caches. Steps of many operations on few numbers seem longer, since recording takes a microsecond for each."""

import argparse
import bisect
import csv
import dataclasses
import heapq
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile


LONGEST_WAIT = 2000  # microseconds that tasks.cpp waits for a second thread


@dataclasses.dataclass
class Section:
    """A part of an operation: what its thread does alone, then tasks that threads can share; microseconds."""
    operation: str
    alone: float
    tasks: list

    def shared(self):
        return sum(self.tasks)


@dataclasses.dataclass
class Costs:
    """Of a call of parallel_for, in microseconds. wake_ups, in rising order: the time alone before it; from the call
    until the calling thread begins a task; until a second one does; from the last task until the call returns."""
    empty_task: float = 0
    wake_ups: tuple = ((0, 0, 0, 0),)

    def after(self, alone):
        """First, second and join for a time alone: on a line between the measured times, constant outside of them."""
        right = bisect.bisect(self.wake_ups, alone, key=lambda entry: entry[0])
        if right == 0 or right == len(self.wake_ups):
            return self.wake_ups[max(right - 1, 0)][1:]
        (low, *before), (high, *behind) = self.wake_ups[right - 1:right + 1]
        return [a + (b - a) * (alone - low) / (high - low) for a, b in zip(before, behind)]


FREE = Costs()


def doublings(thread):
    """After how many doublings of the threads at work this one is among them: 0, 1, 2, 2, 3, 3, 3, 3, 4, ..."""
    return thread.bit_length()


def shared_time(tasks, threads, costs, alone):
    """Microseconds of the tasks on these threads, after a time alone."""
    if threads == 1 or not tasks:
        return sum(tasks)
    first, second, join = costs.after(alone)
    free = [first + doublings(thread) * (second - first) for thread in range(min(threads, len(tasks)))]
    end = 0
    for task in tasks:  # the first is the thread that is free first
        done = free[0] + task + costs.empty_task
        heapq.heapreplace(free, done)
        end = max(end, done)
    return end + join


@dataclasses.dataclass
class Bound:
    """An operation of a step on P threads, in microseconds: its work, and why it takes longer than work / P."""
    work: float = 0
    alone: float = 0    # no tasks: the other threads have nothing to do
    idle: float = 0     # tasks too few or too long to occupy all threads
    waking: float = 0   # waking the others, starting tasks, returning
    longest: float = 0  # the longest task
    counts: set = dataclasses.field(default_factory=set)  # numbers of tasks in its sections

    def lost(self):
        return self.alone + self.idle + self.waking


def bounds(sections, threads, costs):
    """The bounds of each operation, and what the step takes: all work / P and everything that is lost."""
    found, alone = {}, 0
    for section in sections:
        bound = found.setdefault(section.operation, Bound())
        alone += section.alone
        bound.work += section.alone + section.shared()
        bound.alone += section.alone * (1 - 1 / threads)
        if not section.tasks:
            continue
        ideal = shared_time(section.tasks, threads, FREE, 0)
        bound.idle += ideal - section.shared() / threads
        bound.waking += shared_time(section.tasks, threads, costs, alone) - ideal
        bound.longest = max(bound.longest, *section.tasks)
        bound.counts.add(len(section.tasks))
        alone = 0
    total = sum(bound.work / threads + bound.lost() for bound in found.values())
    return found, total


def work(sections):
    return sum(section.alone + section.shared() for section in sections)


def span(sections):
    """What no number of threads can shorten: the time alone, and the longest task of each section."""
    return sum(section.alone + max(section.tasks, default=0) for section in sections)


def speed_up(step, threads, costs):
    """step: the sections by the number of threads for which they are divided."""
    return work(step[1]) / bounds(step[threads], threads, costs)[1]


def measured_speed_up(milliseconds, threads):
    """None for a number of threads that was not measured."""
    return milliseconds["1"] / milliseconds[str(threads)] if str(threads) in milliseconds else None


def typical(steps):
    """The step whose times are the medians of these steps. Steps with other operations than most are left out: those in
    which gradients were short enough not to be clipped."""
    def parts(step):
        return tuple((operation, len(tasks)) for operation, _, tasks in step)

    most = statistics.mode(map(parts, steps))
    steps = [step for step in steps if parts(step) == most]
    return [Section(same[0][0], statistics.median(alone for _, alone, _ in same),
                    [statistics.median(times) for times in zip(*(tasks for *_, tasks in same))])
            for same in zip(*steps)]


def print_speed_ups(rows, costs):
    counts = [count for count in rows[0][1] if count > 1]
    print(f"{'speed-up with threads':<28} {'ms, 1':>8} {'span':>8} {'work/span':>9}"
          + "".join(f" {count:>6}" for count in counts))
    for name, step, measured in rows:
        whole, shortest = work(step[1]), span(step[counts[-1]])
        print(f"{name:<28} {whole / 1e3:>8.3f} {shortest / 1e3:>8.3f} {whole / shortest:>9.1f}"
              + "".join(f" {speed_up(step, count, costs):>6.2f}" for count in counts))
        print(f"{'  without waking':<55}" + "".join(f" {speed_up(step, count, FREE):>6.2f}" for count in counts))
        known = [measured_speed_up(measured, count) for count in counts]
        print(f"{'  measured':<28} {measured['1']:>8.3f}{'':18}"
              + "".join(" " * 7 if each is None else f" {each:>6.2f}" for each in known))


def print_bounds(rows, threads, costs, most):
    print(f"\nWhat keeps {threads} threads from {threads} times the speed, in % of the step on one thread:")
    for name, step, _ in rows:
        found, total = bounds(step[threads], threads, costs)
        whole = work(step[1])
        print(f"\n{name + f', {whole / total:.2f}':<38} {'work':>6} {'lost':>6} {'alone':>6} {'idle':>6} {'waking':>6} "
              f"{'tasks':>11} {'longest us':>10}")
        for operation, bound in sorted(found.items(), key=lambda item: -item[1].lost())[:most]:
            counts = sorted(bound.counts)
            tasks = "-" if not counts else str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            shares = (bound.work, bound.lost(), bound.alone, bound.idle, bound.waking)
            print(f"  {operation:<36}" + "".join(f" {100 * share / whole:>6.2f}" for share in shares)
                  + f" {tasks:>11} {bound.longest:>10.0f}")


def write_report(folder, rows, costs):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "speed_ups.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["row", "threads", "predicted", "without_waking", "measured"])
        for name, step, measured in rows:
            for count in step:
                table.writerow([name, count, speed_up(step, count, costs), speed_up(step, count, FREE),
                                measured_speed_up(measured, count)])
    with open(folder / "bounds.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["row", "threads", "operation", "work_us", "alone_us", "idle_us", "waking_us", "fewest_tasks",
                        "most_tasks", "longest_task_us"])
        for name, step, _ in rows:
            for count, sections in step.items():
                for operation, bound in bounds(sections, count, costs)[0].items():
                    table.writerow([name, count, operation, bound.work, bound.alone, bound.idle, bound.waking,
                                    min(bound.counts, default=0), max(bound.counts, default=0), bound.longest])


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --schedule", description=__doc__.splitlines()[0])
    parser.add_argument("bench", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", help="rows to record (mlp cnn lstm lnlstm transformer)")
    parser.add_argument("--bounds", type=int, default=16, choices=(2, 4, 8, 16, 32, 64), metavar="P",
                        help="list what bounds the speed-up on 2, 4, ... or 64 threads (16)")
    parser.add_argument("--operations", type=int, default=6, help="the number of operations to list for each row (6)")
    parser.add_argument("--report", type=pathlib.Path, metavar="DIR",
                        help="keep the recorded tasks there, and write speed_ups.csv and bounds.csv of all operations")
    parser.add_argument("--from", type=pathlib.Path, dest="recorded", metavar="FILE",
                        help="read recorded tasks, of --report, instead of recording")
    flags = parser.parse_intermixed_args()

    with tempfile.TemporaryDirectory() as temporary:
        recorded = flags.recorded
        if recorded is None:
            folder = flags.report or pathlib.Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            recorded = folder / "tasks.jsonl"
            names = flags.rows or ["mlp", "cnn", "lstm", "lnlstm", "transformer"]
            done = subprocess.run([flags.bench, *names, "--tasks", recorded])
            if done.returncode != 0:
                sys.exit(done.returncode)
        machine, *lines = map(json.loads, recorded.read_text().splitlines())
    costs = Costs(machine["empty_task"], tuple(map(tuple, machine["wake_ups"])))
    if any(second >= LONGEST_WAIT for _, _, second, _ in costs.wake_ups):
        print("bench: other programs kept the second thread from running; measure again on a quiet machine",
              file=sys.stderr)
    rows = [(line["row"], {int(count): typical(steps) for count, steps in line["steps"].items()}, line["ms"])
            for line in lines if not flags.rows or line["row"] in flags.rows]

    print("A call of parallel_for, microseconds, after the calling thread was alone for so long:")
    for title, column in (("alone", 0), ("the calling thread begins", 1), ("a second thread begins", 2),
                          ("from the last task to the end", 3)):
        print(f"{title:<30}" + "".join(f" {entry[column]:>7.3g}" for entry in costs.wake_ups))
    print(f"{'each task':<30} {costs.empty_task:>7.3g}\n")
    print_speed_ups(rows, costs)
    print_bounds(rows, flags.bounds, costs, flags.operations)
    if flags.report is not None:
        write_report(flags.report, rows, costs)


if __name__ == "__main__":
    main()
