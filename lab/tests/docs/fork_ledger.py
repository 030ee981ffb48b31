"""The table and the verdicts of `lab fork`, computed from its ledger a second time."""

import math
import statistics

import forms_ledger

ARMS = ["kept", "mean detached", "deviation detached", "both detached", "forward alone", "backward alone"]
MARGIN = 5  # percent of the loss
OPTIMIZERS = ["adam", "momentum"]
TITLES = {"adam": "Adam", "momentum": "momentum"}


class Costs:
    """In percent of the loss of the unforked run, by seed."""

    def __init__(self, records):
        assert len(records) == 10, len(records)
        self.traces = [record["traces"] for record in records]
        self.rates = {record["configuration"]["rate"] for record in records}
        self.points = [point for point, _ in self.traces[0]["unforked at once"]]

    def losses(self, point, when, arm="unforked"):
        return [dict(traces[f"{arm} {when}"])[point] for traces in self.traces]

    def of(self, arm, point, when):
        return [100 * (loss / unforked - 1)
                for loss, unforked in zip(self.losses(point, when, arm), self.losses(point, when))]


def interval(values):
    return statistics.mean(values), forms_ledger.T_975[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))


def greater(a, b):
    mean, half = interval([x - y for x, y in zip(a, b)])
    return "supported" if mean > half else "contradicted" if mean < -half else "inconclusive"


def within(values, most=MARGIN):
    mean, half = interval(values)
    return ("supported" if abs(mean) + half < most else "contradicted" if abs(mean) - half > most else "inconclusive")


def verdicts(costs, optimizer):
    first, last = costs.points[0], costs.points[-1]
    mean, deviation = ([costs.of(arm, point, "at once") for point in costs.points] for arm in ARMS[1:3])
    everywhere = forms_ledger.combined
    if optimizer == "adam":
        yield greater(mean[0], mean[-1])
        yield everywhere([greater(a, b) for a, b in zip(mean, deviation)])
    else:
        yield everywhere([within(values) for values in mean])
        yield everywhere([greater(b, a) for a, b in zip(mean, deviation)])
    yield greater(costs.of("both detached", first, "later"), costs.of("kept", first, "later"))
    yield within(costs.of("both detached", last, "later"))


def check(forks, forms, report):
    """forks: the ledger's   forms: its forms, which chose the rates   report: what `lab fork --from-ledger` made of them"""
    costs = {optimizer: Costs([record for (run, _), record in forks.items() if run == f"fork/{optimizer}"])
             for optimizer in OPTIMIZERS}
    for optimizer, found in costs.items():
        chosen = forms_ledger.Cell(forms[f"forms/{optimizer}_uniform_6/layer_simple", 101])
        assert not chosen.edge and all(abs(rate / chosen.rate - 1) < 1e-4 for rate in found.rates), (chosen.rate, found.rates)
        for when in "at the fork", "at once", "later":
            assert all(cost == 0 for point in found.points for cost in found.of("kept", point, when))
    expected = [["training"] + [f"at {point}" for point in costs["adam"].points]]
    for optimizer, found in costs.items():
        def row(name, words):
            expected.append([f"{TITLES[optimizer]}, {name}"] + [
                " / ".join(words(point, when) for when in ("at once", "later")) for point in found.points])

        row("the loss itself, in nats", lambda point, when: f"{statistics.mean(found.losses(point, when)):.3f}")
        for arm in ARMS[1:]:
            row(arm, lambda point, when: "{:+.1f} +- {:.1f}".format(*interval(found.of(arm, point, when))))
    assert report.rows("table1") == expected, report.rows("table1")
    expected = [verdict for optimizer in OPTIMIZERS for verdict in verdicts(costs[optimizer], optimizer)]
    reported = [verdict.partition(" at this ")[0] for _, verdict, _, _ in report.judged()]
    assert expected == reported, (expected, reported)
