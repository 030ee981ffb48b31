"""The errors of the library. Each is also the error that Python uses for its kind."""

import builtins


class Error(RuntimeError):
    """The base of all: `<operation>: <what is wrong>: <the shapes or values>[; <what to do>] [file.py:line]`."""


class ShapeError(Error, ValueError):
    """Shapes, axes or positions do not fit."""


class ArgumentError(Error, ValueError):
    """Options or numbers are out of range, have no effect or conflict, or an array has the wrong elements."""


class TapeError(Error):
    """A tape, or a tensor of a tape, is used where it must not be."""


class NonFiniteError(Error, ArithmeticError):
    """A tape with `check_finite` found a NaN or an infinity."""


class MemoryError(Error, builtins.MemoryError):
    """The system refused memory."""


class DataError(Error):
    """A file is missing, damaged or of another format."""
