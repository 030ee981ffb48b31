"""The stubs that editors and type checkers read have every name of the modules, with types of Python alone."""

import ast
import builtins
import importlib.resources
import unittest

from tapegrad import float32, float64

package = importlib.resources.files("tapegrad")


def stub(tg):
    return ast.parse((package / f"{tg.__name__.split('.')[1]}.pyi").read_text())


class Stubs(unittest.TestCase):
    def test_they_have_every_name(self):
        self.assertTrue((package / "py.typed").is_file())
        for tg in (float32, float64):
            found = set()
            for node in stub(tg).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    found.add(node.name)
                elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                    found |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
                elif isinstance(node, ast.ImportFrom):
                    found |= {alias.asname or alias.name for alias in node.names}
            self.assertEqual({name for name in dir(tg) if not name.startswith("_")} - found, set())

    def test_types_have_names(self):
        """Each annotation is a builtin, an import or a class of the stub; one of C++ would not parse or have a name."""
        for tg in (float32, float64):
            known = set(dir(tg)) | set(dir(builtins))
            for node in ast.walk(stub(tg)):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    known |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            for node in ast.walk(stub(tg)):
                for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
                    if annotation is not None:
                        used = {name.id for name in ast.walk(annotation) if isinstance(name, ast.Name)}
                        self.assertLessEqual(used, known, ast.unparse(annotation))

    def test_signatures(self):
        functions = {node.name: ast.unparse(node.args) for node in stub(float32).body
                     if isinstance(node, ast.FunctionDef)}
        self.assertEqual(functions["mse"], "x: Tensor, target: Tensor, *, reduction: str='mean'")
        self.assertEqual(functions["fields"], "net: object")
        self.assertEqual(functions["hvp"], "f: Callable, x: Tensor, v: Tensor")  # and no overload of the same types
        self.assertEqual(functions["probe"],
                         "x: Tensor, *, value: Callable | None=None, gradient: Callable | None=None")
        self.assertEqual(functions["check_gradient"], "f: Callable, xs: Sequence[Tensor], *, step: float=0.03, "
                         "tolerance: float=0.02, seed: int=1")
        (tensor,) = (node for node in stub(float32).body if getattr(node, "name", "") == "Tensor")
        types = [ast.unparse(node.args) for node in tensor.body if getattr(node, "name", "") == "__rmul__"]
        self.assertEqual(types, ["self, arg: Tensor | Parameter | float, /"])


if __name__ == "__main__":
    unittest.main()
