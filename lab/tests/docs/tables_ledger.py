"""Tables 1 to 4 of `lab xu2019`, computed from its ledger and from lab/papers/xu2019.json a second time: means, deviations,
intervals, what is published, which rates stand at an edge, verdicts, and how many remain at a false discovery rate of 5 %."""

import json
import math
import pathlib
import re
import statistics

from forms_ledger import BACKWARD, FORWARD, IDENTITY, LAYER_NORM, T_975

PAPER = json.loads((pathlib.Path(__file__).parents[2] / "papers/xu2019.json").read_text())


def tasks():
    """The tasks of tables 1 to 4 that have data, by title."""
    for row in PAPER["tasks"]:
        task = PAPER["kinds"].get(row.get("kind"), {}) | row
        if "published" in task and "absent" not in task:
            yield task["title"], task


TASKS = dict(tasks())
FORMS = {"x, 1, none": "none", "x, 1, center": "detach_variance:forward=identity,factor=1",
         "x, 1, scale": "detach_mean:forward=identity,factor=1", "x, 1, both": "layer_simple:forward=identity,factor=1",
         "z, 1, none": "detach:factor=1", "z, 1/s, none": "detach", "z, 1/s, center": "detach_variance",
         "z, 1/s, scale": "detach_mean", "z, 1/s, both": "layer_simple"}
REMEDIES = ["layer_simple", "detach_mean", *PAPER["beside"]["remedies"]["systems"]]
SEEDS = 3
# The half-width over items is a bootstrap there and a normal interval here.
ITEMS_TOLERANCE = 0.05


class Cell:
    """A system's runs at its best setting."""

    def __init__(self, records, settings, higher_validation):
        def error(setting):
            value = settings[setting]["values"]["validation"]
            return math.inf if value is None else -value if higher_validation else value

        def rate(setting):
            return float(setting.split("@")[1])

        self.setting = min(settings, key=lambda setting: (error(setting), setting.split("@")[0], rate(setting)))
        own = [other for other in settings if other.split("@")[0] == self.setting.split("@")[0]]
        self.edge = rate(self.setting) in (min(map(rate, own)), max(map(rate, own)))
        keys = [(self.setting, seed) for seed in range(1, SEEDS + 1)]
        self.runs = [records[key] for key in keys if key in records]
        self.complete = len(self.runs) == SEEDS
        self.values = [training["values"]["test"] for training in self.runs]


def settings_of(records, system):
    """Those that were tried, by name: a system's own, or AdaNorm's with three factors."""
    pattern = re.compile(r"ada:c=[0-9.]+@.*" if system == "ada" else re.escape(system) + "@.*")
    return {name: record for (name, seed), record in records.items() if pattern.fullmatch(name) and seed == 101}


class Column:
    def __init__(self, ledger, title):
        self.task = TASKS[title]
        metric = self.task["metric"]
        self.higher = metric.get("higher_is_better", False)
        self.higher_validation = self.higher and not self.task.get("chosen_by_loss", False)
        before = f"xu2019/{self.task['name']}/"
        self.records = {(run.removeprefix(before), seed): record for (run, seed), record in ledger.items()
                        if run.startswith(before)}
        self.cells = {}
        self.baseline = metric["baseline"] if "baseline" in metric else self.records[self.task["baseline"], 1]["values"]["test"]

    def cell(self, system):
        if system not in self.cells:
            settings = settings_of(self.records, system)
            self.cells[system] = Cell(self.records, settings, self.higher_validation) if settings else None
        return self.cells[system]

    def published(self, system, behind=None):
        """Of a system, or how far it is ahead of another, in words."""
        values = [self.task["published"][name] for name in (system, behind) if name]
        diverged = [name for name, value in zip((system, behind), values) if value == "diverged"]
        if diverged:
            return " and ".join(diverged) + " diverged" if behind else "diverged"
        decimals = self.task["published_decimals"]
        if not behind:
            return f"{values[0]:.{decimals}f}"
        ahead = (values[0] - values[1] if self.higher else values[1] - values[0]) + 0.0  # no -0.0
        return f"{ahead:+.{decimals}f}"

    def learned(self, cell):
        mean = statistics.mean(cell.values)
        return mean > self.baseline if self.higher else mean < self.baseline

    def sum(self, ahead, behind):
        """Of the values of some cells less the values of others: the mean, and the standard errors over seeds and over items."""
        sign = 1 if self.higher else -1

        def total(of):
            return [sign * (sum(plus) - sum(minus)) for plus, minus in zip(zip(*map(of, ahead)), zip(*map(of, behind)))]

        differences = total(lambda cell: cell.values)
        items = total(lambda cell: [statistics.fmean(item) for item in zip(*(training["items"] for training in cell.runs))])
        return (statistics.mean(differences), statistics.stdev(differences) / math.sqrt(len(differences)),
                statistics.pstdev(items) / math.sqrt(len(items)))

    def advantage(self, a, b):
        return self.sum([a], [b])


