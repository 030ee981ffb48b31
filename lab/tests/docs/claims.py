"""The claims of findings.md, one row each, computed from the packed ledgers alone."""

import dataclasses
import math
import statistics

import conditions_ledger
import forms_ledger
import fork_ledger
import provenance_ledger
import tables_ledger
from forms_ledger import BACKWARD, FORWARD, IDENTITY, LAYER_NORM, T_975

TOGETHER = "the passes gain more together than the sum of what each gains alone"
BACKWARD_GAINS, FORWARD_GAINS = (f"the {one} pass alone gains over no norm" for one in ("backward", "forward"))
AHEAD = "the backward pass alone is ahead of the forward pass alone"
NORM_GAINS = "layer normalization gains over no norm"
MORE = "the derivative of the deviation gains more than the derivative of the mean"
NOT_VERIFIABLE = "not verifiable"
BEFORE_SIGNAL, BEFORE_FACTORIAL = (provenance_ledger.PREDICTIONS[study][0] for study in ("signal", "factorial"))


@dataclasses.dataclass
class Claim:
    sentence: int       # of "The answer", by its number
    statement: str
    where: str          # task, net and optimizer
    estimate: str
    n: str              # seeds, or settings
    p: float | None = None
    power: float = 0
    interior: bool = True  # whether each rate has worse ones on both sides
    predicted: str = "no"


def chance(mean, deviation, low, high):
    """Of a normal variable to lie between two numbers."""
    normal = statistics.NormalDist(mean, max(deviation, 1e-12))
    return max(0.0, normal.cdf(high) - normal.cdf(low))


def power_of(effect, degrees):
    """The chance that a 95 % interval by Student's distribution excludes 0, where the true mean is so many standard errors:
    over what the estimated error may be, beside the true one, by Simpson's rule."""
    steps, last = 2000, 1 + 12 / math.sqrt(degrees)

    def density(ratio):
        return ratio ** (degrees - 1) * math.exp(-degrees * ratio * ratio / 2)

    weights = [(1 if i in (0, steps) else 4 if i % 2 else 2) * density(i * last / steps) for i in range(steps + 1)]
    decided = [1 - chance(effect, 1, -(half := T_975[degrees] * i * last / steps), half) for i in range(steps + 1)]
    return sum(w * x for w, x in zip(weights, decided)) / sum(weights)


def difference(sentence, statement, where, mean, over_seeds, over_items, n, unit, margin, **rest):
    """over_seeds, over_items: standard errors   margin: the difference whose power is shown"""
    half = math.hypot(T_975[n - 1] * over_seeds, 1.96 * over_items)
    p = tables_ledger.level(mean, over_seeds, over_items, n - 1)
    power = power_of(margin * T_975[n - 1] / half, n - 1) if half else 1
    return Claim(sentence, statement, where, f"{mean:+.{2 if half < 10 else 0}f} ± {half:.{2 if half < 10 else 0}f} {unit}",
                 f"{n} seeds", p, power, **rest)


def of_seeds(sentence, statement, where, differences, unit, margin, **rest):
    """Where runs have diverged, over the other seeds, and then without a p."""
    ended = [x for x in differences if math.isfinite(x)]
    n = len(ended)
    found = difference(sentence, statement, where, statistics.mean(ended), statistics.stdev(ended) / math.sqrt(n), 0, n, unit,
                       margin, **rest)
    if n < len(differences):
        found.estimate += f"; in {len(differences) - n} of {len(differences)} seeds a run diverged"
        found.p = None
    return found


def sign_p(positive, count):
    extreme = max(positive, count - positive)
    return min(1.0, 2 * sum(math.comb(count, k) for k in range(extreme, count + 1)) / 2 ** count)


def sign_power(count, share=0.75):
    """The chance of a p of 0.05 or less where this share of settings is positive."""
    return sum(math.comb(count, k) * share ** k * (1 - share) ** (count - k)
               for k in range(count + 1) if sign_p(k, count) <= 0.05)


def counted(sentence, statement, where, gains, **rest):
    """gains: mean and half-width of each setting"""
    positive, negative = sum(mean > 0 for mean, _ in gains), sum(mean < 0 for mean, _ in gains)
    decided = sum(mean > half for mean, half in gains), sum(-mean > half for mean, half in gains)
    return Claim(sentence, statement, where,
                 f"positive in {positive} of {len(gains)}, negative in {negative}; decided for it in {decided[0]}, against it in "
                 f"{decided[1]}", f"{len(gains)} settings", sign_p(positive, positive + negative), sign_power(positive + negative),
                 **rest)


