"""Which commits the records of the ledger name: the commits of added runs are in the history, and after the commit
that has the predictions of their study."""

import collections
import json
import re
import subprocess

import conditions_ledger

# How many records of each study name no commit, one with changes, or one that is not in the history. These are of
# earlier runs: none is added to them.
EARLIER = {
    "ba2016": {"": 165},
    "fork": {"f23f314": 20},
    "forms": {"": 256},
    "xu2019": {"": 297, "79bd8f8-dirty": 4, "35d1c00-dirty": 30, "28e923a-dirty": 30},
}

# Where and in which commit each study has its predictions.
PREDICTIONS = {"signal": ("59a83758", "lab/experiments/signal_predictions.cpp"),
               "factorial": ("86a20df6", "lab/experiments/factorial_predictions.cpp")}
FURTHER_RATES = "a0612b1a"  # has what was expected of further rates in signal


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)


def has_history(root):
    """Whether the folder is in a clone with all commits."""
    shallow = git(root, "rev-parse", "--is-shallow-repository").stdout.strip()
    commits = git(root, "rev-list", "--count", "--max-count=100", "HEAD").stdout.strip()
    if shallow != "false" or commits != "100":  # a copy that was made a repository of its own has few
        print("skipped: the commits of records are not looked for, since this is no clone with its history")
        return False
    return True


def is_ancestor(root, commit, of="HEAD"):
    return git(root, "merge-base", "--is-ancestor", commit, of).returncode == 0


def check(study, records, root):
    """records: the texts of a study's"""
    named = collections.Counter(json.loads(text).get("provenance", {}).get("commit", "") for text in records)
    for commit, count in named.items():
        earlier = EARLIER.get(study, {}).get(commit, 0)
        assert count <= earlier or (commit and not commit.endswith("-dirty") and is_ancestor(root, commit)), (
            f"{study}: {count - earlier} records name the commit \"{commit}\", which is not in the history of HEAD; "
            "train them again with a build of a commit that is")


def check_predictions(study, records, claims, root):
    """That the statements of a report stand in a commit that is an ancestor of all that trained.
    records: by run and seed   claims: the predictions that are reported"""
    commit, path = PREDICTIONS[study]
    text = git(root, "show", f"{commit}:{path}").stdout
    predicted = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r'"\s*"', "", text)))
    for claim in claims:
        statement = re.sub(r"^With \w+, ", "", claim).rstrip(".")
        assert statement in predicted, f"{study}: \"{statement}\" is not in {path} of {commit}"
    trained = {record["provenance"]["commit"] for (run, _), record in records.items()
               if not (study == "factorial" and conditions_ledger.EXPLORED.match(run.split("/")[1]))}
    for one in trained:
        assert is_ancestor(root, commit, one), f"{study}: {one} trained before {commit} had the predictions"


def check_refusals(root):
    """That planted records and predictions are found."""
    def refused(check, *arguments):
        try:
            check(*arguments, root)
        except AssertionError:
            return
        raise AssertionError(f"{arguments} are not refused")

    def record(commit):
        return {"provenance": {"commit": commit}}

    head = git(root, "rev-parse", "--short", "HEAD").stdout.strip()
    check("planted", [json.dumps(record(head))], root)
    for commit in "0123456", head + "-dirty", "":
        refused(check, "planted", [json.dumps(record(commit))])
    refused(check_predictions, "signal", {}, ["With adam, nothing is ever lost"])
    refused(check_predictions, "signal", {("signal/task", 201): record(PREDICTIONS["signal"][0] + "^")}, [])
