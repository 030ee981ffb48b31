"""The examples in the comments of the public headers as a program: header_examples.py ROOT OUT LAYER...

Writes OUT/examples_LAYER.cpp with a function for each example, and OUT/examples.cpp with their list, which
examples_main.cpp runs. An example is one or several statements; it sees the variables below that it names."""

import pathlib
import re
import sys

from public_names import declarations, public_headers

# A declaration for each variable. What an example calls is no variable, but the net.
VARIABLES = {
    "random": "Random random(1);",
    "tape": "Tape tape;",
    "x": "Tensor x = watch(Random(2).normal({4, 6}));",
    "y": "Tensor y = Random(3).normal({4, 6});",
    "square": "Tensor square({3, 3}, {4, 1, 0, 1, 3, 1, 0, 1, 2});",
    "images": "Tensor images = Random(4).uniform({2, 3, 8, 8});",
    "sequence": "Tensor sequence = Random(5).normal({2, 3, 8});",
    "steps": "Tensor steps = Random(6).normal({5, 2, 6});",
    "logits": "Tensor logits = Random(7).normal({4, 3});",
    "labels": "Indices labels({4}, {0, 2, 1, 2});",
    "ids": "Indices ids({2, 5}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3});",
    "net": "Random weights(8); Mlp net({6, 8, 3}, weights);",
    "argv": 'char name[] = "program"; char* argv[] = {name, nullptr};',
    "argc": "int argc = 1;",
    "flags": 'TrainingFlags flags("program", "Learns.");',
    "run": "RunFlags quiet; quiet.quiet = true; Run run(quiet, Json(), RunSteps::epochs(1, 10), {});",
}


def variables(code):
    names = {name for name in VARIABLES
             if re.search(rf"\b{name}\b" + ("" if name == "net" else r"(?!\()"), code)}
    if "x" in names:
        names.add("tape")  # records x
    return "".join(f"  {line}\n" for name, line in VARIABLES.items() if name in names)


root, out = map(pathlib.Path, sys.argv[1:3])
layers = sys.argv[3:]
out.mkdir(parents=True, exist_ok=True)
files = {layer: [] for layer in layers}
listed = []
for path in public_headers(root, layers):
    for declaration in declarations((root / path).read_text()):
        for line, code in declaration.examples:
            function = f"example_{len(listed)}"
            listed.append((function, f"{path}:{line}"))
            files[path.parts[0]].append(
                f"void {function}() {{\n{variables(code)}#line {line} \"{path}\"\n  {{ {code}; }}\n}}\n")

for layer, functions in files.items():
    header = layer if layer in ("linalg", "cluster", "zoo") else "train"
    head = f"#include <tapegrad/{header}.h>\n"
    head += "#include <tapegrad/train/json.h>\n" * (header == "train")
    head += "\nusing namespace tapegrad;\n\n"
    (out / f"examples_{layer}.cpp").write_text(head + "\n".join(functions))
(out / "examples.cpp").write_text(
    '#include "examples.h"\n\n' + "".join(f"void {function}();\n" for function, _ in listed)
    + "\nconst std::vector<Example> examples{\n"
    + "".join(f'    {{"{place}", {function}}},\n' for function, place in listed) + "};\n")