def of_forms(records):
    settings = {}
    for setting in {run.split("/")[1] for run, _ in records}:
        optimizer, initial, layers = setting.split("_")
        settings[optimizer, initial, int(layers)] = {
            form: forms_ledger.Cell(records[f"forms/{setting}/{forms_ledger.norm(form)}", 101]) for form in forms_ledger.FORMS}
    where = "perceptrons on MNIST, 16 settings"
    gains = {s: [gain[:2] for gain in forms_ledger.gains(cells)] for s, cells in settings.items()}
    for i, (sentence, statement) in enumerate(((1, TOGETHER), (2, BACKWARD_GAINS), (2, FORWARD_GAINS), (2, AHEAD))):
        yield counted(sentence, statement, where, [each[i] for each in gains.values()])
    for sentence, statement, part in ((3, "the derivative of the deviation gains", "z, 1/s, center"),
                                      (3, "the derivative of the mean gains", "z, 1/s, scale")):
        yield counted(sentence, statement, where,
                      [forms_ledger.advantage(cells[LAYER_NORM], cells[part]) for cells in settings.values()])
    yield counted(3, MORE, where, [forms_ledger.advantage(cells["z, 1/s, scale"], cells["z, 1/s, center"])
                                   for cells in settings.values()])
    yield counted(9, NORM_GAINS, where, [forms_ledger.advantage(cells[LAYER_NORM], cells[IDENTITY]) for cells in settings.values()])
    good = [cells for (optimizer, initial, _), cells in settings.items() if (optimizer, initial) == ("adam", "he")]
    yield counted(9, NORM_GAINS, "perceptrons with Adam and the initial weights of He et al.",
                  [forms_ledger.advantage(cells[LAYER_NORM], cells[IDENTITY]) for cells in good])


def of_tables(records):
    columns = {title: tables_ledger.Column(records, title) for title in ("UD-EWT", "MNIST", "RT", "Multi30k De-En")}

    def claim(sentence, statement, title, ahead, behind, unit, **rest):
        column = columns[title]
        cells = [list(map(column.cell, systems)) for systems in (ahead, behind)]
        interior = not any(cell.edge for side in cells for cell in side)
        return difference(sentence, statement, title, *column.sum(*cells), tables_ledger.SEEDS, unit, column.task["forms"],
                          interior=interior, **rest)

    form = tables_ledger.FORMS
    whole, back, front, none = (form[name] for name in (LAYER_NORM, BACKWARD, FORWARD, IDENTITY))
    for title, unit in ("UD-EWT", "points of UAS"), ("MNIST", "points"), ("RT", "points"):
        yield claim(1, TOGETHER, title, [whole, none], [back, front], unit)
        yield claim(2, BACKWARD_GAINS, title, [back], [none], unit)
        yield claim(2, FORWARD_GAINS, title, [front], [none], unit)
        yield claim(2, AHEAD, title, [back], [front], unit)
    for title, unit in ("Multi30k De-En", "BLEU"), ("UD-EWT", "points of UAS"), ("MNIST", "points"):
        yield claim(4, "a detached mean has a cost", title, ["layer_simple"], ["detach_mean"], unit)
        yield claim(6, "a detached deviation has a cost", title, ["layer_simple"], ["detach_variance"], unit)
        yield claim(3, MORE, title, ["detach_mean"], ["detach_variance"], unit)
        yield claim(5, "centered weights gain with a detached mean", title, ["detach_mean+center"], ["detach_mean"], unit,
                    predicted=NOT_VERIFIABLE)


def of_forks(records):
    costs = fork_ledger.Costs([record for (run, _), record in records.items() if run == "fork/adam"])
    for point in 120, 480, 960:
        yield of_seeds(10, f"60 steps with both statistics detached have a cost, from step {point} on", "perceptron on MNIST, Adam",
                       costs.of("both detached", point, "at once"), "% of the loss", fork_ledger.MARGIN, predicted=NOT_VERIFIABLE)


def in_settings(records, study):
    """Settings of a study by name, "perceptron, 6 layers, adam", each with its task."""
    for task, column in sorted(conditions_ledger.columns_of(records, study).items()):
        title, _, unit = conditions_ledger.title_of(task).rpartition(", ")
        yield f"{title}, {task.rpartition('_')[2]}", task, column, unit if column.is_loss else "points"


def share_of(sentence, statement, where, lead, cost, bounds, **rest):
    """bounds: as of the prediction, of the share, then of its interval, and the share whose power is shown"""
    value, low, high = conditions_ledger.ratio(lead, cost)
    half = (high - low) / 2
    least, most, interval_least, interval_most, predicted = bounds
    power = chance(predicted, half / 1.96, max(least, interval_least + half), min(most, interval_most - half))
    return Claim(sentence, statement, where, f"{value:.2f} [{low:.2f}, {high:.2f}] of the cost", f"{len(cost)} seeds",
                 power=power, **rest)


