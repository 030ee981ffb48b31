"""The grid and the verdicts of `lab forms`, computed from its ledger a second time."""

import math
import re
import statistics

T_975 = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 7: 2.3646, 8: 2.3060, 9: 2.2622}
PROJECTIONS = {"none": "detach", "center": "detach_variance", "scale": "detach_mean", "both": "layer_simple"}
IDENTITY, LAYER_NORM, BACKWARD, FORWARD = "x, 1, none", "z, 1/s, both", "x, 1, both", "z, 1, none"


def norm(form):
    value, factor, projection = form.split(", ")
    options = ["forward=identity"] * (value == "x") + ["factor=1"] * (factor == "1")
    return "none" if form == IDENTITY else ":".join([PROJECTIONS[projection], *[",".join(options)] * bool(options)])


FORMS = [f"{value}, {factor}, {projection}" for value in "xz" for factor in ("1", "1/s") for projection in PROJECTIONS]


def typed(record):
    """The validation errors by rate and the test errors by seed. Older records have them by names."""
    if "tried" in record:
        return dict(record["tried"]), dict(record["tested"])
    before = "validation at the rate "
    tried = {float(name.removeprefix(before)): error for name, error in record["values"].items() if name.startswith(before)}
    return tried, dict(record["traces"]["test"])


class Cell:
    def __init__(self, record):
        tried, self.errors = typed(record)
        tried = {rate: math.inf if error is None else error for rate, error in tried.items()}
        self.rate = min(tried, key=lambda rate: (tried[rate], rate))
        self.edge = self.rate in (min(tried), max(tried))
        self.mean = statistics.mean(self.errors.values())
        self.variance = self.mean / 100 * (1 - self.mean / 100) / record["values"]["test_images"]

    def text(self):
        rate = f"rate {self.rate:.2g}" + ", at the edge" * self.edge
        return f"{self.mean:.2f} +- {statistics.stdev(self.errors.values()):.2f} / {rate}"


def advantage(a, b):
    differences = [b.errors[seed] - a.errors[seed] for seed in a.errors]
    n = len(differences)
    over_seeds = T_975[n - 1] * statistics.stdev(differences) / math.sqrt(n)
    return statistics.mean(differences), math.hypot(over_seeds, 196 * math.sqrt(a.variance + b.variance))


def interaction(layer_norm, backward, forward, none):
    found = [backward.errors[seed] + forward.errors[seed] - layer_norm.errors[seed] - none.errors[seed]
             for seed in layer_norm.errors]
    over_seeds = T_975[len(found) - 1] * statistics.stdev(found) / math.sqrt(len(found))
    variance = sum(cell.variance for cell in (layer_norm, backward, forward, none))
    return statistics.mean(found), math.hypot(over_seeds, 196 * math.sqrt(variance)), over_seeds


def gains(cells):
    """What the passes of layer normalization gain, each with its half-width, and over seeds alone: a row of the report."""
    layer_norm, backward, forward, none = (cells[form] for form in (LAYER_NORM, BACKWARD, FORWARD, IDENTITY))
    found = [interaction(layer_norm, backward, forward, none)]
    for a, b in (backward, none), (forward, none), (backward, forward):
        mean, half = advantage(a, b)
        found.append((mean, half, math.sqrt(half ** 2 - 196 ** 2 * (a.variance + b.variance))))
    return found


def ahead(a, b, least=0):
    mean, half = advantage(a, b)
    return "supported" if mean - half > least else "contradicted" if mean + half < least else "inconclusive"


def within(a, b, most):
    mean, half = advantage(a, b)
    return ("supported" if abs(mean) + half < most else "contradicted" if abs(mean) - half > most else "inconclusive")


def close(cells):
    of_factor_one = sorted((cells[form] for form in FORMS if ", 1, " in form), key=lambda cell: cell.mean)
    return within(of_factor_one[0], of_factor_one[-1], 2)


def learned(cell):
    return cell.mean < 50


def deep(optimizer, judge):
    return lambda s, c: judge(c) if s[:2] == (optimizer, "uniform") and s[2] >= 6 else None


def nowhere_ahead(form):
    return lambda s, c: ahead(c[IDENTITY], c[form])


# In the order of the report.
PREDICTIONS = [
    lambda s, c: within(c[BACKWARD], c[LAYER_NORM], 1) if s[0] == "adam" and learned(c[IDENTITY]) else None,
    deep("momentum", lambda c: ahead(c[LAYER_NORM], c[BACKWARD], 1)),
    deep("adam", lambda c: ahead(c[LAYER_NORM], c[FORWARD], 1)),
    deep("adam", lambda c: ahead(c[BACKWARD], c[FORWARD])),
    deep("momentum", lambda c: ahead(c[FORWARD], c[BACKWARD])),
    lambda s, c: close(c) if s[1] == "he" and learned(c[IDENTITY]) else None,
    *[nowhere_ahead(form) for form in FORMS[4:8]],
    lambda s, c: (None if s[1] != "uniform" or s[2] < 24 else
                  "supported" if learned(c[LAYER_NORM]) and not learned(c[IDENTITY]) else "contradicted"),
]


def combined(verdicts):
    for verdict in "contradicted", "inconclusive":
        if verdict in verdicts:
            return verdict
    return "supported"


def check(records, report):
    """records: the ledger's forms   report: what `lab forms --from-ledger` made of it"""
    settings = {}
    for setting in {run.split("/")[1]: None for run, _ in records}:
        optimizer, initial, layers = setting.split("_")
        settings[optimizer, initial, int(layers)] = {
            form: Cell(records[f"forms/{setting}/{norm(form)}", 101]) for form in FORMS}
    for number, initial in (1, "uniform"), (2, "he"):
        columns = [s for optimizer in ("adam", "momentum") for s in sorted(settings) if s[:2] == (optimizer, initial)]
        expected = [["form"] + [f"{optimizer} {layers}" for optimizer, _, layers in columns]]
        expected += [[form] + [settings[s][form].text() for s in columns] for form in FORMS]
        assert report.rows(f"table{number}") == expected, report.rows(f"table{number}")
    in_order = [(optimizer, initial, layers) for initial in ("uniform", "he") for optimizer in ("adam", "momentum")
                for layers in sorted({layers for _, _, layers in settings})]
    rows = report.rows("table3")[1:]
    assert [row[0] for row in rows] == [" ".join(map(str, s)) for s in in_order], rows
    for s, (_, *cells) in zip(in_order, rows):
        for cell, gain in zip(cells, gains(settings[s]), strict=True):
            shown = re.fullmatch(r"(\S+) \+- (\S+) / over seeds (\S+)", cell).groups()
            assert all(abs(float(text) - found) < 0.0051 + 1e-4 * abs(found) for text, found in zip(shown, gain)), (s, cell, gain)
    verdicts = [combined([found for s, cells in settings.items() if (found := judge(s, cells))]) for judge in PREDICTIONS]
    reported = [verdict.partition(" at this ")[0] for _, verdict, _, _ in report.judged()]
    assert verdicts == reported, (verdicts, reported)
