"""Records of the metadata log and its snapshots, as JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.dump.framed_record import framed_type, read_body, read_frame
from falkirk.dump.json_text import json_writer
from falkirk.dump.record_decoder import DecodedRecord, RecordText
from falkirk.dump.wire_text import UNUSUAL, wire_text
from falkirk.protocol.lax_reader import ReadError

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.dump.tool import DumpTool
    from falkirk.protocol.record import Record

_FRAME_BYTES: Final = 3


class MetadataDecoder:
    """Decodes metadata records as one release knows them."""

    def __init__(self, tool: DumpTool) -> None:
        self._types = {
            record.id: framed_type(record.name, record.versions.highest, tool.layout(record.name))
            for record in tool.release.kraft.metadata_records.values()
        }
        # The three bytes of a frame whose numbers take one byte each (all do so far) -> how to write the record.
        self._plans: dict[bytes, _Plan] = {}

    def text(self, record: Record) -> RecordText:
        """Return the record as payload; keys are ignored."""
        return RecordText(None, self.payload(record.value, record.offset))

    def document(self, record: Record) -> DecodedRecord:
        """Return type, version and data."""
        try:
            return DecodedRecord(msgspec.Raw(self._json(record.value or b"").encode()))
        except ReadError as error:
            return DecodedRecord(None, str(error))

    def payload(self, value: bytes | None, offset: int) -> str:
        """Return the text for the value of the record at `offset`."""
        try:
            return self._json(value or b"")
        except ReadError as error:
            return f"Error at {offset}, skipping. {error}"

    def _json(self, value: bytes) -> str:
        plan = self._plans.get(value[:_FRAME_BYTES])
        if plan is not None:
            try:
                text, end = plan.text(value, _FRAME_BYTES)
            except UNUSUAL:
                end = -1
            if end == len(value):
                return f"{plan.head}{text}}}"
        return self._json_slowly(value)

    def _json_slowly(self, value: bytes) -> str:
        type_, version, position = read_frame(value)
        message = read_body(self._types, value, type_, version, position)
        known = self._types[type_]
        written = max(0, min(version, known.version_max))
        head = f'{{"type":"{_constant_name(known.cls.SCHEMA.info.name)}","version":{version},"data":'
        if position == _FRAME_BYTES and version == written:
            self._plans[value[:_FRAME_BYTES]] = _Plan(head, wire_text(known.cls, version, known.layout))
        return f"{head}{json_writer(known.cls, written, layout=known.layout)(message)}}}"


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to write the records of one type and version."""

    head: str
    text: "Callable[[bytes, int], tuple[str, int]]"


def _constant_name(name: str) -> str:
    """Return a type's name as in Kafka's enum: `NoOpRecord` is NO_OP_RECORD."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
