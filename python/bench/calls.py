#!/usr/bin/env python3
"""What a call from Python costs beside PyTorch's: small tensors, where computing takes next to no time.

    calls.py [--rounds N]       prints the median time of each call, and the median of the ratios of the rounds

Both libraries compute on one thread, in alternation."""

import argparse
import statistics
import timeit

import numpy as np
import torch

import tapegrad.float32 as tg


def rows():
    """The name of each call, ours and PyTorch's."""
    values = np.random.default_rng(1).normal(size=(4, 8)).astype(np.float32)
    x, theirs = tg.Tensor(values), torch.tensor(values)
    weight, their_weight = tg.Parameter(tg.ones([8, 8])), torch.ones(8, 8, requires_grad=True)

    def our_step():
        with tg.Tape():
            tg.grad(tg.sum(tg.square(x @ weight)), [weight])

    def their_step():
        torch.autograd.grad(torch.sum(torch.square(theirs @ their_weight)), [their_weight])

    yield "x + x", lambda: x + x, lambda: theirs + theirs
    yield "tanh(x)", lambda: tg.tanh(x), lambda: torch.tanh(theirs)
    yield "x @ x.T", lambda: tg.matmul(x, x, transposed_b=True), lambda: theirs @ theirs.T
    yield "sum(x, -1)", lambda: tg.sum(x, -1), lambda: torch.sum(theirs, -1)
    yield "layer_norm(x)", lambda: tg.layer_norm(x), lambda: torch.nn.functional.layer_norm(theirs, (8,))
    yield "x[1:, None]", lambda: x[1:, None], lambda: theirs[1:, None]
    yield "x.numpy()", lambda: x.numpy(), lambda: theirs.numpy()
    yield "Tensor(array)", lambda: tg.Tensor(values), lambda: torch.tensor(values)
    yield "a step: grad(sum(square(x @ weight)))", our_step, their_step


def main():
    flags = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    flags.add_argument("--rounds", type=int, default=20, help="how often each pair is measured (%(default)s)")
    rounds = flags.parse_args().rounds
    torch.set_num_threads(1)
    print(f"{'call':40} {'tapegrad':>10} {'PyTorch':>10} {'ratio':>7}")
    for name, ours, theirs in rows():
        count = max(1, int(0.005 / (timeit.timeit(theirs, number=100) / 100)))
        times = [[timeit.timeit(call, number=count) / count for call in (ours, theirs)] for _ in range(rounds)]
        our_time, their_time = (statistics.median(column) for column in zip(*times))
        ratio = statistics.median(their_time / our_time for our_time, their_time in times)
        print(f"{name:40} {1e6 * our_time:7.2f} us {1e6 * their_time:7.2f} us {ratio:6.2f}x")


if __name__ == "__main__":
    main()
