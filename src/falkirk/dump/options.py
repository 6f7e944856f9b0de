"""Options of the dump tool, and the decoder that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.dump.coordinator_decoder import CoordinatorDecoder
from falkirk.dump.coordinator_text import OffsetsTextDecoder, TransactionsTextDecoder
from falkirk.dump.index_dump import MESSAGE_BYTES_MAX
from falkirk.dump.metadata_decoder import MetadataDecoder
from falkirk.dump.record_decoder import StringDecoder
from falkirk.dump.remote_log_decoder import RemoteLogDecoder
from falkirk.dump.tool import DecoderKind

if TYPE_CHECKING:
    from falkirk.dump.record_decoder import RecordDecoder
    from falkirk.dump.tool import DumpTool


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """How much of the files is shown."""

    decoder: "RecordDecoder"
    is_deep: bool = False
    """Show records, not only batches."""
    shows_contents: bool = False
    """Show keys and values."""
    shows_record_metadata: bool = True
    shows_batch_metadata: bool = True
    bytes_max: int | None = None
    """Read only so many bytes of a log."""
    index_sanity_only: bool = False
    verify_index_only: bool = False
    message_bytes_max: int = MESSAGE_BYTES_MAX


def record_decoder(tool: DumpTool, kind: DecoderKind) -> RecordDecoder:
    """Return the tool's decoder of a kind of log; the tool must have one."""
    assert kind in tool.text.decoders
    match kind:
        case DecoderKind.STRINGS:
            return StringDecoder()
        case DecoderKind.METADATA:
            return MetadataDecoder(tool)
        case DecoderKind.REMOTE_LOG:
            return RemoteLogDecoder(tool)
        case DecoderKind.OFFSETS if not tool.text.offsets_are_json:
            return OffsetsTextDecoder(tool)
        case DecoderKind.TRANSACTIONS if not tool.text.transactions_are_json:
            return TransactionsTextDecoder(tool)
        case _:
            return CoordinatorDecoder(tool, kind)
