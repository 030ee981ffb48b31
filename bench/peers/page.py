#!/usr/bin/env python3
"""page.py FIGURES: updates the tables and the picture of docs/performance.md

FIGURES: what `./dev bench --peers --json` wrote."""

import json
import math
import pathlib
import re
import sys

root = pathlib.Path(__file__).parent.parent.parent
page, picture = root / "docs" / "performance.md", root / "docs" / "pictures" / "peers.svg"
colors = {"limit": ("#6e7781", "#8b949e"), "pytorch": ("#bc4c00", "#f0883e"), "pytorch_compiled": ("#cf222e", "#ff7b72"),
          "pytorch_debian": ("#8250df", "#bc8cff"), "libtorch": ("#1a7f37", "#3fb950"), "jax": ("#1b7c83", "#39c5cf"),
          "mlx": ("#bf3989", "#f778ba")}
left, width, top, step = 220, 450, 56, 24
MAKES = "Intel", "family 25, model 17", "family 25, model 1)"  # the page has the newest machine of each


def position(ratio, least, most):
    share = math.log(ratio / least) / math.log(most / least)
    return left + width * share


def drawn(machines, order):
    """For each machine, a line for each row, with a dot for each implementation at its time over tapegrad's."""
    ratios = {}
    for machine, rows in machines.items():
        for row, cells in rows.items():
            own = cells["tapegrad"]
            dots = {"limit": own["limit_ms"]} | {name: cells[name]["ms"] for name in cells if name != "tapegrad"}
            # A row that is all overhead has next to no work.
            ratios[machine, row] = {name: ms / own["ms"] for name, ms in dots.items()
                                    if name != "limit" or ms > 0.1 * own["ms"]}
    everything = [ratio for dots in ratios.values() for ratio in dots.values()]
    least, most = 2 ** math.floor(math.log2(min(everything))), 2 ** math.ceil(math.log2(max(everything)))
    bottom = top + step * (len(ratios) + len(machines))
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {bottom + 40}" width="700" height="{bottom + 40}">',
             "<style>", "  .back { fill: #ffffff } text { fill: #24292f; font: 13px sans-serif } .grid { stroke: #d8dee4 }",
             "  .one { stroke: #0969da; stroke-width: 2 } .machine { font-weight: bold }"]
    lines += [f"  .{name} {{ fill: {light} }}" for name, (light, _) in colors.items()]
    lines.append("  @media (prefers-color-scheme: dark) { .back { fill: #0d1117 } text { fill: #e6edf3 }")
    lines.append("    .grid { stroke: #30363d } .one { stroke: #58a6ff }")
    lines += [f"    .{name} {{ fill: {dark} }}" for name, (_, dark) in colors.items()]
    lines += ["  }", "</style>", f'<rect class="back" width="700" height="{bottom + 40}"/>']
    for i, name in enumerate(order):
        x, y = 20 + i % 4 * 170, 18 + i // 4 * 18
        lines.append(f'<circle class="{name}" cx="{x}" cy="{y - 4}" r="5"/><text x="{x + 10}" y="{y}">'
                     f'{"the machine&#39;s limit" if name == "limit" else name}</text>')
    tick = least
    while tick <= most:
        x = position(tick, least, most)
        kind = "one" if tick == 1 else "grid"
        lines.append(f'<path class="{kind}" d="M{x:.1f} {top - 8}V{bottom}"/>'
                     f'<text text-anchor="middle" x="{x:.1f}" y="{bottom + 16}">{tick:g}</text>')
        tick *= 2
    lines.append(f'<text text-anchor="middle" x="{left + width / 2}" y="{bottom + 34}">time over tapegrad\'s</text>')
    y, last = top + step / 2 - 4, None
    for (machine, row), dots in ratios.items():
        if machine != last:
            lines.append(f'<rect class="back" x="0" y="{y - 10}" width="700" height="20"/>'
                         f'<text class="machine" x="20" y="{y + 4}">{machine}</text>')
            y, last = y + step, machine
        lines.append(f'<text text-anchor="end" x="{left - 12}" y="{y + 4}">{row}</text>'
                     f'<path class="grid" d="M{left} {y}H{left + width}"/>')
        lines += [f'<circle class="{name}" cx="{position(ratio, least, most):.1f}" cy="{y}" r="5"/>'
                  for name, ratio in dots.items()]
        y += step
    return "\n".join([*lines, "</svg>", ""])


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def cell(line):
    """The time, and the interval of the ratio to tapegrad's where there is one."""
    if line is None:
        return "-"
    interval = line.get("interval")
    return number(line["ms"]) + (f"<br>*{interval[0]:.2f} to {interval[1]:.2f}*" if interval else "")


def table(rows, names):
    lines = ["| row, ms | tapegrad | of the limit | " + " | ".join(f"`{name}`" for name in names) +
             " | MB, tapegrad / pytorch |", "|" + "---|" * (len(names) + 4)]
    for row, cells in rows.items():
        own = cells["tapegrad"]
        limit = own["ms"] / own["limit_ms"]
        memory = cells.get("pytorch", {}).get("peak_rss_mb")
        lines.append(f"| `{row}` | {number(own['ms'])} | {'-' if limit > 10 else format(limit, '.2f')} | " +
                     " | ".join(cell(cells.get(name)) for name in names) +
                     f" | {own['peak_rss_mb']:.0f} / {'-' if memory is None else format(memory, '.0f')} |")
    return lines


def page_and_picture(figures):
    """The text of docs/performance.md and of its picture, with these figures."""
    machines = {}
    for line in map(json.loads, pathlib.Path(figures).read_text().splitlines()):
        rows = machines[line["machine"]] = machines.pop(line["machine"], {})  # measured last
        rows.setdefault(line["row"], {})[line["implementation"]] = line
    newest = {make: machine for make in MAKES for machine in machines if make in machine}
    machines = {machine: machines[machine] for machine in newest.values()}
    named = {name for rows in machines.values() for cells in rows.values() for name in cells}
    tables = []
    for machine, rows in machines.items():
        own = [cells["tapegrad"] for cells in rows.values()]
        commits = ", ".join(dict.fromkeys(line["commit"] for line in own))
        tables += [f"{machine}, {own[0]['threads']} threads, single precision, commit {commits}:", "",
                   *table(rows, [name for name in colors if any(name in cells for cells in rows.values())]), ""]
    text = re.sub(r"(?<=<!-- figures -->\n).*(?=\n<!-- end of figures -->)",
                  lambda _: "\n".join(tables[:-1]), page.read_text(), flags=re.S)
    return text, drawn(machines, [name for name in colors if name == "limit" or name in named])


if __name__ == "__main__":
    texts = page_and_picture(sys.argv[1])
    for path, text in zip((page, picture), texts):
        path.write_text(text)
