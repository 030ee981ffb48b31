"""Writes the inputs that fuzzers of the laboratory begin with, and what they have found since then.

Usage: make_corpus.py DIR
"""

import json
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests/attack"))
from corpus_files import packed, write  # noqa: E402

write("subwords", "words", "the cat sees the dogs\nthe dogs see my cat\n")
write("subwords", "specials", "<s> <pad> </s> <unk>\n<s><s>\n")
write("subwords", "no_utf8", b"a \xe9 b\xc3\xa9 \xff\xfe\0c\n")
write("subwords", "marks", "\u2581a \u2585\u2047 \ufffd\n")
write("subwords", "empty", "\n \n")

write("strokes", "good", "0,0,0 12,-6,1 6,0,0 -6,12.5,1\n1,2,1\n3,3,0 4,4,1\n")
write("strokes", "packed", packed(b"0,0,0 12,-6,1\n"))
write("strokes", "line_ends", "1,2,0\t3,4,1\r\n5,6,1")
write("strokes", "empty_line", "1,2,1\n\n")
write("strokes", "pen_2", "1,2,2\n")
write("strokes", "too_large", "1000001,0,1\n")
write("strokes", "out_of_range", "1e999,0,1\n")
write("strokes", "nan", "nan,inf,1\n")
write("strokes", "long_number", "9" * 5000 + ",0,1\n")
write("strokes", "cut", "1,2,1 3,")
story = "1 Bill gave the milk to Fred.\n2 Who gave the milk? \tBill\t1\n"
write("stories", "good", story + story + "3 Jeff got the apple there.\r\n4 Where is Mary?\n")
write("stories", "empty", "")
write("stories", "cut", story[:-10])
write("stories", "no_number", story.replace("2 ", "two "))
write("stories", "number_too_large", story.replace("2 ", "9" * 30 + " "))
write("stories", "no_text", "1 Who?\tBill\n")
write("stories", "no_entity", story.replace("\tBill", "\ttable"))
write("stories", "long", "".join(f"{i} Bill went to the garden.\n" for i in range(1, 40)) + "40 Who?\tBill\n")
write("stories", "not_utf8", story.encode().replace(b"milk", b"m\xff\x00k"))

book = "_BOOK_TITLE_ : A_Book.txt\nA cat sat .\nIt saw a dog .\nThe dog ran .\n"
write("books", "good", book + book)
write("books", "empty", "")
write("books", "empty_lines", book.replace(".\n", ".\n\n"))
write("books", "line_ends", book.replace("\n", "\r\n"))
write("books", "no_title", book.split("\n", 1)[1])
write("books", "title_without_name", "_BOOK_TITLE_ :\n")
write("books", "titles_only", "_BOOK_TITLE_ : A\n" * 3)
write("books", "long_sentence", book + "word " * 100 + "\n" + book)
write("books", "not_utf8", book.encode().replace(b"cat", b"c\xff\x00t"))

pairs = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n1\tA dog\tIt\t4.5\tNEUTRAL\n"
write("pairs", "good", pairs + "2\ta\tb\t1\tX\n")
write("pairs", "empty", "")
write("pairs", "heading_only", pairs.split("\n")[0] + "\n")
write("pairs", "line_ends", pairs.replace("\n", "\r\n"))
write("pairs", "cut", pairs[:-12])
write("pairs", "six_columns", pairs[:-1] + "\tY\n")
write("pairs", "score_out_of_range", pairs.replace("4.5", "1e300"))
write("pairs", "no_score", pairs.replace("4.5", "nan"))
write("pairs", "no_words", pairs.replace("A dog", ""))
write("pairs", "not_utf8", pairs.encode().replace(b"dog", b"d\xff\x00g"))

write("hypernyms", "good", "0\t1\n1\t2\n0\t2\n3\t2\n")
write("hypernyms", "names", "0\tdog.n.01\n1\tanimal.n.01\n")
write("hypernyms", "name_ends_in_cr", "0\tdog\r\r\n")
write("hypernyms", "empty", "")
write("hypernyms", "cut", "0\t1\n1\t")
write("hypernyms", "cycle", "0\t1\n1\t2\n2\t0\n")
write("hypernyms", "itself", "0\t0\n")
write("hypernyms", "out_of_range", "0\t50\n")
write("hypernyms", "number_too_large", "0\t" + "9" * 30 + "\n")
write("hypernyms", "three_fields", "0\t1\t2\n")

finished = {"configuration": {"steps": 20, "norms": ["layer", "rms"]}, "data": "89abcdef", "version": "0.1.0",
            "seconds": 1.5, "values": {"loss": 0.25}, "curve": [[1, 2.5], [2, None, 0.5]], "items": [0, 1.5],
            "traces": {"ratio": [[1, 0.5]]}}
