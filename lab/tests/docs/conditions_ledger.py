"""The tables and verdicts of `lab signal` and `lab factorial`, computed from their ledgers a second time."""

import math
import random
import re
import statistics

from forms_ledger import FORMS, T_975, norm

CHOOSING, SEEDS = (101, 102), range(201, 211)
CONSTRAINTS = "center", "unit", "center+unit"


def diverged(record):
    curve = [point[1] for point in record["curve"]]
    tenth = (len(curve) + 9) // 10
    return None in record["values"].values() or None in curve or not sum(curve[-tenth:]) <= sum(curve[:tenth])


class Cell:
    """The runs of a system at the rate with the least mean validation loss."""

    def __init__(self, settings, worst):
        def loss(rate):
            found = settings[rate]
            return statistics.mean(math.inf if diverged(found[seed]) else found[seed]["values"]["validation"] for seed in CHOOSING)

        tried = sorted(rate for rate in settings if all(seed in settings[rate] for seed in CHOOSING))
        self.rate = min(tried, key=lambda rate: (loss(rate), rate))
        self.edge = self.rate in (tried[0], tried[-1])
        self.runs = [settings[self.rate][seed] for seed in SEEDS if seed in settings[self.rate]]
        self.values = [worst if diverged(run) else run["values"]["test"] for run in self.runs]
        self.diverged = sum(map(diverged, self.runs))

    def text(self, decimals):
        ends = (f"{self.diverged} of {len(self.runs)} diverged" if self.diverged else
                f"{statistics.mean(self.values):.{decimals}f} +- {statistics.stdev(self.values):.{decimals}f} ({len(self.runs)})")
        return f"{ends} / @{self.rate:.3g}" + ", at the edge" * self.edge


class Column:
    """The cells of a task, by their systems."""

    def __init__(self, records, study, task):
        self.is_text = not task.startswith(("perceptron", "conv_net"))
        settings = {}
        for (run, seed), record in records.items():
            of_study, of_task, setting = run.split("/")
            if (of_study, of_task) == (study, task):
                system, _, rate = setting.rpartition("@")
                settings.setdefault(system, {}).setdefault(float(rate), {})[seed] = record
        self.cells = {system: Cell(rates, math.inf if self.is_text else 100) for system, rates in settings.items()}
        self.margin = 0.02 if self.is_text else 0.3 if task.startswith("conv_net") else 1

    def lead(self, a, b):
        """How far a is ahead of b, seed by seed."""
        pairs = zip(self.cells[a].values, self.cells[b].values, strict=True)
        return [0 if one == other else other - one for one, other in pairs]

    def at_edge(self, *systems):
        return any(self.cells[system].edge for system in systems)


def interval(differences):
    mean = statistics.mean(differences)
    if not math.isfinite(mean):
        return mean, 0 if len(set(differences)) == 1 else math.inf
    return mean, T_975[len(differences) - 1] * statistics.stdev(differences) / math.sqrt(len(differences))


def ratio(part, whole):
    """Of two sums over seeds, with the interval of resampled seeds; nothing if the whole is no lead."""
    draw = random.Random(1)
    found = []
    for _ in range(10000):
        seeds = draw.choices(range(len(whole)), k=len(whole))
        below = sum(whole[i] for i in seeds)
        found.append(sum(part[i] for i in seeds) / below if below > 0 else math.nan)
    low = sorted(-math.inf if math.isnan(x) else x for x in found)[250]
    high = sorted(math.inf if math.isnan(x) else x for x in found)[9749]
    return sum(part) / sum(whole), low, high


def expect_ratio(text, part, whole):
    if not sum(whole) > 0:
        assert text == "no cost", text
        return
    shown = [float(number) for number in re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", text).groups()]
    found = ratio(part, whole)
    # Resamples differ from those of the laboratory.
    room = 0.006 if not math.isfinite(found[2] - found[1]) else 0.006 + 0.1 * (found[2] - found[1])
    assert abs(shown[0] - found[0]) <= 0.0051 + 1e-3 * abs(found[0]), (text, found)
    for one, other in zip(shown[1:], found[1:]):
        assert one == other or abs(one - other) <= room, (text, found)


def expect_advantage(text, differences, decimals):
    shown = [float(number) for number in re.match(r"(\S+) \+- (\S+)", text).groups()]
    for one, other in zip(shown, interval(differences)):
        assert one == other or abs(one - other) <= 0.51 * 10.0 ** -decimals + 0.005 * abs(other), (text, interval(differences))


def expect_tests(columns, titles, table):
    header, *rows = table
    assert header == ["system", *titles], header
    for system, *texts in rows:
        for column, text in zip(columns, texts, strict=True):
            cell = column.cells.get(system)
            if cell is None or not cell.runs:
                assert text == "not run", (system, text)
            elif len(cell.runs) == len(SEEDS):
                assert text == cell.text(3 if column.is_text else 2), (system, text, cell.text(3 if column.is_text else 2))


def expect_shares(columns, detached, table):
    """What a detached statistic costs, and R of each constraint."""
    (_, *costs), *rows = table[1:]
    for column, text in zip(columns, costs, strict=True):
        if text != "not run" and not column.at_edge("layer_simple", detached) and "diverge" not in text:
            shown = re.match(r"(\S+) \+- (\S+) \(10 seeds\)", text)
            mean, half = interval(column.lead("layer_simple", detached))
            assert math.isclose(float(shown[1]), mean, rel_tol=0.006) and math.isclose(float(shown[2]), half, rel_tol=0.06), (text, mean, half)
    for (name, *texts), constraint in zip(rows, CONSTRAINTS, strict=True):
        assert name == f"R of {constraint}", name
        for column, text in zip(columns, texts, strict=True):
            if text != "not run":
                expect_ratio(text, column.lead(f"{detached}+{constraint}", detached), column.lead("layer_simple", detached))
