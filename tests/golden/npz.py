"""Writes npz/*.npz, archives of NumPy for the reader of them. Usage: npz.py, with numpy installed"""

import io
import pathlib
import zipfile

import numpy as np

folder = pathlib.Path(__file__).parent / "npz"
folder.mkdir(exist_ok=True)
arrays = {"images": np.arange(60, dtype="u1").reshape(3, 4, 5), "labels": np.array([2, 0, 1]),
          "weight/größe": np.array([[0.5, -1], [2, 1e30]], dtype="f4"), "scalar": np.float64(0.25),
          "empty": np.zeros((0, 3), dtype="f4")}
np.savez(folder / "stored.npz", **arrays)
np.savez_compressed(folder / "deflated.npz", **arrays)
np.savez(folder / "no_arrays.npz")
np.savez(folder / "fortran.npz", good=np.ones(2), bad=np.asfortranarray(np.ones((2, 2))))


class Pipe(io.BytesIO):
    """What cannot be sought: the sizes of a member then follow its content."""

    def seekable(self):
        return False

    def seek(self, *_):
        raise io.UnsupportedOperation

    def tell(self):
        raise io.UnsupportedOperation


pipe = Pipe()
np.savez_compressed(pipe, **arrays)
(folder / "piped.npz").write_bytes(pipe.getvalue())

# What an archive of more than 4 GiB or 65,535 arrays looks like.
zipfile.ZIP64_LIMIT = zipfile.ZIP_FILECOUNT_LIMIT = -1
np.savez(folder / "zip64.npz", **arrays)
for kind in "f4", "f8":
    np.savez(folder / f"{kind}.npz", b=np.array([[0.5, -1], [2, 1e30]], dtype=kind), größe=np.array(3, dtype=kind),
             a=np.array([2, 0, -1]))
