#!/usr/bin/env python3
"""Writes verdicts.json with NumPy and SciPy: quantiles of Student's t distribution; two systems with
three seeds each, with the mean and the 95 % half-width over seeds of what the first is ahead; and
items with the half-width of their mean by a bootstrap of its own numbers."""

import json
import pathlib

import numpy
import scipy
import scipy.stats

random = numpy.random.default_rng(3)
a, b = random.normal(2, 0.1, 3).round(4), random.normal(3, 0.1, 3).round(4)
seeds = scipy.stats.ttest_rel(b, a).confidence_interval(0.95)
items = random.exponential(1, 50).round(4)
means = random.choice(items, (400_000, len(items))).mean(axis=1)
low, high = numpy.quantile(means, [0.025, 0.975])
golden = {
    "t": {degrees: float(scipy.stats.t.ppf(0.975, degrees)) for degrees in (*range(1, 11), 30, 99, 1000)},
    "a": a.tolist(),
    "b": b.tolist(),
    "advantage": float((b - a).mean()),
    "half_width": float(seeds.high - seeds.low) / 2,
    "items": items.tolist(),
    "items_half_width": float(high - low) / 2,
}
path = pathlib.Path(__file__).with_name("verdicts.json")
path.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in golden.items())
                + "\n}\n")
print(f"{path.name}: NumPy {numpy.__version__}, SciPy {scipy.__version__}")
