#!/usr/bin/env python3
"""What training with several processes costs: cluster.py CLUSTER_BENCH [--rounds N] [--quick]

Sums over processes beside MPI_Allreduce, how much of them the backward sweep hides, and shards on one process. Times
are medians; what is compared takes turns."""

import argparse
import json
import os
import subprocess
import sys

rows = ["mlp", "lstm", "transformer_m"]
networks = {"shared memory": "self,vader", "TCP": "self,tcp"}
# Without these, Open MPI refuses to start as root, or more processes than processors.
environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def measured(command):
    """The objects that the program prints."""
    run = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"bench: {command[0]} failed:\n{run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def on(network, processes):
    return ["mpirun", "--mca", "btl", networks[network], "-n", processes]


def show_sums(launcher, network, processes, program, sizes, rounds):
    for line in measured([*launcher, program, "sum", *sizes, "--rounds", rounds]):
        print(f"{processes:<10} {network:<14} {line['megabytes']:>5.0f} {line['tapegrad']:>9.2f} {line['mpi']:>9.2f} "
              f"{line['tapegrad'] / line['mpi']:>6.2f}", flush=True)


def show_overlap(launcher, network, program, rows, rounds):
    for line in measured([*launcher, program, "overlap", *rows, "--rounds", rounds]):
        communication = line["after"] - line["none"]
        seen = communication > 0.05 * line["none"]  # less is noise
        hidden = f"{(line['after'] - line['overlapped']) / communication:.0%}" if seen else "-"
        print(f"{line['row']:<14} {network:<14} {line['megabytes']:>5.1f} {line['none']:>9.2f} {line['after']:>9.2f} "
              f"{line['overlapped']:>10.2f} {hidden:>7}", flush=True)


def show_shards(program, rows, rounds):
    for line in measured([program, "shards", *rows, "--rounds", rounds]):
        costs = [f"{line[shards]:>9.2f}" if shards in line else f"{'-':>9}" for shards in ("plain", "1", "2", "4", "8")]
        print(f"{line['row']:<14} {' '.join(costs)}", flush=True)


sum_head = f"{'processes':<10} {'network':<14} {'MB':>5} {'tapegrad':>9} {'MPI':>9} {'ratio':>6}"
overlap_title = "A step on 2 processes: no communication, after the sweep, and overlapped with it, milliseconds"
overlap_head = f"{'row':<14} {'network':<14} {'MB':>5} {'alone':>9} {'after':>9} {'overlapped':>10} {'hidden':>7}"


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --cluster", description=__doc__.split("\n\n")[1])
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=15, help="times that each is measured (15)")
    parser.add_argument("--quick", action="store_true", help="only the smallest of each, to see that it works")
    flags = parser.parse_args()
    sizes, processes, chosen = [1, 4, 16, 64], [2, 4], rows
    if flags.quick:
        sizes, processes, chosen = sizes[:1], processes[:1], rows[:1]

    print(f"Sums over processes beside MPI_Allreduce, milliseconds\n{sum_head}")
    for count in processes:
        for network in networks:
            show_sums(on(network, count), network, count, flags.program, sizes, flags.rounds)
    print(f"\n{overlap_title}\n{overlap_head}")
    for network in networks:
        show_overlap(on(network, 2), network, flags.program, chosen, flags.rounds)
    print(f"\nGradients of a batch on one process, plain and over 1 to 8 shards, milliseconds\n"
          f"{'row':<14} {'plain':>9} {'1':>9} {'2':>9} {'4':>9} {'8':>9}")
    show_shards(flags.program, chosen, flags.rounds)


if __name__ == "__main__":
    main()
