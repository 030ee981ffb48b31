#!/usr/bin/env python3
"""Writes the bindings of the functions, layers and optimizers that the headers declare, and all documentation.

    generate.py INCLUDE OUT     writes the sources that FILES lists, and documentation.cpp, to OUT
    generate.py INCLUDE         lists the public names that a module must bind by hand or leave out

INCLUDE is the folder tapegrad/ of an installed library. A function is bound if TYPES has all of its types; a struct of
options becomes keyword arguments, and an enumeration the names of its values. A layer is a struct with a constructor
and a call that can be bound. A parameter of another type that has a default, such as `RecurrentNorms`, keeps that."""

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

# Structs that Python has as objects with the same members, and what repr() is of them.
STRUCTS = {"TracedValue": "", "Trace": "", "TraceDiff": "printable_lines(self.report)", "Drift": "self.prediction",
           "FreePart": "", "FreeDirection": "to_string(self)", "TensorFile": "", "TokenContext": "", "Unfit": "",
           "AttentionCache": "", "NormField": "", "NormFields": "", "CheckResult": 'self.ok ? "ok" : self.message',
           "Hypothesis": 'nb::str("Hypothesis(tokens={}, score={:.4g})").format(self.tokens, self.score)'}
# Arguments that a function changes.
CHANGED = ("Random", "Optimizer", "Ema", "Plateau")
# Member functions that change their object and are bound: of STRUCTS, and of a class that is bound by hand.
CHANGING = {"AttentionCache": ("select",), "Optimizer": ("set_group",)}
# Structs that become keyword arguments, besides those whose names end in Options.
KEYWORDS = ("Transposed", "Observer", "ParameterGroup", "CtcTargets")
# Functions that the library calls.
CALLED = ("Function", "BeamStep", "std::function<Tensor()>", "std::function<Tensor(const Tensor&)>",
          "std::function<void(const Tensor&)>", "std::function<bool(const std::string& name)>")
# For each type of a parameter: what the bound function takes, and how the library gets its own from that.
TYPES = {
    **{plain: (plain, "{}") for plain in ("bool", "double", "int", "Index", "std::size_t", "std::uint64_t")},
    **{seen: (f"const {seen}&", "{}") for seen in (
        "Tensor", "Indices", "Parameter", "std::string", "std::filesystem::path", "std::optional<Index>",
        "std::optional<double>", "std::optional<NormField>", "RecurrentState", "std::map<std::string, std::string>",
        "std::map<std::string, Tensor>", "std::map<std::string, Indices>", *STRUCTS,
        *(f"std::vector<{element}>" for element in (
            "Tensor", "Parameter", "Index", "int", "std::string", "RecurrentState", "Schedule", *STRUCTS)))},
    **{changed: (f"{changed}&", "{}") for changed in CHANGED},
    **{pointer: (pointer, "{}") for pointer in ("Random*", "AttentionCache*")},
    "std::vector<AttentionCache>*": ("const std::optional<nb::list>&", "ChangedList<AttentionCache>({})"),
    "Shape": ("const std::vector<Index>&", "shape_of({})"),
    "Extents": ("const std::vector<Index>&", "extents_of({})"),
    "Axes": ("const AxesArgument&", "axes_of({})"),
    "Keep": ("bool", "({} ? Keep::yes : Keep::no)"),
    "HeightWidth": ("const HeightWidthArgument&", "height_width_of({})"),
    "std::vector<Padding>": ("const std::vector<std::pair<Index, Index>>&", "paddings_of({})"),
    "Tape": ("const Scope<Tape>&", "{}.get()"),
    "NormSpec": ("const std::string&", "NormSpec({})"),
    "Cell": ("const std::string&", "Cell::named({})"),
    "Mode": ("Random*", "Mode{{{}}}"),
    "Fields": ("const nb::object&", "fields_of({})"),
    **{called: ("const nb::callable&", f"callback<{called}>({{}})") for called in CALLED},
}
# Results that Python gets as tuples, and their members. All other results must be types that are bound.
TUPLES = {"Sorted": ("values", "indices"), "Fans": ("in", "out"), "RecurrentResult": ("outputs", "last"),
          "Recurrent::Result": ("outputs", "last"), "CharRnn::Result": ("logits", "last"),
          "TransformerXl::Result": ("logits", "memory")}
