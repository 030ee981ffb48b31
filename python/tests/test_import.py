"""The module can be imported after others that use memory of which a process has little."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

# A library with thread-local memory that the loader must find in its static block, as libgomp and OpenBLAS have it.
LIBRARY = """static __thread __attribute__((tls_model("initial-exec"))) volatile char room[32];
char read_room(void) { return room[0]; }
"""
IMPORT = """import ctypes, sys
for library in sys.argv[1:]: ctypes.CDLL(library)
try: import torch
except ImportError: pass
import numpy, tapegrad
print(tapegrad.float32.mean(tapegrad.float32.ones([2])).item())
"""


class Import(unittest.TestCase):
    @unittest.skipIf(shutil.which("gcc") is None, "gcc is missing")
    def test_beside_twenty_libraries_and_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            libraries = [pathlib.Path(folder, f"lib{number}.so") for number in range(20)]
            pathlib.Path(folder, "room.c").write_text(LIBRARY)
            subprocess.run(["gcc", "-shared", "-fPIC", pathlib.Path(folder, "room.c"), "-o", libraries[0]], check=True)
            for copy in libraries[1:]:
                shutil.copy(libraries[0], copy)
            found = subprocess.run([sys.executable, "-c", IMPORT, *libraries], capture_output=True, text=True)
            self.assertEqual(found.stdout, "1.0\n", found.stderr)


if __name__ == "__main__":
    unittest.main()
