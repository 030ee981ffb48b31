#!/usr/bin/env python3
"""Writes the bindings of the functions and optimizers that the headers declare, and all documentation.

    generate.py INCLUDE OUT     writes functions_*.cpp, optimizers.cpp and documentation.cpp to OUT
    generate.py INCLUDE         lists the public names that a module must bind by hand or leave out

INCLUDE is the folder tapegrad/ of an installed library. A function is bound if TYPES has all of its types; a struct of
options becomes keyword arguments, and an enumeration the names of its values."""

import collections
import keyword
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests/docs"))
from public_names import declarations, public_headers  # noqa: E402

# The layers in the library itself, without its components.
LAYERS = ("core", "io", "ops", "nn", "models", "inspect")

# For each type of a parameter: what the bound function takes, and how the library gets its own from that.
TYPES = {
    **{plain: (plain, "{}") for plain in ("bool", "double", "int", "Index", "std::size_t", "std::uint64_t")},
    **{seen: (f"const {seen}&", "{}") for seen in (
        "Tensor", "Indices", "Parameter", "std::string", "std::optional<Index>", "std::optional<double>",
        "std::vector<Tensor>", "std::vector<Parameter>", "std::vector<Index>", "std::vector<int>")},
    "Random": ("Random&", "{}"),
    "Random*": ("Random*", "{}"),
    "Shape": ("const std::vector<Index>&", "shape_of({})"),
    "Extents": ("const std::vector<Index>&", "extents_of({})"),
    "Axes": ("const AxesArgument&", "axes_of({})"),
    "Keep": ("bool", "({} ? Keep::yes : Keep::no)"),
    "HeightWidth": ("const HeightWidthArgument&", "height_width_of({})"),
    "std::vector<Padding>": ("const std::vector<std::pair<Index, Index>>&", "paddings_of({})"),
    "Tape": ("const Scope<Tape>&", "{}.get()"),
    "NormSpec": ("const std::string&", "NormSpec({})"),
}
# Results that Python gets as tuples, and their members. All other results must be types that are bound.
TUPLES = {"Sorted": ("values", "indices"), "Fans": ("in", "out")}
RESULTS = {"Tensor", "Indices", "void", "bool", "double", "Index", "std::string", "std::vector<Tensor>",
           "std::vector<std::string>", "std::map<std::int32_t, std::string>", *TUPLES}
# Functions of those types that are bound otherwise: as methods, or with another argument than in C++.
BY_HAND = {"to_string", "print", "explain"}

Parameter = collections.namedtuple("Parameter", "type name default")


