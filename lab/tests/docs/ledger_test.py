"""What pages show of the ledger is what is in it: ledger_test.py LAB ROOT [--write]

Below a line `<!-- ledger: MARK -->` stands a table, and MARK names it:
    xu2019/rt          the test values of the systems that were trained on a task, seed by seed
    xu2019 table1      a table of the laboratory's report, with a row for each task; published values in italics
    forms verdicts     the predictions of docs/forms.md, and what became of them
    fork table1        a table of the laboratory's report
    fork verdicts      the predictions of docs/fork.md
    signal verdicts    the predictions of docs/signal.md
    claims             the claims of docs/findings.md, computed from the ledgers here alone
    hypothesis         in which settings of signal the hypothesis of docs/findings.md holds
    remaining          how many of them remain at a false discovery rate of 5 %
    cost model         how well one model predicts what a detached mean costs, computed from the ledger here alone
    xu2019 forms       the same for the tasks of the tables
    xu2019 remedies    the predictions of docs/drift_measured.md for these tasks
    ba2016 rates       how far layer normalization is ahead of no norm at either rate that was tried
    evidence           how many verdicts of each value stand behind each table and figure of the papers
Pictures of docs that a report draws are the same. With --write, tables and pictures are written anew."""

import csv
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import claims
import conditions_ledger
import cost_model
import evidence
import fork_ledger
import forms_ledger
import packed_runs
import provenance_ledger
import tables_ledger

MARK = re.compile(r"(<!-- ledger: (.+) -->\n\n)((?:\|.*\n)*)")
SYSTEMS = tables_ledger.PAPER["systems"]
# What is measured of a claim: an advantage, half its width with the variance over all systems, p and power.
MEASURED = re.compile(r"(.*?)(?:, pooled (\S+) \((\d+) degrees of freedom\))?(?:, p ([^ ,]+))?(?:, power (\S+))?$")
REMAIN = re.compile(r"Of (\d+) claims with a p, .* (?:none remains|(\d+) remain, those with a p of (\S+) or less)")
TASKS = re.compile(r"it speaks of (\d+): supported in (\d+), contradicted in (\d+)")
JUDGED = re.compile(r"^(?:asked here|published in ([^:]+)), ([^:,]+): (.*)\n  measured: (.*)$", re.M)
BESIDE_THE_PAPER = {"xu2019 forms": re.compile(":f"), "xu2019 remedies": re.compile(r"\w\+\w")}

lab, root = sys.argv[1], pathlib.Path(sys.argv[2])
ledger = root / "ledger"


def markdown(rows):
    numbers = "---" if rows[0][-1] == "found here" else "---:"
    sides = [["---"] + [numbers] * (len(rows[0]) - 1)]
    escaped = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    return "".join("| " + " | ".join(row) + " |\n" for row in escaped[:1] + sides + escaped[1:])


def test_values(records, task):
    """By system and seed, in the setting of the system that was trained with most seeds but 101: a rate that was chosen
    among fewer may have some, too."""
    by_setting, found = {}, {}
    for (run, seed), record in records.items():
        if run.startswith(f"{task}/") and seed != 101:
            by_setting.setdefault(run.removeprefix(f"{task}/"), {})[seed] = record["values"]["test"]
    for setting, values in by_setting.items():
        system = re.sub("^ada:.*", "ada", setting.partition("@")[0])  # a form such as layer:factor=1 is none of them
        if system in SYSTEMS and len(values) > len(found.get(system, {})):
            found[system] = values
    return found


def seeds_of(records, task):
    found = test_values(records, task)
    systems = [system for system in SYSTEMS if system in found]
    rows = [["seed", *systems]]
    rows += [[str(seed), *(f"{found[system][seed]:.2f}" for system in systems)] for seed in sorted(found[systems[0]])]
    values = [found[system].values() for system in systems]
    return rows + [["mean", *(f"{statistics.mean(each):.2f} ± {statistics.stdev(each):.2f}" for each in values)]]


