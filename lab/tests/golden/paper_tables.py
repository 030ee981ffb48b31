#!/usr/bin/env python3
"""Writes paper_tables.json: a ledger written by hand, and what must stand in the tables of lab/matrix_report.h,
computed here from the definitions. In the ledger rt and rt_splits are complete, enwik8 lacks a seed, and the rest is
not run. Of rt, detach and detach_mean stand at the edge of their rates, and so do layer and detach of enwik8."""

import csv
import functools
import io
import json
import math
import pathlib
import statistics

SYSTEMS = ["none", "layer", "layer_simple", "detach", "detach_mean", "detach_variance", "ada"]
FORMS = ["layer_simple:forward=identity,factor=1", "detach_variance:forward=identity,factor=1",
         "detach_mean:forward=identity,factor=1", "detach:factor=1"]  # those that are trained beside some tasks
REMEDIES = ["detach_mean+center", "detach_mean+project", "layer_simple+center"]  # and these
X = math.inf
PUBLISHED = {  # Xu et al. 2019, tables 1 to 4; X: diverged
    "en_de": [X, 28.3, 28.4, X, 28.3, X, 28.5],
    "de_en": [34.0, 35.5, 35.5, 33.9, 35.6, 34.2, 35.6],
    "en_vi": [28.4, 31.2, 31.6, 27.7, 31.3, 29.8, 31.4],
    "enwik8": [1.04, 1.07, 1.07, 1.12, 1.07, 1.10, 1.07],
    "rt": [76.85, 77.21, 76.66, 76.40, 75.02, 77.04, 77.50],
    "sst5": [38.55, 39.23, 40.54, 40.04, 40.99, 41.74, 40.54],
    "mnist": [99.14, 99.13, 99.09, 99.10, 99.25, 99.10, 99.35],
    "ud_ewt": [88.31, 89.12, 89.19, 89.79, 89.45, 89.80, 89.23],
}
TITLES = {"en_de": "Multi30k En-De", "de_en": "Multi30k De-En", "en_vi": "En-Vi", "enwik8": "enwik8 prefix", "rt": "RT",
          "sst5": "SST-5", "mnist": "MNIST", "ud_ewt": "UD-EWT"}
UNITS = {"en_de": "BLEU", "de_en": "BLEU", "en_vi": "BLEU", "enwik8": "bits per byte", "rt": "% accuracy",
         "sst5": "% accuracy", "mnist": "% accuracy", "ud_ewt": "% UAS"}
TABLES = [("Layer normalization, with gain and bias and without", ["none", "layer", "layer_simple"],
           [("layer", "none"), ("layer_simple", "layer")]),
          ("Statistics detached from the gradient", ["none", "detach", "layer_simple"],
           [("detach", "none"), ("layer_simple", "detach")]),
          ("The mean or the scale detached alone", ["layer_simple", "detach_mean", "detach_variance"],
           [("detach_mean", "layer_simple"), ("detach_variance", "layer_simple")]),
          ("AdaNorm", ["none", "layer", "layer_simple", "ada"], [("ada", "layer")])]
# Tasks beside the tables, for two systems.
BESIDE = {"rt_splits": "RT, five splits", "enwik8_short": "enwik8, 300 kB"}
MEASURED = {"rt": 2, "enwik8": 3, "rt_splits": 2}  # decimals

