"""The nets of bench/story compute the same with each engine: story_test.py ROOT FOLDER"""

import pathlib
import subprocess
import sys

root, folder = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(root / "bench/story"))
import story

lines = [story.run(folder, workload, program, target, fused, reuse, count) |
         {"table": f"threads {count}" if step in dict(story.threads) else "ladder", "step": step, "workload": workload}
         for workload in story.workloads
         for step, program, target, fused, reuse, count in [
             ("one header", "story_mini", "", 0, 0, 1), ("products in blocks", "story_blocked", "", 0, 0, 1),
             ("operation by operation", "story_library", "", 0, 0, 2), ("fused kernels", "story_library", "", 1, 1, 1),
             ("fused kernels", "story_library", "", 1, 0, 2)]]
story.check(lines)
for line in lines:
    assert line["ms"] > 0 and line["processor_ms"] > 0 and line["mb"] > 1, line
for name, change in ("loss", 1.001), ("bits", 2):
    wrong = [line | {name: line[name] * (change if line["table"] == "threads 2" else 1)} for line in lines]
    try:
        story.check(wrong)
    except SystemExit as error:
        assert name in str(error), error
    else:
        sys.exit(f"other {name} were not found")
switched = subprocess.run([folder / "story_mini", "mlp", "2", "0", "0"], capture_output=True, text=True)
assert switched.returncode == 1 and "nothing to switch" in switched.stderr, switched