def leads_by_rate(records):
    """How far layer normalization is ahead of no norm when rates are chosen, by the rate."""
    found = {}
    for (run, seed), record in records.items():
        _, task, system = run.split("/")
        if seed == 101 and system.partition("@")[0] in ("none", "layer"):
            name, _, rate = system.partition("@")
            found.setdefault(task, {}).setdefault(float(rate), {})[name] = record["values"]["validation"]
    rows = [["task", "lower rate", "layer − none", "higher rate", "layer − none"]]
    for task, by_rate in sorted(found.items()):
        sign = 1 if task == "retrieval" else -1  # images found; elsewhere errors and losses
        rows.append([task] + [text for rate, values in sorted(by_rate.items())
                              for text in (f"{rate:g}", f"{sign * (values['layer'] - values['none']):+.2f}")])
    return rows


def cell(text):
    """A measured value, the published one and a verdict, one below the other."""
    measured, _, rest = re.sub(r" \(\d+\)", "", text.replace("+-", "±")).partition(" / ")
    published, _, verdict = rest.partition(": ")
    return "<br>".join(part for part in (measured, published not in ("", "-") and f"*{published}*", verdict) if part)


def by_task(table):
    """Tables 1 to 4 of Xu et al. have tasks as columns, and units in the last row."""
    if table[-1][0] != "unit":
        return [[cell(text) for text in row] for row in table]
    tasks = [[name, unit] for name, unit in zip(table[0], table[-1])][1:]
    shown = [row for row in table[1:] if row[0] not in ("unit", "optimizer", "initial values")]
    return [["task"] + [row[0].replace(" - ", " − ") for row in shown]] + [
        [f"{name}<br>{unit}"] + [cell(row[column + 1]) for row in shown] for column, (name, unit) in enumerate(tasks)]


def in_forms(claim):
    """A claim with norms as forms: z, 1/s, both for layer_simple."""
    forms = {norm: form for form, norm in tables_ledger.FORMS.items()}
    names = "|".join(re.escape(norm) for norm in sorted(forms, key=len, reverse=True))
    return re.sub(rf"\b({names})(?=[ .])", lambda norm: f"({forms[norm[1]]})", claim)


class Report:
    """What the laboratory makes of an experiment's ledger."""

    def __init__(self, experiment, folder):
        self.folder, self.name = pathlib.Path(folder), experiment
        self.text = subprocess.run([lab, experiment, "--from-ledger", "--runs", ledger, "--report", folder], check=True,
                                   capture_output=True, text=True).stdout

    def judged(self):
        """Source, verdict, claim and what was measured."""
        return JUDGED.findall(self.text)

    def verdicts(self):
        """Claim, advantage, pooled half-width, power and verdict; of one that is decided by a p, also whether it remains
        at a false discovery rate of 5 % over all claims of the report."""
        parts = [(claim, verdict, *MEASURED.match(measured.rpartition("; ")[2]).groups())
                 for _, verdict, claim, measured in self.judged()]
        levels = sorted(float(p) for *_, p, _ in parts if p)
        threshold = tables_ledger.threshold(levels)
        if levels:
            count, remain, greatest = REMAIN.search(self.text).groups()
            found = len(levels), sum(p <= threshold for p in levels), threshold
            assert found == (int(count), int(remain or 0), float(greatest or 0)), (self.name, found, count, remain, greatest)
        for claim, verdict, measured, pooled, degrees, p, power in parts:
            if p and verdict in ("supported", "contradicted"):
                verdict += ", remains" if float(p) <= threshold else ", does not remain"
            yield (claim, measured.replace("+-", "±") + f", p {p}" * bool(p), f"± {pooled} ({degrees})" * bool(pooled), power or "",
                   verdict)

    def verdicts_of_differences(self, what):
        """The signs of published differences in a table."""
        cells = [cell for row in self.rows(what) if " - " in row[0] for cell in row[1:]]
        in_full = {"inconclusive": "inconclusive at this scale", "not learned": "not learned at this size",
                   "rate at an edge": "at an edge of the rates"}
        verdicts = [cell.rpartition(": ")[2].partition(", ")[0] for cell in cells if ": " in cell]
        return [in_full.get(verdict, verdict) for verdict in verdicts]

    def rows(self, what):
        with (self.folder / f"{self.name}_{what}.csv").open(newline="") as opened:
            return list(csv.reader(opened))

    def table(self, what):
        return by_task(self.rows(what))