# By task and setting: the test values of seeds 1 to 3, and the validation of seed 101.
RUNS = {
    "rt": {
        "none@0.000333": ([], 74.5), "none@0.001": ([76.0, 76.4, 76.2], 75.0), "none@0.003": ([], 74.0),
        "layer@0.001": ([], 76.0), "layer@0.003": ([77.1, 77.3, 77.2], 76.5), "layer@0.009": ([], 76.4),
        "layer_simple@0.000333": ([], 70.0), "layer_simple@0.001": ([76.0, 78.0, 77.0], 77.0),
        "layer_simple@0.003": ([], 76.9),
        "detach@0.001": ([76.1, 75.9, 76.0], 75.0), "detach@0.003": ([], 74.0),
        "detach_mean@0.001": ([48.0, 50.0, 49.0], 50.0),
        "detach_variance@0.000333": ([], 74.0), "detach_variance@0.001": ([76.5, 77.5, 77.6], 75.0),
        "detach_variance@0.003": ([], 74.9),
        "ada:c=0.5@0.001": ([], 70.0), "ada:c=2@0.000333": ([], 2.0), "ada:c=2@0.001": ([76.2, 76.3, 76.4], 77.0),
        "ada:c=2@0.003": ([], 1.0),
    },
    "enwik8": {
        "none@0.000333": ([], 3.1), "none@0.001": ([2.9, 2.95, 3.0], 3.0), "none@0.003": ([], 3.2),
        "layer@0.001": ([2.8, 2.75], 2.7),  # without seed 3
        "layer_simple@0.000333": ([], 2.8), "layer_simple@0.001": ([2.81, 2.74, 2.79], 2.7),
        "layer_simple@0.003": ([], 2.9),
        "detach@0.001": ([3.1, 3.2, X], 3.2),  # the last diverged
    },
    "rt_splits": {
        "layer@0.000333": ([], 74.0), "layer@0.001": ([75.0, 76.0, 74.0, 75.0, 75.0], 75.0), "layer@0.003": ([], 74.0),
        "layer_simple@0.000333": ([], 73.0), "layer_simple@0.001": ([75.1, 75.9, 74.2, 75.0, 75.3], 74.0),
        "layer_simple@0.003": ([], 73.0),
    },
}
BASELINES = {"rt": {"majority": 50.0, "naive_bayes": 77.25}, "enwik8": {"bigram": 3.954}, "rt_splits": {"majority": 49.5}}
HIGHER = {"rt": True, "enwik8": False, "rt_splits": True}
BAR = {"rt": 50.0, "enwik8": 3.954}


def cells(task):
    """The chosen setting of each system, its values, how many settings were tried, and whether rates of the same norm
    on both sides of its own are worse."""
    found, rates = {}, {}
    for setting, (values, validation) in RUNS.get(task, {}).items():
        system = setting.replace(":", "@").split("@")[0]
        order = validation if HIGHER[task] else -validation
        norm, rate = setting.split("@")
        rates.setdefault(norm, []).append(float(rate))
        tried = found.get(system, (None, None, None, 0))[3] + 1
        best = found.get(system)
        found[system] = (setting, values, order, tried) if best is None or order > best[2] else (*best[:3], tried)

    def interior(setting):
        norm, rate = setting.split("@")
        return min(rates[norm]) < float(rate) < max(rates[norm])

    return {system: (*cell, interior(cell[0])) for system, cell in found.items()}


def complete(task, system):
    cell = cells(task).get(system)
    return cell[1] if cell and len(cell[1]) == 3 else None


def learned(task, values):
    mean = statistics.mean(values)
    return mean > BAR[task] if HIGHER[task] else mean < BAR[task]


def digits(task):
    return 1 if UNITS[task] == "BLEU" else 2


def published_value(task, system):
    return PUBLISHED[task][SYSTEMS.index(system)]


def published(task, system):
    value = published_value(task, system)
    return f"{value:.{digits(task)}f}" if math.isfinite(value) else "diverged"


def measured(task, values):
    diverged = sum(not math.isfinite(value) for value in values)
    if diverged:
        return f"{diverged} of {len(values)} diverged"
    return f"{statistics.mean(values):.{MEASURED[task]}f} +- {statistics.stdev(values):.{MEASURED[task]}f} ({len(values)})"


def value_cell(task, system):
    cell, below = cells(task).get(system), published(task, system)
    if cell is None:
        return ("no data" if task == "en_vi" else "not run") + " / " + below
    values = cell[1]
    if len(values) < 3:
        return f"{len(values)} of 3 seeds / {below}"
    # If one diverged, the mean is the worst value.
    fine = all(map(math.isfinite, values)) and learned(task, values)
    return f"{measured(task, values)} / {below}" + (
        ": not learned" if not fine else "" if cell[4] else ": rate at an edge")


def ahead(task, a, b):
    """Seed by seed, and half the width of the 95 % interval of the mean."""
    if not all(map(math.isfinite, a + b)):
        return None
    differences = [(x - y) * (1 if HIGHER[task] else -1) for x, y in zip(a, b)]
    quantile = 0.95 * math.sqrt(2 / (1 - 0.95**2))  # Student's t with 2 degrees of freedom
    return statistics.mean(differences), quantile * statistics.stdev(differences) / math.sqrt(3)


