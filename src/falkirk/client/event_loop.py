"""Run coroutines on uvloop where it is installed, else on asyncio's own event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:  # Any: as asyncio.run
    """Run a coroutine on a new event loop, and return its result."""
    with new_runner() as runner:
        return runner.run(coroutine)


def new_runner() -> asyncio.Runner:
    """Return a runner for several coroutines on one event loop; the caller closes it."""
    try:
        import uvloop  # noqa: PLC0415 - it may not be there
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