def main():
    write = "--write" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        files = {file.name.partition(".")[0]: file for file in ledger.glob("*.jsonl.gz")}
        records = {study: packed_runs.read(file) for study, file in files.items()}
        reports = {study: Report(study, folder) for study in records}
        if provenance_ledger.has_history(root):
            provenance_ledger.check_refusals(root)
            for study, file in files.items():
                provenance_ledger.check(study, packed_runs.repeats(file).values(), root)
            for study in provenance_ledger.PREDICTIONS:
                provenance_ledger.check_predictions(study, records[study],
                                                    [claim for _, _, claim, _ in reports[study].judged()], root)
            for commit in claims.commits_of_further_rates(records["signal"]):
                assert provenance_ledger.is_ancestor(root, provenance_ledger.FURTHER_RATES, commit), commit

        forms_ledger.check(records["forms"], reports["forms"])
        fork_ledger.check(records["fork"], records["forms"], reports["fork"])
        tables_ledger.check(records["xu2019"], reports["xu2019"])
        conditions_ledger.check_signal(records["signal"], reports["signal"])
        conditions_ledger.check_factorial(records["factorial"], reports["factorial"])

        cost_model.check()
        found = claims.all_claims(records)

        def table(mark):
            if mark == "evidence":
                return markdown(evidence.table(reports))
            if mark == "claims":
                return markdown(claims.table(found))
            if mark == "hypothesis":
                return markdown(claims.hypothesis(records["signal"]))
            if mark == "remaining":
                return markdown(claims.remaining(found))
            if mark == "cost model":
                return markdown(cost_model.table(records["drift"]))
            if mark == "signal verdicts":
                return markdown([["prediction", "found here", "tasks that support it", "that contradict it"]] + [
                    [claim, verdict, *(f"{n} of {all}" for n in (supported, contradicted))]
                    for _, verdict, claim, measured in reports["signal"].judged()
                    for all, supported, contradicted in TASKS.findall(measured)])
            if mark in ("forms verdicts", "fork verdicts"):
                return markdown([["prediction", "found here"]] + [
                    [claim, verdict] for claim, *_, verdict in reports[mark.partition(" ")[0]].verdicts()])
            if mark == "ba2016 rates":
                return markdown(leads_by_rate(records["ba2016"]))
            if mark in BESIDE_THE_PAPER:
                return markdown([["prediction", "measured", "pooled", "power", "found here"]] + [
                    [in_forms(claim) if mark == "xu2019 forms" else claim, *rest]
                    for claim, *rest in reports["xu2019"].verdicts() if BESIDE_THE_PAPER[mark].search(claim)])
            experiment, _, what = mark.partition(" ")
            return markdown(reports[experiment].table(what) if what else
                            seeds_of(records[mark.partition("/")[0]], mark))

        entered = "PYTHONPATH=lab/tests/experiments python3 lab/tests/docs/ledger_test.py LAB lab --write enters what the ledger has"
        marks = 0
        for page in sorted((root / "docs").glob("*.md")):
            text = page.read_text()
            written = MARK.sub(lambda mark: mark[1] + table(mark[2]) + ("" if mark[3] else "\n"), text)
            marks += len(MARK.findall(text))
            if write:
                page.write_text(written)
            assert text == written or write, f"{page}: {entered}"
        assert marks
        for drawn in pathlib.Path(folder).glob("*.svg"):
            kept = root / "docs/pictures" / drawn.name
            if kept.exists() and write:
                kept.write_text(drawn.read_text())
            assert not kept.exists() or kept.read_text() == drawn.read_text(), f"{kept}: {entered}"


main()
