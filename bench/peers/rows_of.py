"""What the peers written in Python share: flags, the loop that measures, lines of JSON and --check.

A peer gives its rows as a dictionary from names to functions; each prepares a network and data and returns a step,
a function that does all of the work before it returns. The step of a row that trains returns its loss."""

import argparse
import json
import os
import resource
import sys
import time

CANNOT = 3  # the exit code if the peer cannot do a row


class CannotRun(Exception):
    """A row that the peer cannot do, and why."""


def parse(description, *switches):
    """The flags of every peer, with switches of its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("rows", nargs="*", help="rows to measure (all)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="also write one JSON object per row to this file")
    parser.add_argument("--check", action="store_true", help="measure nothing; check that the loss falls in 20 steps")
    for switch, text in switches:
        parser.add_argument(switch, action="store_true", help=text)
    return parser.parse_args()


def pin(threads):
    """Lets the process run on that many processors only, which limits a library that sizes its own thread pool."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def measure(step):
    """Milliseconds of steps, sorted. As bench does: after 0.3 s of warming up, 10 to 1000 steps within about 1 s."""
    for _ in range(3):
        step()
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.3:
        step()
    times = []
    begin = time.perf_counter()
    while len(times) < 10 or (time.perf_counter() - begin < 1 and len(times) < 1000):
        step_begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - step_begin) * 1000)
    return sorted(times)


def falls(name, step):
    """Whether the loss of 20 steps falls; without a loss, that the step runs."""
    losses = [step() for _ in range(20)]
    if losses[0] is None:
        print(f"{name:<28} runs")
        return True
    first, last = float(losses[0]), float(losses[-1])
    print(f"{name:<28} loss {first:.4f} -> {last:.4f}", "" if last < first else "DOES NOT FALL", flush=True)
    return last < first


def main(flags, implementation, version, rows, note=lambda: "", tape_megabytes=None):
    """Measures or checks the chosen rows. note: returns a remark on the row that was just measured. tape_megabytes: runs
    a step and returns what it keeps for its backward pass, if the peer can count that."""
    unknown = [name for name in flags.rows if name not in rows]
    if unknown:
        print(f"{implementation}: unknown row {unknown[0]}; available: {', '.join(rows)}", file=sys.stderr)
        sys.exit(CANNOT)
    status, lines = 0, []
    for name in flags.rows or rows:
        try:
            step = rows[name]()
            if flags.check:
                status = status or int(not falls(name, step))
                continue
            times = measure(step)
        except CannotRun as reason:
            print(f"{implementation}: {name}: {reason}", file=sys.stderr)
            status = status or CANNOT
            continue
        ms, peak = times[len(times) // 2], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name:<28} {ms:10.3f} {times[len(times) // 10]:10.3f} {times[len(times) * 9 // 10]:10.3f} {peak:12.0f}",
              flush=True)
        line = {"row": name, "implementation": implementation, "version": version, "threads": flags.threads, "ms": ms,
                "peak_rss_mb": peak}
        if name == "overhead":
            line["us_per_op"] = ms  # 1000 operations
        if tape_megabytes:
            line["tape_mb"] = tape_megabytes(step)
        if note():
            line["note"] = note()
        lines.append(json.dumps(line) + "\n")
    if flags.json:
        with open(flags.json, "w") as file:
            file.writelines(lines)
    sys.exit(status)
