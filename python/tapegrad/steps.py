"""What `Sequential` calls."""

import inspect


def takes_random(function):
    """Whether it has an argument `random`. Bound functions, such as tg.relu, have no signature."""
    try:
        return "random" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