def split(text):
    """A list in C++, separated by commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += character in "(<{"
        depth -= character in ")>}"
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def bare(type_name):
    """A type without const and reference; nothing for a reference through which a function changes an argument."""
    const = type_name.startswith("const ")
    if type_name.endswith("&") and not const and type_name != "Random&":
        return None
    return type_name.removeprefix("const ").rstrip("& ")


def parameter(text):
    text, _, default = text.partition(" = ")
    if found := re.fullmatch(r"(.*[\w>&*])\s+&?(\w+)", text):
        if found[1] != "const":
            return Parameter(found[1], found[2], default)
    return Parameter(text, re.sub(r"\W", "", text.removeprefix("const ")).lower(), default)


def signature(text):
    """Result and parameters of a function; nothing for templates."""
    text = " ".join(text.split())
    if text.startswith("template"):
        return None
    result, _, rest = text.removeprefix("inline ").partition("(")
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(rest[end], 0)
        end += 1
    return result.rsplit(" ", 1)[0], [parameter(part) for part in split(rest[:end - 1])]


class Headers:
    def __init__(self, include):
        self.names, self.comments, self.functions = {}, {}, []
        self.options, self.enumerations, self.optimizers = {}, {}, {}
        for path in public_headers(include, LAYERS):
            text = (include / path).read_text()
            lines = text.splitlines()
            for declaration in declarations(text):
                self.read(path, lines, declaration)

    def read(self, path, lines, declaration):
        name = declaration.name
        if name.startswith("composite::"):  # definitions, which `Composite` computes
            return
        first = declaration.first - 1
        self.names.setdefault(name, str(path))
        comment = comment_above(lines, first)
        self.comments[name] = "\n\n".join(part for part in (self.comments.get(name), comment) if part)
        text = declaration.text
        if declaration.kind == "function":
            self.functions.append((name, text, comment))
        elif found := re.match(r"enum class \w+ {(.*)}", " ".join(line.split("//")[0].strip() for line in
                                                                 text.splitlines())):
            self.enumerations[name] = split(found[1])
        elif text.startswith(("struct", "class")):
            self.read_members(name, text)
            if name.endswith("Options") or name == "Transposed":
                self.options[name] = fields(text)
            if re.search(rf"explicit {name}\(std::vector<Parameter> parameters, {name}Options options = {{}}\);", text):
                self.optimizers[name] = f"{name}Options"

    def read_members(self, name, text):
        lines = [line[2:] if line.startswith("  ") else line for line in text.splitlines()]
        for i, line in enumerate(lines):
            if found := re.match(r"(?:static |virtual |explicit )*[\w:<>&*, ]*?\b(\w+)\(", line):
                comment = comment_above(lines, i)
                if comment:
                    self.comments.setdefault(f"{name}::{found[1]}", comment)

    def arguments(self, parameters):
        """What a bound function takes, how the library's function is called, and the documentation of its options;
        nothing if a type is unknown. Parameters, annotations, expressions, setup."""
        takes, annotations, calls, setup, notes = [], [], [], [], []
        names = {given.name for given in parameters if bare(given.type) != "Place"}

        def add(given, name, expression):
            known = self.known(given)
            if known is None:
                return False
            argument, conversion, default = known
            takes.append(f"{argument} {name}")
            annotations.append(f'"{name.rstrip("_") + "_" if keyword.iskeyword(name.rstrip("_")) else name}"_a'
                               + (f" = {default}" if default else ""))
            expression.append(conversion.format(name))
            return True

        keywords = []
        for given in parameters:
            kind = bare(given.type)
            if kind == "Place":
                continue
            if kind not in self.options:
                if not add(given, given.name, calls):
                    return None
                continue
            usual = dict(part.removeprefix(".").split(" = ") for part in split(given.default.strip("{}")))
            keywords.append((given, kind, usual))
        for given, kind, usual in keywords:
            takes_before = len(takes)
            setup.append(f"{kind} {given.name};")
            for field, note in self.options[kind]:
                own = field.name if field.name not in names else f"{given.name}_{field.name}"
                expression = []
                if not add(field._replace(default=usual.get(field.name, field.default)), own, expression):
                    continue
                setup.append(f"{given.name}.{field.name} = {expression[0]};")
                choice = self.enumerations.get(bare(field.type))
                told = [note] if note else []
                if choice and bare(field.type) != "Keep":
                    told.append("one of " + ", ".join(f"'{value}'" for value in choice))
                if told:
                    notes.append(f"  {own}: " + "; ".join(told))
            calls.append(f"std::move({given.name})")
            if len(takes) > takes_before and "nb::kw_only()" not in annotations:
                annotations.insert(takes_before, "nb::kw_only()")
        return takes, annotations, calls, setup, notes

    def known(self, given):
        """The argument of a bound function, how it becomes the library's, and its default as an expression."""
        kind, default = bare(given.type), given.default
        if kind == "Keep":
            return *TYPES[kind], "false" if default else ""
        if kind in self.enumerations:
            values = ", ".join(f'"{value}"' for value in self.enumerations[kind])
            return ("const std::string&", f'choice<{kind}>("{given.name}", {{}}, {{{{{values}}}}})',
                    f'"{default.split("::")[-1]}"' if default else "")
        if kind not in TYPES:
            return None
        argument, conversion = TYPES[kind]
        if default == "{}" and kind in ("Tensor", "Indices"):
            return f"const std::optional<{kind}>&", f"{{}}.value_or({kind}())", "nb::none()"
        return argument, conversion, "nb::none()" if default in ("{}", "nullptr") else default

    def bound(self):
        """Name and source of each function that can be bound. Of overloads, the one for a tensor comes before the one
        for several, since a tensor is also a sequence of tensors."""
        for name, text, comment in sorted(self.functions, key=lambda function: "std::vector<Tensor>" in function[1]):
            read = signature(text)
            if name in BY_HAND or read is None or read[0] not in RESULTS:
                continue
            result, parameters = read
            found = self.arguments(parameters)
            if found is None:
                continue
            takes, annotations, calls, setup, notes = found
            call = f"tapegrad::{name}({', '.join(calls)})"
            if result in TUPLES:
                members = ", ".join(f"found.{member}" for member in TUPLES[result])
                body = f"const auto found = {call};\n    return std::make_tuple({members});"
            else:
                body = f"return {call};"
            before = "".join(f"{line}\n    " for line in setup)
            guard = "InPlace" if "Random" in " ".join(takes) else "Unlocked"
            options = "".join(f", {annotation}" for annotation in annotations)
            documented = "\n\n".join(part for part in (comment or self.comments[name], "\n".join(notes)) if part)
            yield name, (f'  module.def("{name}", []({", ".join(takes)}) {{\n    {before}{body}\n'
                         f"  }}, nb::call_guard<{guard}>(){options},\n  {literal(documented)});\n")

    def bound_optimizers(self):
        for name, options in self.optimizers.items():
            takes, annotations, calls, setup, notes = self.arguments(
                [Parameter("std::vector<Parameter>", "parameters", ""), Parameter(options, "options", "{}")])
            base = "Adam" if name == "AdamW" else "Optimizer"
            documented = self.comments[name] + "\n\n" + "\n".join(notes)
            yield name, (f'  nb::class_<{name}, {base}>(module, "{name}", {literal(documented)})\n'
                         f'    .def("__init__", []({name}* self, {", ".join(takes)}) {{\n      '
                         + "\n      ".join(setup) + f"\n      new (self) {name}({', '.join(calls)});\n    }}, "
                         f"nb::call_guard<InPlace>(), {', '.join(annotations)});\n")

    def arguments_only(self):
        """The names that Python knows only as arguments."""
        return {*self.options, *self.enumerations, *TUPLES, *(kind for kind in TYPES if kind in self.names),
                *(f"{name}Options" for name in self.optimizers)} - {"Tensor", "Indices", "Parameter", "Random", "Tape"}


