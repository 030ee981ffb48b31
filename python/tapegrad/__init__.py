"""tapegrad: tensors, a tape of operations and their gradients, in single and double precision.

    import tapegrad.float64 as tg

    with tg.Tape() as tape:
        x = tg.watch(tg.Tensor([3.0, 4.0]))
        print(tg.grad(tg.sum(x * x), x))

Names, the words of help() and the words of errors are the C++ library's."""

from . import float32, float64
from .errors import ArgumentError, DataError, Error, MemoryError, NonFiniteError, ShapeError, TapeError

__all__ = ["float32", "float64", "ArgumentError", "DataError", "Error", "MemoryError", "NonFiniteError",
           "ShapeError", "TapeError"]
