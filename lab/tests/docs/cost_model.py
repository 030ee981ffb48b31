"""Does one model predict what a detached mean costs on other tasks? Fitted on the Transformers of `lab drift`, with the
mean cosine between a detached and the attached gradient and the largest common mode of the weights:

    log cost = a + b (1 - cosine) + c log(rms(c) / rms(V)),   cost in percent of the attached loss"""

import math
import re
import statistics

import conditions_ledger

FITTED, PREDICTED = "grammar", {"mnist": "perceptron on MNIST", "cnn": "ConvNet on MNIST"}


def settings(records):
    """By task: the model's inputs, and the logarithm of the cost; settings without a cost have none."""
    runs, found = {}, {}
    for (run, seed), record in records.items():
        if part := re.fullmatch(r"drift/(\w+?)_(.*)_(layer_simple|detach_mean)_none_(.*)", run):
            task, condition, form, rate = part.groups()
            runs.setdefault((task, condition, rate), {}).setdefault(form, []).append(record)
    for (task, _, _), forms in runs.items():
        if any(map(conditions_ledger.diverged, forms["layer_simple"] + forms["detach_mean"])):
            continue
        attached, detached = ([run["values"]["test"] for run in forms[form]] for form in ("layer_simple", "detach_mean"))
        cost = 100 * (sum(detached) / sum(attached) - 1)

        def over_runs(trace, of):
            return statistics.mean(of(y for _, y in run["traces"][trace]) for run in forms["detach_mean"])

        inputs = 1, 1 - over_runs("cosine", statistics.mean), math.log(over_runs("weights", max))
        found.setdefault(task, []).append((inputs, math.log(cost) if cost > 0 else None))
    return found


def least_squares(inputs, values):
    """By elimination in the normal equations."""
    columns = list(zip(*inputs))
    rows = [[sum(x * y for x, y in zip(a, b)) for b in (*columns, values)] for a in columns]
    for i, row in enumerate(rows):
        rows[i] = row = [x / row[i] for x in row]
        for k, other in enumerate(rows):
            if k != i:
                rows[k] = [x - other[i] * y for x, y in zip(other, row)]
    return [row[-1] for row in rows]


def check():
    """That planted factors are found."""
    inputs = [(1, a, a * a % 7) for a in range(9)]
    found = least_squares(inputs, [2 - 3 * a + 0.5 * b for _, a, b in inputs])
    assert all(math.isclose(x, planted) for x, planted in zip(found, (2, -3, 0.5), strict=True)), found


def explained(values, predictions):
    """R squared."""
    mean = statistics.mean(values)
    return 1 - sum((v - p) ** 2 for v, p in zip(values, predictions)) / sum((v - mean) ** 2 for v in values)


def table(records):
    found = settings(records)
    with_cost = {task: list(zip(*(each for each in of if each[1] is not None))) for task, of in found.items()}
    model = least_squares(*with_cost[FITTED])
    rows = [["task", "settings", "with a cost", "R^2 of log cost"]]
    for task, name in ({FITTED: "Transformers on drawn sentences, fitted"} | PREDICTED).items():
        inputs, values = with_cost[task]
        predictions = [sum(a * b for a, b in zip(model, each)) for each in inputs]
        rows.append([name, str(len(found[task])), str(len(values)), f"{explained(values, predictions):.2f}"])
    return rows