def share(sentence, statement, where, column, a, b, detached, bounds):
    """How far a is ahead of b beside the cost of a detached system, where one is seen."""
    if not column.has("layer_simple", detached, a, b):
        return
    cost = column.lead("layer_simple", detached)
    if not column.at_edge("layer_simple", detached) and conditions_ledger.ahead(cost) == "supported":
        added = "; the parser was added in b9f80579" if column.is_parser else ""
        yield share_of(sentence, statement, where, column.lead(a, b), cost, bounds, interior=not column.at_edge(a, b),
                       predicted=f"{BEFORE_SIGNAL}, after a pilot{added}")


REMOVED, KEPT, ALIKE = (0.8, math.inf, 0.5, math.inf, 1), (-math.inf, 0.3, -math.inf, 0.5, 0), (0.5, 2, 0.5, 2, 1)


def of_signal(records):
    for where, _, column, unit in in_settings(records, "signal"):
        for sentence, what in (4, "mean"), (6, "deviation"):
            detached = {"mean": "detach_mean", "deviation": "detach_variance"}[what]
            if column.has("layer_simple", detached):
                yield of_seeds(sentence, f"a detached {what} has a cost", where, column.lead("layer_simple", detached), unit,
                               column.margin, interior=not column.at_edge("layer_simple", detached))
        if column.has("rms_simple", "rms_detached"):
            yield of_seeds(8, "a detached divisor of RMS norm has a cost", where, column.lead("rms_simple", "rms_detached"), unit,
                           column.margin, interior=not column.at_edge("rms_simple", "rms_detached"))
        if column.has("detach_mean", "detach_variance"):
            yield of_seeds(3, MORE, where, column.lead("detach_mean", "detach_variance"), unit, column.margin,
                           interior=not column.at_edge("detach_mean", "detach_variance"))
        centered = list(share(5, "centered weights remove the cost of a detached mean", where, column, "detach_mean+center",
                              "detach_mean", "detach_mean", REMOVED))
        yield from centered
        if centered:
            yield of_seeds(5, "with centered weights a detached mean still has a cost", where,
                           column.lead("layer_simple", "detach_mean+center"), unit, column.margin,
                           interior=not column.at_edge("layer_simple", "detach_mean+center"))
        constraints = [f"detach_variance+{constraint}" for constraint in conditions_ledger.CONSTRAINTS]
        if not column.has(*constraints):
            continue
        most = min(constraints, key=lambda system: column.sign * sum(column.cells[system].values))
        for system in dict.fromkeys(("detach_variance+center", most)):
            helps = ", which helps most," if system == most else ""
            yield from share(7, f"{system.partition('+')[2]}{helps} removes the cost of a detached deviation", where, column, system,
                             "detach_variance", "detach_variance", KEPT)
        yield from share(8, "a detached divisor costs RMS norm as much as a detached deviation costs layer normalization", where, column,
                         "rms_simple", "rms_detached", "detach_variance", ALIKE)


def hypothesis(records):
    """Where centered weights replace the derivative of the mean, and not that of the deviation. A derivative without a cost
    decides nothing of the mean, and contradicts the hypothesis where a cost of the deviation would be seen."""
    rows = [["where", "a detached mean costs", "power", "centered weights remove", "a detached deviation costs", "power",
             "centered weights remove", "the hypothesis is"]]
    for where, _, column, unit in in_settings(records, "signal"):
        row, verdicts = [where], []
        for detached, bounds in ("detach_mean", REMOVED), ("detach_variance", KEPT):
            centered = f"{detached}+center"
            if not column.has("layer_simple", detached, centered):
                break
            leads = column.lead("layer_simple", detached)
            cost = of_seeds(0, "", where, leads, unit, column.margin)
            removed = list(share(0, "", where, column, centered, detached, detached, bounds))
            seen = "no cost seen" if all(map(math.isfinite, leads)) else ""
            row += [cost.estimate, f"{cost.power:.2f}", removed[0].estimate if removed else seen]
            verdict = conditions_ledger.share(column, centered, detached, detached, *bounds[:4])
            if verdict is None and detached == "detach_variance" and conditions_ledger.within(leads, column.margin) == "supported":
                verdict = "contradicted"
            verdicts.append(verdict)
        if len(verdicts) == 2:
            rows.append([*row, "contradicted" if "contradicted" in verdicts else
                         "supported" if verdicts == ["supported", "supported"] else "undecided"])
    return rows


# What further rates show: by sentence, what is stated and where, which of two leads, and where that was expected.
FURTHER_RATES = [
    (5, "with centered weights a detached mean still has a cost", "conv_net_adam", "layer_simple@0.001", "detach_mean+center@0.001",
     provenance_ledger.FURTHER_RATES),
    (6, "a detached deviation has a cost", "ud_ewt_adam", "layer_simple@0.027", "detach_variance@0.027",
     provenance_ledger.FURTHER_RATES),
    (8, "a detached divisor of RMS norm has a cost", "ud_ewt_adam", "rms_simple@0.081", "rms_detached@0.081",
     provenance_ledger.FURTHER_RATES),
    (3, MORE, "ud_ewt_adam", "detach_mean@0.009", "detach_variance@0.027", "no")]


