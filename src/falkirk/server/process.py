"""The process of a server: its event loop (uvloop where it is installed), and how the heap keeps memory."""

from __future__ import annotations

import asyncio
import ctypes
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

T = TypeVar("T")

# By default glibc returns freed blocks of a megabyte to the system at once, so that each large request has its pages
# cleared and mapped anew. That costs as much as handling the request (docs/internals/live-path.md).
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
# The threshold for mapped blocks (its maximum), and how much free memory stays at the end of the heap.
_OWN_BLOCK_BYTES: Final = 32 << 20
_KEPT_BYTES: Final = 64 << 20


def run(main: Coroutine[Any, Any, T]) -> T:  # Any: what coroutines are sent
    """Run a coroutine to its end on a new loop."""
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(main)


def keep_freed_memory() -> None:
    """Keep up to 64 MiB of freed memory in the process; does nothing with another C library than glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _OWN_BLOCK_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - it may be missing
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