RESULTS = {"void", "bool", "double", "Index", "Schedule", "std::map<std::int32_t, std::string>",
           "std::map<std::string, Tensor>", "std::map<std::string, std::string>", "RecurrentState",
           *(kind for element in ("Tensor", "Indices", "Parameter", "std::string", *STRUCTS)
             for kind in (element, f"std::vector<{element}>")), "std::vector<std::vector<Hypothesis>>", *TUPLES}
# Functions of those types that are bound otherwise: as methods, or with other arguments than in C++.
BY_HAND = {"to_string", "print", "explain", "save_checkpoint", "load_checkpoint", "load_fitting"}
# What a bound function takes, if no other thread may run Python meanwhile.
IN_PLACE = "|".join({"nb::object", "nb::list", *CHANGING, *CHANGED})
# The sources with the bindings of a kind, and how many of each.
FILES = {"structs": 1, "functions": 2, "layers": 2, "optimizers": 1}

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
    if type_name.endswith("&") and not const and type_name.rstrip("&") not in CHANGED:
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


def public_members(text):
    """A class without what is private, and without its first and last lines."""
    return re.split(r"^ (?:private|protected):", text, flags=re.MULTILINE)[0].splitlines()[1:]


def member_functions(text):
    """The declarations of the public member functions of a class."""
    lines = public_members(text)
    for i, line in enumerate(lines):
        if not re.match(r"  (?!static|friend|template|using)\w.*(?:\w|operator\(\))\(", line):
            continue
        declared = line
        while declared.count("(") != declared.count(")"):
            i += 1
            declared += " " + lines[i].strip()
        yield " ".join(declared.removeprefix("  explicit ").split()).replace("operator()(", "operator_call(")


