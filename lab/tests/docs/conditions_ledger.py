"""The tables and verdicts of `lab signal` and `lab factorial`, computed from their ledgers a second time."""

import math
import random
import re
import statistics

import fork_ledger
from forms_ledger import BACKWARD, FORWARD, IDENTITY, LAYER_NORM, norm

CHOOSING, SEEDS = (101, 102), range(201, 211)
EXPLORED = re.compile("(pre|post)_[26]_")  # tasks of the factorial that no prediction is about
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
        self.edge = self.rate in (tried[0], tried[-1]) or math.isinf(loss(tried[0]))
        self.choosing = [settings[self.rate][seed]["values"] for seed in CHOOSING]
        self.runs = [settings[self.rate][seed] for seed in SEEDS if seed in settings[self.rate]]
        self.values = [worst if diverged(run) else run["values"]["test"] for run in self.runs]
        self.diverged = sum(map(diverged, self.runs))

    def expect(self, text, decimals):
        ends, _, rate = text.partition(" / ")
        assert rate == f"@{self.rate:.3g}" + ", at the edge" * self.edge, (text, self.rate)
        if self.diverged:
            assert ends == f"{self.diverged} of {len(self.runs)} diverged", (text, self.diverged)
            return
        mean, deviation, count = re.fullmatch(r"(\S+) \+- (\S+) \((\d+)\)", ends).groups()
        assert int(count) == len(self.runs), text
        for shown, found in (mean, statistics.mean(self.values)), (deviation, statistics.stdev(self.values)):
            assert abs(float(shown) - found) <= 0.51 * 10.0 ** -decimals, (text, found)


class Column:
    """The cells of a task, by their systems."""

    def __init__(self, records, study, task):
        self.is_loss = not task.startswith(("perceptron", "conv_net", "ud_ewt"))  # is tested, in place of a percentage
        self.is_parser = task.startswith("ud_ewt")
        self.sign = -1 if self.is_parser else 1  # of a loss; a UAS is better if greater
        settings = {}
        for (run, seed), record in records.items():
            of_study, of_task, setting = run.split("/")
            if (of_study, of_task) == (study, task):
                system, _, rate = setting.rpartition("@")
                settings.setdefault(system, {}).setdefault(float(rate), {})[seed] = record
        worst = math.inf if self.is_loss else 0 if self.sign < 0 else 100
        self.cells = {system: Cell(rates, worst) for system, rates in settings.items()}
        self.settings = settings  # runs by system, rate and seed
        self.margin = 0.02 if self.is_loss else {"conv": 0.3, "ud": 0.5}.get(task.partition("_")[0], 1)

    def lead(self, a, b):
        """How far a is ahead of b, seed by seed."""
        pairs = zip(self.cells[a].values, self.cells[b].values, strict=True)
        return [0 if one == other else self.sign * (other - one) for one, other in pairs]

    def lead_at_rates(self, a, b):
        """The same of "system@rate", whichever rate is the best; no such run has diverged."""
        ahead, behind = (self.settings[system][float(rate)] for system, rate in (each.split("@") for each in (a, b)))
        return [self.sign * (behind[seed]["values"]["test"] - ahead[seed]["values"]["test"]) for seed in SEEDS]

    def assay(self, none, whole):
        """How far one is ahead where rates are chosen, in margins."""
        name = "validation" if self.is_loss else "validation_loss"  # which is then an error in percent
        ends = [statistics.mean(values[name] for values in self.cells[system].choosing) for system in (none, whole)]
        return (ends[0] - ends[1]) / self.margin

    def has(self, *systems):
        return all(system in self.cells and len(self.cells[system].runs) == len(SEEDS) for system in systems)

    def at_edge(self, *systems):
        return any(self.cells[system].edge for system in systems)


def interval(differences):
    mean = statistics.mean(differences)
    if not math.isfinite(mean):
        return mean, 0 if len(set(differences)) == 1 else math.inf
    return fork_ledger.interval(differences)


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
    # Resamples differ from the laboratory's.
    width = found[2] - found[1]
    room = 0.006 + 0.1 * (width if math.isfinite(width) else abs(found[2]))
    assert shown[0] == found[0] or abs(shown[0] - found[0]) <= 0.0051 + 1e-3 * abs(found[0]), (text, found)
    for one, other in zip(shown[1:], found[1:]):
        assert one == other or abs(one - other) <= room, (text, found)


def expect_advantage(text, differences, decimals):
    if text.endswith(" / without an interval"):
        assert not math.isfinite(sum(differences)), (text, differences)
        return
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
                cell.expect(text, 3 if column.is_loss else 2)


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
            if not column.has("layer_simple", detached, f"{detached}+{constraint}"):
                assert text == "not run", text
            elif math.isinf(statistics.mean(column.lead("layer_simple", detached))):
                assert text == "diverges", text
            else:
                expect_ratio(text, column.lead(f"{detached}+{constraint}", detached), column.lead("layer_simple", detached))


def ahead(differences):
    mean, half = interval(differences)
    return "supported" if mean > half else "contradicted" if mean < -half else "inconclusive"


def within(differences, margin):
    mean, half = interval(differences)
    return "supported" if abs(mean) + half < margin else "contradicted" if abs(mean) - half > margin else "inconclusive"


def combined(verdicts):
    """Of claims that must all be true; one that is not judged decides."""
    whole = "supported"
    for verdict in verdicts:
        if whole != "edge" and (verdict == "edge" or (whole != "contradicted" and verdict != "supported")):
            whole = verdict
    return whole


