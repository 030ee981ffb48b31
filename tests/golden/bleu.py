#!/usr/bin/env python3
"""Writes bleu.json with sacreBLEU: the words of lines, the BLEU of pairs of lines, alone and as a corpus, and the 95 %
intervals of differences between corpora by paired bootstrap (Koehn 2004)."""

import json
import pathlib
import random

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

LINES = [
    "", "   ", "word", "It costs 1,000.5 dollars, or 12.50 euros.", "In 1990-91 the 3-year plan (part 2) failed.",
    "He said &quot;no&quot; &amp; left &lt;at once&gt;.", "&amp;quot; stays escaped once; &apos; always.",
    "„Anführungszeichen“, «guillemets» and “quotes” – a dash — and an ellipsis…", "end.", "a..b,,c", ".5 and 5.",
    "wait...what?!", "1.,2", "-3 to 4-", "x-ray -- a/b\\c", "e-mail: me@example.org [#1] {a|b} ~50% $5 ^2 `q` *x* +1 =2",
    "no\u00a0break\u2003space\u3000here\u0085there\x1cthen", "a line with a newline\nand a hyphen-\nated word",
    "<skipped> was skipped", "trailing blanks \t \u00a0", "don't can't rock'n'roll", "Ünïcödé, größer. ναι; да!", "日本語。テスト、です",
]

# Sentences written for this test; the pairs are variations of them.
SENTENCES = [
    "The harbour was quiet, and only two boats, both painted red, had come back before dark.",
    "Between 1,200 and 1,500 people signed the letter; 37.5 % of them were under 30.",
    "\"Nobody asked us,\" she answered, \"so we simply went on building the bridge.\"",
    "Our neighbour's cat (the grey one) sleeps on the warm bonnet of every car in the street.",
    "When the rain stopped at 6:45, the children ran out to look for snails.",
    "Write to info@example.org, or call 0800-555-123 after 9 o'clock.",
    "The recipe needs 2.5 kg of flour, 1/2 litre of milk & a pinch of salt.",
    "Die Brücke über den Fluß wurde 1894 gebaut – und 1945 zerstört.",
    "He sold the old piano, bought a smaller one, and never told his brother why.",
    "Is it the heat, the dust or the noise that keeps the birds away from the yard?",
    "In the third chapter, the author's x-ray of small-town life becomes almost tender.",
    "A, B and C agree; D doesn't; E hasn't answered yet...",
]
SPARE = "and the a of quickly blue under seven garden, never".split()


def varied(sentence, source):
    words = sentence.split()
    for _ in range(source.randrange(1, 6)):
        at = source.randrange(len(words))
        change = source.randrange(4)
        if change == 0 and len(words) > 1:
            words.pop(at)
        elif change == 1:
            words[at] = source.choice(SPARE)
        elif change == 2:
            words.insert(at, source.choice(SPARE))
        else:
            other = source.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    return " ".join(words)


source = random.Random(1)
references = [source.choice(SENTENCES) for _ in range(100)]
pairs = [(varied(reference, source), reference) for reference in references]
CORPORA = {
    "pairs": pairs,
    "shorter": [(" ".join(text.split()[:-3]), reference) for text, reference in pairs],
    "longer": [(text + " and so on, of course.", reference) for text, reference in pairs],
    "an empty translation among others": [("", pairs[0][1]), *pairs[1:5]],
    "nothing translated": [("", "one two three four five")],
    "an empty reference": [("one two three four", "")],
    "no match": [("red green blue white black", "one two three four five")],
    "no 4-gram matches": [("one two three six five", "one two three four five")],
    "words match, pairs do not": [("five four three two one", "one two three four five")],
    "too short for 4-grams": [("one two three", "one two three")],
    "all right": [(sentence, sentence) for sentence in SENTENCES],
    "case counts": [("The Dog Barks At Night .", "the dog barks at night .")],
    "words of one line": [(line, LINES[(i + 1) % len(LINES)]) for i, line in enumerate(LINES)],
}

metric = BLEU()


def statistics(corpus):
    """What BLEU counts of each sentence."""
    return numpy.array(metric._extract_corpus_statistics([a for a, _ in corpus], [[b for _, b in corpus]]))


def half_width(a, b, resamples=100_000):
    """Half the width of the 95 % interval of BLEU(a) - BLEU(b) over sentences."""
    of_a, of_b = statistics(a), statistics(b)
    source = numpy.random.default_rng(1)
    differences = []
    for _ in range(resamples):
        rows = source.integers(len(a), size=len(a))
        differences.append(metric._compute_score_from_stats(of_a[rows].sum(0).tolist()).score
                           - metric._compute_score_from_stats(of_b[rows].sum(0).tolist()).score)
    low, high = numpy.quantile(differences, [0.025, 0.975])
    return (high - low) / 2


golden = {
    "words": [[line, Tokenizer13a()(line.rstrip()).split()] for line in LINES],
    "corpora": {name: {"translations": [a for a, _ in corpus], "references": [b for _, b in corpus],
                       "bleu": metric.corpus_score([a for a, _ in corpus], [[b for _, b in corpus]]).score}
                for name, corpus in CORPORA.items()},
    "half_widths": {name: half_width(pairs, CORPORA[name]) for name in ("shorter", "longer")},
    "sentences": [metric.corpus_score([a], [[b]]).score for a, b in pairs],
}
path = pathlib.Path(__file__).with_name("bleu.json")
path.write_text(json.dumps(golden, ensure_ascii=True, indent=0) + "\n")
print(f"{path.name}: sacreBLEU {sacrebleu.__version__}, {metric.get_signature()}")
