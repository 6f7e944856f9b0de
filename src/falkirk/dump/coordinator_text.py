"""Records of the coordinators' topics in the tools' formats before JSON: groups in 3.7, transactions up to 4.0.

Where these tools end with a stack trace, UndecodableRecordError is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.dump.coordinator_decoder import TOMBSTONE, CoordinatorDecoder
from falkirk.dump.java_text import json_string
from falkirk.dump.message_reader import read_message
from falkirk.dump.record_decoder import RecordText, UndecodableRecordError
from falkirk.dump.scala_order import ScalaOrder, map_order, topic_partition_hash
from falkirk.dump.tool import DecoderKind
from falkirk.protocol.lax_reader import ReadError
from falkirk.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from falkirk.protocol.messages.group_metadata_key import GroupMetadataKey
from falkirk.protocol.messages.group_metadata_value import GroupMetadataValue
from falkirk.protocol.messages.offset_commit_key import OffsetCommitKey
from falkirk.protocol.messages.offset_commit_value import OffsetCommitValue
from falkirk.protocol.messages.transaction_log_key import TransactionLogKey
from falkirk.protocol.messages.transaction_log_value import TransactionLogValue

if TYPE_CHECKING:
    from falkirk.dump.record_decoder import DecodedRecord
    from falkirk.dump.tool import DumpTool
    from falkirk.protocol.messages.group_metadata_value import MemberMetadata
    from falkirk.protocol.record import Record
    from falkirk.protocol.schema import WireMessage

_INT16_BYTES: Final = 2
_GROUP_METADATA: Final = 2
_EMPTY: Final = "Empty"
_STATES: Final = (
    _EMPTY,
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
_CONSUMER_PROTOCOL: Final = "consumer"


class OffsetsTextDecoder:
    """Groups and offsets as 3.7 prints them: types 0 and 1 are offsets, 2 is a group, others are not decoded."""

    def __init__(self, tool: DumpTool) -> None:
        self._reader = _Reader(tool)
        self._json = CoordinatorDecoder(tool, DecoderKind.OFFSETS)

    def text(self, record: Record) -> RecordText:
        """Return key and payload. Raises UndecodableRecordError where the tool ends."""
        type_ = _record_type(record.key)
        if type_ in (0, 1):
            return self._offset(record)
        if type_ == _GROUP_METADATA:
            return self._group(record)
        return RecordText(f"unknown::version={type_}", None)

    def document(self, record: Record) -> DecodedRecord:
        """Return the same JSON as for later releases."""
        return self._json.document(record)

    def _offset(self, record: Record) -> RecordText:
        key = self._reader.key(OffsetCommitKey, record)
        text = f"offset_commit::group={key.group},partition={key.topic}-{key.partition}"
        value = self._reader.value(OffsetCommitValue, record)
        if value is None:
            return RecordText(text, TOMBSTONE)
        metadata = f",metadata={value.metadata}" if value.metadata else ""
        return RecordText(text, f"offset={value.offset}{metadata}")

    def _group(self, record: Record) -> RecordText:
        text = f"group_metadata::group={self._reader.key(GroupMetadataKey, record).group}"
        value = self._reader.value(GroupMetadataValue, record)
        if value is None:
            return RecordText(text, TOMBSTONE)
        members = {member.member_id: member for member in value.members}
        assignments = ",".join(_assignment(value.protocol_type, members[name]) for name in map_order(list(members)))
        protocol = "null" if value.protocol is None else json_string(value.protocol)
        payload = (
            f'{{"protocolType":{json_string(value.protocol_type)},"protocol":{protocol},'
            f'"generationId":{value.generation},"assignment":{json_string("{" + assignments + "}")}}}'
        )
        return RecordText(text, payload)


class TransactionsTextDecoder:
    """Transactions as the tools up to 4.0 print them."""

    def __init__(self, tool: DumpTool) -> None:
        self._reader = _Reader(tool)
        self._json = CoordinatorDecoder(tool, DecoderKind.TRANSACTIONS)

    def text(self, record: Record) -> RecordText:
        """Return key and payload. Raises UndecodableRecordError where the tool ends."""
        type_ = _record_type(record.key)
        if type_ != 0:
            return RecordText(f"unknown::version={type_}", None)
        key = self._reader.key(TransactionLogKey, record)
        text = f"transaction_metadata::transactionalId={key.transactional_id}"
        value = self._reader.value(TransactionLogValue, record)
        if value is None:
            return RecordText(text, TOMBSTONE)
        if not 0 <= value.transaction_status < len(_STATES):
            raise UndecodableRecordError(f"transaction has unknown state {value.transaction_status}")
        state = _STATES[value.transaction_status]
        partitions = "" if state == _EMPTY else ",".join(_partitions(value))
        payload = (
            f"producerId:{value.producer_id},producerEpoch:{value.producer_epoch},state={state},"
            f"partitions=[{partitions}],txnLastUpdateTimestamp={value.transaction_last_update_timestamp_ms},"
            f"txnTimeoutMs={value.transaction_timeout_ms}"
        )
        return RecordText(text, payload)

    def document(self, record: Record) -> DecodedRecord:
        """Return the same JSON as for later releases."""
        return self._json.document(record)


class _Reader:
    """Reads keys and values as these tools do, which end at one that they cannot read."""

    def __init__(self, tool: DumpTool) -> None:
        self._tool = tool

    def key(self, cls: type[WireMessage], record: Record) -> Any:  # Any: cls
        assert record.key is not None
        return self._read(cls, cls.SCHEMA.info.versions.ranges[0][0], record.key)

    def value(self, cls: type[WireMessage], record: Record) -> Any:  # Any: cls, or None for a tombstone
        if record.value is None:
            return None
        version = _int16(record.value)
        if version not in cls.SCHEMA.info.versions:
            raise UndecodableRecordError(f"{cls.__name__} has unknown version {version}")
        return self._read(cls, version, record.value)

    def _read(self, cls: type[WireMessage], version: int, data: bytes) -> Any:  # Any: cls
        layout = self._tool.layout(cls.__name__)
        try:
            # Only versions that are known come here.
            return read_message(cls, data, _INT16_BYTES, version=version, version_max=version, layout=layout)[0]
        except ReadError as error:
            raise UndecodableRecordError(f"{cls.__name__} cannot be read: {error}") from error


def _record_type(key: bytes | None) -> int:
    if key is None:
        raise UndecodableRecordError("record of a coordinator's topic has no key")
    return _int16(key)


def _int16(data: bytes) -> int:
    if len(data) < _INT16_BYTES:
        raise UndecodableRecordError("record of a coordinator's topic is too short for its type and version")
    return int.from_bytes(data[:_INT16_BYTES], "big", signed=True)


def _partitions(value: TransactionLogValue) -> list[str]:
    """Return the partitions of a transaction in the order of the tool's hash set."""
    if value.transaction_partitions is None:
        raise UndecodableRecordError("transaction that is not empty has no partitions")
    order = ScalaOrder()
    added: dict[tuple[str, int], None] = {}
    for entry in value.transaction_partitions:
        partitions = list(dict.fromkeys((entry.topic, partition) for partition in entry.partition_ids))
        new = [partition for partition in partitions if partition not in added]
        order.add_set(len(partitions), new=len(new))
        added.update(dict.fromkeys(new))
    ordered = order.sort(added, lambda partition: topic_partition_hash(*partition))
    return [f"{topic}-{partition}" for topic, partition in ordered]


