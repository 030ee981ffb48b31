"""Small images on which the tests of `mnist` train."""

import gzip
import random

from program import TrainerTest

QUICK = ["--hidden", "24", "--batch-size", "20", "--epochs", "4"]


def write_idx(path, shape, values):
    """Writes bytes in the format of MNIST, compressed if its name ends in .gz."""
    header = bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape)
    with (gzip.open if path.suffix == ".gz" else open)(path, "wb") as file:
        file.write(header + bytes(values))


def write_images(directory):
    """Four small files: 8x8 images of ten classes, a bright row or column each, with noise."""
    source = random.Random(1)
    directory.mkdir()
    for part, count, ending in ("train", 600, ".gz"), ("t10k", 100, ""):
        labels = [source.randrange(10) for _ in range(count)]
        pixels = []
        for label in labels:
            for row in range(8):
                for column in range(8):
                    lit = row == label if label < 5 else column == label - 5
                    pixels.append(source.randrange(100) + (150 if lit else 0))
        write_idx(directory / f"{part}-images-idx3-ubyte{ending}", (count, 8, 8), pixels)
        write_idx(directory / f"{part}-labels-idx1-ubyte{ending}", (count,), labels)


class ImagesTest(TrainerTest):
    def setUp(self):
        super().setUp()
        self.data = self.path / "images"
        write_images(self.data)
        self.data_flags = ["--data", self.data]
        self.train = [*QUICK, *self.data_flags]
