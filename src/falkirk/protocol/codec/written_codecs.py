"""The codecs that are written out as source and compiled with the build, by message and version.

Here there are none: all are compiled at run time, on first use. In a compiled build the module that
`tools/written_codecs.py` makes stands in this one's place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DECODERS: Final[Mapping[tuple[str, int], Callable[[bytes, int, int], tuple[Any, int]]]] = {}  # Any: the message's class
ENCODERS: Final[Mapping[tuple[str, int], Callable[[Any], list[bytes]]]] = {}  # Any: same