write("ledger", "good", json.dumps(finished))
write("ledger", "empty", "")
write("ledger", "cut", json.dumps(finished)[:-40])
write("ledger", "no_object", "[1, 2]")
write("ledger", "no_curve", json.dumps({**finished, "curve": [[1, "x"]]}))
write("ledger", "step_too_large", json.dumps({**finished, "curve": [[2**63, 1]]}))
write("ledger", "number_out_of_range", json.dumps(finished).replace("0.25", "1e999"))
write("ledger", "nested", json.dumps(finished).replace("2.5", "[" * 5000 + "]" * 5000))
write("ledger", "not_utf8", json.dumps(finished).encode().replace(b"89ab", b"\xff\xfe"))
# A run of which every claim of the laboratory can be made.
trained = {**finished, "items": [0, 100],
           "values": {name: 0.25 for name in
                      ["test", "test_accuracy", "validation", "training_loss", "validation_loss", "largest_gradient",
                       "frequencies", "test_divergence", "test_reconstruction"]
                      + [f"test_{search}_{found}" for search in ["caption", "image"]
                         for found in ["recall_1", "recall_5", "recall_10", "mean_rank"]]
                      + [f"{state}_{probe}" for state in ["test", "untrained"]
                         for probe in ["r", "rho", "MSE", "MR", "CR", "SUBJ", "MPQA", "MPQA_together"]]},
           "curve": [[1, 3]] + [[step, 2, 2.5] for step in range(2, 6)],
           "traces": {name: [[1, 0.5], [2, 0.25]] for name in
                      ["common", "ranks", "test_error", "recall_1", "recall_5", "recall_10", "probed_r", "probed_MSE",
                       "probed_MR", "probed_CR", "probed_SUBJ", "probed_MPQA"]}}
write("ledger", "trained", json.dumps(trained))
write("ledger", "no_points", json.dumps({**trained, "curve": []}))
write("ledger", "no_points_of_traces", json.dumps({**trained, "traces": {name: [] for name in trained["traces"]}}))
write("ledger", "no_values", json.dumps({**trained, "values": {}}))
write("ledger", "no_items", json.dumps({**trained, "items": []}))
write("ledger", "number_too_large", json.dumps(finished).replace("0.25", "1e300"))
write("ledger", "no_seconds", json.dumps({**finished, "seconds": None}))
write("ledger", "curve_descends", json.dumps({**finished, "curve": [[2, 2.5], [1, 2]]}))
write("ledger", "trace_repeats", json.dumps({**finished, "traces": {"ratio": [[1, 0.5], [1, 0.5]]}}))
write("ledger", "tried", json.dumps({**finished, "tried": [[0.001, 0.25], [0.003, None]], "tested": [[1, 0.25]]}))
write("ledger", "tried_is_no_pair", json.dumps({**finished, "tried": [[0.001]]}))
write("ledger", "tried_by_name", json.dumps({**finished, "values": {"validation at the rate 0.001": 0.25}, "traces": {"test": [[1, 0.25]]}}))
write("ledger", "tried_names_no_rate", json.dumps({**finished, "values": {"validation at the rate x": 0.25}}))
write("ledger", "part_twice", json.dumps(finished).replace('"items"', '"curve": [], "items"'))


def line(repeat=1, digest="af63dc4c8601ec8c", record="a", **more):
    """Of a record "a", with its digest."""
    head = json.dumps({"run": "study/task/ada:c=1@0.001", "seed": 7, "repeat": repeat, "digest": digest, **more})
    return f'{head[:-1]},"record":{record}}}\n'


write("ledger", "lines", line() + line(2, "cbf29ce484222325", ""))
write("ledger", "line_twice", line() + line())
write("ledger", "line_cut", line() + line(2)[:-3])
write("ledger", "line_empty", line() + "\n")
write("ledger", "line_damaged", line(record="b"))
write("ledger", "line_repeat_0", line(0))
write("ledger", "line_last_repeat", line(1_000_000))
write("ledger", "line_too_many_repeats", line(2**64 - 1))
write("ledger", "line_with_more", line(more=1))
write("ledger", "line_without_head", ',"record":}\n')


# What Source in pictures.cpp makes of bytes.
def a_number(value):
    return b"\xff" + struct.pack("<d", value)


def a_text(text):
    content = text if isinstance(text, bytes) else text.encode()
    return bytes([len(content)]) + content


def a_list(each):
    return bytes([len(each)]) + b"".join(each)


def a_series(name, points, deviations=()):
    return (a_text(name) + a_list([a_number(x) + a_number(y) for x, y in points]) +
            (b"\1" + b"".join(map(a_number, deviations)) if deviations else b"\0"))


def a_diagram(*series, logarithmic=False, title="t", mark=None):
    return (a_text(title) + a_text("x") + a_text("y") + a_list(series) + bytes([logarithmic]) + a_text("caption") +
            (b"\0" if mark is None else b"\1" + a_number(mark)))


