#!/usr/bin/env python3
"""What each step from the engine of one header to the library buys: story.py FOLDER [--rounds N] [--page]

FOLDER has the programs that CMake makes of story.cpp. A round measures every form of every workload once, so that all
forms see the same machine; figures are medians over rounds. On one thread, times are processor time, which other work
on the machine changes least; beside two threads they are time by the clock."""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "bench/peers"))
import compare  # noqa: E402
import page as peers  # noqa: E402

page, picture = root / "docs/story.md", root / "docs/pictures/story.svg"
kept = root / "bench/story/figures.jsonl"
workloads = ["mlp", "lstm", "transformer"]
product = "ops/kernels/product"
# The steps in order: name, program, TAPEGRAD_TARGET, whether kernels are fused and memory is reused, and the files that
# the step consists of.
ladder = [
    ("one header", "story_mini", "", 0, 0, ["examples/mini/tapegrad_mini.h"]),
    ("products in blocks", "story_blocked", "sse2", 0, 0,
     [f"{product}/{name}.*" for name in ("gemm", "panels", "packed", "thin")]),
    ("loops in place of positions", "story_library", "sse2", 0, 0,
     [f"ops/kernels/{name}.*" for name in ("apply", "axis", "blocks", "elementwise", "index", "layout", "reduce")]),
    ("vectors: AVX2", "story_library", "avx2", 0, 0, ["core/machine/instruction_set.*", "ops/kernels/math-inl.h"]),
    ("vectors: the widest", "story_library", "", 0, 0, []),
    ("fused kernels", "story_library", "", 1, 0,
     ["ops/internal/fused.*", *(f"ops/kernels/{name}.*" for name in
                                ("attention", "cells", "norm", "optimizer", "recurrent", "softmax"))]),
    ("memory is reused", "story_library", "", 1, 1, ["core/internal/storage.*", "ops/kernels/scratch.h"]),
]
without = [
    ("all steps", "story_library", "", 1, 1),
    ("without vectors", "story_library", "sse2", 1, 1),
    ("without fused kernels", "story_library", "", 0, 1),
    ("without reused memory", "story_library", "", 1, 0),
]
without_all = ("without", without[0][0])  # nothing switched off
threads = [("operation by operation", 0), ("fused kernels", 1)]
elsewhere = {"threads": ["core/machine/parallel.*", "core/machine/internal/quota.*"],
             "tasks by shape": ["ops/kernels/lines.*"]}
left, width, top, step = 190, 480, 46, 30
colors = {"mlp": ("#0969da", "#58a6ff"), "lstm": ("#bc4c00", "#f0883e"), "transformer": ("#1a7f37", "#3fb950")}


def lines_of(patterns):
    return sum(len(path.read_text().splitlines()) for pattern in patterns for path in root.glob(pattern))


