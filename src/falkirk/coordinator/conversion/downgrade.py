"""Downgrade of a consumer group to a classic one, when its last member of the consumer protocol leaves.

The leaving members are in the record of the classic group, too, and leave it at once in memory, as members of classic
groups always do. A coordinator that takes over before the following rebalance waits for their sessions to end and
starts the rebalance again; otherwise their partitions would never be reassigned.

Differs from Kafka: there, leaving members are not in the record; a member's assignment in it is its target, a part of
which another member may still own, and not what it owns; and where a static member of the classic protocol replaces the
last one there need not be a rebalance.
Source: KIP-848, "Migrating"; Kafka's ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.coordinator.classic.classic_records import group_metadata_record
from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.classic.member import ClassicMember
from falkirk.coordinator.conversion.migration_policy import MigrationPolicy
from falkirk.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE, encode_embedded
from falkirk.protocol.messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    consumer_protocol_assignment,
)
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.consumer.member import ConsumerGroupMember, OwnedPartitions
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord
    from falkirk.coordinator.runtime.topics import Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Downgrade:
    """`leaving`: the members that leave. `joining`: a static member of the classic protocol that replaces one of them.

    `session_timeout_ms`: how long a coordinator that takes over waits for the leaving members.
    """

    group: "ConsumerGroup"
    leaving: "Collection[ConsumerGroupMember]"
    session_timeout_ms: int
    joining: "ConsumerGroupMember | None" = None

    def is_due(self, context: ShardContext) -> bool:
        """Return whether all remaining members use the classic protocol and the policy allows a classic group."""
        staying = self._staying()
        return (
            bool(staying)
            and all(member.classic_metadata is not None for member in staying)
            and MigrationPolicy.of(context).allows_downgrade
            and len(staying) <= context.settings.group_max_size
            and bool(_common_protocols(staying))
        )

    def records(self, context: ShardContext) -> list[CoordinatorRecord]:
        """Return the consumer group's tombstones and the record of the classic group."""
        members = [_classic_member(member, context.topics) for member in self._staying()]
        made = ClassicGroup.stable(
            self.group.group_id,
            members,
            now_ms=context.now_ms,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            generation_id=self.group.group_epoch,
        )
        for member in self.leaving:
            made.add(self._gone(member, made.protocol_name or "", context.topics))
        return [*self.group.deletion_records(), group_metadata_record(made)]

    def _staying(self) -> list[ConsumerGroupMember]:
        leaving = {member.member_id for member in self.leaving}
        staying = [member for member_id, member in self.group.members.items() if member_id not in leaving]
        return staying if self.joining is None else [*staying, self.joining]

    def _gone(self, member: ConsumerGroupMember, protocol_name: str, topics: Topics) -> ClassicMember:
        # A static member's partitions pass to its replacement.
        owned = {} if self.joining is not None else member.assigned
        subscription = ConsumerProtocolSubscription(topics=tuple(sorted(member.subscribed_topics)))
        return ClassicMember(
            member_id=member.member_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            protocols=[JoinGroupRequestProtocol(name=protocol_name, metadata=encode_embedded(subscription, 0))],
            assignment=encode_assignment(owned, topics, 0),
        )


def encode_assignment(owned: OwnedPartitions, topics: Topics, version: int) -> bytes:
    """Encode a member's partitions as a leader would; deleted topics are left out."""
    named = sorted((name, sorted(parts)) for topic_id, parts in owned.items() if (name := topics.name_of(topic_id)))
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            consumer_protocol_assignment.TopicPartition(topic=name, partitions=tuple(parts)) for name, parts in named
        ]
    )
    highest = ConsumerProtocolAssignment.SCHEMA.info.versions.ranges[-1][1]
    return encode_embedded(message, max(0, min(version, highest)))


def subscription_version(metadata: bytes) -> int:
    """Return the version of a member's subscription."""
    return int.from_bytes(metadata[:2], "big", signed=True)


def _common_protocols(members: Sequence[ConsumerGroupMember]) -> frozenset[str]:
    return frozenset(members[0].classic_protocols).intersection(*(member.classic_protocols for member in members[1:]))


def _classic_member(member: ConsumerGroupMember, topics: Topics) -> ClassicMember:
    metadata = member.classic_metadata
    assert metadata is not None
    return ClassicMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=metadata.session_timeout_ms,
        protocols=[
            JoinGroupRequestProtocol(name=protocol.name, metadata=protocol.metadata)
            for protocol in metadata.supported_protocols
        ],
        assignment=encode_assignment(
            member.assigned, topics, subscription_version(metadata.supported_protocols[0].metadata)
        ),
    )