def two_sided(t, degrees):
    """Of Student's distribution, by Simpson's rule."""
    density = lambda x: (1 + x * x / degrees) ** (-(degrees + 1) / 2)
    constant = math.gamma((degrees + 1) / 2) / math.sqrt(degrees * math.pi) / math.gamma(degrees / 2)
    steps, width = 2000, t / 2000
    total = density(0) + density(t) + sum((4 if i % 2 else 2) * density(i * width) for i in range(1, steps))
    return 1 - 2 * constant * total * width / 3


def level(mean, over_seeds, over_items, degrees):
    """The level at which the interval ends at 0; 1 for a mean of 0."""
    if mean == 0:
        return 1.0
    normal, low, high = statistics.NormalDist(), 0.0, 1000.0
    for _ in range(60):
        t = (low + high) / 2
        p = max(two_sided(t, degrees), 1e-15)
        low, high = (low, t) if math.hypot(t * over_seeds, -normal.inv_cdf(p / 2) * over_items) > abs(mean) else (t, high)
    return two_sided(high, degrees)


def threshold(levels, rate=0.05):
    """The greatest p that a false discovery rate lets pass (Benjamini and Hochberg); 0 if none."""
    return max((p for k, p in enumerate(sorted(levels), 1) if p <= rate * k / len(levels)), default=0)


def check_difference(column, text, first, a, b, levels, decided):
    """first: the name of a   decided: gets a verdict that is decided, and its p"""
    measured, _, rest = text.partition(" / ")
    published, _, verdict = rest.partition(": ")
    verdict, _, remains = verdict.partition(", ")
    if a is None or b is None or not (a.complete and b.complete):
        assert measured in ("not run", "no data"), text
        return
    mean, over_seeds, over_items = column.advantage(a, b)
    degrees = len(a.values) - 1
    half = math.hypot(T_975[degrees] * over_seeds, 1.96 * over_items)
    shown = [float(number) for number in measured.split(" +- ")]
    last_digit = 10.0 ** -len(measured.split(".")[-1])
    assert abs(shown[0] - mean) <= 0.51 * last_digit, (text, mean)
    assert abs(shown[1] - half) <= ITEMS_TOLERANCE * half + last_digit, (text, half)
    judged = column.learned(a) and column.learned(b) and not (a.edge or b.edge)
    if judged:
        levels.append(level(mean, over_seeds, over_items, degrees))
    if " and " in published or re.fullmatch(r"[+-]0\.0+", published):
        assert verdict == "", text
        return
    if not judged:
        expected = "rate at an edge" if column.learned(a) and column.learned(b) else "not learned"
        assert verdict == expected, (text, expected)
        return
    # The first system is ahead unless it has diverged or the number is negative.
    if verdict in ("supported", "contradicted"):
        decided.append((remains, levels[-1], text))
    else:
        assert not remains, text
    behind = published.startswith("-") or published == f"{first} diverged"
    ahead = -mean if behind else mean
    if abs(abs(ahead) - half) > ITEMS_TOLERANCE * half:  # elsewhere the bootstrap decides
        assert verdict == ("inconclusive" if abs(ahead) < half else "supported" if ahead > 0 else "contradicted"), text


