#!/usr/bin/env python3
"""The cost model of docs/cluster.md; prints its table."""

import math

# Milliseconds of a step (two cores of an EPYC, bench/figures.jsonl) and megabytes of gradients.
rows = {"mlp": (3.33, 7.47), "lstm": (41.2, 5.42), "transformer_m": (177, 43.1)}
# Mbit/s, and milliseconds until a small message arrives.
networks = {"1 Gbit/s Ethernet": (1e3, 0.05), "10 Gbit/s Ethernet": (1e4, 0.02), "100 Gbit/s InfiniBand": (1e5, 0.002)}
delays_of_message = 4  # of more than 64 KB: first both sides agree on it


def milliseconds(megabytes, processes, rate, delay):
    """A sum over processes: steps of one message each, half of them with 1/2, 1/4, ... of the numbers, then back."""
    steps = 2 * math.log2(processes)
    return steps * delays_of_message * delay + 2 * (1 - 1 / processes) * megabytes * 8000 / rate


def main():
    counts = (2, 8, 64, 1024)
    print(f"{'row':<14} {'network':<22}" + "".join(f" {f'P = {count}':>8}" for count in counts))
    for name, (step, megabytes) in rows.items():
        for network, (rate, delay) in networks.items():
            shares = [step / (step + milliseconds(megabytes, count, rate, delay)) for count in counts]
            print(f"{name:<14} {network:<22}" + "".join(f" {share:>8.0%}" for share in shares))


if __name__ == "__main__":
    main()
