"""Which commits the records of the ledger name: those of runs that are added are in the history."""

import collections
import json
import subprocess

# How many records of each study name no commit, one with changes, or one that is not in the history. These are of
# earlier runs: none is added to them.
EARLIER = {
    "ba2016": {"": 165},
    "fork": {"f23f314": 20},
    "forms": {"": 256},
    "xu2019": {"": 297, "79bd8f8-dirty": 4, "35d1c00-dirty": 30, "28e923a-dirty": 30},
}


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


def is_ancestor(root, commit):
    return git(root, "merge-base", "--is-ancestor", commit, "HEAD").returncode == 0


def check(study, records, root):
    """records: the texts of a study's"""
    named = collections.Counter(json.loads(text).get("provenance", {}).get("commit", "") for text in records)
    for commit, count in named.items():
        earlier = EARLIER.get(study, {}).get(commit, 0)
        assert count <= earlier or (commit and not commit.endswith("-dirty") and is_ancestor(root, commit)), (
            f"{study}: {count - earlier} records name the commit \"{commit}\", which is not in the history of HEAD; "
            "train them again with a build of a commit that is")


def check_refusals(root):
    """That a planted record is found."""
    record = lambda commit: json.dumps({"provenance": {"commit": commit}})
    head = git(root, "rev-parse", "--short", "HEAD").stdout.strip()
    check("planted", [record(head)], root)
    for commit in "0123456", head + "-dirty", "":
        try:
            check("planted", [record(commit)], root)
        except AssertionError:
            continue
        raise AssertionError(f"a record that names \"{commit}\" is not refused")
