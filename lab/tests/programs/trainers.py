"""The trainers on data of a few kilobytes, for tests that start them many times."""

import pathlib

import classify_test
import order_embeddings_test
import read_test
import skip_thoughts_test
import translate_test
from draw_test import write_binary_images
from handwriting_test import write_drawings
from parse_test import write_treebank
from program import PROGRAM, run

NAME = pathlib.Path(PROGRAM).name

SIZES = {
    "classify": ["--channels", "16", "--heads", "2", "--hidden", "16", "--layers", "1", "--batch-tokens", "64",
                 "--task", "trec"],
    "draw": ["--glimpses", "2", "--hidden", "8", "--latent", "2", "--batch-size", "20"],
    "handwriting": ["--layers", "3", "--hidden", "8", "--components", "2", "--task", "omniglot", "--moves", "20",
                    "--batch-size", "4"],
    "order_embeddings": ["--embedding", "8", "--hidden", "16", "--batch-size", "20", "--schedule", "cosine"],
    "parse": ["--embedding", "8", "--hidden", "16", "--batch-size", "64"],
    "read": ["--hidden", "8", "--batch-size", "20", "--schedule", "cosine"],
    "skip_thoughts": ["--embedding", "6", "--hidden", "8", "--batch-size", "20", "--schedule", "cosine"],
    "translate": ["--channels", "16", "--heads", "2", "--hidden", "16", "--layers", "1", "--batch-tokens", "96",
                  "--vocabulary", "48", "--schedule", "cosine"],
}[NAME]

# Random numbers in the steps of the runs that have any.
DROPOUT = ["--dropout", "0.1"] if "--dropout" in run("--help").stdout else []

# The files of data that are read before a run, beyond a few.
DATA_FILES = 30 if NAME == "order_embeddings" else 0


def write_data(path):
    """Writes data for the program under test; returns the flags that name it."""
    write = {"classify": classify_test.write_task, "draw": write_binary_images, "handwriting": write_drawings,
             "order_embeddings": order_embeddings_test.write_captions, "parse": write_treebank,
             "read": read_test.write_stories, "skip_thoughts": skip_thoughts_test.write_books,
             "translate": translate_test.write_task}[NAME]
    write(path)
    return ["--data", path]


def duration(quantity):
    """The flags of a run of this many epochs."""
    return ["--epochs", quantity]
