"""Records of `__remote_log_metadata`, the topic of tiered storage's default manager, in the form of `toString`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.dump.framed_record import framed_type, read_body, read_frame
from falkirk.dump.json_text import json_writer
from falkirk.dump.record_decoder import DecodedRecord, RecordText
from falkirk.protocol.lax_reader import ReadError
from falkirk.protocol.messages import REMOTE_LOG_RECORDS
from falkirk.protocol.messages.remote_log_segment_metadata_record import RemoteLogSegmentMetadataRecord
from falkirk.protocol.messages.remote_log_segment_metadata_update_record import RemoteLogSegmentMetadataUpdateRecord
from falkirk.protocol.messages.remote_partition_delete_metadata_record import RemotePartitionDeleteMetadataRecord
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from falkirk.dump.tool import DumpTool
    from falkirk.protocol.record import Record

_SEGMENT_STATES: Final = (
    "COPY_SEGMENT_STARTED",
    "COPY_SEGMENT_FINISHED",
    "DELETE_SEGMENT_STARTED",
    "DELETE_SEGMENT_FINISHED",
)
_DELETE_STATES: Final = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


class RemoteLogDecoder:
    """Decodes records of tiered storage as one release knows them."""

    def __init__(self, tool: DumpTool) -> None:
        # Every release from 3.9 to 4.4 has version 0 of all of them.
        self._types = {type_: framed_type(name, 0, tool.layout(name)) for type_, name in REMOTE_LOG_RECORDS.items()}
        # 4.0 added whether a segment's transaction index is empty, in the record and in the text.
        self._shows_index = self._types[0].layout != 0

    def text(self, record: Record) -> RecordText:
        """Return the record as payload; keys are ignored."""
        try:
            _, _, message = self._read(record.value or b"")
            return RecordText(None, self._text(message))
        except ReadError as error:
            return RecordText(None, f"Error at offset {record.offset}, skipping. {error}")

    def document(self, record: Record) -> DecodedRecord:
        """Return type, version and data."""
        try:
            type_, version, message = self._read(record.value or b"")
        except ReadError as error:
            return DecodedRecord(None, str(error))
        name = type(message).SCHEMA.info.name
        data = json_writer(type(message), 0, layout=self._types[type_].layout)(message)
        text = f'{{"type":"{name}","version":{version},"data":{data}}}'
        return DecodedRecord(msgspec.Raw(text.encode()))

    def _read(self, value: bytes) -> tuple[int, int, Any]:  # Any: one of the messages
        type_, version, position = read_frame(value)
        return type_, version, read_body(self._types, value, type_, version, position)

    def _text(self, message: Any) -> str:  # Any: one of the messages
        match message:
            case RemoteLogSegmentMetadataRecord():
                return self._segment(message)
            case RemoteLogSegmentMetadataUpdateRecord():
                state = _state(_SEGMENT_STATES, message.remote_log_segment_state)
                return (
                    f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment_id(message.remote_log_segment_id)}, "
                    f"customMetadata={_custom(message.custom_metadata)}, state={state}, "
                    f"eventTimestampMs={message.event_timestamp_ms}, brokerId={message.broker_id}}}"
                )
            case RemotePartitionDeleteMetadataRecord():
                state = _state(_DELETE_STATES, message.remote_partition_delete_state)
                return (
                    f"RemotePartitionDeleteMetadata{{topicPartition={_partition(message.topic_id_partition)}, "
                    f"state={state}, eventTimestampMs={message.event_timestamp_ms}, brokerId={message.broker_id}}}"
                )
        type_ = type(message).SCHEMA.info.key
        raise ReadError(f"record type {type_} has no text", 0)

    def _segment(self, message: RemoteLogSegmentMetadataRecord) -> str:
        """Write a segment, if it passes the checks of Kafka's class."""
        state = _state(_SEGMENT_STATES, message.remote_log_segment_state)
        start, end = message.start_offset, message.end_offset
        if not 0 <= start <= end:
            raise ReadError(f"segment has start offset {start} and end offset {end}", 0)
        if not message.segment_leader_epochs:
            raise ReadError("segment has no leader epochs", 0)
        epochs = {entry.leader_epoch: entry.offset for entry in message.segment_leader_epochs}
        epochs_text = ", ".join(f"{epoch}={epochs[epoch]}" for epoch in sorted(epochs))
        index = f", txnIdxEmpty={'true' if message.txn_index_empty else 'false'}" if self._shows_index else ""
        return (
            f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment_id(message.remote_log_segment_id)}, "
            f"startOffset={start}, endOffset={end}, brokerId={message.broker_id}, "
            f"maxTimestampMs={message.max_timestamp_ms}, eventTimestampMs={message.event_timestamp_ms}, "
            f"segmentLeaderEpochs={{{epochs_text}}}, segmentSizeInBytes={message.segment_size_in_bytes}, "
            f"customMetadata={_custom(message.custom_metadata)}, state={state}{index}}}"
        )


def _state(names: tuple[str, ...], state: int) -> str:
    if not 0 <= state < len(names):
        raise ReadError(f"state {state} is not known", 0)
    return names[state]


def _segment_id(entry: Any) -> str:  # Any: RemoteLogSegmentIdEntry of either message
    return f"RemoteLogSegmentId{{topicIdPartition={_partition(entry.topic_id_partition)}, id={uuid_text(entry.id)}}}"


def _partition(entry: Any) -> str:  # Any: TopicIdPartitionEntry of any of the messages
    return f"{uuid_text(entry.id)}:{entry.name}-{entry.partition}"


def _custom(data: bytes | None) -> str:
    return "Optional.empty" if data is None else f"Optional[CustomMetadata{{{len(data)} bytes}}]"