def commits_of_further_rates(records):
    """That trained the systems whose results were expected."""
    runs = {f"signal/{task}/{behind}" for _, _, task, _, behind, _ in FURTHER_RATES}
    return {record["provenance"]["commit"] for (run, seed), record in records.items()
            if run in runs and seed in conditions_ledger.SEEDS}


def of_further_rates(records):
    settings = {task: (where, column, unit) for where, task, column, unit in in_settings(records, "signal")}
    for sentence, statement, task, ahead, behind, predicted in FURTHER_RATES:
        where, column, unit = settings[task]
        yield of_seeds(sentence, statement, f"{where}: {ahead}, {behind}", column.lead_at_rates(ahead, behind), unit,
                       column.margin, predicted=predicted)
    where, column, _ = settings["conv_net_adam"]
    lead, cost = (column.lead_at_rates(f"{ahead}@0.001", "detach_mean@0.001") for ahead in ("detach_mean+center", "layer_simple"))
    yield share_of(5, "centered weights remove the cost of a detached mean", f"{where}, all at 0.001", lead, cost, REMOVED)


def of_factorial(records):
    form = tables_ledger.FORMS
    whole, back, front, none = (form[name] for name in (LAYER_NORM, BACKWARD, FORWARD, IDENTITY))
    whole_1 = f"{whole}:factor=1"  # of the first prediction
    for where, task, column, unit in in_settings(records, "factorial"):
        if not column.has(whole, whole_1, back, front, none):
            continue
        unpredicted = ("no: exploration" if conditions_ledger.EXPLORED.match(task) else
                       "no: a control" if task.startswith(("perceptron_he", "conv_net")) else
                       "no: needs no norm" if column.assay(none, whole) < 3 else "")
        predicted = unpredicted or f"{BEFORE_FACTORIAL}, over settings"

        def gain(sentence, statement, ahead, behind, predicted=unpredicted or "no"):
            found = [sum(leads) for leads in zip(*map(column.lead, ahead, behind))]
            return of_seeds(sentence, statement, where, found, unit, column.margin,
                            interior=not column.at_edge(*ahead, *behind), predicted=predicted)

        yield gain(1, TOGETHER, (whole, none), (back, front))
        if not unpredicted:
            yield gain(1, f"with the factor 1, {TOGETHER}", (whole_1, none), (back, front), predicted)
        yield gain(2, BACKWARD_GAINS, [back], [none], predicted)
        yield gain(2, FORWARD_GAINS, [front], [none])
        yield gain(2, AHEAD, [back], [front], predicted)
        yield gain(9, NORM_GAINS, [whole], [none])


def all_claims(records):
    return sorted([*of_forms(records["forms"]), *of_tables(records["xu2019"]), *of_forks(records["fork"]),
                   *of_signal(records["signal"]), *of_further_rates(records["signal"]), *of_factorial(records["factorial"])],
                  key=lambda claim: claim.sentence)


def levels_of(claims):
    return [claim.p for claim in claims if claim.p is not None and claim.interior]


def remaining(claims):
    """How many claims remain at a false discovery rate of 5 %."""
    levels = levels_of(claims)
    rows = [["claims with a p", "assumption", "remain", "with a p of at most"]]
    for assumption, rate in (("independent claims (Benjamini and Hochberg)", 0.05),
                             ("any dependence (Benjamini and Yekutieli)", 0.05 / sum(1 / k for k in range(1, len(levels) + 1)))):
        threshold = tables_ledger.threshold(levels, rate)
        rows.append([str(len(levels)), assumption, str(sum(p <= threshold for p in levels)), f"{threshold:.2g}"])
    return rows


def table(claims):
    threshold = tables_ledger.threshold(levels_of(claims))

    def shown_p(claim):
        if claim.p is None or not claim.interior:
            return "", "" if claim.interior else "rate at an edge"
        remains = "no" if claim.p > threshold else "the reverse" if claim.estimate.startswith("-") else "yes"
        return "< 0.0001" if claim.p < 1e-4 else f"{claim.p:.2g}", remains

    rows = [["sentence", "claim", "where", "estimate, 95 % interval", "n", "power", "p", "remains", "predicted"]]
    for claim in claims:
        rows.append([str(claim.sentence), claim.statement, claim.where, claim.estimate, claim.n, f"{claim.power:.2f}",
                     *shown_p(claim), claim.predicted])
    return rows
