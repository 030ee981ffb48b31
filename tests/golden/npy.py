"""Writes npy/*.npy, files of NumPy for the reader of them. Usage: npy.py, with numpy installed"""

import pathlib

import numpy as np

folder = pathlib.Path(__file__).parent / "npy"
folder.mkdir(exist_ok=True)
values = [[0, 1, 2], [3, 100, 5]]
for name in "f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8":
    np.save(folder / f"{name}.npy", np.array(values, dtype=name))
for name in "f2", "f4", "f8", "i2", "i4", "i8", "u2", "u4", "u8":
    np.save(folder / f"big_{name}.npy", np.array(values, dtype=f">{name}"))
np.save(folder / "f2_limits.npy", np.array([65504, np.inf, np.nan, 2.0**-24, -1 / 3], dtype="f2"))
np.save(folder / "u8_limits.npy", np.array([2**63 - 1, 2**63, 2**64 - 1], dtype="u8"))
np.save(folder / "c8.npy", np.array([1j], dtype="c8"))
np.save(folder / "b1.npy", np.array([True, False, True]))
np.save(folder / "scalar.npy", np.float32(1.5))
np.save(folder / "empty.npy", np.zeros((0, 3), dtype="f4"))
np.save(folder / "fortran.npy", np.asfortranarray(np.array(values, dtype="f4")))
with open(folder / "version_2.npy", "wb") as file:
    np.lib.format.write_array(file, np.array(values, dtype="f4"), version=(2, 0))
