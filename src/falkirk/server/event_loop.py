"""The event loop: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:  # Any: what coroutines are sent
    """Run to the end on a loop of its own."""
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(main)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - it may be missing
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