def check(ledger, report):
    """ledger: the records of xu2019   report: what `lab xu2019 --from-ledger` made of it"""
    columns = {title: Column(ledger, title) for title in TASKS}
    levels, decided, differences = [], [], 0
    for number in 1, 2, 3, 4:
        header, *rows = report.rows(f"table{number}")
        for name, *cells in rows:
            pair = name.split(" - ")
            for title, text in zip(header[1:], cells):
                if title not in columns or name in ("optimizer", "initial values", "unit"):
                    continue
                column = columns[title]
                shown = text.partition(" / ")[2].partition(": ")[0]
                assert shown == column.published(*pair), (name, title, text, column.published(*pair))
                if len(pair) == 2:
                    check_difference(column, text, pair[0], *map(column.cell, pair), levels, decided)
                    differences += 1
                elif (cell := column.cell(name)) and cell.complete:
                    shown = re.match(r"([0-9.]+) \+- ([0-9.]+) \((\d+)\)", text)
                    last_digit = 10.0 ** -len(shown[1].split(".")[-1])
                    assert abs(float(shown[1]) - statistics.mean(cell.values)) <= 0.51 * last_digit, text
                    assert abs(float(shown[2]) - statistics.stdev(cell.values)) <= 0.51 * last_digit, text
                    assert int(shown[3]) == len(cell.values), text
                    assert text.endswith("rate at an edge") == (cell.edge and column.learned(cell)), (name, title, text)
    assert differences > 20
    greatest = threshold(levels)
    remain = sum(p <= greatest for p in levels)
    for remains, p, text in decided:
        assert remains == ("remains" if p <= greatest else "does not remain"), (text, p)
    said = re.search(r"Of (\d+) differences with a p, (\d+) have one of 0.05 or less; .*?(none remains|(\d+) remain)", report.text)
    found = [int(said[1]), int(said[2]), int(said[4] or 0)]
    assert found == [len(levels), sum(p <= 0.05 for p in levels), remain], (found, sorted(levels))
    check_beside(columns, report.rows("table9"), FORMS)
    check_passes(columns, report.rows("table11"))
    check_beside(columns, report.rows("table10"), {system: system for system in REMEDIES})


def check_passes(columns, table):
    """What the passes of layer normalization gain on the tasks that train them."""
    rows = {title.rpartition(", ")[0]: cells for title, *cells in table[1:]}
    assert len(rows) == len(table) - 1
    for title, column in columns.items():
        cells = [column.cell(FORMS[form]) for form in (LAYER_NORM, BACKWARD, FORWARD, IDENTITY)]
        assert (title in rows) == all(cell and cell.complete for cell in cells), title
        if title not in rows:
            continue
        layer_norm, backward, forward, none = cells
        gains = (([layer_norm, none], [backward, forward]), ([backward], [none]), ([forward], [none]), ([backward], [forward]))
        for text, (ahead, behind) in zip(rows[title], gains):
            mean, over_seeds, over_items = column.sum(ahead, behind)
            shown = [float(number) for number in re.match(r"(\S+) \+- (\S+) / over seeds (\S+)$", text).groups()]
            last_digit = 10.0 ** -len(text.split(".")[-1])
            over_seeds *= T_975[SEEDS - 1]
            half = math.hypot(over_seeds, 1.96 * over_items)
            assert abs(shown[0] - mean) <= 0.51 * last_digit and abs(shown[2] - over_seeds) <= 0.51 * last_digit, (text, mean)
            assert abs(shown[1] - half) <= ITEMS_TOLERANCE * half + last_digit, (text, half)


def check_beside(columns, table, systems):
    """A table of systems that are compared beside the paper's, by the names that it has for them."""
    header, *rows = table
    assert len(rows) == len(systems), (header, rows)
    for name, *cells in rows:
        for title, text in zip(header[1:], cells):
            column = columns[title.rpartition(", ")[0]]
            cell = column.cell(systems[name])
            if cell is None:
                assert text == "not run", text
                continue
            rate = "@" + cell.setting.split("@")[1] + ", at the edge" * cell.edge
            assert text.endswith(" / " + rate), (text, rate)
            if not cell.complete:
                assert re.match(r"[1-9]\d* seeds missing", text), text
            else:
                assert text.startswith(f"{statistics.mean(cell.values):.2f} +- {statistics.stdev(cell.values):.2f} ("), text