class Headers:
    def __init__(self, include):
        self.names, self.comments, self.functions, self.classes = {}, {}, [], {}
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
            self.classes[name] = text
            if name.endswith("Options") or name in KEYWORDS:
                self.options[name] = fields(text)
            if re.search(rf"explicit {name}\(std::vector<Parameter> parameters, {name}Options options = {{}}\);", text):
                self.optimizers[name] = f"{name}Options"
        elif found := re.match(r"using (\w+) = (\w+);", text):
            if found[2] in self.options:
                self.options[name] = self.options[found[2]]

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
        calls_back = any(self.calls_back(bare(given.type)) for given in parameters)

        def add(given, name, expression):
            known = self.known(given)
            if known is None:
                return False
            argument, conversion, default = known
            takes.append(f"{argument} {name}")
            annotations.append(f'"{name.rstrip("_") + "_" if keyword.iskeyword(name.rstrip("_")) else name}"_a'
                               + (f" = {default}" if default else ""))
            expression.append(conversion.format(name))
            if "nb::callable" in argument:  # made before others run Python
                setup.append(f"const auto {name}_called = {expression.pop()};")
                expression.append(f"{name}_called")
            return True

        def add_options(kind, place, usual):
            """Keywords for the fields of a struct, whose own fields come before the fields of structs within it."""
            for field, note in sorted(self.options[kind], key=lambda listed: bare(listed[0].type) in self.options):
                if bare(field.type) in self.options:
                    add_options(bare(field.type), f"{place}.{field.name}", {})
                    continue
                own = field.name if field.name not in names else f"{place.split('.')[-1]}_{field.name}"
                expression = []
                if not add(field._replace(default=usual.get(field.name, field.default)), own, expression):
                    continue
                names.add(own)
                setup.append(f"{place}.{field.name} = {expression[0]};")
                choice = self.enumerations.get(unwrapped(bare(field.type)))
                told = [note] if note else []
                if choice and bare(field.type) != "Keep":
                    told.append("one of " + ", ".join(f"'{value}'" for value in choice))
                if told:
                    notes.append(f"  {own}: " + "; ".join(told))

        keywords = []
        for given in parameters:
            kind = bare(given.type)
            if kind == "Place":
                if calls_back:  # since a PlaceScope would attribute to this call what the function given does
                    setup.append("const Place place = python_line();")
                    calls.append("place")
                continue
            if kind in self.options:
                usual = dict(part.removeprefix(".").split(" = ") for part in split(given.default.strip("{}")))
                keywords.append((given, kind, usual))
                calls.append(given.name if given.type.startswith("const") else f"std::move({given.name})")
            elif not add(given, "random" if kind == "Mode" else given.name, calls):
                if not given.default:
                    return None
                calls.append(given.default)
        for given, kind, usual in keywords:
            takes_before = len(takes)
            setup.append(f"{kind} {given.name};")
            if kind in KEYWORDS:
                notes.append(self.comments[kind])
            add_options(kind, given.name, usual)
            if len(takes) > takes_before and "nb::kw_only()" not in annotations:
                annotations.insert(takes_before, "nb::kw_only()")
        return takes, annotations, calls, setup, notes

    def known(self, given):
        """The argument of a bound function, how it becomes the library's, and its default as an expression."""
        kind, default = bare(given.type), given.default
        if kind is None:
            return None
        if kind == "Keep":
            return *TYPES[kind], "false" if default else ""
        if kind in self.enumerations:
            values = ", ".join(f'"{value}"' for value in self.enumerations[kind])
            default = self.enumerations[kind][0] if default == "{}" else default.split("::")[-1]
            return ("const std::string&", f'choice<{kind}>("{given.name}", {{}}, {{{{{values}}}}})',
                    f'"{default}"' if default else "")
        if unwrapped(kind) in self.enumerations:
            _, conversion, _ = self.known(given._replace(type=unwrapped(kind)))
            return ("const std::optional<std::string>&",
                    f"{{0}} ? std::optional({conversion.replace('{}', '*{0}', 1)}) : std::nullopt", "nb::none()")
        if kind not in TYPES:
            return None
        argument, conversion = TYPES[kind]
        if default == "{}" and kind in CALLED:
            return "const std::optional<nb::callable>&", conversion, "nb::none()"
        if default == "{}" and kind in ("Tensor", "Indices"):
            return f"const std::optional<{kind}>&", f"{{}}.value_or({kind}())", "nb::none()"
        if default == "{}" and kind in ("NormSpec", "std::string"):
            return argument, conversion, '"none"' if kind == "NormSpec" else '""'
        if default == "{}" and (kind in STRUCTS or kind.startswith(("std::vector", "std::map"))):
            return argument, conversion, f"{kind}()"
        if kind == "Cell" and default:
            return argument, conversion, f'"{default.removeprefix("Cell::")}"'
        return argument, conversion, "nb::none()" if default in ("{}", "nullptr") else default

    def calls_back(self, kind):
        """Whether a function with an argument of this type may call Python."""
        return kind in CALLED or any(field.type in CALLED for field, _ in self.options.get(kind, []))

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
            documented = comment or self.comments[name]
            yield name, (f'  module.def("{name}", ' + definition(f"tapegrad::{name}", result, *found, documented)
                         + ");\n")

    def bound_structs(self):
        for name, shown in STRUCTS.items():
            declared = fields(self.classes[name])
            takes, annotations, calls, _, _ = self.arguments([field for field, _ in declared])
            setup = "".join(f" self->{field.name} = {call};" for (field, _), call in zip(declared, calls))
            source = (f'  nb::class_<{name}>(module, "{name}", {literal(self.comments[name])})\n'
                      f'    .def("__init__", []({name}* self, {", ".join(takes)}) {{ new (self) {name}();{setup} }}, '
                      f'nb::kw_only(), {", ".join(annotations)})\n')
            for field, note in declared:
                if field.type in self.enumerations:
                    names = ", ".join(f'"{value}"' for value in self.enumerations[field.type])
                    source += (f'    .def_prop_ro("{field.name}", [](const {name}& self) {{ return std::vector<const '
                               f'char*>{{{names}}}[static_cast<std::size_t>(self.{field.name})]; }})\n')
                else:
                    documented = f", {literal(note)}" if note else ""
                    source += f'    .def_rw("{field.name}", &{name}::{field.name}{documented})\n'
            source += self.methods(name)
            if "explicit operator bool() const" in self.classes[name]:
                source += f'    .def("__bool__", [](const {name}& self) {{ return static_cast<bool>(self); }})\n'
            if shown:
                source += f'    .def("__repr__", [](const {name}& self) {{ return {shown}; }})\n'
            yield name, source + "    ;\n"

    def methods(self, name, constant=True):
        """The source of the bindings of member functions that CHANGING lists, and of those that change nothing."""
        source = ""
        for declared in member_functions(self.classes[name]):
            method = re.search(r"(\w+)\(", declared)[1]
            changes = not re.search(r"\) const\b", declared)
            if method not in CHANGING.get(name, ()) and (changes or not constant):
                continue
            result, parameters = signature(declared)
            result = f"{name}::{result}" if f"{name}::{result}" in TUPLES else result
            found = self.arguments(parameters)
            if result not in RESULTS or found is None:
                continue
            written = "operator()" if method == "operator_call" else method
            bound = "__call__" if method == "operator_call" else method
            documented = self.comments.get(f"{name}::{written.removesuffix('()')}", "")
            source += (f'    .def("{bound}", '
                       + definition(f"self.{written}", result, *found, documented,
                                    f"{'' if changes else 'const '}{name}& self") + ")\n")
        return source

    def bound_layers(self):
        """Name and source of each class that can be constructed and called."""
        sources = {}
        for name, text in self.classes.items():
            made = [signature(declared)[1] for declared in member_functions(text) if declared.startswith(f"{name}(")]
            made = [found for parameters in made if parameters and (found := self.arguments(parameters))]
            methods = self.methods(name)
            if made and "__call__" in methods and name not in STRUCTS:
                sources[name] = (made, methods)
        known = {kind for name in ("Parameter", *sources)
                 for kind in (name, f"std::optional<{name}>", f"std::vector<{name}>")}
        for name, (made, methods) in sources.items():
            source = f'  bind_layer<{name}>(module, "{name}", {literal(self.comments[name])})\n'
            for takes, annotations, calls, setup, notes in made:
                documented = "\n\n".join(
                    part for part in (self.comments.get(f"{name}::{name}", ""), "\n".join(notes)) if part)
                source += (f'    .def("__init__", []({name}* self, {", ".join(takes)}) {{\n      '
                           + "\n      ".join(setup) + f"\n      new (self) {name}({', '.join(calls)});\n    }}, "
                           f"nb::call_guard<InPlace>(), {', '.join(annotations)}"
                           + (f", {literal(documented)}" if documented else "") + ")\n")
            for field, note in fields("\n".join(["", *(line for line in public_members(self.classes[name])
                                                       if re.match(r"  [\w/]", line)), ""])):
                if field.type in known:
                    source += f'    .def_ro("{field.name}", &{name}::{field.name})\n'
            yield name, source + methods + "    ;\n"

    def bound_optimizers(self):
        yield "Optimizer", ('  nb::borrow<nb::class_<Optimizer>>(module.attr("Optimizer"))\n'
                            + self.methods("Optimizer", constant=False) + "    ;\n")
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
                *(f"{name}Options" for name in self.optimizers)} - {
                    "Tensor", "Indices", "Parameter", "Random", "Tape", "Optimizer", "Ema", "Plateau"}


