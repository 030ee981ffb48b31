#!/usr/bin/env python3
"""Writes logistic.json: the coefficients of L2-regularized logistic regression by scikit-learn."""

import json
import pathlib

import numpy
import sklearn
from sklearn.linear_model import LogisticRegression

source = numpy.random.default_rng(1)
x = numpy.round(source.normal(size=(60, 5)) * [1, 2, 0.5, 1, 3] + [0, 1, -1, 0, 2], 3)
x[:, 3] = numpy.round(0.9 * x[:, 0] + 0.1 * x[:, 3], 3)  # almost the same feature again
labels = (x[:, 0] - x[:, 1] / 2 + source.normal(size=60) > 0).astype(int)


def row(c):
    net = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(x, labels)
    return {"c": c, "weight": net.coef_[0].tolist(), "bias": net.intercept_[0]}


path = pathlib.Path(__file__).with_name("logistic.json")
golden = {"x": x.tolist(), "labels": labels.tolist(), "fits": [row(c) for c in (2**-6, 0.25, 1, 4, 100)]}
path.write_text(json.dumps(golden, indent=0) + "\n")
print(f"{path.name}: {len(golden['fits'])} fits, scikit-learn {sklearn.__version__}")
