"""Runs a coroutine on the fastest event loop that there is: uvloop's, or asyncio's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:  # Any: as asyncio.run
    """Run it to its end and give its result."""
    with new_runner() as runner:
        return runner.run(coroutine)


def new_runner() -> asyncio.Runner:
    """Give what runs several coroutines on one such loop; the caller closes it."""
    try:
        import uvloop  # noqa: PLC0415 - it may not be there
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
