"""Rows of a group's members, from the last records about the group.

Subscription and assignment in a member of a classic group are read by the consumer protocol, if that is the group's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.coordinator.records.record_type import GroupRecordType, GroupType
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.lax_reader import Fields, KafkaReader, ReadError
from falkirk.protocol.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.pipeline.state.groups.group_values import LastRecord
    from falkirk.protocol.schema import WireMessage

Row = dict[str, Any]
"""Values of a table's columns. Any: as the columns have them."""
_TYPES: Final = {
    GroupType.CONSUMER: (
        GroupRecordType.CONSUMER_GROUP_MEMBER_METADATA,
        GroupRecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    ),
    GroupType.SHARE: (
        GroupRecordType.SHARE_GROUP_MEMBER_METADATA,
        GroupRecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    ),
    GroupType.STREAMS: (
        GroupRecordType.STREAMS_GROUP_MEMBER_METADATA,
        GroupRecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    ),
}
_CONSUMER: Final = "consumer"


def member_rows(group_type: GroupType, records: list[LastRecord]) -> Iterator[Row]:
    """Yield a row for each member, from all remaining records of its group.

    A member whose record no release can read has only its id.
    """
    if group_type is GroupType.CLASSIC:
        # A classic group has one record, written last.
        fields = records[-1].fields
        if fields is not None:
            yield from _classic_rows(fields)
        return
    types = _TYPES.get(group_type)
    if types is None:
        return
    member_type, assignment_type = types
    assignments = {record.member_id: record.message for record in records if record.type == assignment_type}
    for record in records:
        if record.type == member_type:
            yield {
                "member_id": record.member_id,
                "protocol": group_type.value,
                **_membership(record.message),
                **_assignment(assignments.get(record.member_id)),
            }


def _membership(message: WireMessage | None) -> Row:
    if message is None:
        return {}
    # Fields that this kind of member lacks are null.
    row = {name: getattr(message, name, None) for name in ("instance_id", "rack_id", "client_id", "client_host")}
    topics = getattr(message, "subscribed_topic_names", None)
    row["subscribed_topics"] = None if topics is None else list(topics)
    # An empty expression means none.
    row["subscribed_regex"] = getattr(message, "subscribed_topic_regex", None) or None
    classic = getattr(message, "classic_member_metadata", None)
    # The default is an object, not null; but no member came by the classic protocol without a protocol.
    if classic is not None and classic.supported_protocols:
        row["protocol"] = GroupType.CLASSIC.value
    return row


def _assignment(message: Any | None) -> Row:  # Any: one of three messages that have these fields
    if message is None:
        return {}
    if hasattr(message, "active_tasks"):
        assigned = [(tasks.subtopology_id, tasks.partitions) for tasks in message.active_tasks]
    else:
        assigned = [(uuid_text(topic.topic_id), topic.partitions) for topic in message.assigned_partitions]
    return {"member_epoch": message.member_epoch, "assigned": _topic_partitions(assigned)}


def _topic_partitions(assigned: list[tuple[str, Any]]) -> list[Row]:  # Any: a sequence of partitions
    return [{"topic": topic, "partitions": sorted(partitions)} for topic, partitions in sorted(assigned)]


def _classic_rows(group: Fields) -> Iterator[Row]:
    is_consumer = group["protocol_type"] == _CONSUMER
    for member in group["members"]:
        subscription = _embedded(ConsumerProtocolSubscription, member["subscription"]) if is_consumer else None
        assignment = _embedded(ConsumerProtocolAssignment, member["assignment"]) if is_consumer else None
        topics = None if assignment is None else assignment["assigned_partitions"]
        yield {
            "member_id": member["member_id"],
            "instance_id": member.get("group_instance_id"),
            "client_id": member["client_id"],
            "client_host": member["client_host"],
            "protocol": GroupType.CLASSIC.value,
            "rack_id": None if subscription is None else subscription.get("rack_id"),
            "subscribed_topics": None if subscription is None else subscription["topics"],
            "assigned": None
            if topics is None
            else _topic_partitions([(topic["topic"], topic["partitions"]) for topic in topics]),
        }


def _embedded(cls: type[WireMessage], data: bytes) -> Fields | None:
    """Read a consumer's bytes in its group's record as Kafka's consumers do: a later version like the latest known."""
    versions = cls.SCHEMA.info.versions
    try:
        reader = KafkaReader(data)
        version = reader.int16()
        return reader.message(message_layout(cls, min(max(version, 0), versions.ranges[-1][1])))
    except ReadError:
        return None
