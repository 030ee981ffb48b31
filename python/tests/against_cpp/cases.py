"""Calls of all that is bound, as text of C++ and of Python, written from the headers."""

import itertools
import json
import keyword
import re

import numpy as np
from arguments import ALTERNATIVES, ARGUMENTS, EXCLUDED, NET, TYPES, Drawn, Written
from generate import BY_HAND, RESULTS, TUPLES, Parameter, bare, member_functions, signature, split


class Setting:
    """What Python can give to a call; in C++ it is at the end of a path such as ("options", "stack", "layers")."""

    def __init__(self, given, path, name):
        self.kind, self.default, self.path, self.name = bare(given.type), given.default, path, name
        self.keyword = "random" if self.kind == "Mode" else f"{name}_" if keyword.iskeyword(name) else name


def settings(headers, parameters, place=()):
    """Options come after all else, and those within options last."""
    taken = {given.name for given in parameters if bare(given.type) != "Place"}

    def is_struct(given):
        return bare(given.type) in headers.options

    def below(given, path):
        if is_struct(given):
            for field in sorted((field for field, _ in headers.options[bare(given.type)]), key=is_struct):
                yield from below(field, (*path, field.name))
        elif bare(given.type) != "Place" and headers.known(given):
            is_taken = len(path) > len(place) + 1 and given.name in taken
            taken.add(given.name)
            yield Setting(given, path, "_".join(path[-2:]) if is_taken else given.name)

    return [setting for given in sorted(parameters, key=is_struct) for setting in below(given, (*place, given.name))]


def fits(headers, kind, value):
    """Whether a value of arguments.py can be meant for this type, since overloads share names."""
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    if isinstance(first, Drawn):
        return kind == "RecurrentState" or "Tensor" in kind and (first is value) == (kind == "Tensor")
    if kind in headers.enumerations:
        return value in headers.enumerations[kind]
    return isinstance(first, Written) or "Tensor" not in kind and (kind != "Indices" or isinstance(value, list))


def in_cpp(headers, kind, value):
    if isinstance(value, Written):
        return value.cpp
    if kind == "Keep":
        return "Keep::yes" if value else "Keep::no"
    if kind in headers.enumerations or kind == "Cell":
        return f"{kind}::{value}"
    if isinstance(value, (bool, str)):
        return json.dumps(value)
    if kind == "Indices":
        shape, listed = (", ".join(map(str, numbers)) for numbers in (np.shape(value), np.ravel(value)))
        return f"Indices({{{shape}}}, {{{listed}}})"
    if isinstance(value, (list, tuple)):
        element = re.fullmatch(r"std::vector<(.*)>|.*", kind)[1] or "Index"
        return f"{kind}{{{', '.join(in_cpp(headers, element, part) for part in value)}}}"
    return repr(value)