def published_ahead(task, a, b):
    value = [published_value(task, system) for system in (a, b)]
    value = [0.0 if not math.isfinite(each) else each for each in value]
    return round(value[1] - value[0] if task == "enwik8" else value[0] - value[1], 6)


def not_judged(task, a, b):
    """Why there is no verdict on two systems."""
    if not all(learned(task, complete(task, system)) for system in (a, b)):
        return "not learned"
    return "" if all(cells(task)[system][4] for system in (a, b)) else "rate at an edge"


def difference_cell(task, a, b):
    diverged = [system for system in (a, b) if not math.isfinite(published_value(task, system))]
    sign = published_ahead(task, a, b)
    below = " and ".join(diverged) + " diverged" if diverged else f"{sign:+.{digits(task)}f}"
    of_a, of_b = complete(task, a), complete(task, b)
    if of_a is None or of_b is None:
        return ("no data" if task == "en_vi" else "not run") + " / " + below
    found = ahead(task, of_a, of_b)
    if found is None:  # in this ledger only detach diverged, once
        here, verdict = "diverged", "not learned"
    else:
        here = f"{found[0]:+.{MEASURED[task]}f} +- {found[1]:.{MEASURED[task]}f}"
        claimed = found[0] if sign > 0 else -found[0]
        verdict = "supported" if claimed > found[1] else "contradicted" if claimed < -found[1] else "inconclusive"
        if not_judged(task, a, b):
            verdict = not_judged(task, a, b)
        elif verdict != "inconclusive":
            verdict += ", remains" if level(found) <= greatest_remaining() else ", does not remain"
    return f"{here} / {below}" + (f": {verdict}" if sign != 0 else "")


def level(found):
    """Two-sided, by Student's distribution with 2 degrees of freedom."""
    t = abs(found[0]) / found[1] * 0.95 * math.sqrt(2 / (1 - 0.95**2))
    return 1 - t / math.sqrt(t * t + 2)


@functools.cache
def levels():
    """The differences that are judged."""
    pairs = [(task, a, b) for _, _, differences in TABLES for a, b in differences for task in TITLES
             if complete(task, a) and complete(task, b) and not not_judged(task, a, b)]
    return [level(ahead(task, complete(task, a), complete(task, b))) for task, a, b in pairs]


def greatest_remaining():
    """By Benjamini and Hochberg's step-up procedure."""
    passing = [p for k, p in enumerate(sorted(levels()), 1) if p <= 0.05 * k / len(levels())]
    return passing[-1] if passing else 0


def sign_of(value):
    return "+" if value > 0 else "-" if value < 0 else "0"


counts = {"compared": 0, "recurring": 0}


def sign_cell(task, a, b):
    of_paper = sign_of(published_ahead(task, a, b))
    of_a, of_b = complete(task, a), complete(task, b)
    if of_a is None or of_b is None:
        return f"not run / {of_paper}"
    found = ahead(task, of_a, of_b)
    if found is None or not_judged(task, a, b):
        return f"{not_judged(task, a, b)} / {of_paper}"
    here = sign_of(found[0])
    if "0" in (here, of_paper):
        return f"{here} / {of_paper}"
    counts["compared"] += 1
    counts["recurring"] += here == of_paper
    return f"{here} {'recurs' if here == of_paper else 'differs'} / {of_paper}"


def discoveries():
    greatest = greatest_remaining()
    below, remain = (sum(p <= most for p in levels()) for most in (0.05, greatest))
    remaining = f"{remain} remain, those with a p of {greatest:.2g} or less" if remain else "none remains"
    return (f"Of {len(levels())} differences with a p, {below} have one of 0.05 or less; at a false discovery rate of 5 % "
            f"(Benjamini and Hochberg), {remaining}.")


