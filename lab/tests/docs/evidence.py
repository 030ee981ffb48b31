"""The verdicts of the ledger on each table and figure of the papers, or the program that measures it in moments."""

import collections
import re

# Where it is published and what it shows; then a pattern of the published claims with its verdicts, the table whose
# differences have them, or the program that measures it.
ROWS = [
    ("Ba, table 1", "invariances of the normalizations", "claims of `./dev run invariance`"),
    ("Ba, table 2", "retrieval", r"^table 2: Retrieval: "),
    ("Ba, table 3", "probes of skip-thoughts", r"^section 6.3: Sentences: .*at the end"),
    ("Ba, figure 1", "retrieval during training", r"^section 6.1: Retrieval: "),
    ("Ba, figure 2", "the attentive reader", r": bAbI: "),
    ("Ba, figure 3", "skip-thoughts during training", r": Sentences: (?!.*at the end)"),
    ("Ba, figure 4", "DRAW", r": Binarized MNIST: "),
    ("Ba, figure 5", "handwriting", r": (Omniglot|Kanji|Written digits): "),
    ("Ba, figure 6", "MNIST with batches of 128 and 4", r": MNIST, batches "),
    ("Ba, section 5.2", "the geometry of parameters", "claims of `./dev run geometry`, `spectra`"),
    ("Xu, table 1", "gain and bias", "table1"),
    ("Xu, table 2", "results with detached statistics", "table2"),
    ("Xu, table 3", "results with the mean or the scale detached", "table3"),
    ("Xu, table 4", "AdaNorm", "table4"),
    ("Xu, figure 1", "overfitting by gain and bias", r"^figure 1: "),
    ("Xu, figure 2", "losses with detached statistics", r"^figure 2: "),
    ("Xu, figure 3", "losses with AdaNorm", r"^section 4.2: "),
    ("Xu, theorem 1", "moments of the gradient", "claims of `./dev run theorem1`, `gradients`"),
    ("Xu, theorem 2", "the factor of AdaNorm", "claims of `./dev run theorem2`, `adanorm`"),
    ("Ren et al. 2017", "divisive normalization, smoothing, an L1 term", "claims of `./dev run divisive`"),
    ("Ren et al. 2017", "invariance with a smoothing term", "claims of `./dev run invariance`"),
]
EXPERIMENTS = {"Ba": "ba2016", "Xu": "xu2019"}


def counted(verdicts):
    counts = collections.Counter(verdicts)
    names = "supported", "contradicted", "inconclusive at this scale", "not learned at this size", "at an edge of the rates"
    return ", ".join(f"{counts[name]} {name.partition(' at this ')[0].partition(' of the ')[0]}" for name in names if counts[name]) or "not run"


def found(row, reports):
    where, _, source = row
    if "`" in source:
        return source
    report = reports.get(EXPERIMENTS[where.partition(",")[0]])
    if report is None:
        return "not run"
    if source.startswith("table"):
        return counted(report.verdicts_of_differences(source))
    return counted(verdict for where, verdict, claim, _ in report.judged()
                   if where and re.search(source, f"{where}: {claim}"))


def table(reports):
    return [["published", "what it shows", "found here"]] + [
        [where, shows, found((where, shows, source), reports)] for where, shows, source in ROWS]
