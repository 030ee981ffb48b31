"""Each notebook, run in a process of its own, prints what is stored in it. `test_notebooks.py --write` stores it again.

The text is compared, but for what depends on the processor. A picture has only to be drawn, since its bytes depend on
the version of Matplotlib."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

# The instruction set, and differences that are rounding.
OF_PROCESSOR = re.compile(r"(?<=with )\w+$|(?<=others by )\S+ at most|(?<=agrees \()\S+ ULPs", re.MULTILINE)

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


def cells_of_code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def pictures():
    """The figures that a cell has drawn, as Jupyter shows them below it."""
    if "matplotlib.pyplot" not in sys.modules:
        return
    import matplotlib.pyplot as plt
    plt.rcParams.update({"svg.hashsalt": "tapegrad", "svg.fonttype": "none"})
    for number in plt.get_fignums():
        drawn = io.StringIO()
        plt.figure(number).savefig(drawn, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        # Short: paths in tenths of a point, on one line.
        paths = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), drawn.getvalue())
        picture = re.sub(r"\s*\n\s*", " ", paths)
        yield {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": [picture]}}
    plt.close("all")


def run(notebook):
    """Runs the cells of code in their order and stores what they print and draw. In the places that tapes and errors
    print, the name of a file is the number of its cell."""
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells_of_code(notebook), 1):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        text = printed.getvalue().splitlines(True)
        cell["execution_count"] = number
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []
        cell["outputs"] += pictures()
    return notebook


def run_alone(file):
    """The notebook, run in a new process."""
    ended = subprocess.run([sys.executable, __file__, "--run", str(file)], capture_output=True, text=True,
                           env={**os.environ, "MPLBACKEND": "agg"})
    if ended.returncode != 0:
        raise AssertionError(f"{file.name} ended with an error:\n{ended.stderr}")
    return json.loads(ended.stdout)


def missing_module(notebook):
    """The first module that the notebook imports and this Python does not have."""
    code = "\n".join("".join(cell["source"]) for cell in cells_of_code(notebook))
    imported = re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)
    return next((name for name in imported if importlib.util.find_spec(name) is None), None)


class Notebooks(unittest.TestCase):
    def agree(self, file):
        stored = json.loads(file.read_text())
        missing = missing_module(stored)
        if missing:
            self.skipTest(f"{file.name} needs {missing}")
        for before, now in zip(cells_of_code(stored), cells_of_code(run_alone(file)), strict=True):
            with self.subTest(cell=now["execution_count"]):
                self.assertEqual([output["output_type"] for output in before["outputs"]],
                                 [output["output_type"] for output in now["outputs"]])
                for old, new in zip(before["outputs"], now["outputs"]):
                    texts = ["".join(output.get("text", [])) for output in (old, new)]
                    self.assertEqual(*(OF_PROCESSOR.sub("...", text) for text in texts))

    def test_there_are_notebooks(self):
        self.assertGreater(len(NOTEBOOKS), 0)


for each in NOTEBOOKS:
    setattr(Notebooks, f"test_{each.stem}", lambda self, file=each: self.agree(file))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        json.dump(run(json.loads(pathlib.Path(sys.argv[2]).read_text())), sys.stdout)
    elif sys.argv[1:] == ["--write"]:
        for each in NOTEBOOKS:
            written = json.dumps(run_alone(each), indent=1, sort_keys=True, ensure_ascii=False)
            each.write_text(written + "\n")
    else:
        unittest.main()