def _assignment(protocol_type: str, member: MemberMetadata) -> str:
    """Return a member with its partitions; the bytes, if the assignment is not a consumer's."""
    if protocol_type != _CONSUMER_PROTOCOL:
        return f"{member.member_id}={_hex(member.assignment)}"
    data, highest = member.assignment, ConsumerProtocolAssignment.SCHEMA.info.versions.ranges[-1][1]
    named = _int16(data)
    if named < 0:
        raise UndecodableRecordError(f"assignment of member {member.member_id} has version {named}")
    version = min(named, highest)
    try:
        assignment, _ = read_message(
            ConsumerProtocolAssignment, data, _INT16_BYTES, version=version, version_max=highest
        )
    except ReadError as error:
        raise UndecodableRecordError(f"assignment of member {member.member_id} cannot be read: {error}") from error
    partitions = ", ".join(
        f"{topic.topic}-{partition}" for topic in assignment.assigned_partitions for partition in topic.partitions
    )
    user_data = _hex(assignment.user_data or b"")
    return f"{member.member_id}=[{partitions}]" + (f":{user_data}" if user_data else "")


def _hex(data: bytes) -> str:
    """Write bytes as one large number, in capital hex digits without leading zeros."""
    return f"{int.from_bytes(data, 'big'):X}" if data else ""
