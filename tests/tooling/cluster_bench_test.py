"""./dev bench --cluster as its users run it: cluster_bench_test.py ROOT CLUSTER_BENCH"""

import pathlib
import re
import subprocess
import sys

root, program = sys.argv[1:]
done = subprocess.run([sys.executable, pathlib.Path(root) / "bench/cluster.py", program, "--quick", "--rounds", "3"],
                      capture_output=True, text=True, timeout=300)
assert done.returncode == 0, done
number = r"\d+\.\d\d"
for network in "shared memory", "TCP":
    assert re.search(rf"^2 +{network} +1 +{number} +{number} +{number}$", done.stdout, re.M), (network, done.stdout)
    assert re.search(rf"^mlp +{network} +7\.5 +{number} +{number} +{number} +(-|-?\d+%)$", done.stdout, re.M), done.stdout
assert re.search(rf"^mlp( +{number}){{5}}$", done.stdout, re.M), done.stdout
wrong = subprocess.run([program, "overlap", "no_such_row"], capture_output=True, text=True)
assert wrong.returncode == 2 and "no_such_row" in wrong.stderr, wrong
