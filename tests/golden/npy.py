"""Writes npy/*.npy, files of NumPy for the reader of them. Usage: npy.py, with numpy installed"""

import pathlib

import numpy as np

folder = pathlib.Path(__file__).parent / "npy"
folder.mkdir(exist_ok=True)
values = [[0, 1, 2], [3, 100, 5]]
for name in "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4":
    np.save(folder / f"{name}.npy", np.array(values, dtype=name))
np.save(folder / "b1.npy", np.array([True, False, True]))
np.save(folder / "scalar.npy", np.float32(1.5))
np.save(folder / "empty.npy", np.zeros((0, 3), dtype="f4"))
np.save(folder / "fortran.npy", np.asfortranarray(np.array(values, dtype="f4")))
np.save(folder / "big_endian.npy", np.array(values, dtype=">f4"))
with open(folder / "version_2.npy", "wb") as file:
    np.lib.format.write_array(file, np.array(values, dtype="f4"), version=(2, 0))