def comment_above(lines, first):
    """The comment that ends above a line, without its examples, which are in C++."""
    begin = first
    while begin > 0 and lines[begin - 1].lstrip().startswith("///"):
        begin -= 1
    comment = [line.lstrip().removeprefix("///").removeprefix(" ") for line in lines[begin:first]
               if not re.match(r"\s*/// Example: ", line)]
    return "\n".join(comment).strip("\n")


def unwrapped(kind):
    """A type without a std::optional around it."""
    return re.sub(r"^std::optional<(.*)>$", r"\1", kind)


def fields(text):
    """The fields of a struct, each with the comment above or behind it."""
    lines = re.sub(r"^( +[\w:][^/\n]*[,=>])\n\s+", r"\1 ", text, flags=re.MULTILINE).splitlines()
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
        elif "(" not in re.sub(r"<.*>", "", declared.split(" = ")[0]) and declared.endswith(";"):
            kind, rest = declared.rstrip(";").split(" ", 1) if "<" not in declared else re.fullmatch(
                r"([\w:]+<.*>) (\w.*);", declared).groups()
            for part in split(rest):
                name, _, default = part.partition(" = ")
                found.append((Parameter(kind, name, default), note.strip()))
    return found


def definition(function, result, takes, annotations, calls, setup, notes, documented, self=""):
    """The arguments of `def` for a function, or for a member function of `self`."""
    call = f"{function}({', '.join(calls)})"
    if result in TUPLES:
        members = ", ".join(f"found.{member}" for member in TUPLES[result])
        body = f"auto found = {call};\n    return std::make_tuple({members});"
    else:
        body = f"return {call};"
    before = "".join(f"{line}\n    " for line in setup)
    given = " ".join((self, *takes))
    in_place = re.search(IN_PLACE, given)
    guard = f", nb::call_guard<{'InPlace' if in_place else 'Unlocked'}>()"
    if "nb::callable" in given:  # errors and nodes have the lines of the function that is given
        guard = ""
        before += "" if in_place else "const nb::gil_scoped_release release;\n    "
    options = "".join(f", {annotation}" for annotation in annotations)
    documented = "\n\n".join(part for part in (documented, "\n".join(notes)) if part)
    return (f"[]({', '.join(part for part in (self, *takes) if part)}) {{\n    {before}{body}\n  }}{guard}{options}"
            + (f",\n  {literal(documented)}" if documented else ""))


