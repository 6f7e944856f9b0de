"""The C library's heap, told how a server uses memory."""

from __future__ import annotations

import ctypes
from typing import Final

# Requests and answers of a megabyte come and go. By itself glibc gives blocks of that size back to the system at once,
# which takes as long as what is done with them: each page is cleared and mapped anew (docs/internals/live-path.md).
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
# The largest that glibc takes for blocks of their own, and what is kept at the end of the heap.
_OWN_BLOCK_BYTES: Final = 32 << 20
_KEPT_BYTES: Final = 64 << 20


def keep_freed_memory() -> None:
    """Have up to 64 MiB of freed memory stay in the process; with another C library than glibc nothing is changed."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _OWN_BLOCK_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
