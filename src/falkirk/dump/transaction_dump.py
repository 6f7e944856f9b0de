"""The transactions in a `.txnindex` as Kafka's dump tool reads them: all whole entries, in any order."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from falkirk.dump.finding import Problem
from falkirk.storage.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.dump.dump_source import DumpSource

_ENTRY: Final = struct.Struct(">hqqqq")
_VERSION: Final = 0


def aborted_transactions(source: DumpSource) -> Iterator[AbortedTransaction | Problem]:
    """Yield every entry, a problem before one of another version, and one for a partial entry at the end."""
    data = source.view()
    whole = len(data) // _ENTRY.size * _ENTRY.size
    for number, (version, producer_id, first, last, stable) in enumerate(_ENTRY.iter_unpack(data[:whole])):
        if version != _VERSION:
            at = number * _ENTRY.size
            message = f"entry {number} has version {version}, {_VERSION} was expected"
            yield Problem(file=source.path, position=at, message=message)
        yield AbortedTransaction(
            producer_id=producer_id, first_offset=first, last_offset=last, last_stable_offset=stable
        )
    if whole != len(data):
        message = f"{len(data) - whole} bytes are left over, an entry takes {_ENTRY.size}"
        yield Problem(file=source.path, position=whole, message=message)