def share(column, a, b, detached, low, high, interval_low, interval_high):
    """How the lead of a over b, beside the cost of a detached system, is judged; None where no cost is seen, or runs are
    missing."""
    if not column.has("layer_simple", detached, a, b):
        return None
    if column.at_edge("layer_simple", detached) or ahead(column.lead("layer_simple", detached)) != "supported":
        return None
    if column.at_edge(a, b):
        return "edge"
    value, least, most = ratio(column.lead(a, b), column.lead("layer_simple", detached))
    if low < value < high and least > interval_low and most < interval_high:
        return "supported"
    return "contradicted" if most < low or least > high else "inconclusive"


def level(column, a, b):
    if not column.has(a, b):
        return None
    return "edge" if column.at_edge(a, b) else within(column.lead(a, b), column.margin)


# In the order of the report.
SIGNAL = [
    lambda c: share(c, "detach_mean+center", "detach_mean", "detach_mean", 0.8, math.inf, 0.5, math.inf),
    lambda c: every(share(c, f"detach_variance+{constraint}", "detach_variance", "detach_variance", -math.inf, 0.3, -math.inf, 0.5)
                    for constraint in CONSTRAINTS),
    lambda c: level(c, "detach+center", "detach_variance"),
    lambda c: every(level(c, f"layer_simple+{constraint}", "layer_simple") for constraint in CONSTRAINTS),
    lambda c: share(c, "rms_simple", "rms_detached", "detach_variance", 0.5, 2, 0.5, 2),
]


def every(verdicts):
    found = list(verdicts)
    return None if None in found else combined(found)


def four_in_five(verdicts):
    spoken = [verdict for verdict in verdicts if verdict is not None]
    needed = -(-4 * len(spoken) // 5)
    if len(spoken) < 3:
        return "inconclusive"
    if spoken.count("supported") >= needed:
        return "supported"
    return "contradicted" if spoken.count("contradicted") > len(spoken) - needed else "inconclusive"


def columns_of(records, study):
    tasks = dict.fromkeys(run.split("/")[1] for run, _ in records)
    return {task: Column(records, study, task) for task in tasks}


def check_signal(records, report):
    """records: the ledger's   report: what `lab signal --from-ledger` made of it"""
    columns, number, verdicts = columns_of(records, "signal"), 0, []
    for optimizer in "adam", "momentum":
        # Reports have tasks in the order of the study, ledgers in alphabetical order.
        titles = report.rows(f"table{number + 1}")[0][1:]
        of_title = {title_of(task): column for task, column in columns.items() if task.endswith(f"_{optimizer}")}
        mine = [of_title[title] for title in titles]
        assert len(mine) == len(of_title), (titles, list(of_title))
        expect_tests(mine, titles, report.rows(f"table{number + 1}"))
        for i, detached in enumerate(("detach_mean", "detach_variance", "detach")):
            expect_shares(mine, detached, report.rows(f"table{number + 3 + i}"))
        verdicts += [four_in_five([judge(column) for column in mine]) for judge in SIGNAL]
        number += 5
    reported = [verdict.partition(" at this ")[0] for _, verdict, _, _ in report.judged()]
    assert verdicts == reported, (verdicts, reported)


def title_of(task):
    name, _, _ = task.rpartition("_")
    if name in FACTORIAL_TITLES:
        return FACTORIAL_TITLES[name]
    kind, _, size = name.rpartition("_")
    titles = {"pre": f"Transformer, {size} layers, pre-norm, bits", "post": f"Transformer, {size} layers, post-norm, bits",
              "perceptron": f"perceptron, {size} layers, %", "conv": "ConvNet, %", "ud": "UD-EWT, UAS in %"}
    return titles[kind]


FACTORIAL_TITLES = {"pre_6x64": "Transformer of 6 x 64, pre-norm, bits", "post_6x64": "Transformer of 6 x 64, post-norm, bits",
                    "lstm": "LSTM, nats", "perceptron_library": "perceptron, 12 layers, small weights, %",
                    "perceptron_he": "perceptron, 12 layers, He's weights, %"}


def check_factorial(records, report):
    """records: the ledger's   report: what `lab factorial --from-ledger` made of it"""
    columns, number = columns_of(records, "factorial"), 0
    none, whole, back, front = (norm(form) for form in (IDENTITY, LAYER_NORM, BACKWARD, FORWARD))
    for optimizer, explores in (("adam", True), ("adam", False), ("momentum", True), ("momentum", False)):
        of_title = {title_of(task): column for task, column in columns.items()
                    if task.endswith(f"_{optimizer}") and bool(EXPLORED.match(task)) == explores}
        if not of_title:
            continue
        titles = report.rows(f"table{number + 1}")[0][1:]
        mine = [of_title[title] for title in titles]
        assert len(mine) == len(of_title), (titles, list(of_title))
        expect_tests(mine, titles, report.rows(f"table{number + 1}"))
        for title, _, margins in report.rows(f"table{number + 2}")[1:]:
            assert abs(float(margins) - of_title[title].assay(none, whole)) <= 0.051, (title, margins)
        for title, *texts in report.rows(f"table{number + 3}")[1:]:
            column = of_title[title.rpartition(", ")[0]]
            gains = [[a + b for a, b in zip(column.lead(whole, back), column.lead(none, front))],
                     column.lead(back, none), column.lead(front, none), column.lead(back, front)]
            for text, found in zip(texts, gains, strict=True):
                expect_advantage(text, found, 3 if column.is_loss else 2)
        number += 3