def text(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def stated(task, what):
    return what if task in RUNS else ""


tables = []
for title, systems, differences in TABLES:
    rows = [["system", *TITLES.values()]]
    rows += [[system, *(value_cell(task, system) for task in TITLES)] for system in systems]
    rows += [[f"{a} - {b}", *(difference_cell(task, a, b) for task in TITLES)] for a, b in differences]
    rows += [["optimizer", *(stated(task, "Adam / fast") for task in TITLES)],
             ["initial values", *(stated(task, "small / none") for task in TITLES)], ["unit", *UNITS.values()]]
    tables.append(text(rows))
ALL = TITLES | BESIDE


def setting_cell(task, system):
    if system in FORMS + REMEDIES and task not in ("de_en", "mnist", "ud_ewt", *["rt"] * (system in FORMS)):
        return ""
    if system in cells(task):
        setting, _, _, tried, interior = cells(task)[system]
        return f"{setting} / of {tried}" + ("" if interior else ", at the edge")
    return "not run" if task in TITLES or system in ("layer", "layer_simple") else ""


tables.append(text([["task", "baseline", "value", "unit"]]
                   + [[ALL[task], name, f"{value:.{MEASURED[task]}f}", UNITS[task.removesuffix("_splits")]]
                      for task, named in sorted(BASELINES.items(), key=lambda item: list(ALL).index(item[0]))
                      for name, value in named.items()]))
tables.append(text([["system", *ALL.values()]]
                   + [[system, *(setting_cell(task, system) for task in ALL)] for system in SYSTEMS + FORMS + REMEDIES]))
OF_PAPER = {"enwik8": "Enwiki8", "rt": "RT", "rt_splits": "RT"}
tables.append(text([["task", "stands for", "data"]]
                   + [[ALL[task], OF_PAPER[task], f"the data of {task}"] for task in ALL if task in RUNS]))


def other_cell(task, system):
    """The other tests of the ledger come to half of what the tests of the tables do."""
    values = complete(task, system)
    return "not run" if values is None else measured(task, [value / 2 for value in values])


OTHER_TESTS = [("en_de", "the test set of 2017"), ("de_en", "the test set of 2017"),
               ("enwik8", "with a memory of 256 bytes")]
tables.append(text([["test", *SYSTEMS]] + [[f"{TITLES[task]}, {title}", *(other_cell(task, system) for system in SYSTEMS)]
                                           for task, title in OTHER_TESTS]))


def beside_cell(task, system):
    """Of a table of systems that are compared beside the paper's."""
    if system not in cells(task):
        return "not run"
    setting, values, _, _, interior = cells(task)[system]
    rate = f"@{setting.split('@')[1]}" + ("" if interior else ", at the edge")
    missing = 3 - len(values)
    return (f"{missing} seeds missing" if missing else measured(task, values)) + f" / {rate}"


# Of what stands in them, this ledger has the four forms of the paper, without a norm beside them, on one task.
FORM_NAMES = {"x, 1, none": "none", "z, 1/s, none": "detach", "z, 1/s, center": "detach_variance",
              "z, 1/s, scale": "detach_mean", "z, 1/s, both": "layer_simple"}
UNIT_OF = {"de_en": "BLEU", "rt": "% accuracy", "mnist": "% accuracy", "ud_ewt": "% UAS"}
for first, names, tasks in [("form", FORM_NAMES, ["de_en", "rt", "mnist", "ud_ewt"]),
                            ("system", {name: name for name in ("layer_simple", "detach_mean")}, ["de_en", "mnist", "ud_ewt"])]:
    tables.append(text([[first, *(f"{TITLES[task]}, {UNIT_OF[task]}" for task in tasks)]]
                       + [[name, *(beside_cell(task, system) for task in tasks)] for name, system in names.items()
                          if any(system in cells(task) for task in tasks)]))
with_data = [task for task in TITLES if task != "en_vi"]
tables.append(text([["difference", *(TITLES[task] for task in with_data)]]
                   + [[f"{a} - {b}", *(sign_cell(task, a, b) for task in with_data)]
                      for _, _, differences in TABLES for a, b in differences]))
chance = sum(math.comb(counts["compared"], k) for k in range(counts["recurring"], counts["compared"] + 1)) / 2 ** counts[
    "compared"]
paragraphs = [
    "Missing runs: enwik8 layer@0.001 seed 3.",
    f"Of {counts['compared']} published signs that were measured here, {counts['recurring']} recur. If each had an "
    f"even chance, as many would recur with probability {chance:.2g}. {discoveries()}",
]
ledger = {task: {setting: {"seeds": [None if not math.isfinite(value) else value for value in values],
                           "validation": validation} for setting, (values, validation) in settings.items()}
          for task, settings in RUNS.items()}
path = pathlib.Path(__file__).with_name("paper_tables.json")
path.write_text(json.dumps({"ledger": ledger, "baselines": BASELINES, "tables": tables, "paragraphs": paragraphs},
                           indent=1) + "\n")