def literal(text):
    return f'R"doc({text})doc"'


def source_file(head, body):
    """A source with one function."""
    return (f'#include "arguments.h"\n\nnamespace tapegrad::TAPEGRAD_SCALAR::python {{\n\n{head}\n' + "".join(body)
            + "}\n\n}  // namespace tapegrad::TAPEGRAD_SCALAR::python\n")


def main():
    headers = Headers(pathlib.Path(sys.argv[1]))
    bound = {"structs": list(headers.bound_structs()), "functions": list(headers.bound()),
             "layers": list(headers.bound_layers()), "optimizers": list(headers.bound_optimizers())}
    if len(sys.argv) == 2:
        done = {name for listed in bound.values() for name, _ in listed} | headers.arguments_only()
        print("\n".join(f"{path[:-2]}: {name}" for name, path in headers.names.items() if name not in done))
        return
    out = pathlib.Path(sys.argv[2])
    for kind, count in FILES.items():
        sources = [source for _, source in bound[kind]]
        for part in range(count):
            chosen = sources[len(sources) * part // count:len(sources) * (part + 1) // count]
            (out / f"{kind}_{part}.cpp").write_text(
                source_file(f"void bind_{kind}_{part}(nb::module_& module) {{", chosen))
    comments = [f"    {{\"{name}\", {literal(comment)}}},\n" for name, comment in headers.comments.items() if comment]
    (out / "documentation.cpp").write_text(source_file(
        "const char* documentation(std::string_view name) {",
        ["  static const std::map<std::string_view, const char*> comments{\n", *comments,
         "  };\n  return comments.at(name);\n"]))


if __name__ == "__main__":
    main()
