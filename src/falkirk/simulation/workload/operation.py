"""One request of an administrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.schema import WireMessage


@dataclass(frozen=True, slots=True)
class Operation:
    """`what` describes it in a few words; `error` returns the response's error code; `done` records its success.

    Responses are of the class that belongs to the request.
    """

    what: str
    request: "WireMessage"
    error: "Callable[[Any], int]"  # Any: of the answer's own class, as above
    done: "Callable[[Any], None]"
