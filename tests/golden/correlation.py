#!/usr/bin/env python3
"""Writes correlation.json with SciPy: Pearson's and Spearman's correlations and the mean squared errors of lists."""

import json
import pathlib

import numpy
import scipy
from scipy import stats

source = numpy.random.default_rng(1)
scores = source.integers(10, 51, size=200) / 8  # exact in single precision
LISTS = {
    "two values": ([1, 2], [3, 1]),
    "a rising line": ([1, 2, 3, 4], [3, 5, 7, 9]),
    "a falling line": ([1, 2, 3, 4], [9, 7, 5, 3]),
    "rising, but no line": ([1, 2, 3, 4, 5], [1, 4, 9, 16, 25]),
    "ties in one": ([1, 1, 2, 3, 3, 3], [6, 5, 4, 3, 2, 1]),
    "ties in both": ([1, 1, 2, 3, 3, 3, 0], [2, 2, 1, 2, 1, 1, 5]),
    "nothing to do with each other": ([1, 2, 3, 4], [1, -1, -1, 1]),
    "far from 0": ([4096.5, 4096.75, 4097.25], [-4097.5, -4096.25, -4096.5]),
    "scores with many ties": (scores, numpy.round(4 * (scores + source.normal(size=200))) / 4),
}


def row(guesses, right):
    guesses, right = numpy.asarray(guesses, float), numpy.asarray(right, float)
    return {"guesses": guesses.tolist(), "right": right.tolist(), "pearson": stats.pearsonr(guesses, right)[0],
            "spearman": stats.spearmanr(guesses, right)[0], "mean_squared_error": numpy.mean((guesses - right) ** 2)}


path = pathlib.Path(__file__).with_name("correlation.json")
path.write_text(json.dumps({name: row(*lists) for name, lists in LISTS.items()}, indent=0) + "\n")
print(f"{path.name}: {len(LISTS)} pairs of lists, SciPy {scipy.__version__}")
