"""What the trainers and experiments of the laboratory write: outputs_test.py DRAW [TEST...]"""

import pathlib
import unittest

from program import TrainerTest
from writers import NAMED, OWN, RUNS, FlagsOfFiles, Writers


class Flags(FlagsOfFiles, TrainerTest):
    PAIRS = {("draw", "--save", "--svg"), ("draw", "--svg", "--resume"), ("read", "--svg", "--ask"),
             ("parse", "--svg", "--resume"), ("handwriting", "--svg", "--data")}


class WritersOfTheLaboratory(Writers, unittest.TestCase):
    ROOT = pathlib.Path(__file__).parents[2]
    FOLDERS = "data", "problems", "experiments", "trainers"
    WRITERS = {
        "experiments/report.cpp": (OWN, ["make_directory", "write_own", "write_own", "write_own"]),
        "experiments/float64/pictures.cpp": (OWN, ["make_directory", "write_own"]),
        "experiments/float64/tape_tour.cpp": (OWN, ["make_directory", "write_viewer", "write_viewer"]),
        **{f"trainers/{name}.cpp": (NAMED, ["write_file"]) for name in ("draw", "handwriting", "parse", "read", "translate")},
        "experiments/ledger.cpp": (RUNS, ["make_directory"]),
        "experiments/packed_runs.cpp": (RUNS, ["make_directory", "write_file"]),
    }


if __name__ == "__main__":
    unittest.main()
