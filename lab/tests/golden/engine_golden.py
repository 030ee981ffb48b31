"""Importing it makes what scripts of golden values share, which lies beside the engine's, importable."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests/golden"))
