"""The claims of findings.md, one row each, computed from the packed ledgers alone."""

import dataclasses
import math
import statistics

import conditions_ledger
import forms_ledger
import fork_ledger
import tables_ledger
from forms_ledger import BACKWARD, FORWARD, IDENTITY, LAYER_NORM, T_975

BEFORE = {"forms": "a pilot on the same images came before", "fork": "not verifiable", "xu2019": "not predicted",
          "remedies": "not verifiable", "drift": "not verifiable", "signal": "59a83758; a pilot came before",
          "": "not predicted"}


@dataclasses.dataclass
class Claim:
    sentence: int       # of "The answer", by its number
    statement: str
    where: str          # task, net and optimizer
    estimate: str
    n: str              # seeds, or settings
    p: float | None = None
    power: str = ""     # of a claim of equality
    interior: bool = True
    predicted: str = "not predicted"


def difference(sentence, statement, where, mean, over_seeds, over_items, n, unit, **rest):
    """over_seeds, over_items: standard errors"""
    half = math.hypot(T_975[n - 1] * over_seeds, 1.96 * over_items)
    p = tables_ledger.level(mean, over_seeds, over_items, n - 1)
    return Claim(sentence, statement, where, f"{mean:+.{2 if half < 10 else 0}f} ± {half:.{2 if half < 10 else 0}f} {unit}",
                 f"{n} seeds", p, **rest)


def of_seeds(sentence, statement, where, differences, unit, **rest):
    n = len(differences)
    return difference(sentence, statement, where, statistics.mean(differences),
                      statistics.stdev(differences) / math.sqrt(n), 0, n, unit, **rest)


def sign_p(positive, count):
    extreme = max(positive, count - positive)
    return min(1.0, 2 * sum(math.comb(count, k) for k in range(extreme, count + 1)) / 2 ** count)


def counted(sentence, statement, where, gains, **rest):
    """gains: mean and half-width of each setting"""
    positive = sum(mean > 0 for mean, _ in gains)
    decided = sum(mean > half for mean, half in gains), sum(-mean > half for mean, half in gains)
    return Claim(sentence, statement, where,
                 f"positive in {positive} of {len(gains)}; decided for it in {decided[0]}, against it in {decided[1]}",
                 f"{len(gains)} settings", sign_p(positive, len(gains)), **rest)


def of_forms(records):
    settings = {}
    for setting in {run.split("/")[1] for run, _ in records}:
        optimizer, initial, layers = setting.split("_")
        settings[optimizer, initial, int(layers)] = {
            form: forms_ledger.Cell(records[f"forms/{setting}/{forms_ledger.norm(form)}", 101]) for form in forms_ledger.FORMS}
    where = "perceptrons on MNIST, 16 settings"
    gains = {s: [gain[:2] for gain in forms_ledger.gains(cells)] for s, cells in settings.items()}
    statements = ["the passes gain more together than the sum of what each gains alone",
                  "the backward pass alone gains over no norm", "the forward pass alone gains over no norm",
                  "the backward pass alone is ahead of the forward pass alone"]
    for i, (sentence, statement) in enumerate(zip((1, 2, 2, 2), statements)):
        yield counted(sentence, statement, where, [each[i] for each in gains.values()])
    for sentence, statement, part in ((3, "the derivative of the deviation gains", "z, 1/s, center"),
                                      (3, "the derivative of the mean gains", "z, 1/s, scale")):
        yield counted(sentence, statement, where,
                      [forms_ledger.advantage(cells[LAYER_NORM], cells[part]) for cells in settings.values()])
    small = [cells for (optimizer, initial, layers), cells in settings.items()
             if initial == "he" and optimizer == "adam" for cells in [cells]]
    yield counted(9, "layer normalization gains over no norm", "perceptrons with Adam and the initial weights of He et al.",
                  [forms_ledger.advantage(cells[LAYER_NORM], cells[IDENTITY]) for cells in small])


