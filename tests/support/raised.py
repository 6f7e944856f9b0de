"""For hostile bytes, which may be read or be an error, but nothing else."""

from collections.abc import Callable
from typing import TypeVar

E = TypeVar("E", bound=Exception)


def raised(kind: type[E], function: Callable[[], object]) -> E | None:
    """Give the error of this kind that a call raises, None if it raises none; any other error passes."""
    try:
        function()
    except kind as error:
        return error
    return None
