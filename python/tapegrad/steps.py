"""What `trace` and `Sequential` call."""

import functools
import inspect

from .errors import ArgumentError


def step(net, batch, loss, converted):
    """The call of a net with a batch, or the function that is given in place of the batch.

    converted: makes an input of the net of an array"""
    if callable(batch):
        if loss is not None:
            raise ArgumentError("trace: a function in place of the batch returns the loss itself: leave `loss` out")
        return batch
    if not callable(net):
        raise ArgumentError(f"trace: the net cannot be called with a batch: {type(net)}; in place of the batch, give a "
                            "function without arguments, which calls the layers and returns the loss")
    inputs = batch if isinstance(batch, tuple) else (batch,)
    return functools.partial(net, *(converted(each) if is_array(each) else each for each in inputs))


def is_array(given):
    return isinstance(given, list) or hasattr(given, "__dlpack__") or hasattr(given, "__array__")


def of_ours(net, batch, loss, tg):
    """The step of a net of tg, such as tapegrad.float32."""
    def converted(given):
        import numpy  # which importing tapegrad does not load
        if isinstance(given, (tg.Tensor, tg.Indices)):
            return given
        if hasattr(given, "detach"):  # of PyTorch
            given = given.detach().cpu()
        array = numpy.asarray(given)
        return (tg.Indices if array.dtype.kind in "iu" else tg.Tensor)(array)

    return step(net, batch, loss, converted)


def takes_random(function):
    """Whether it has an argument `random`. Bound functions, such as tg.relu, have no signature."""
    try:
        return "random" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
