"""The trainers on data of a few kilobytes, for tests that start them many times."""

import pathlib

from images import write_images
from program import PROGRAM, run

NAME = pathlib.Path(PROGRAM).name

SIZES = {
    "mnist": ["--hidden", "24", "--batch-size", "20"],
    "char_rnn": ["--hidden", "12", "--embedding", "6", "--layers", "1", "--seq-len", "8", "--batch-size", "4"],
    "char_transformer": ["--channels", "16", "--heads", "2", "--layers", "1", "--seq-len", "8", "--batch-size", "4"],
}[NAME]

# Random numbers in the steps of the runs that have any.
DROPOUT = ["--dropout", "0.1"] if "--dropout" in run("--help").stdout else []

# The files of data that are read before a run, beyond a few.
DATA_FILES = 0


def write_data(path):
    """Writes data for the program under test; returns the flags that name it."""
    if NAME == "mnist":
        write_images(path)
    else:
        path.write_text("abcd efgh. " * 40 + "a bad cafe, he said. " * 20)
    return ["--data", path]


def duration(quantity):
    """The flags of a run of this many epochs, or of the same length for trainers that count steps."""
    return ["--steps", 20 * quantity] if NAME.startswith("char") else ["--epochs", quantity]