def run(folder, workload, program, target, fused, reuse, count=1):
    """What a program measures of a workload."""
    environment = {name: value for name, value in os.environ.items() if name != "TAPEGRAD_TARGET"}
    if target:
        environment["TAPEGRAD_TARGET"] = target
    done = subprocess.run([folder / program, workload, str(count), str(fused), str(reuse)], env=environment,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {program} {workload}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return json.loads(done.stdout)


def measure(folder, rounds):
    """A line for each form of each workload."""
    forms = {(table, name): (program, target, fused, reuse, 1)
             for table, steps in (("ladder", ladder), ("without", without))
             for name, program, target, fused, reuse, *_ in steps}
    forms |= {(f"threads {count}", name): ("story_library", "", fused, 1, count)
              for name, fused in threads for count in (1, 2)}
    measured = {(form, workload): [] for form in forms for workload in workloads}
    for round_ in range(rounds):
        for (form, workload), each in measured.items():
            each.append(run(folder, workload, *forms[form]))
        print(f"round {round_ + 1} of {rounds}", file=sys.stderr)
    lines, where = [], compare.place()
    for ((table, name), workload), each in measured.items():
        kind = "ms" if table.startswith("threads") else "processor_ms"
        times = [one[kind] for one in each]
        patterns = {step[0]: step[5] for step in ladder}.get(name, []) if table == "ladder" else []
        lines.append({"table": table, "step": name, "workload": workload, "ms": statistics.median(times),
                      "rounds": times, "mb": max(one["mb"] for one in each), "loss": each[0]["loss"],
                      "bits": each[0]["bits"], "instructions": each[0]["instructions"],
                      "lines": lines_of(patterns)} | where)
    lines += [{"table": "lines", "step": name, "lines": lines_of(patterns)} | where for name, patterns in elsewhere.items()]
    check(lines)
    return lines


def check(lines):
    """All engines compute the same, and the library the same bits on any number of threads."""
    for workload in workloads:
        losses = [line["loss"] for line in lines if line.get("workload") == workload]
        if max(losses) - min(losses) > 1e-4 * abs(losses[0]):
            sys.exit(f"bench: the losses of {workload} differ: {losses}")
        for name, _ in threads:
            bits = {line["bits"] for line in lines
                    if line["table"].startswith("threads") and (line["step"], line.get("workload")) == (name, workload)}
            if len(bits) != 1:
                sys.exit(f"bench: {workload}, {name}: one and two threads do not compute the same bits")


def found(lines, table, name):
    """The line of each workload."""
    return [line for workload in workloads for line in lines
            if (line["table"], line["step"], line.get("workload")) == (table, name, workload)]


def numbers(values, form):
    return " / ".join(form(value) for value in values)


def times(cells):
    return " | ".join(peers.number(cell["ms"]) for cell in cells)


def ratios(cells, others):
    """How many times as long the others take."""
    return numbers([other["ms"] / cell["ms"] for cell, other in zip(cells, others)], lambda ratio: f"{ratio:.2g}")


def by_machine(lines):
    """The lines of each machine, in their order."""
    return {name: [line for line in lines if line["machine"] == name]
            for name in dict.fromkeys(line["machine"] for line in lines)}


def gains(lines):
    """How many times as fast as the step above it each step is, and the last one as the first."""
    steps = [found(lines, "ladder", name) for name, *_ in ladder]
    return [*(ratios(cells, before) for before, cells in zip(steps, steps[1:])), ratios(steps[-1], steps[0])]


def processors(lines):
    """A row for each machine, if there are several."""
    machines = by_machine(lines)
    if len(machines) == 1:
        return []
    heads = [*(name for name, *_ in ladder[1:]), "all together"]
    return ["", "How many times as fast each step makes a training step, on each processor that was measured:", "",
            f"| processor | widest vectors | {' | '.join(heads)} |", "|" + "---|" * (len(heads) + 2),
            *(f"| {name.split(' of ')[-1]} | `{found(own, *without_all)[0]['instructions']}` | {' | '.join(gains(own))} |"
              for name, own in machines.items())]


def tables(lines):
    """The tables of the machine that was measured last, which comes first, and what each step gains on all of them."""
    everywhere, lines = lines, next(iter(by_machine(lines).values()))
    heads = " | ".join(f"`{workload}`" for workload in workloads)
    complete = found(lines, *without_all)
    text = [f"{lines[0]['machine']}, single precision, commit {lines[0]['commit']}, medians of "
            f"{len(lines[0]['rounds'])} rounds; the widest vectors are `{complete[0]['instructions']}`. Processor "
            "time of a step on one thread, in ms, and the most memory of the process, in MB:", "",
            f"| step, in order | {heads} | times as fast | MB | lines |", "|" + "---|" * (len(workloads) + 4)]
    *steps, together = ["", *gains(lines)]
    for (name, *_), gain in zip(ladder, steps):
        cells = found(lines, "ladder", name)
        memory = numbers([cell["mb"] for cell in cells], "{:.0f}".format)
        text.append(f"| {name} | {times(cells)} | {gain} | {memory} | {cells[0]['lines'] or ''} |")
    text += [f"| all together | | | | {together} | | |", "",
             "One step at a time switched off in the complete library, on one thread:", "",
             f"| | {heads} | times as long |", "|" + "---|" * (len(workloads) + 2)]
    for name, *_ in without:
        cells = found(lines, "without", name)
        text.append(f"| {name} | {times(cells)} | {'' if cells == complete else ratios(complete, cells)} |")
    text += ["", "One thread and two, in ms by the clock, memory reused:", "",
             f"| | threads | {heads} | times as fast |", "|" + "---|" * (len(workloads) + 3)]
    for name, _ in threads:
        one, two = (found(lines, f"threads {count}", name) for count in (1, 2))
        text += [f"| {name} | 1 | {times(one)} | |", f"| | 2 | {times(two)} | {ratios(two, one)} |"]
    sizes = {line["step"]: line["lines"] for line in lines if line["table"] == "lines"}
    return [*text, "", f"Threads have {sizes['threads']} lines, tasks by shape {sizes['tasks by shape']}.",
            *processors(everywhere)]


def drawn(lines):
    """How many times as fast as the first step each step is, on an axis of powers of two."""
    lines = next(iter(by_machine(lines).values()))
    first = found(lines, "ladder", ladder[0][0])
    total = {name: [one["ms"] / cell["ms"] for one, cell in zip(first, found(lines, "ladder", name))]
             for name, *_ in ladder}
    most = 2 ** math.ceil(math.log2(max(map(max, total.values()))))
    bottom = top + step * len(total)
    place = lambda gain: left + width * math.log2(gain) / math.log2(most)  # noqa: E731
    height = bottom + 44
    size = f'viewBox="0 0 700 {height}" width="700" height="{height}"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', "<style>",
           "  .back { fill: #ffffff } text { fill: #24292f; font: 13px sans-serif } .grid { stroke: #d8dee4 }"]
    out += [f"  .{name} {{ fill: {light} }} .{name}_line {{ stroke: {light}; stroke-width: 1.5; fill: none }}"
            for name, (light, _) in colors.items()]
    out += ["  @media (prefers-color-scheme: dark) {",
            "    .back { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d }"]
    out += [f"    .{name} {{ fill: {dark} }} .{name}_line {{ stroke: {dark} }}" for name, (_, dark) in colors.items()]
    out += ["  }", "</style>", f'<rect class="back" width="700" height="{height}"/>']
    out += [f'<circle class="{name}" cx="{left + 130 * i + 6}" cy="16" r="5"/>'
            f'<text x="{left + 130 * i + 16}" y="20">{name}</text>' for i, name in enumerate(workloads)]
    tick = 1
    while tick <= most:
        out.append(f'<path class="grid" d="M{place(tick):.1f} {top - 12}V{bottom - 6}"/>'
                   f'<text text-anchor="middle" x="{place(tick):.1f}" y="{bottom + 12}">{tick}</text>')
        tick *= 2
    out.append(f'<text text-anchor="middle" x="{left + width / 2}" y="{bottom + 34}">'
               "times as fast as one header, on one thread</text>")
    heights = [top + step * i for i in range(len(total))]
    for i, name in enumerate(workloads):
        points = " ".join(f"{place(gain[i]):.1f},{y}" for gain, y in zip(total.values(), heights))
        out.append(f'<polyline class="{name}_line" points="{points}"/>')
    for (name, gain), y in zip(total.items(), heights):
        out.append(f'<text text-anchor="end" x="{left - 14}" y="{y + 4}">{name}</text>')
        out += [f'<circle class="{workload}" cx="{place(one):.1f}" cy="{y}" r="5"/>'
                for workload, one in zip(workloads, gain)]
    return "\n".join([*out, "</svg>", ""])


def page_and_picture(figures):
    """The text of docs/story.md and of its picture, with these figures."""
    lines = [json.loads(line) for line in pathlib.Path(figures).read_text().splitlines()]
    text = re.sub(r"(?<=<!-- figures -->\n).*(?=\n<!-- end of figures -->)", lambda _: "\n".join(tables(lines)),
                  page.read_text(), flags=re.S)
    return text, drawn(lines)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --story", description=__doc__.splitlines()[0].split(":")[0])
    parser.add_argument("folder", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=7, help="medians over so many (7)")
    parser.add_argument("--page", action="store_true", help="update docs/story.md, its picture and the figures kept")
    flags = parser.parse_args()
    if flags.rounds < 1:
        parser.error("--rounds must be at least 1")
    lines = measure(flags.folder, flags.rounds)
    print("\n".join(tables(lines)))
    if flags.page:
        # The figures of other machines stay.
        before = [json.loads(line) for line in kept.read_text().splitlines()]
        lines += [line for line in before if line["machine"] != lines[0]["machine"]]
        kept.write_text("".join(json.dumps(line) + "\n" for line in lines))
        for path, text in zip((page, picture), page_and_picture(kept)):
            path.write_text(text)


if __name__ == "__main__":
    main()