def comment_above(lines, first):
    """The comment that ends above a line, without its examples, which are in C++."""
    begin = first
    while begin > 0 and lines[begin - 1].lstrip().startswith("///"):
        begin -= 1
    comment = [line.lstrip().removeprefix("///").removeprefix(" ") for line in lines[begin:first]
               if not re.match(r"\s*/// Example: ", line)]
    return "\n".join(comment).strip("\n")


def fields(text):
    """The fields of a struct of options, each with the comment above or behind it."""
    lines = re.sub(r"=\n\s+", "= ", text).splitlines()
    found, above = [], []
    for line in lines[1:-1]:
        line, _, note = line.strip().partition("///<")
        if line.startswith("///"):
            above.append(line.removeprefix("///").strip())
            continue
        note, above = note or " ".join(above), []
        declared = line.split("//")[0].strip()
        if not declared and note and found:  # the note goes on in the next line
            found[-1] = (found[-1][0], f"{found[-1][1]} {note.strip()}")
        elif "(" not in declared and declared.endswith(";"):
            kind, rest = declared.rstrip(";").split(" ", 1) if "<" not in declared else re.fullmatch(
                r"([\w:]+<.*>) (\w.*);", declared).groups()
            for part in split(rest):
                name, _, default = part.partition(" = ")
                found.append((Parameter(kind, name, default), note.strip()))
    return found


def literal(text):
    return f'R"doc({text})doc"'


def source_file(head, body):
    """A source with one function."""
    return (f'#include "arguments.h"\n\nnamespace tapegrad::TAPEGRAD_SCALAR::python {{\n\n{head}\n' + "".join(body)
            + "}\n\n}  // namespace tapegrad::TAPEGRAD_SCALAR::python\n")


def main():
    headers = Headers(pathlib.Path(sys.argv[1]))
    functions, optimizers = list(headers.bound()), list(headers.bound_optimizers())
    if len(sys.argv) == 2:
        done = {name for name, _ in functions + optimizers} | headers.arguments_only()
        print("\n".join(f"{path[:-2]}: {name}" for name, path in headers.names.items() if name not in done))
        return
    out = pathlib.Path(sys.argv[2])
    half = len(functions) // 2
    for part, chosen in enumerate((functions[:half], functions[half:])):
        (out / f"functions_{part}.cpp").write_text(
            source_file(f"void bind_functions_{part}(nb::module_& module) {{", [source for _, source in chosen]))
    (out / "optimizers.cpp").write_text(
        source_file("void bind_optimizers(nb::module_& module) {", [source for _, source in optimizers]))
    comments = [f"    {{\"{name}\", {literal(comment)}}},\n" for name, comment in headers.comments.items() if comment]
    (out / "documentation.cpp").write_text(source_file(
        "const char* documentation(std::string_view name) {",
        ["  static const std::map<std::string_view, const char*> comments{\n", *comments,
         "  };\n  return comments.at(name);\n"]))


if __name__ == "__main__":
    main()