def a_heat_map(rows, columns, values):
    return (a_text("title") + a_list(list(map(a_text, rows))) + a_list(list(map(a_text, columns))) + a_text("unit") +
            a_text("") + b"".join(map(a_number, values)))


def a_line(moves, text="", weights=()):
    return (bytes([len(moves) // 3]) + a_text("title") + b"".join(map(a_number, moves)) + a_text(text) +
            (b"\1" if weights else b"\0") + b"".join(map(a_number, weights)))


def a_word(form, head):
    return a_text(form) + a_text("TAG") + bytes([head]) + a_text("of")


PAGE, PHONE, SLIDE = 0, 1, 2
DIAGRAMS, HEAT_MAPS, LINES, GLIMPSES, TREES = range(5)
GREATEST, INF, NAN = 1.7976931348623157e308, float("inf"), float("nan")


def picture(name, medium, kind, content):
    write("pictures", name, bytes([medium, kind]) + content)


curve = a_series("a", [(0, 1), (1, 3), (2, 2)], [1, 2, 0.5])
picture("diagrams", PAGE, DIAGRAMS, a_list([a_diagram(curve, a_series("b", [])), a_diagram(logarithmic=True)]))
picture("diagram_on_phone", PHONE, DIAGRAMS, a_list([a_diagram(curve)]))
picture("diagram_on_slide", SLIDE, DIAGRAMS, a_list([a_diagram(curve)]))
picture("x_greatest", PAGE, DIAGRAMS, a_list([a_diagram(a_series("a", [(GREATEST, 1)]))]))
picture("x_negative", PAGE, DIAGRAMS, a_list([a_diagram(a_series("a", [(-1e99, 1), (-1, 2)]))]))
picture("y_greatest", PAGE, DIAGRAMS, a_list([a_diagram(a_series("a", [(1, GREATEST), (2, -GREATEST), (3, NAN)]))]))
picture("y_least", PAGE, DIAGRAMS, a_list([a_diagram(a_series("a", [(1, 5e-324), (2, 1e-320)]), logarithmic=True)]))
picture("band_infinite", PAGE, DIAGRAMS, a_list([a_diagram(a_series("a", [(INF, 1), (1, INF)], [1, 1]))]))
picture("band_not_positive", PAGE, DIAGRAMS,
        a_list([a_diagram(a_series("a", [(0, 1), (1, -2), (2, 3)], [1, 5, -9]), logarithmic=True)]))
picture("mark_of_zero", PAGE, DIAGRAMS, a_list([a_diagram(a_series("a", [(1, 1), (2, 2)]), logarithmic=True, mark=0)]))
picture("mark_least", PAGE, DIAGRAMS, a_list([a_diagram(curve, mark=-GREATEST), a_diagram(curve, mark=NAN)]))
picture("names", PAGE, DIAGRAMS, a_list([a_diagram(a_series("<&>\"", [(1, 1)]), title=b"\x1b[0m\0\xff\xef\xbf\xbf")]))
picture("heat_map", PAGE, HEAT_MAPS, a_list([a_heat_map(["a", "b"], ["c"], [1, -INF])]))
picture("heat_map_greatest", SLIDE, HEAT_MAPS, a_list([a_heat_map(["a"], "bcd", [GREATEST, 1e308, -GREATEST])]))
picture("heat_map_of_nothing", SLIDE, HEAT_MAPS, a_list([a_heat_map([], [], [])]))
picture("heat_map_without_columns", PAGE, HEAT_MAPS, a_list([a_heat_map(["a"], [], [])]))
picture("heat_map_wide", PAGE, HEAT_MAPS, a_list([a_heat_map(["m" * 63], ["b"] * 200, [])]))
picture("lines", PAGE, LINES, a_list([a_line([1, 0, 0, 1, 1, 1, 5, 5, 0], "12", [3, 1, 3, 1, 1, 3])]))
picture("lines_not_finite", PAGE, LINES, a_list([a_line([INF, 0, 0, NAN, 1, 0], "1", [INF, NAN])]))
for name, window, ink in ("glimpses", [2, 1, 1, 1, 1], 0.5), ("glimpses_not_finite", [NAN, INF, INF, 1, 1], NAN):
    picture(name, PAGE, GLIMPSES, a_text("title") + b"".join(map(a_number, window * 2 + [ink] * 12)))
picture("trees", PAGE, TREES, a_list([a_list([a_word("the", 2), a_word("dogs", 3), a_word("run", 0)]), a_list([])]))
picture("tree_head_out_of_range", PAGE, TREES, a_list([a_list([a_word("run", 7)])]))
picture("tree_of_itself", PAGE, TREES, a_list([a_list([a_word("run", 1)])]))
