"""For hostile bytes, which may be readable or an error of one kind."""

from collections.abc import Callable
from typing import TypeVar

E = TypeVar("E", bound=Exception)


def raised(kind: type[E], function: Callable[[], object]) -> E | None:
    """Return the error of this kind that a call raises, or None; other errors propagate."""
    try:
        function()
    except kind as error:
        return error
    return None