class Case:
    """A call. `made` are the parameters of the constructor, if it is one of a layer. `varied` names what has another
    value than in the simplest call before it; `same` is whether that may change nothing."""

    def __init__(self, headers, name, result, parameters, chosen, made=None, varied=None, same=False):
        self.headers, self.name, self.result, self.parameters = headers, name, result, parameters
        self.made, self.varied, self.same, self.tensors = made, varied, same, []
        self.has_tape = not any(headers.calls_back(bare(given.type)) for given in parameters)
        self.chosen = {path: self.declared(value) for path, value in chosen.items()}
        self.cpp, self.by_position, self.by_keyword = (
            "\n".join(getattr(statement, language) for statement in self.statements(by_keyword))
            for language, by_keyword in (("cpp", False), ("python", False), ("python", True)))

    def declared(self, value):
        """The value with variables in place of tensors."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.declared, value))
        if not isinstance(value, Drawn):
            return value
        shape, bounds = ", ".join(map(str, value.shape)), "".join(f", {bound}" for bound in value.bounds)
        drawn, name = f"Random({len(self.tensors) + 1}).{value.draw}", f"t{len(self.tensors)}"
        self.tensors.append(self.watched(name, f"{drawn}({{{shape}}}{bounds})", f"{drawn}([{shape}]{bounds})"))
        return Written(name)

    def watched(self, name, cpp, python):
        watch = "watch({})" if self.has_tape else "{}"
        return Written(f"const Tensor {name} = {watch.format(cpp)};", f"{name} = {watch.format(python)}")

    def statements(self, by_keyword):
        """The declarations, the call and what shows its results."""
        layer, _, method = self.name.partition(".")
        calls = [(self.name, "y", self.parameters, ())]
        if self.made is not None:
            calls = [(layer, "layer", self.made, ("made",)),
                     (f"layer.{method}".rstrip("."), "y", self.parameters, ())]
        before = {"void": "", "optimizer": "auto y = "}
        calls = [Written(
            f"{before.get(self.result, f'const auto {variable} = ')}{name}({self.cpp_arguments(*given)});",
            f"{variable} = {name}({self.python_arguments(*given, by_keyword)})") for name, variable, *given in calls]
        text = " ".join(call.cpp for call in calls)
        declared = [Written("Random random(7);", "random = Random(7)")]
        if re.search(r"\b(net|loss|batch|tape|optimizer)\b", text):
            declared += [self.watched("batch", "Random(8).normal({4, 3})", "Random(8).normal([4, 3])"), *NET]
        if "tape" in text:
            declared.append(Written("grad(loss(batch), parameters(net), {.keep = true});",
                                  "grad(loss(batch), parameters(net), keep=True)"))
        return [*declared, *self.tensors, *calls, *self.shown(layer, text)]

    def shown(self, layer, text):
        """The results, what the call wrote, whether it drew random numbers, and gradients of what it was given."""
        if self.result == "optimizer":
            yield Written("show_steps(y);", "show_steps(y)")
        elif self.result != "void":
            yield Written("show(y);", "show(y)")
        if '"written"' in text:
            yield Written('show(read_text("written"));', 'show(read_bytes("written"))')
        if "random" in text:
            yield Written("show(random.uniform({1}));", "show(random.uniform([1]))")
        first = {"Tensor": Written("y"), "std::vector<Tensor>": Written("y.back()", "y[-1]")}.get(self.result)
        if self.result in TUPLES and self.result != "Fans":
            first = Written(f"y.{TUPLES[self.result][0]}", "y[0]")
        if first and self.has_tape and (self.tensors or self.made is not None or "(batch)" in text):
            names = ", ".join([f"t{i}" for i in range(len(self.tensors))] + ["batch"] * ("(batch)" in text))
            held = ", parameters(layer)" if self.made is not None and " visit(" in self.headers.classes[layer] else ""
            yield Written(f"show_gradients({first.cpp}, {{{names}}}{held});",
                          f"show_gradients({first.python}, [{names}]{held})")

    def cpp_arguments(self, parameters, place):
        """Up to the last that is given, with the defaults of the headers before it."""
        written, last = [], 0
        for given in parameters:
            kind, path = bare(given.type), (*place, given.name)
            if kind == "Place":
                continue
            text = in_cpp(self.headers, kind, self.chosen[path]) if path in self.chosen else None
            if kind in self.headers.options:
                text = self.struct(kind, path, given.default)
            written.append(text or given.default)
            last = len(written) if text else last
        return ", ".join(written[:last])

    def struct(self, kind, path, default):
        """A struct of options, nothing if all keep the default of the parameter."""
        written = dict(part.removeprefix(".").split(" = ") for part in split(default.strip("{}")))
        is_given = not default
        for field, _ in self.headers.options[kind]:
            inner, below = bare(field.type), (*path, field.name)
            text = self.struct(inner, below, field.default) if inner in self.headers.options else None
            if below in self.chosen:
                text = in_cpp(self.headers, inner, self.chosen[below])
            if text:
                written[field.name], is_given = text, True
        order = [field.name for field, _ in self.headers.options[kind] if field.name in written]
        return f"{kind}{{{', '.join(f'.{name} = {written[name]}' for name in order)}}}" if is_given else None

    def python_arguments(self, parameters, place, by_keyword):
        """By position up to the first that keeps its default, or else all by keyword."""
        written = []
        for setting in settings(self.headers, parameters, place):
            by_keyword |= setting.path not in self.chosen or len(setting.path) > len(place) + 1
            if setting.path in self.chosen:
                value = self.chosen[setting.path]
                text = f"Indices({value!r})" if setting.kind == "Indices" and isinstance(value, list) else repr(value)
                written.append(f"{setting.keyword}={text}" if by_keyword else text)
        return ", ".join(written)


class Cases:
    """All of them. `missing` lists what arguments.py lacks, and what it has in vain."""

    def __init__(self, headers):
        self.headers, self.listed, self.missing = headers, [], []
        for name, text, _ in headers.functions:
            result, parameters = signature(text) or ("", [])
            if name not in {*BY_HAND, *EXCLUDED} and result in RESULTS and headers.arguments(parameters):
                self.add(name, result, parameters)
        for name, _ in headers.bound_layers():
            self.add_layer(name)
        for name, options in headers.optimizers.items():
            self.add(name, "optimizer", [Parameter("const std::vector<Parameter>&", "parameters", ""),
                                         Parameter(options, "options", "{}")])
        bound = {*EXCLUDED, *(case.name for case in self.listed)}
        self.missing += [f"{name} is not bound; remove it" for name in ARGUMENTS if name not in bound]

    def add_layer(self, name):
        constructors, methods = [], []
        for declared in member_functions(self.headers.classes[name]):
            result, parameters = signature(declared)
            method = re.search(r"(\w+)\(", declared)[1]
            result = f"{name}::{result}" if f"{name}::{result}" in TUPLES else result
            if method == name and self.headers.arguments(parameters):
                constructors.append(parameters)
            elif (f"{name}.{method}" not in EXCLUDED and re.search(r"\) const\b", declared) and result in RESULTS
                  and self.headers.arguments(parameters)):
                methods.append((method, result, parameters))
        for made, (method, result, parameters) in itertools.product(constructors, methods):
            self.add(name if method == "operator_call" else f"{name}.{method}", result, parameters, made)

    def add(self, name, result, parameters, made=None):
        """The simplest call, and one for each other value of what has a default."""
        row = ARGUMENTS.get(name) or ARGUMENTS.get(name.split(".")[0], {})
        listed = settings(self.headers, parameters)
        constant = settings(self.headers, made or [], ("made",))
        numbers, chosen = itertools.count(), {}
        for setting in [*constant, *listed]:
            if not setting.default:
                value = self.required(name, setting, row, next(numbers))
                if value in chosen.values() and not isinstance(value, Drawn):
                    self.missing.append(f"{name}: {setting.name} and another have the same value")
                chosen[setting.path] = value
        if "." not in name:  # the constructor's are varied once
            listed = [*constant, *listed]

        def append(given, *varied):
            self.listed.append(Case(self.headers, name, result, parameters, {**chosen, **given}, made, *varied))

        append({})
        together = []
        for extra in row.get("also", []):
            paths = {setting.name: setting.path for setting in listed
                     if setting.name in extra and fits(self.headers, setting.kind, extra[setting.name])}
            if len(paths) == len(extra):
                together.append(extra)
                append({paths[key]: value for key, value in extra.items()}, ", ".join(extra))
        chances = {setting.path: TYPES[setting.kind] for setting in listed if setting.kind in ("Mode", "Random*")}
        for setting in listed:
            if not setting.default or any(setting.name in extra for extra in together):
                continue
            needed = chances if "dropout" in setting.name else {}
            for value in self.others(name, setting, row):
                same = setting.name in row.get("same", ()) or setting.path in chances
                append({**needed, setting.path: value}, setting.name, same)

    def required(self, name, setting, row, number):
        if setting.name in row and fits(self.headers, setting.kind, row[setting.name]):
            return row[setting.name]
        numbers = {"Index": 2 + number, "int": 1, "double": 0.3 + 0.25 * number, **TYPES}
        if setting.kind in self.headers.enumerations:
            return self.headers.enumerations[setting.kind][-1]
        if setting.kind not in numbers:
            self.missing.append(f"{name}: {setting.name}, of type {setting.kind}")
        return numbers.get(setting.kind)

    def others(self, name, setting, row):
        """Values other than the default."""
        kind, default = setting.kind, setting.default
        if setting.name in row and fits(self.headers, kind, row[setting.name]):
            return [row[setting.name]]
        if kind in ("bool", "Keep"):
            return [default in ("false", "Keep::no")]
        if kind in self.headers.enumerations:
            values = self.headers.enumerations[kind]
            usual = values[0] if default == "{}" else default.split("::")[-1]
            return [value for value in values if value != usual]
        if kind == "double":
            return [0.75 * float(default) or 0.25]
        if kind in ("Index", "int"):
            return [int(default) + (1 if int(default) >= 0 else -1)]
        if kind == "HeightWidth":
            return [(int(default) + 1, int(default))]
        if kind not in ALTERNATIVES:
            self.missing.append(f"{name}: another value of {setting.name}, of type {kind}")
        return ALTERNATIVES.get(kind, [])
