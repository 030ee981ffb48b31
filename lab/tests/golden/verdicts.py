#!/usr/bin/env python3
"""Writes verdicts.json with NumPy and SciPy: quantiles of Student's t distribution; two systems with
three seeds each, with the mean and the 95 % half-width over seeds of what the first is ahead;
items with the half-width of their mean by a bootstrap of its own numbers; powers of equalities; and
a variance that is pooled over systems."""

import json
import pathlib

import numpy
import scipy
import scipy.integrate
import scipy.stats

random = numpy.random.default_rng(3)
a, b = random.normal(2, 0.1, 3).round(4), random.normal(3, 0.1, 3).round(4)
seeds = scipy.stats.ttest_rel(b, a).confidence_interval(0.95)
items = random.exponential(1, 50).round(4)
means = random.choice(items, (400_000, len(items))).mean(axis=1)
low, high = numpy.quantile(means, [0.025, 0.975])


def power(seeds, error, items_width, margin):
    """That the interval of a mean lies within the margin, over the sample deviations of normal seeds."""
    t, normal, degrees = scipy.stats.t.ppf(0.975, seeds - 1), scipy.stats.norm, seeds - 1
    of_mean = numpy.hypot(error, items_width / normal.ppf(0.975))

    def shown(chi2):
        room = margin - numpy.hypot(t * error * numpy.sqrt(chi2 / degrees), items_width)
        return (2 * normal.cdf(room / of_mean) - 1) * scipy.stats.chi2.pdf(chi2, degrees) if room > 0 else 0

    # Beyond this number the interval is too wide.
    end = degrees * max(margin ** 2 - items_width ** 2, 0) / (t * error) ** 2
    return scipy.integrate.quad(shown, 0, end, epsabs=1e-10, limit=500)[0]


powers = [dict(zip(("seeds", "error", "items_width", "margin"), each), power=power(*each)) for each in (
    (3, 0.16, 0.36, 0.5), (3, 0.17, 0.12, 0.3), (5, 0.1, 0, 0.5), (10, 0.2, 0.3, 1), (3, 0.1, 1.7, 1))]

# Values of five systems with four seeds, and the residuals of effects of the system and of the seed.
values = (random.normal(0, 1, (5, 1)) + random.normal(0, 1, (1, 4)) + random.normal(0, 0.3, (5, 4))).round(4)
design = numpy.array([[*numpy.eye(5)[i], *numpy.eye(4)[j]] for i in range(5) for j in range(4)])
fitted, _, rank, _ = numpy.linalg.lstsq(design, values.ravel(), rcond=None)
deviation = numpy.sqrt(((values.ravel() - design @ fitted) ** 2).sum() / (20 - rank))
pooled = {"values": values.tolist(), "deviation": float(deviation), "degrees": 20 - int(rank),
          "half_width": float(scipy.stats.t.ppf(0.975, 20 - rank) * deviation * numpy.sqrt(2 / 4))}

golden = {
    "t": {degrees: float(scipy.stats.t.ppf(0.975, degrees)) for degrees in (*range(1, 11), 30, 99, 1000)},
    "a": a.tolist(),
    "b": b.tolist(),
    "advantage": float((b - a).mean()),
    "half_width": float(seeds.high - seeds.low) / 2,
    "items": items.tolist(),
    "items_half_width": float(high - low) / 2,
    "powers": powers,
    "pooled": pooled,
}
path = pathlib.Path(__file__).with_name("verdicts.json")
path.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in golden.items())
                + "\n}\n")
print(f"{path.name}: NumPy {numpy.__version__}, SciPy {scipy.__version__}")
