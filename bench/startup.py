#!/usr/bin/env python3
"""From a clone to the first training step: startup.py

Clones the committed tree to a temporary folder and runs `./dev mnist` there as on a machine that has the packages
and nothing else, without a compiler cache. Times are by the clock; other work on the machine changes the processor
seconds beside them least."""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parent.parent


class Stopwatch:
    """Runs commands, one after the other, and prints the seconds of each and of all."""

    def __init__(self):
        self.elapsed = self.processors = 0.0
        print(f"{'':<44} {'seconds':>9} {'processors':>11}")

    def run(self, what, command, **options):
        begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, **options)
        if done.returncode != 0:
            sys.exit(f"bench: {' '.join(map(str, command))} failed:\n{done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        elapsed = time.monotonic() - begin
        self.elapsed += elapsed
        self.processors += used
        self.show(what, elapsed, used)

    def show(self, what, elapsed, used):
        print(f"{what:<44} {elapsed:>9.1f} {used:>11.1f}", flush=True)


def main():
    argparse.ArgumentParser(prog="./dev bench --startup", description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory(prefix="tapegrad-startup-") as folder:
        clone = pathlib.Path(folder) / "tapegrad"
        fresh = {name: value for name, value in os.environ.items() if not name.startswith(("CCACHE", "TAPEGRAD"))}
        fresh["CCACHE_DISABLE"] = "1"
        watch = Stopwatch()
        watch.run("clone", ["git", "clone", "--quiet", ROOT, clone])
        watch.run("configure and build (./dev mnist --version)", [clone / "dev", "mnist", "--version"], env=fresh)
        # A dry run draws the digits and makes the net: the first step would come next.
        watch.run("program (./dev mnist --dry-run)", [clone / "dev", "mnist", "--dry-run"], env=fresh)
        watch.show("to the first step", watch.elapsed, watch.processors)


if __name__ == "__main__":
    main()