def of_tables(records):
    columns = {title: tables_ledger.Column(records, title) for title in ("UD-EWT", "MNIST", "RT", "Multi30k De-En")}

    def claim(sentence, statement, title, ahead, behind, unit, **rest):
        column = columns[title]
        cells = [list(map(column.cell, systems)) for systems in (ahead, behind)]
        interior = not any(cell.edge for side in cells for cell in side)
        return difference(sentence, statement, title, *column.sum(*cells), tables_ledger.SEEDS, unit, interior=interior, **rest)

    form = tables_ledger.FORMS
    whole, back, front, none = (form[name] for name in (LAYER_NORM, BACKWARD, FORWARD, IDENTITY))
    for title, unit in ("UD-EWT", "points of UAS"), ("MNIST", "points"), ("RT", "points"):
        yield claim(1, "the passes gain more together than the sum of what each gains alone", title, [whole, none],
                    [back, front], unit)
        yield claim(2, "the backward pass alone gains over no norm", title, [back], [none], unit)
        yield claim(2, "the forward pass alone gains over no norm", title, [front], [none], unit)
        yield claim(2, "the backward pass alone is ahead of the forward pass alone", title, [back], [front], unit)
    for title, unit in ("Multi30k De-En", "BLEU"), ("UD-EWT", "points of UAS"), ("MNIST", "points"):
        yield claim(4, "a detached mean costs", title, ["layer_simple"], ["detach_mean"], unit)
        yield claim(6, "a detached deviation costs", title, ["layer_simple"], ["detach_variance"], unit)
        yield claim(5, "centered weights gain with a detached mean", title, ["detach_mean+center"], ["detach_mean"], unit,
                    predicted=BEFORE["remedies"])


def of_forks(records):
    costs = fork_ledger.Costs([record for (run, _), record in records.items() if run == "fork/adam"])
    for point in costs.points[0], costs.points[1], costs.points[-1]:
        yield of_seeds(10, f"60 steps with both statistics detached cost, from step {point} on", "perceptron on MNIST, Adam",
                       costs.of("both detached", point, "at once"), "% of the loss", predicted=BEFORE["fork"])


def of_signal(records):
    tasks = list(dict.fromkeys(run.split("/")[1] for run, _ in records))
    columns = {task: conditions_ledger.Column(records, "signal", task) for task in tasks}
    for sentence, statement, detached, constraints in (
            (5, "centered weights take away the cost of a detached mean", "detach_mean", ["center"]),
            (7, "the constraint that helps most takes away the cost of a detached deviation", "detach_variance",
             list(conditions_ledger.CONSTRAINTS))):
        for task, column in columns.items():
            yield from conditions_ledger.share_claims(Claim, sentence, statement, task, column, detached, constraints)


def remain(claims):
    """The greatest p that a false discovery rate of 5 % lets pass, over all claims."""
    levels = sorted(claim.p for claim in claims if claim.p is not None and claim.interior)
    passing = [p for k, p in enumerate(levels, 1) if p <= 0.05 * k / len(levels)]
    return passing[-1] if passing else 0


def table(records):
    claims = sorted([*of_forms(records["forms"]), *of_tables(records["xu2019"]), *of_forks(records["fork"]),
                     *of_signal(records.get("signal", {}))], key=lambda claim: claim.sentence)
    threshold = remain(claims)

    def shown_p(claim):
        if claim.p is None or not claim.interior:
            return "", "rate at an edge" if not claim.interior else ""
        return ("< 0.0001" if claim.p < 1e-4 else f"{claim.p:.2g}"), ("yes" if claim.p <= threshold else "no")

    rows = [["sentence", "claim", "where", "estimate, 95 % interval", "n", "p", "remains", "predicted"]]
    for claim in claims:
        rows.append([str(claim.sentence), claim.statement, claim.where, claim.estimate, claim.n, *shown_p(claim), claim.predicted])
    return rows
