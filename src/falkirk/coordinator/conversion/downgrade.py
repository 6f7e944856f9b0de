"""A consumer group becomes a classic group, because its last member of the new protocol goes.

Those who go are in the record of the classic group, too, and leave it at once, in memory: so members of classic groups
always go. A coordinator that takes over before the rebalance that follows waits for their sessions to end, and begins
it again; without that nobody would ever be given their partitions.

Differs from Kafka: there, who goes is not in the record; what stands there as a member's assignment is its target, a
part of which another member may still have, and not what it has; and where a static member of the classic protocol
takes the last one's place there need not be a rebalance.
Source: KIP-848, "Migrating"; Kafka's ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.classic.member import ClassicMember
from falkirk.coordinator.conversion.migration_policy import MigrationPolicy
from falkirk.coordinator.records.classic_records import group_metadata_record
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
    from falkirk.coordinator.shard.context import ShardContext
    from falkirk.coordinator.shard.outcome import CoordinatorRecord
    from falkirk.coordinator.shard.topics import Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Downgrade:
    """`leaving`: who goes. `joining`: a static member of the classic protocol that takes the place of one of them.

    `session_timeout_ms`: how long a coordinator that takes over waits for those who are gone.
    """

    group: ConsumerGroup
    leaving: Collection[ConsumerGroupMember]
    session_timeout_ms: int
    joining: ConsumerGroupMember | None = None

    def is_due(self, context: ShardContext) -> bool:
        """Say whether those who stay all use the classic protocol, and may make a classic group."""
        staying = self._staying()
        return (
            bool(staying)
            and all(member.classic_metadata is not None for member in staying)
            and MigrationPolicy.of(context).allows_downgrade
            and len(staying) <= context.settings.group_max_size
            and bool(_common_protocols(staying))
        )

    def records(self, context: ShardContext) -> list[CoordinatorRecord]:
        """Give tombstones of all that the log has of the consumer group, and the record of the classic one."""
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
        # What a static member had, who takes its place has now.
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
    """Write what a member has as a leader would; topics that are gone are left out."""
    named = sorted((name, sorted(parts)) for topic_id, parts in owned.items() if (name := topics.name_of(topic_id)))
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            consumer_protocol_assignment.TopicPartition(topic=name, partitions=tuple(parts)) for name, parts in named
        ]
    )
    highest = ConsumerProtocolAssignment.SCHEMA.info.versions.ranges[-1][1]
    return encode_embedded(message, max(0, min(version, highest)))


def subscription_version(metadata: bytes) -> int:
    """Give the version that a member's subscription says it has."""
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
