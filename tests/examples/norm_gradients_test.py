"""The table of norm_gradients: found and exact values agree to twelve digits, and each obeys the
theorem. Usage: norm_gradients_test.py PROGRAM"""

import subprocess
import sys

output = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True)
assert output.stderr == "", output.stderr
rows = {line.split()[0]: [float(word) for word in line.split()[1:]]
        for line in output.stdout.splitlines()[1:5]}
assert list(rows) == ["none", "mean", "scale", "both"], rows
for mean, exact_mean, variance, exact_variance in rows.values():
    assert abs(mean - exact_mean) < 1e-12 and abs(variance - exact_variance) < 1e-12, rows

# Detaching the mean changes the mean only; detaching the scale lets the variance grow.
means, variances = ({name: row[i] for name, row in rows.items()} for i in (0, 2))
assert means["none"] == means["scale"] == 0 and abs(means["mean"] - means["both"]) < 1e-12
assert abs(variances["none"] - variances["mean"]) < 1e-12 < variances["scale"] - variances["none"]
assert abs(variances["scale"] - variances["both"]) < 1e-12
